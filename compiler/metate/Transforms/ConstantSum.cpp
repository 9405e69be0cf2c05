//===- ConstantSum.cpp - a coordinate as a value and a constant -*- C++ -*-===//
#include "metate/Transforms/ConstantSum.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;

bool metate::isOfLaunch(Value value) {
  SmallVector<Value> work = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op) {
      if (!isa<KernelOp>(cast<BlockArgument>(next).getOwner()->getParentOp()))
        return false;
    } else if (seen.insert(op).second) {
      if (op->getNumRegions() || !isMemoryEffectFree(op))
        return false;
      llvm::append_range(work, op->getOperands());
    }
  }
  return true;
}
