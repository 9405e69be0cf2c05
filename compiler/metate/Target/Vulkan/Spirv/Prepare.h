//===- Prepare.h - LLVM IR as SPIR-V can say it -----------------*- C++ -*-===//
//
// The steps from any device function to one of which each instruction has its words. What is left then:
//   - one function a task, `void NAME(i64 slots, i64 frame, i64 constants)`; no calls but the two invocation numbers, the
//     barrier and the intrinsics of isKept();
//   - values of i1, i32, i64, half, float and double. An i8 or i16 is there between memory or a half and a conversion;
//   - the workgroup's memory as a global array in address space 3, by one getelementptr of an element;
//   - global memory by one `inttoptr` an access to address space 1, with the access's own alignment; local memory as allocas of
//     arrays, by one getelementptr of an element;
//   - atomic operations of i32 and i64 that SPIR-V has, of a float an addition;
//   - branches of two ways, loops with one beginning, one return.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_VULKAN_SPIRV_PREPARE_H
#define METATE_TARGET_VULKAN_SPIRV_PREPARE_H

#include "metate/Target/Vulkan/Spirv/Spirv.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace metate::spirv {

/// An error that names the function and shows the instruction.
llvm::Error problemAt(const llvm::Instruction &instruction, const llvm::Twine &what);

/// All steps. `constants`: what the tasks read of constant globals.
llvm::Error prepare(llvm::Module &module, llvm::ArrayRef<SpirvTask> tasks,
                    const SpirvOptions &options, std::vector<uint8_t> &constants);

/// An error where LLVM finds one.
llvm::Error verified(llvm::Module &module, llvm::StringRef when);

// ---- the steps, in their order ----

/// Everything that a task calls becomes part of it; then all is optimised, without vectors.
llvm::Error inlineTasks(llvm::Module &module, llvm::ArrayRef<SpirvTask> tasks);
/// What a compiler for another machine says of a function; one that is no task is to be inlined.
void forgetMachine(llvm::Function &function, bool isTask);
/// Structs, arrays and vectors as values: their elements instead.
void splitValues(llvm::Function &function);
/// memcpy, memmove and memset as loads and stores; accesses that are not aligned as pieces that are.
void expandMemory(llvm::Function &function);
/// Phases as barriers, of which the first one needs none.
void placeBarriers(llvm::Module &module);
/// A function that is declared only: where all invocations of a workgroup wait for each other.
constexpr llvm::StringLiteral barrierName = "metate_grid_barrier";
/// What gives the workgroup's memory: likewise.
constexpr llvm::StringLiteral sharedName = "metate_grid_shared";
constexpr unsigned sharedSpace = 3;
/// Arithmetic of bf16 by f32, and what only Support/Numbers.c computes exactly as calls of it.
void callNumbers(llvm::Function &function, const SpirvOptions &options);
/// Adds what callNumbers() has called, to be inlined.
llvm::Error linkNumbers(llvm::Module &module);
/// Atomic operations that SPIR-V lacks, by those that it has.
llvm::Error expandAtomics(llvm::Function &function, const SpirvOptions &options);
/// Intrinsics, of which isKept() are left.
llvm::Error expandIntrinsics(llvm::Function &function);
bool isKept(const llvm::CallInst &call);
/// Of floats; null: it is no intrinsic that this knows.
llvm::Value *expandFloat(llvm::IRBuilder<> &builder, llvm::CallInst &call);

/// Where constant globals lie from the constants' address on.
struct Constants {
  std::vector<uint8_t> bytes;
  llvm::DenseMap<const llvm::GlobalVariable *, uint64_t> offsets;
};
llvm::Error collectConstants(llvm::Module &module, Constants &constants);
/// Addresses become numbers, local memory arrays of what is accessed; the function gets its third parameter. It is another one then.
/// `sharedBytes`: of the workgroup's memory, which becomes a global array of i32 in address space 3.
llvm::Expected<llvm::Function *> numberPointers(llvm::Function &function,
                                                const Constants &constants, uint32_t sharedBytes);
/// Each access makes its pointer itself and takes its result apart, so that no pass makes a phi of pointers or pairs.
void ownAccesses(llvm::Function &function);
/// Integers of other widths, and bf16, in the next wider one.
llvm::Error widenIntegers(llvm::Function &function);

/// The control flow as SPIR-V wants to see it: which block merges what a header begins.
struct Structure {
  struct Loop {
    llvm::BasicBlock *merge;
    llvm::BasicBlock *again;            ///< the continue target, which is the only latch
    llvm::BasicBlock *around = nullptr; ///< the merge of the loop around it; null: there is none
  };
  llvm::DenseMap<llvm::BasicBlock *, llvm::BasicBlock *> selections;
  llvm::DenseMap<llvm::BasicBlock *, Loop> loops;
  std::vector<llvm::BasicBlock *> order; ///< constructs in one piece, dominators first
  unsigned depth = 0;                    ///< of selections inside one another, at most
};
/// Of a function of which every loop has one beginning, and that returns at one place.
llvm::Expected<Structure> makeStructure(llvm::Function &function);
/// Of a structure that was changed: its order anew.
std::vector<llvm::BasicBlock *> orderOfBlocks(llvm::Function &function, const Structure &structure);
/// Every loop gets a way out, blocks that are never left return, and all at one place.
void giveExits(llvm::Function &function);

// ---- for one device (SpirvOptions::lavapipe) ----

/// Of a task of one invocation: the device has lanes beside it, which do nothing, but whose loops it waits for if they run.
void runOneLane(llvm::Function &function);
/// What gives its number, an i32: a function that is declared only.
constexpr llvm::StringLiteral laneName = "metate_grid_lane";
/// What a loop computes and code behind it reads goes through local memory.
void keepBehindLoops(llvm::Function &function);
/// A loop around all others, and loops of which the device sees that they end, or that they do not, become such of which it does not.
/// Before keepBehindLoops().
void hideTurns(llvm::Function &function, Structure &structure);
/// Where the device has ended a loop by itself, the task goes to its end, and leaves its note there. After keepBehindLoops().
void leaveEndedLoops(llvm::Function &function, Structure &structure, const SpirvNote &note);
/// Zeros that are added or multiplied become numbers that a compiler does not know: it would take 0 * x for 0 and x + 0 for x.
void hideZeros(llvm::Function &function);
/// An i64 of a prepared function, 0 in every run.
llvm::Value *unknownZero(llvm::Function &function);

} // namespace metate::spirv

#endif
