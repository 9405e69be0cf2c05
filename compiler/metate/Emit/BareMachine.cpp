//===- BareMachine.cpp - code for machines without a system -----*- C++ -*-===//
#include "metate/Emit/BareMachine.h"

#include "metate/Mutants/Mutants.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/Scalar/LowerAtomicPass.h"

using namespace llvm;
using namespace metate;

void metate::makePlain(Module &module) {
  FunctionAnalysisManager none;
  for (Function &function : module)
    LowerAtomicPass().run(function, none);
}

/// Of a NaN and a number the number; of zeros any.
static Value *extreme(IRBuilder<> &builder, Value *one, Value *other, bool isLargest) {
  Value *isBetter =
      isLargest ? builder.CreateFCmpOGT(one, other) : builder.CreateFCmpOLT(one, other);
  Value *isNumber = builder.CreateFCmpORD(one, one), *isOther = builder.CreateFCmpUNO(other, other);
  Value *better = builder.CreateSelect(builder.CreateOr(isBetter, isOther), one, other);
  return builder.CreateSelect(isNumber, better, isMutant(Mutant::BareExtremeIsNaN) ? one : other);
}

void metate::expandExtremes(Module &module) {
  SmallVector<IntrinsicInst *> calls;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
        if (call->getIntrinsicID() == Intrinsic::maximumnum ||
            call->getIntrinsicID() == Intrinsic::minimumnum)
          calls.push_back(call);
  for (IntrinsicInst *call : calls) {
    IRBuilder<> builder(call);
    call->replaceAllUsesWith(extreme(builder, call->getArgOperand(0), call->getArgOperand(1),
                                     call->getIntrinsicID() == Intrinsic::maximumnum));
    call->eraseFromParent();
  }
}
