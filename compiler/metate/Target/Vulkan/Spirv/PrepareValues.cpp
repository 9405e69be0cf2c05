//===- PrepareValues.cpp - structs, arrays and vectors ----------*- C++ -*-===//
//
// What LLVM's own passes leave: phis, selections and accesses of aggregates, and vectors that are looked at as a whole number.
// Extractions that are made here vanish with what they are made of (instcombine, early-cse).
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/IR/InstIterator.h"

using namespace llvm;
using namespace metate;

namespace {
/// One level of a value's type at a time; parts that have parts come again.
class ValueSplitter {
public:
  explicit ValueSplitter(Function &function)
      : function(function), layout(function.getDataLayout()) {}
  void run();

private:
  static bool isSplit(Type *type) { return type->isAggregateType(); }
  static unsigned countOf(Type *type);
  static Type *partOf(Type *type, unsigned k);
  uint64_t offsetOf(Type *type, unsigned k) const;
  static Value *extract(IRBuilder<> &builder, Value *whole, unsigned k);
  static Value *insert(IRBuilder<> &builder, Value *whole, Value *part, unsigned k);

  void visit(Instruction *instruction);
  void phi(PHINode &phi);
  void load(LoadInst &load);
  void store(StoreInst &store);
  void each(Instruction &instruction, function_ref<Value *(IRBuilder<> &, Type *, unsigned)> part);
  void look(BitCastInst &cast);

  Function &function;
  const DataLayout &layout;
  SmallVector<Instruction *> work;
};
} // namespace

unsigned ValueSplitter::countOf(Type *type) {
  if (auto *array = dyn_cast<ArrayType>(type))
    return array->getNumElements();
  if (auto *vector = dyn_cast<FixedVectorType>(type))
    return vector->getNumElements();
  return cast<StructType>(type)->getNumElements();
}

Type *ValueSplitter::partOf(Type *type, unsigned k) {
  if (auto *array = dyn_cast<ArrayType>(type))
    return array->getElementType();
  return cast<StructType>(type)->getElementType(k);
}

uint64_t ValueSplitter::offsetOf(Type *type, unsigned k) const {
  if (auto *record = dyn_cast<StructType>(type))
    return layout.getStructLayout(record)->getElementOffset(k);
  return k * layout.getTypeAllocSize(partOf(type, k));
}

Value *ValueSplitter::extract(IRBuilder<> &builder, Value *whole, unsigned k) {
  return builder.CreateExtractValue(whole, k);
}
Value *ValueSplitter::insert(IRBuilder<> &builder, Value *whole, Value *part, unsigned k) {
  return builder.CreateInsertValue(whole, part, k);
}

void ValueSplitter::run() {
  for (Instruction &instruction : instructions(function))
    if (isSplit(instruction.getType()) || isa<StoreInst, BitCastInst>(instruction))
      work.push_back(&instruction);
  while (!work.empty())
    visit(work.pop_back_val());
}

void ValueSplitter::visit(Instruction *instruction) {
  if (auto *store = dyn_cast<StoreInst>(instruction)) {
    if (isSplit(store->getValueOperand()->getType()) && !store->isAtomic())
      this->store(*store);
  } else if (auto *cast = dyn_cast<BitCastInst>(instruction)) {
    look(*cast);
  } else if (auto *phi = dyn_cast<PHINode>(instruction)) {
    this->phi(*phi);
  } else if (auto *load = dyn_cast<LoadInst>(instruction); load && !load->isAtomic()) {
    this->load(*load);
  } else if (auto *select = dyn_cast<SelectInst>(instruction)) {
    each(*select, [&](IRBuilder<> &builder, Type *, unsigned k) {
      return builder.CreateSelect(select->getCondition(),
                                  extract(builder, select->getTrueValue(), k),
                                  extract(builder, select->getFalseValue(), k));
    });
  } else if (auto *freeze = dyn_cast<FreezeInst>(instruction)) {
    each(*freeze, [&](IRBuilder<> &builder, Type *, unsigned k) {
      return builder.CreateFreeze(extract(builder, freeze->getOperand(0), k));
    });
  }
}

void ValueSplitter::each(Instruction &instruction,
                         function_ref<Value *(IRBuilder<> &, Type *, unsigned)> part) {
  Type *type = instruction.getType();
  IRBuilder<> builder(&instruction);
  Value *whole = PoisonValue::get(type);
  for (unsigned k = 0, count = countOf(type); k < count; ++k) {
    Value *made = part(builder, partOf(type, k), k);
    if (isSplit(made->getType()) && isa<Instruction>(made))
      work.push_back(cast<Instruction>(made));
    whole = insert(builder, whole, made, k);
  }
  instruction.replaceAllUsesWith(whole);
  instruction.eraseFromParent();
}

