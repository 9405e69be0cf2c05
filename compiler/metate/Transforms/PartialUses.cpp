//===- PartialUses.cpp - values of which a part may be unused ---*- C++ -*-===//
#include "metate/Transforms/PartialUses.h"
#include "metate/Transforms/DerivativeActivity.h"
#include "metate/Transforms/DerivativeRules.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;

/// Does the operation take one of its operands, or some components of one?
static bool takesSome(OpOperand &use) {
  return isa<arith::SelectOp, arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
             arith::MinNumFOp, vector::ExtractOp, vector::InsertOp>(use.getOwner());
}

/// Is the use in a branch or loop, which may not run, and the value from outside of it?
static bool mayNotRun(OpOperand &use) {
  Region *home = use.get().getParentRegion();
  for (Region *region = use.getOwner()->getParentRegion(); region != home;
       region = region->getParentRegion())
    if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(region->getParentOp()))
      return true;
  return false;
}

PartialUses::PartialUses(KernelOp kernel) {
  SmallVector<Value> work;
  auto reach = [&](Value value) {
    if (isDifferentiable(value.getType()) && found.insert(value).second)
      work.push_back(value);
  };
  kernel.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands())
      if (takesSome(use) || mayNotRun(use))
        reach(use.get());
  });
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Value before : handedOnFrom(value))
      reach(before);
    Operation *op = value.getDefiningOp();
    if (op && op->getNumRegions() == 0 && !MemoryAccess::of(op))
      for (Value operand : op->getOperands())
        reach(operand);
  }
}
