//===- Interleave.cpp - turns of a loop side by side ------------*- C++ -*-===//
//
// Turns that are written out stand one after the other, and ptxas leaves them so: a warp that is alone waits for each operation of one turn
// before it begins the next. Here operations stand by how many they wait for, so that those of several turns are side by side.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cuda/Interleave.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// Instructions of a block whose values are held in registers side by side, at most.
static constexpr unsigned mostInstructions = 512;

/// A block that goes round to itself and changes nothing but numbers.
static bool isPlainLoop(const BasicBlock &block) {
  return llvm::is_contained(successors(&block), &block) &&
         block.sizeWithoutDebug() <= mostInstructions &&
         llvm::none_of(block, [](const Instruction &instruction) {
           auto *call = dyn_cast<CallBase>(&instruction);
           return instruction.isAtomic() || instruction.isVolatile() ||
                  instruction.mayWriteToMemory() ||
                  (call && (!isa<IntrinsicInst>(call) || call->isConvergent()));
         });
}

void metate::cuda::interleaveTurns(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function) {
      if (!isPlainLoop(block))
        continue;
      DenseMap<const Instruction *, unsigned> depths;
      SmallVector<Instruction *> order;
      for (Instruction &instruction : block) {
        if (isa<PHINode>(instruction) || instruction.isTerminator())
          continue;
        unsigned depth = 0;
        for (const Use &use : instruction.operands())
          if (auto *before = dyn_cast<Instruction>(use); before && depths.contains(before))
            depth = std::max(depth, depths.lookup(before) + 1);
        depths[&instruction] = depth;
        order.push_back(&instruction);
      }
      llvm::stable_sort(order, [&](const Instruction *a, const Instruction *b) {
        return depths.lookup(a) < depths.lookup(b);
      });
      for (Instruction *instruction : order)
        instruction->moveBefore(block.getTerminator()->getIterator());
    }
}
