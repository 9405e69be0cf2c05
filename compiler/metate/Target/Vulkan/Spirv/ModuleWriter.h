//===- ModuleWriter.h - the parts of a SPIR-V module ------------*- C++ -*-===//
//
// Types, constants, capabilities and entry points, each once, and the order in which a module wants them. Knows nothing of functions'
// code.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_VULKAN_SPIRV_MODULEWRITER_H
#define METATE_TARGET_VULKAN_SPIRV_MODULEWRITER_H

#include "metate/Target/Vulkan/Spirv/Opcodes.h"
#include "metate/Target/Vulkan/Spirv/Spirv.h"

#include "llvm/IR/Constants.h"

#include <map>
#include <set>

namespace metate::spirv {

using Words = std::vector<uint32_t>;
void put(Words &to, Op op, llvm::ArrayRef<uint32_t> operands);

class ModuleWriter {
public:
  uint32_t newId() { return next++; }
  void need(Capability capability) { capabilities.insert(capability); }
  void needFloatAdd();

  uint32_t voidType() { return one(Op::TypeVoid, {}, 0); }
  uint32_t boolType() { return one(Op::TypeBool, {}, 0); }
  uint32_t intType(unsigned width);                                          ///< 8, 16, 32 or 64
  uint32_t vectorType() { return one(Op::TypeVector, {intType(32), 3}, 0); } ///< of built-ins
  uint32_t pointerType(Storage storage, uint32_t to);
  uint32_t functionType(uint32_t result) { return one(Op::TypeFunction, {result}, 0); }
  /// 0: SPIR-V has no such type.
  uint32_t typeOf(llvm::Type *type);

  uint32_t integer(unsigned width, uint64_t value);
  /// 0: none that SPIR-V has. What is undefined is zero, so that all runs are alike.
  uint32_t constantOf(const llvm::Constant *constant);

  uint32_t glsl(); ///< the set of instructions
  uint32_t builtIn(uint32_t which, uint32_t type);
  uint32_t pushConstants();
  /// An array that the invocations of a workgroup share.
  uint32_t shared(const llvm::GlobalVariable *array);
  void noContraction(uint32_t id) { put(decorations, Op::Decorate, {id, decorationNoContraction}); }
  void entry(uint32_t function, llvm::StringRef name, uint32_t group);

  Words code; ///< of functions
  SpirvModule finish();

private:
  /// A type or constant; its number stands before operand `resultAt`.
  uint32_t one(Op op, Words operands, unsigned resultAt);
  uint32_t floatType(unsigned width);
  uint32_t variable(uint32_t type, Storage storage);
  uint32_t needs() const;
  /// Subnormal numbers, infinities, NaNs and signs of zeros are kept, and sums rounded to nearest, which else nobody has to. What a device
  /// cannot promise of this, its driver strikes out of the words (runtime/driver/vulkan/words.h).
  void keepNumbers();

  struct Entry {
    uint32_t function;
    std::string name;
  };
  uint32_t next = 1, glslSet = 0, addresses = 0;
  std::set<Capability> capabilities = {Capability::Shader, Capability::VulkanMemoryModel,
                                       Capability::PhysicalStorageBufferAddresses};
  std::set<std::string> extensions;
  std::map<Words, uint32_t> known;
  std::map<uint32_t, uint32_t> builtIns;
  std::map<const llvm::GlobalVariable *, uint32_t> arrays;
  std::vector<Entry> entries;
  Words variables, modes, decorations, globals;
};

} // namespace metate::spirv

#endif
