//===- FunctionWriter.cpp - a prepared function's words ---------*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/FunctionWriter.h"

#include "llvm/IR/InstIterator.h"

using namespace llvm;
using namespace metate;
using namespace metate::spirv;

void FunctionWriter::fail(Instruction &at, const Twine &what) {
  if (problem.empty())
    problem = toString(problemAt(at, what));
}

uint32_t FunctionWriter::idOf(Value *value) {
  while (auto *freeze = dyn_cast<FreezeInst>(value))
    value = freeze->getOperand(0); // what is undefined is one number anyway
  if (auto *constant = dyn_cast<Constant>(value)) {
    uint32_t id = module.constantOf(constant);
    if (!id && problem.empty()) {
      raw_string_ostream stream(problem);
      stream << function.getName() << ": a constant that is no number: " << *constant;
    }
    return id;
  }
  uint32_t &id = ids[value];
  if (!id)
    id = module.newId();
  return id;
}

uint32_t FunctionWriter::labelOf(BasicBlock *block) {
  uint32_t &id = labels[block];
  if (!id)
    id = module.newId();
  return id;
}

void FunctionWriter::result(Op op, Instruction &of, ArrayRef<uint32_t> operands) {
  uint32_t type = typeOf(of.getType());
  if (!type)
    return fail(of, "a type that SPIR-V lacks");
  Words words = {type, idOf(&of)};
  append_range(words, operands);
  emit(op, words);
}

uint32_t FunctionWriter::value(Op op, uint32_t type, ArrayRef<uint32_t> operands) {
  uint32_t id = module.newId();
  Words words = {type, id};
  append_range(words, operands);
  emit(op, words);
  return id;
}

uint32_t FunctionWriter::glsl(Glsl which, uint32_t type, ArrayRef<uint32_t> operands) {
  Words words = {module.glsl(), uint32_t(which)};
  append_range(words, operands);
  return value(Op::ExtInst, type, words);
}

/// The function's arguments: the push constants.
void FunctionWriter::addresses() {
  uint32_t address = module.intType(64);
  uint32_t pointer = module.pointerType(Storage::PushConstant, address);
  for (Argument &argument : function.args()) {
    if (argument.use_empty())
      continue;
    uint32_t at = value(Op::AccessChain, pointer,
                        {module.pushConstants(), module.integer(32, argument.getArgNo())});
    emit(Op::Load, {address, idOf(&argument), at});
  }
}

void FunctionWriter::locals() {
  for (Instruction &instruction : instructions(function))
    if (auto *local = dyn_cast<AllocaInst>(&instruction)) {
      uint32_t type = typeOf(local->getAllocatedType());
      if (!type)
        return fail(instruction, "a type that SPIR-V lacks");
      emit(Op::Variable,
           {module.pointerType(Storage::Function, type), idOf(local), uint32_t(Storage::Function)});
    }
}

void FunctionWriter::phi(PHINode &phi) {
  Words words;
  for (unsigned k = 0; k < phi.getNumIncomingValues(); ++k) {
    words.push_back(idOf(phi.getIncomingValue(k)));
    words.push_back(labelOf(phi.getIncomingBlock(k)));
  }
  result(Op::Phi, phi, words);
}

void FunctionWriter::branch(BranchInst &branch) {
  BasicBlock *from = branch.getParent();
  if (auto loop = structure.loops.find(from); loop != structure.loops.end())
    emit(Op::LoopMerge, {labelOf(loop->second.merge), labelOf(loop->second.again), 0});
  else if (BasicBlock *merge = structure.selections.lookup(from))
    emit(Op::SelectionMerge, {labelOf(merge), 0});
  if (branch.isUnconditional())
    return emit(Op::Branch, {labelOf(branch.getSuccessor(0))});
  emit(Op::BranchConditional, {idOf(branch.getCondition()), labelOf(branch.getSuccessor(0)),
                               labelOf(branch.getSuccessor(1))});
}

void FunctionWriter::instruction(Instruction &instruction) {
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    return binary(*operation);
  switch (instruction.getOpcode()) {
  case Instruction::ICmp:
    return compare(cast<ICmpInst>(instruction));
  case Instruction::FCmp:
    return compare(cast<FCmpInst>(instruction));
  case Instruction::FNeg:
    return result(Op::FNegate, instruction, {idOf(instruction.getOperand(0))});
  case Instruction::Select:
    return result(Op::Select, instruction,
                  {idOf(instruction.getOperand(0)), idOf(instruction.getOperand(1)),
                   idOf(instruction.getOperand(2))});
  case Instruction::PHI:
    return phi(cast<PHINode>(instruction));
  case Instruction::Call:
    return call(cast<CallInst>(instruction));
  case Instruction::Load:
    return load(cast<LoadInst>(instruction));
  case Instruction::Store:
    return store(cast<StoreInst>(instruction));
  case Instruction::AtomicRMW:
    return modify(cast<AtomicRMWInst>(instruction));
  case Instruction::AtomicCmpXchg:
    return exchange(cast<AtomicCmpXchgInst>(instruction));
  case Instruction::Fence:
    return fence(cast<FenceInst>(instruction));
  case Instruction::Br:
    return branch(cast<BranchInst>(instruction));
  case Instruction::Ret:
    return emit(Op::Return, {});
  case Instruction::Alloca:        // locals()
  case Instruction::Freeze:        // idOf()
  case Instruction::GetElementPtr: // at the access
  case Instruction::IntToPtr:
    return;
  case Instruction::ExtractValue:
    return extract(cast<ExtractValueInst>(instruction));
  default:
    if (auto *conversion = dyn_cast<CastInst>(&instruction))
      return convert(*conversion);
    fail(instruction, "an instruction that SPIR-V lacks");
  }
}

void FunctionWriter::block(BasicBlock *block) {
  emit(Op::Label, {labelOf(block)});
  if (block->isEntryBlock()) {
    locals();
    addresses();
  }
  for (Instruction &instruction : *block)
    this->instruction(instruction);
}

Error FunctionWriter::write() {
  uint32_t nothing = module.voidType(), id = module.newId();
  module.entry(id, function.getName(), group);
  emit(Op::Function, {nothing, id, 0, module.functionType(nothing)});
  for (BasicBlock *block : structure.order)
    this->block(block);
  emit(Op::FunctionEnd, {});
  return problem.empty() ? Error::success() : createStringError(problem);
}
