//===- Extremes.cpp - the lesser and the greater of two integers -*- C++ -*-===//
#include "metate/Emit/Extremes.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

PreservedAnalyses metate::KeepConditionalMoves::run(Function &function, FunctionAnalysisManager &) {
  if (!machine.getTargetTriple().isX86())
    return PreservedAnalyses::all();
  bool changed = false;
  for (BasicBlock &block : function)
    for (Instruction &instruction : make_early_inc_range(block)) {
      auto *extreme = dyn_cast<MinMaxIntrinsic>(&instruction);
      if (!extreme || !extreme->getType()->isIntegerTy())
        continue;
      IRBuilder<> builder(extreme);
      // Both the comparison and the choice see one number, also of what is undefined.
      Value *left = builder.CreateFreeze(extreme->getLHS()),
            *right = builder.CreateFreeze(extreme->getRHS());
      Value *isLeft = builder.CreateICmp(extreme->getPredicate(), left, right);
      auto *chosen = builder.CreateSelect(isLeft, left, right);
      if (auto *select = dyn_cast<SelectInst>(chosen))
        select->setMetadata(LLVMContext::MD_unpredictable,
                            MDBuilder(function.getContext()).createUnpredictable());
      chosen->takeName(extreme);
      extreme->replaceAllUsesWith(chosen);
      extreme->eraseFromParent();
      changed = true;
    }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}
