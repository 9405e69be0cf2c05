//===- PrepareVectors.cpp - what of vectors LLVM leaves ---------*- C++ -*-===//
//
// The scalarizer takes vectors apart, but not where they are seen as other bits: casts of them, and booleans in memory, of
// which each is one bit.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/C/Print/Prepare.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace metate;

void c::hoistAllocas(Module &module) {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    BasicBlock &entry = function.getEntryBlock();
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (auto *memory = dyn_cast<AllocaInst>(&instruction);
          memory && memory->getParent() != &entry && isa<ConstantInt>(memory->getArraySize()))
        memory->moveBefore(entry.getFirstInsertionPt());
  }
}

/// The value's bits as integers of `width` bits, the lowest first. None where they do not divide each other.
static SmallVector<Value *> split(IRBuilder<> &builder, Value *value, unsigned width) {
  SmallVector<Value *> elements, parts;
  auto *vector = dyn_cast<FixedVectorType>(value->getType());
  unsigned own = value->getType()->getScalarSizeInBits();
  if (own == 0 || own > 64 || width > 64 || (own % width && width % own))
    return {};
  for (unsigned k = 0; k < (vector ? vector->getNumElements() : 1); ++k) {
    Value *element = vector ? builder.CreateExtractElement(value, k) : value;
    elements.push_back(builder.CreateBitCast(element, builder.getIntNTy(own)));
  }
  Type *type = builder.getIntNTy(width);
  if (width <= own) {
    for (Value *element : elements)
      for (unsigned k = 0; k < own / width; ++k)
        parts.push_back(builder.CreateTrunc(builder.CreateLShr(element, k * width), type));
    return parts;
  }
  unsigned group = width / own;
  for (unsigned first = 0; first + group <= elements.size(); first += group) {
    Value *part = ConstantInt::get(type, 0);
    for (unsigned k = 0; k < group; ++k)
      part = builder.CreateOr(
          part, builder.CreateShl(builder.CreateZExt(elements[first + k], type), k * own));
    parts.push_back(part);
  }
  return parts;
}

static Value *joined(IRBuilder<> &builder, ArrayRef<Value *> parts, Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return parts.size() == 1 ? builder.CreateBitCast(parts[0], type) : nullptr;
  Value *result = PoisonValue::get(type);
  for (unsigned k = 0; k < vector->getNumElements(); ++k)
    result = builder.CreateInsertElement(
        result, builder.CreateBitCast(parts[k], vector->getElementType()), k);
  return result;
}

static void expandCast(BitCastInst &cast) {
  if (!cast.getSrcTy()->isVectorTy() && !cast.getDestTy()->isVectorTy())
    return;
  IRBuilder<> builder(&cast);
  SmallVector<Value *> parts =
      split(builder, cast.getOperand(0), cast.getDestTy()->getScalarSizeInBits());
  Value *result = parts.empty() ? nullptr : joined(builder, parts, cast.getDestTy());
  if (!result)
    return;
  cast.replaceAllUsesWith(result);
  cast.eraseFromParent();
}

/// Of a vector of booleans: the integer that memory has of it.
static IntegerType *inMemory(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector || !vector->getElementType()->isIntegerTy(1) || vector->getNumElements() > 64)
    return nullptr;
  return IntegerType::get(type->getContext(), unsigned(alignTo(vector->getNumElements(), 8)));
}

static void expandStore(StoreInst &store) {
  Value *value = store.getValueOperand();
  IntegerType *type = inMemory(value->getType());
  if (!type)
    return;
  IRBuilder<> builder(&store);
  Value *bits = ConstantInt::get(type, 0);
  for (unsigned k = 0; k < cast<FixedVectorType>(value->getType())->getNumElements(); ++k)
    bits = builder.CreateOr(
        bits,
        builder.CreateShl(builder.CreateZExt(builder.CreateExtractElement(value, k), type), k));
  builder.CreateAlignedStore(bits, store.getPointerOperand(), store.getAlign());
  store.eraseFromParent();
}

static void expandLoad(LoadInst &load) {
  IntegerType *type = inMemory(load.getType());
  if (!type)
    return;
  IRBuilder<> builder(&load);
  Value *bits = builder.CreateAlignedLoad(type, load.getPointerOperand(), load.getAlign());
  Value *result = PoisonValue::get(load.getType());
  for (unsigned k = 0; k < cast<FixedVectorType>(load.getType())->getNumElements(); ++k)
    result = builder.CreateInsertElement(
        result, builder.CreateTrunc(builder.CreateLShr(bits, k), builder.getInt1Ty()), k);
  load.replaceAllUsesWith(result);
  load.eraseFromParent();
}

void c::expandVectors(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      if (auto *cast = dyn_cast<BitCastInst>(&instruction))
        expandCast(*cast);
      else if (auto *store = dyn_cast<StoreInst>(&instruction))
        expandStore(*store);
      else if (auto *load = dyn_cast<LoadInst>(&instruction))
        expandLoad(*load);
    }
}
