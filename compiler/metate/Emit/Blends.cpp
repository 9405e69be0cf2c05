//===- Blends.cpp - rows that are blended and stored whole ------*- C++ -*-===//
#include "metate/Emit/Blends.h"

#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace llvm::PatternMatch;

/// The value of a store that instruction selection would put under a mask, or null.
static SelectInst *blendOf(StoreInst &store) {
  auto *select = dyn_cast<SelectInst>(store.getValueOperand());
  Value *pointer = store.getPointerOperand();
  if (!store.isSimple() || !select || !select->getCondition()->getType()->isVectorTy())
    return nullptr;
  bool keepsOld = match(select->getTrueValue(), m_Load(m_Specific(pointer))) ||
                  match(select->getFalseValue(), m_Load(m_Specific(pointer)));
  return keepsOld ? select : nullptr;
}

/// A vector of floats as wide as this one.
static Type *floatsLike(VectorType *type) {
  Type *element = type->getElementType();
  if (element->isFloatingPointTy())
    return type;
  unsigned bits = element->getScalarSizeInBits();
  Type *number = bits == 32   ? Type::getFloatTy(type->getContext())
                 : bits == 64 ? Type::getDoubleTy(type->getContext())
                              : nullptr;
  return number ? VectorType::get(number, type->getElementCount()) : nullptr;
}

PreservedAnalyses metate::KeepBlends::run(Function &function, FunctionAnalysisManager &) {
  if (!machine.getTargetTriple().isX86() ||
      machine.getSubtargetImpl(function)->checkFeatures("+avx512vl"))
    return PreservedAnalyses::all();
  bool changed = false;
  for (BasicBlock &block : function)
    for (Instruction &instruction : block) {
      auto *store = dyn_cast<StoreInst>(&instruction);
      SelectInst *blend = store ? blendOf(*store) : nullptr;
      Type *floats = blend ? floatsLike(cast<VectorType>(blend->getType())) : nullptr;
      if (!floats)
        continue;
      // Nothing that the machine executes; the selection just does not look through it.
      IRBuilder<> builder(store);
      Value *bits = builder.CreateBitCast(blend, floats);
      Value *kept = builder.CreateArithmeticFence(bits, floats);
      store->setOperand(0, builder.CreateBitCast(kept, blend->getType()));
      changed = true;
    }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}
