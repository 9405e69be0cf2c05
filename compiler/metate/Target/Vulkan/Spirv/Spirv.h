//===- Spirv.h - device functions as SPIR-V for Vulkan ----------*- C++ -*-===//
//
// LLVM IR of device functions as the words of a SPIR-V 1.5 module that Vulkan 1.2 and later take. LLVM's own back end is not used: it
// ends the process where it can not go on, and this runs in the user's. Must not know of MLIR, of kernels or of how tasks are launched.
//
// The code that Vulkan gets: one entry point a task, with three addresses as push constants (of the slots, of the frame, of the
// constants). Memory is reached by 64-bit addresses alone; the Vulkan memory model holds.
//
// What Vulkan's arithmetic does not promise is computed by integers (Support/Numbers.c): quotients, square roots, remainders and what
// is rounded to 16 bits are exact, unless an instruction says `afn` or `arcp`. Each task asks for subnormal numbers, infinities,
// NaNs, signs of zeros and rounding to nearest; the driver strikes out what a device does not promise of these, which then is not kept; nor is
// whether it fuses llvm.fma.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_VULKAN_SPIRV_SPIRV_H
#define METATE_TARGET_VULKAN_SPIRV_SPIRV_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace llvm {
class Module;
}

namespace metate {

/// A word so many bytes behind the second address, which becomes `value` if it is 0.
struct SpirvNote {
  uint32_t offset = 0;
  uint32_t value = 0;
};

/// A function `void NAME(ptr slots, ptr frame)` of the module, run by workgroups of so many invocations.
struct SpirvTask {
  llvm::StringRef name;
  uint32_t group = 1;
  SpirvNote
      ended; ///< for lavapipe: says that the device has ended a loop by itself; of value 0: nobody is told
  uint32_t sharedBytes = 0; ///< of the workgroup's memory
};

struct SpirvOptions {
  /// For lavapipe of Mesa 22.3. Where an atomic operation or a fence orders memory within a loop, a workgroup's vectors lose what they load and store
  /// behind it, once one of their invocations takes a second turn: atomic operations order nothing. Right where invocations do not wait for one
  /// another. It loses values behind loops: what leaves a loop goes through memory. It gives an invocation 65,535 turns
  /// in all its loops together and ends those that take more: the task notes it (SpirvTask::ended). Its vectors have lanes beside a task's one
  /// invocation, whose turns count: they skip the code. It takes 0 * x for 0 and x + 0 for x, whatever the code says of NaNs and signs,
  /// and every f64 beyond 2^24 for a whole number: it does not see the zeros, and integers make numbers whole.
  bool lavapipe = false;
  /// May an f32 be added to in memory by an instruction (METATE_FEATURE_F32_ATOMIC_ADD)? Else by compare-exchange.
  bool nativeFloatAdd = false;
};

struct SpirvModule {
  std::vector<uint32_t> words;
  std::vector<uint8_t> constants; ///< what the third address is of, 16-byte aligned
  uint32_t needs = 0;             ///< METATE_FEATURE_*
};

/// Changes the module, also on failure: it is of no use afterwards. Functions that are declared only: `i64 metate_grid_invocation()`,
/// the global number of an invocation, `i64 metate_grid_invocations()`, how many there are, `ptr addrspace(3) metate_grid_shared()`, memory of
/// the workgroup that holds numbers of 32 bits, `i32 metate_grid_phase(i32)`, which gives 1 once all invocations of the workgroup are there, at
/// once for 0, and LLVM's intrinsics.
llvm::Expected<SpirvModule> emitSpirv(llvm::Module &module, llvm::ArrayRef<SpirvTask> tasks,
                                      const SpirvOptions &options);

} // namespace metate

#endif
