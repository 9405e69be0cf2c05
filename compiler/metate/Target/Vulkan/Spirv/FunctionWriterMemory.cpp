//===- FunctionWriterMemory.cpp - memory and atomic operations --*- C++ -*-===//
//
// Every access of global memory is NonPrivate: else an acquire or release orders nothing. Vulkan knows no order stronger than
// acquire and release.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Vulkan/Spirv/FunctionWriter.h"

#include "llvm/IR/Operator.h"

using namespace llvm;
using namespace metate;
using namespace metate::spirv;

/// A pointer of `type`, made for one access.
uint32_t FunctionWriter::placeOf(Instruction &access, Value *pointer, Type *type) {
  uint32_t id = typeOf(type);
  if (!id) {
    fail(access, "a type that SPIR-V lacks");
    return 0;
  }
  if (isa<ConstantPointerNull>(pointer))
    return value(Op::ConvertUToPtr, module.pointerType(Storage::Physical, id),
                 {module.integer(64, 0)});
  if (Operator::getOpcode(pointer) == Instruction::IntToPtr)
    return value(Op::ConvertUToPtr, module.pointerType(Storage::Physical, id),
                 {idOf(cast<Operator>(pointer)->getOperand(0))});
  uint32_t index = module.integer(32, 0);
  if (pointer->getType()->getPointerAddressSpace() == sharedSpace)
    return sharedPlaceOf(access, pointer, id);
  if (auto *element = dyn_cast<GetElementPtrInst>(pointer);
      element && element->getNumIndices() == 2) {
    index = idOf(element->getOperand(2));
    pointer = element->getPointerOperand();
  }
  auto *local = dyn_cast<AllocaInst>(pointer);
  auto *array = local ? dyn_cast<ArrayType>(local->getAllocatedType()) : nullptr;
  if (!array || array->getElementType() != type) {
    fail(access, "an access of unknown memory");
    return 0;
  }
  return value(Op::AccessChain, module.pointerType(Storage::Function, id), {idOf(local), index});
}

/// `type`: of the element, an i32.
uint32_t FunctionWriter::sharedPlaceOf(Instruction &access, Value *pointer, uint32_t type) {
  uint32_t index = 0;
  if (auto *element = dyn_cast<GetElementPtrInst>(pointer);
      element && element->getNumIndices() == 2) {
    index = idOf(element->getOperand(2));
    pointer = element->getPointerOperand();
  } else {
    APInt bytes(64, 0);
    pointer = pointer->stripAndAccumulateConstantOffsets(access.getDataLayout(), bytes, true);
    index = module.integer(32, bytes.getZExtValue() / 4);
  }
  auto *array = dyn_cast<GlobalVariable>(pointer);
  if (!array || type != module.intType(32)) {
    fail(access, "an access of unknown memory");
    return 0;
  }
  return value(Op::AccessChain, module.pointerType(Storage::Workgroup, type),
               {module.shared(array), index});
}

SmallVector<uint32_t> FunctionWriter::accessOf(Value *pointer, Align align, bool isVolatile) {
  if (!pointer->getType()->getPointerAddressSpace()) // local memory
    return {};
  if (pointer->getType()->getPointerAddressSpace() == sharedSpace)
    return {accessNonPrivate};
  uint32_t shared = isMutant(Mutant::SpirvAccessPrivate) ? 0 : accessNonPrivate;
  uint32_t kind = accessAligned | shared | (isVolatile ? accessVolatile : 0);
  return {kind, uint32_t(std::min<uint64_t>(align.value(), 16))};
}

uint32_t FunctionWriter::scope(Value *pointer) {
  if (pointer && pointer->getType()->getPointerAddressSpace() == sharedSpace)
    return module.integer(32, scopeWorkgroup);
  module.need(Capability::VulkanMemoryModelDeviceScope);
  return module.integer(32, isMutant(Mutant::SpirvScopeWorkgroup) ? scopeWorkgroup : scopeDevice);
}

uint32_t FunctionWriter::semantics(AtomicOrdering ordering) {
  uint32_t bits = 0;
  if (isAcquireOrStronger(ordering) && isReleaseOrStronger(ordering))
    bits = semanticsAcquireRelease | semanticsMakeAvailable | semanticsMakeVisible;
  else if (isAcquireOrStronger(ordering))
    bits = semanticsAcquire | semanticsMakeVisible;
  else if (isReleaseOrStronger(ordering))
    bits = semanticsRelease | semanticsMakeAvailable;
  return module.integer(32, relaxed || !bits || isMutant(Mutant::SpirvOrderDropped)
                                ? 0
                                : bits | semanticsUniformMemory);
}

void FunctionWriter::needAtomic(Type *type) {
  if (type->isIntegerTy(64))
    module.need(Capability::Int64Atomics);
}

