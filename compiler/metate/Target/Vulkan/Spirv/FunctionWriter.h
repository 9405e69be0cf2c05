//===- FunctionWriter.h - a prepared function's words -----------*- C++ -*-===//
#ifndef METATE_TARGET_VULKAN_SPIRV_FUNCTIONWRITER_H
#define METATE_TARGET_VULKAN_SPIRV_FUNCTIONWRITER_H

#include "metate/Target/Vulkan/Spirv/ModuleWriter.h"
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/IR/IntrinsicInst.h"

namespace metate::spirv {

/// One task. Each instruction writes what it is; the first that has no words is the error.
class FunctionWriter {
public:
  FunctionWriter(ModuleWriter &module, llvm::Function &function, uint32_t group,
                 const Structure &structure, bool relaxed)
      : module(module), function(function), group(group), structure(structure), relaxed(relaxed) {}
  llvm::Error write();

private:
  void fail(llvm::Instruction &at, const llvm::Twine &what);
  uint32_t idOf(llvm::Value *value);
  uint32_t labelOf(llvm::BasicBlock *block);
  uint32_t typeOf(llvm::Type *type) { return module.typeOf(type); }
  void emit(Op op, llvm::ArrayRef<uint32_t> operands) { put(module.code, op, operands); }
  /// The instruction's own value.
  void result(Op op, llvm::Instruction &of, llvm::ArrayRef<uint32_t> operands);
  /// A value on the way there.
  uint32_t value(Op op, uint32_t type, llvm::ArrayRef<uint32_t> operands);
  uint32_t glsl(Glsl which, uint32_t type, llvm::ArrayRef<uint32_t> operands);

  void addresses();
  void block(llvm::BasicBlock *block);
  void locals();
  void instruction(llvm::Instruction &instruction);
  void phi(llvm::PHINode &phi);
  void branch(llvm::BranchInst &branch);
  // FunctionWriterNumbers.cpp
  void binary(llvm::BinaryOperator &operation);
  void logical(llvm::BinaryOperator &operation);
  void remainder(llvm::BinaryOperator &operation);
  void compare(llvm::ICmpInst &comparison);
  void compareBooleans(llvm::ICmpInst &comparison);
  void compare(llvm::FCmpInst &comparison);
  void convert(llvm::CastInst &cast);
  void ofBoolean(llvm::CastInst &cast);
  void call(llvm::CallInst &call);
  void invocation(llvm::CallInst &call, bool isCount);
  void lane(llvm::CallInst &call);
  // FunctionWriterMemory.cpp
  uint32_t placeOf(llvm::Instruction &access, llvm::Value *pointer, llvm::Type *type);
  uint32_t sharedPlaceOf(llvm::Instruction &access, llvm::Value *pointer, uint32_t type);
  llvm::SmallVector<uint32_t> accessOf(llvm::Value *pointer, llvm::Align align, bool isVolatile);
  /// Of an atomic operation there: the workgroup's own memory is seen by nobody else.
  uint32_t scope(llvm::Value *pointer);
  uint32_t semantics(llvm::AtomicOrdering ordering);
  void load(llvm::LoadInst &load);
  void store(llvm::StoreInst &store);
  void modify(llvm::AtomicRMWInst &modify);
  void exchange(llvm::AtomicCmpXchgInst &exchange);
  void extract(llvm::ExtractValueInst &part);
  void fence(llvm::FenceInst &fence);
  void barrier();
  void needAtomic(llvm::Type *type);

  ModuleWriter &module;
  llvm::Function &function;
  uint32_t group;
  const Structure &structure;
  bool relaxed; ///< atomic operations order nothing
  llvm::DenseMap<llvm::Value *, uint32_t> ids;
  llvm::DenseMap<llvm::BasicBlock *, uint32_t> labels;
  llvm::DenseMap<llvm::AtomicCmpXchgInst *, std::pair<uint32_t, uint32_t>> exchanged;
  std::string problem;
};

} // namespace metate::spirv

#endif
