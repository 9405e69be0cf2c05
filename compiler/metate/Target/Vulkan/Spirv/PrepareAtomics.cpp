//===- PrepareAtomics.cpp - atomic operations that SPIR-V lacks -*- C++ -*-===//
//
// SPIR-V for Vulkan has atomic operations of numbers of 32 and 64 bits. Others become a loop of compare-exchanges of the word that
// they lie in: a word is aligned, so that all of it belongs to the memory that holds a part of it.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"

using namespace llvm;
using namespace metate;

namespace {
/// Where a number lies in the word that atomic operations are of.
struct AtomicCell {
  Value *word;   ///< its address
  Type *type;    ///< i32 or i64
  Type *value;   ///< of the number
  Value *shift;  ///< null: it is all of the word
  Value *others; ///< a mask of the bits beside it

  /// As what an access of memory is of.
  Value *fromWord(IRBuilder<> &builder, Value *bits) const;
  /// The word `old` with another number in it.
  Value *intoWord(IRBuilder<> &builder, Value *old, Value *number) const;
};

class AtomicExpansion {
public:
  AtomicExpansion(Function &function, const SpirvOptions &options)
      : function(function), layout(function.getDataLayout()), options(options) {}
  Error run();

private:
  Error expand(Instruction &instruction);
  bool isLocal(Value *pointer) const { return isa<AllocaInst>(getUnderlyingObject(pointer, 0)); }
  void makeLocal(Instruction &instruction);
  AtomicCell cellOf(IRBuilder<> &builder, Value *pointer, Type *type) const;
  bool isNative(AtomicRMWInst &modify) const;
  void load(LoadInst &load);
  void store(StoreInst &store);
  void modify(AtomicRMWInst &modify);
  void exchange(AtomicCmpXchgInst &exchange);
  void exchangePart(AtomicCmpXchgInst &exchange, const AtomicCell &cell);

  Function &function;
  const DataLayout &layout;
  const SpirvOptions &options;
};
} // namespace

/// A value of memory as a number, and back.
static Value *asNumber(IRBuilder<> &builder, Value *value, unsigned bits) {
  Type *number = builder.getIntNTy(bits);
  return value->getType()->isPointerTy() ? builder.CreatePtrToInt(value, number)
                                         : builder.CreateBitCast(value, number);
}
static Value *fromNumber(IRBuilder<> &builder, Value *number, Type *type) {
  return type->isPointerTy() ? builder.CreateIntToPtr(number, type)
                             : builder.CreateBitCast(number, type);
}

Value *AtomicCell::fromWord(IRBuilder<> &builder, Value *bits) const {
  if (shift)
    bits = builder.CreateTrunc(builder.CreateLShr(bits, shift),
                               builder.getIntNTy(value->getPrimitiveSizeInBits()));
  return fromNumber(builder, bits, value);
}

Value *AtomicCell::intoWord(IRBuilder<> &builder, Value *old, Value *number) const {
  Value *bits = asNumber(builder, number,
                         shift ? value->getPrimitiveSizeInBits() : type->getIntegerBitWidth());
  if (!shift)
    return bits;
  return builder.CreateOr(builder.CreateAnd(old, others),
                          builder.CreateShl(builder.CreateZExt(bits, type), shift));
}

AtomicCell AtomicExpansion::cellOf(IRBuilder<> &builder, Value *pointer, Type *type) const {
  unsigned bits = layout.getTypeSizeInBits(type);
  if (bits >= 32)
    return {pointer, builder.getIntNTy(bits), type, nullptr, nullptr};
  Type *i32 = builder.getInt32Ty();
  Value *address = builder.CreatePtrToInt(pointer, builder.getInt64Ty());
  Value *word =
      builder.CreateIntToPtr(builder.CreateAnd(address, ~uint64_t(3)), pointer->getType());
  Value *shift = builder.CreateShl(builder.CreateAnd(builder.CreateTrunc(address, i32), 3), 3);
  Value *mask = builder.CreateShl(builder.getInt32((1u << bits) - 1), shift);
  return {word, i32, type, shift, builder.CreateNot(mask)};
}