void FunctionWriter::load(LoadInst &load) {
  uint32_t at = placeOf(load, load.getPointerOperand(), load.getType());
  if (load.isAtomic()) {
    needAtomic(load.getType());
    AtomicOrdering ordering = isAcquireOrStronger(load.getOrdering()) ? AtomicOrdering::Acquire
                                                                      : AtomicOrdering::Monotonic;
    return result(Op::AtomicLoad, load, {at, scope(load.getPointerOperand()), semantics(ordering)});
  }
  SmallVector<uint32_t> words = {at};
  append_range(words, accessOf(load.getPointerOperand(), load.getAlign(), load.isVolatile()));
  result(Op::Load, load, words);
}

void FunctionWriter::store(StoreInst &store) {
  Value *value = store.getValueOperand();
  uint32_t id = idOf(value), at = placeOf(store, store.getPointerOperand(), value->getType());
  if (store.isAtomic()) {
    needAtomic(value->getType());
    AtomicOrdering ordering = isReleaseOrStronger(store.getOrdering()) ? AtomicOrdering::Release
                                                                       : AtomicOrdering::Monotonic;
    return emit(Op::AtomicStore, {at, scope(store.getPointerOperand()), semantics(ordering), id});
  }
  SmallVector<uint32_t> words = {at, id};
  append_range(words, accessOf(store.getPointerOperand(), store.getAlign(), store.isVolatile()));
  emit(Op::Store, words);
}

void FunctionWriter::modify(AtomicRMWInst &modify) {
  Op op;
  switch (modify.getOperation()) {
  case AtomicRMWInst::Xchg:
    op = Op::AtomicExchange;
    break;
  case AtomicRMWInst::Add:
    op = Op::AtomicIAdd;
    break;
  case AtomicRMWInst::Sub:
    op = Op::AtomicISub;
    break;
  case AtomicRMWInst::And:
    op = Op::AtomicAnd;
    break;
  case AtomicRMWInst::Or:
    op = Op::AtomicOr;
    break;
  case AtomicRMWInst::Xor:
    op = Op::AtomicXor;
    break;
  case AtomicRMWInst::Max:
    op = Op::AtomicSMax;
    break;
  case AtomicRMWInst::Min:
    op = Op::AtomicSMin;
    break;
  case AtomicRMWInst::UMax:
    op = Op::AtomicUMax;
    break;
  case AtomicRMWInst::UMin:
    op = Op::AtomicUMin;
    break;
  case AtomicRMWInst::FAdd:
    op = Op::AtomicFAdd;
    module.needFloatAdd();
    break;
  default:
    return fail(modify, "an atomic operation that SPIR-V lacks");
  }
  needAtomic(modify.getType());
  uint32_t operand = idOf(modify.getValOperand());
  uint32_t at = placeOf(modify, modify.getPointerOperand(), modify.getType());
  if (isMutant(Mutant::SpirvAtomicPlain) && op == Op::AtomicIAdd) {
    SmallVector<uint32_t> access =
        accessOf(modify.getPointerOperand(), modify.getAlign(), /*isVolatile=*/false);
    SmallVector<uint32_t> from = {at};
    append_range(from, access);
    result(Op::Load, modify, from);
    SmallVector<uint32_t> to = {
        at, this->value(Op::IAdd, typeOf(modify.getType()), {idOf(&modify), operand})};
    append_range(to, access);
    return emit(Op::Store, to);
  }
  result(op, modify,
         {at, scope(modify.getPointerOperand()), semantics(modify.getOrdering()), operand});
}

/// Both results; an extraction names one of them.
void FunctionWriter::exchange(AtomicCmpXchgInst &exchange) {
  Value *expected = exchange.getCompareOperand();
  Type *type = expected->getType();
  needAtomic(type);
  uint32_t at = placeOf(exchange, exchange.getPointerOperand(), type);
  AtomicOrdering failure = isAcquireOrStronger(exchange.getFailureOrdering())
                               ? AtomicOrdering::Acquire
                               : AtomicOrdering::Monotonic;
  uint32_t wanted = idOf(exchange.getNewValOperand()), compared = idOf(expected);
  uint32_t old =
      value(Op::AtomicCompareExchange, typeOf(type),
            {at, scope(exchange.getPointerOperand()), semantics(exchange.getMergedOrdering()),
             semantics(failure), wanted, compared});
  exchanged[&exchange] = {old, value(Op::IEqual, module.boolType(), {old, compared})};
}

void FunctionWriter::extract(ExtractValueInst &part) {
  auto *exchange = dyn_cast<AtomicCmpXchgInst>(part.getAggregateOperand());
  if (!exchange)
    return fail(part, "a part of an unknown value");
  auto [old, done] = exchanged.lookup(exchange);
  result(Op::CopyObject, part, {part.getIndices()[0] == 0 ? old : done});
}

void FunctionWriter::fence(FenceInst &fence) {
  if (!relaxed)
    emit(Op::MemoryBarrier, {scope(nullptr), semantics(fence.getOrdering())});
}

/// All invocations of the workgroup see what others have done in its memory before.
void FunctionWriter::barrier() {
  uint32_t workgroup = module.integer(32, scopeWorkgroup);
  emit(Op::ControlBarrier, {workgroup, workgroup,
                            module.integer(32, semanticsAcquireRelease | semanticsWorkgroupMemory |
                                                   semanticsMakeAvailable | semanticsMakeVisible)});
}