void ValueSplitter::phi(PHINode &phi) {
  Type *type = phi.getType();
  BasicBlock &block = *phi.getParent();
  IRBuilder<> builder(&block, block.getFirstInsertionPt());
  Value *whole = PoisonValue::get(type);
  SmallVector<PHINode *> parts;
  for (unsigned k = 0, count = countOf(type); k < count; ++k) {
    auto *part =
        PHINode::Create(partOf(type, k), phi.getNumIncomingValues(), "", phi.getIterator());
    parts.push_back(part);
    whole = insert(builder, whole, part, k);
  }
  for (unsigned from = 0; from < phi.getNumIncomingValues(); ++from) {
    IRBuilder<> before(phi.getIncomingBlock(from)->getTerminator());
    for (auto [k, part] : enumerate(parts))
      part->addIncoming(extract(before, phi.getIncomingValue(from), k), phi.getIncomingBlock(from));
  }
  phi.replaceAllUsesWith(whole);
  phi.eraseFromParent();
  for (PHINode *part : parts)
    if (isSplit(part->getType()))
      work.push_back(part);
}

void ValueSplitter::load(LoadInst &load) {
  Type *type = load.getType();
  each(load, [&](IRBuilder<> &builder, Type *part, unsigned k) -> Value * {
    uint64_t offset = offsetOf(type, k);
    Value *at = builder.CreatePtrAdd(load.getPointerOperand(), builder.getInt64(offset));
    return builder.CreateAlignedLoad(part, at, commonAlignment(load.getAlign(), offset),
                                     load.isVolatile());
  });
}

void ValueSplitter::store(StoreInst &store) {
  Value *whole = store.getValueOperand();
  Type *type = whole->getType();
  IRBuilder<> builder(&store);
  for (unsigned k = 0, count = countOf(type); k < count; ++k) {
    uint64_t offset = offsetOf(type, k);
    Value *at = builder.CreatePtrAdd(store.getPointerOperand(), builder.getInt64(offset));
    work.push_back(builder.CreateAlignedStore(extract(builder, whole, k), at,
                                              commonAlignment(store.getAlign(), offset),
                                              store.isVolatile()));
  }
  store.eraseFromParent();
}

/// A vector as one number, or the other way; of vectors as other vectors the scalarizer knows.
void ValueSplitter::look(BitCastInst &bitCast) {
  Value *from = bitCast.getOperand(0);
  auto *wide = dyn_cast<FixedVectorType>(from->getType());
  auto *result = dyn_cast<FixedVectorType>(bitCast.getType());
  if (!wide == !result)
    return;
  IRBuilder<> builder(&bitCast);
  FixedVectorType *vector = wide ? wide : result;
  unsigned bits = vector->getElementType()->getPrimitiveSizeInBits();
  Type *part = builder.getIntNTy(bits), *all = builder.getIntNTy(bits * vector->getNumElements());
  Value *made = wide ? static_cast<Value *>(ConstantInt::get(all, 0)) : PoisonValue::get(vector);
  Value *number = wide ? nullptr : builder.CreateBitCast(from, all);
  for (unsigned k = 0; k < vector->getNumElements(); ++k) {
    if (wide) {
      Value *element = builder.CreateBitCast(builder.CreateExtractElement(from, k), part);
      made = builder.CreateOr(made, builder.CreateShl(builder.CreateZExt(element, all), k * bits));
    } else {
      Value *element = builder.CreateTrunc(builder.CreateLShr(number, k * bits), part);
      element = builder.CreateBitCast(element, vector->getElementType());
      made = builder.CreateInsertElement(made, element, k);
    }
  }
  bitCast.replaceAllUsesWith(builder.CreateBitCast(made, bitCast.getType()));
  bitCast.eraseFromParent();
}

/// What an extraction finds behind insertions of other parts.
static void lookThroughInsertions(Function &function) {
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    auto *part = dyn_cast<ExtractValueInst>(&instruction);
    Value *whole = part ? part->getAggregateOperand() : nullptr;
    while (auto *insertion = dyn_cast_or_null<InsertValueInst>(whole)) {
      if (part->getIndices() == insertion->getIndices()) {
        part->replaceAllUsesWith(insertion->getInsertedValueOperand());
        break;
      }
      if (part->getIndices()[0] == insertion->getIndices()[0])
        break; // a part of the part, or what it is a part of
      whole = insertion->getAggregateOperand();
    }
    if (part)
      part->setOperand(0, whole);
  }
}

void spirv::splitValues(Function &function) {
  ValueSplitter(function).run();
  lookThroughInsertions(function);
}