/// Nobody else sees it.
void AtomicExpansion::makeLocal(Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    load->setAtomic(AtomicOrdering::NotAtomic);
  else if (auto *store = dyn_cast<StoreInst>(&instruction))
    store->setAtomic(AtomicOrdering::NotAtomic);
  else if (auto *modify = dyn_cast<AtomicRMWInst>(&instruction))
    lowerAtomicRMWInst(modify);
  else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    lowerAtomicCmpXchgInst(exchange);
}

/// Tries until nobody else was faster: `next` makes the new word from the one that was there, which is given back. The builder stands
/// behind it then. `at` stays where it is, behind the loop.
static Value *retry(IRBuilder<> &builder, Instruction *at, const AtomicCell &cell,
                    AtomicOrdering ordering, function_ref<Value *(Value *)> next) {
  BasicBlock *before = at->getParent(), *after = before->splitBasicBlock(at);
  auto *loop = BasicBlock::Create(at->getContext(), "", before->getParent(), after);
  Align align(cell.type->getIntegerBitWidth() / 8);
  before->getTerminator()->setSuccessor(0, loop);
  builder.SetInsertPoint(before->getTerminator());
  LoadInst *first = builder.CreateAlignedLoad(cell.type, cell.word, align);
  first->setAtomic(AtomicOrdering::Monotonic);
  builder.SetInsertPoint(loop);
  PHINode *old = builder.CreatePHI(cell.type, 2);
  Value *wanted = next(old);
  AtomicCmpXchgInst *exchange = builder.CreateAtomicCmpXchg(cell.word, old, wanted, align, ordering,
                                                            AtomicOrdering::Monotonic);
  Value *seen = builder.CreateExtractValue(exchange, 0);
  old->addIncoming(first, before);
  old->addIncoming(seen, loop);
  builder.CreateCondBr(builder.CreateExtractValue(exchange, 1), after, loop);
  builder.SetInsertPoint(at);
  return old;
}

void AtomicExpansion::load(LoadInst &load) {
  if (load.getType()->isIntegerTy(32) || load.getType()->isIntegerTy(64))
    return;
  IRBuilder<> builder(&load);
  AtomicCell cell = cellOf(builder, load.getPointerOperand(), load.getType());
  LoadInst *word =
      builder.CreateAlignedLoad(cell.type, cell.word, Align(cell.type->getIntegerBitWidth() / 8));
  word->setAtomic(load.getOrdering());
  load.replaceAllUsesWith(cell.fromWord(builder, word));
  load.eraseFromParent();
}

void AtomicExpansion::store(StoreInst &store) {
  Value *value = store.getValueOperand();
  if (value->getType()->isIntegerTy(32) || value->getType()->isIntegerTy(64))
    return;
  IRBuilder<> builder(&store);
  AtomicCell cell = cellOf(builder, store.getPointerOperand(), value->getType());
  if (cell.shift) {
    retry(builder, &store, cell, store.getOrdering(),
          [&](Value *old) { return cell.intoWord(builder, old, value); });
  } else {
    StoreInst *word = builder.CreateAlignedStore(cell.intoWord(builder, nullptr, value), cell.word,
                                                 Align(cell.type->getIntegerBitWidth() / 8));
    word->setAtomic(store.getOrdering());
  }
  store.eraseFromParent();
}

bool AtomicExpansion::isNative(AtomicRMWInst &modify) const {
  Type *type = modify.getType();
  switch (modify.getOperation()) {
  case AtomicRMWInst::FAdd:
    return type->isFloatTy() && options.nativeFloatAdd &&
           modify.getPointerAddressSpace() != spirv::sharedSpace;
  case AtomicRMWInst::Xchg:
  case AtomicRMWInst::Add:
  case AtomicRMWInst::Sub:
  case AtomicRMWInst::And:
  case AtomicRMWInst::Or:
  case AtomicRMWInst::Xor:
  case AtomicRMWInst::Max:
  case AtomicRMWInst::Min:
  case AtomicRMWInst::UMax:
  case AtomicRMWInst::UMin:
    return type->isIntegerTy(32) || type->isIntegerTy(64);
  default:
    return false;
  }
}

void AtomicExpansion::modify(AtomicRMWInst &modify) {
  if (isNative(modify))
    return;
  IRBuilder<> builder(&modify);
  Value *operand = modify.getValOperand();
  AtomicCell cell = cellOf(builder, modify.getPointerOperand(), modify.getType());
  Value *old;
  if (modify.getOperation() == AtomicRMWInst::Xchg && !cell.shift) {
    old = builder.CreateAtomicRMW(AtomicRMWInst::Xchg, cell.word,
                                  cell.intoWord(builder, nullptr, operand), modify.getAlign(),
                                  modify.getOrdering());
  } else {
    old = retry(builder, &modify, cell, modify.getOrdering(), [&](Value *word) {
      Value *number = cell.fromWord(builder, word);
      return cell.intoWord(builder, word,
                           buildAtomicRMWValue(modify.getOperation(), builder, number, operand));
    });
  }
  modify.replaceAllUsesWith(cell.fromWord(builder, old));
  modify.eraseFromParent();
}

void AtomicExpansion::exchange(AtomicCmpXchgInst &exchange) {
  Value *expected = exchange.getCompareOperand();
  Type *type = expected->getType();
  if (type->isIntegerTy(32) || type->isIntegerTy(64))
    return;
  IRBuilder<> builder(&exchange);
  AtomicCell cell = cellOf(builder, exchange.getPointerOperand(), type);
  if (cell.shift)
    return exchangePart(exchange, cell);
  AtomicCmpXchgInst *whole = builder.CreateAtomicCmpXchg(
      cell.word, cell.intoWord(builder, nullptr, expected),
      cell.intoWord(builder, nullptr, exchange.getNewValOperand()), exchange.getAlign(),
      exchange.getSuccessOrdering(), exchange.getFailureOrdering());
  Value *seen = cell.fromWord(builder, builder.CreateExtractValue(whole, 0));
  Value *result = builder.CreateInsertValue(PoisonValue::get(exchange.getType()), seen, 0);
  result = builder.CreateInsertValue(result, builder.CreateExtractValue(whole, 1), 1);
  exchange.replaceAllUsesWith(result);
  exchange.eraseFromParent();
}

/// Where the number is as expected its word is exchanged, else the word stays as it is; a new try where others changed the word.
void AtomicExpansion::exchangePart(AtomicCmpXchgInst &exchange, const AtomicCell &cell) {
  IRBuilder<> builder(&exchange);
  unsigned bits = cell.value->getPrimitiveSizeInBits();
  Value *expected = asNumber(builder, exchange.getCompareOperand(), bits);
  auto isExpected = [&](Value *word) {
    return builder.CreateICmpEQ(asNumber(builder, cell.fromWord(builder, word), bits), expected);
  };
  Value *old = retry(builder, &exchange, cell, exchange.getMergedOrdering(), [&](Value *word) {
    return builder.CreateSelect(isExpected(word),
                                cell.intoWord(builder, word, exchange.getNewValOperand()), word);
  });
  Value *result = builder.CreateInsertValue(PoisonValue::get(exchange.getType()),
                                            cell.fromWord(builder, old), 0);
  exchange.replaceAllUsesWith(builder.CreateInsertValue(result, isExpected(old), 1));
  exchange.eraseFromParent();
}

Error AtomicExpansion::expand(Instruction &instruction) {
  Value *pointer = getLoadStorePointerOperand(&instruction);
  auto *modify = dyn_cast<AtomicRMWInst>(&instruction);
  auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction);
  if (modify)
    pointer = modify->getPointerOperand();
  if (exchange)
    pointer = exchange->getPointerOperand();
  if (!pointer)
    return Error::success(); // a fence
  Type *type = modify     ? modify->getType()
               : exchange ? exchange->getCompareOperand()->getType()
                          : getLoadStoreType(&instruction);
  unsigned bits = layout.getTypeSizeInBits(type);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return spirv::problemAt(instruction, "an atomic operation of " + Twine(bits) + " bits");
  if (isLocal(pointer))
    makeLocal(instruction);
  else if (modify)
    this->modify(*modify);
  else if (exchange)
    this->exchange(*exchange);
  else if (auto *load = dyn_cast<LoadInst>(&instruction))
    this->load(*load);
  else
    store(cast<StoreInst>(instruction));
  return Error::success();
}

Error AtomicExpansion::run() {
  SmallVector<Instruction *> work;
  for (Instruction &instruction : instructions(function))
    if (instruction.isAtomic())
      work.push_back(&instruction);
  for (Instruction *instruction : work)
    if (Error error = expand(*instruction))
      return error;
  return Error::success();
}

Error spirv::expandAtomics(Function &function, const SpirvOptions &options) {
  return AtomicExpansion(function, options).run();
}
