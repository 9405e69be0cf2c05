//===- NeededValues.cpp - what the reverse sweep asks of the primal ---*- C++ -*-===//
//
// Rules are not asked what they use: they are run, on a block that is thrown away, and what they use is noted.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/NeededValues.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/DerivativeRules.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

NeededValues::NeededValues(KernelOp kernel, const DerivativePlaces &places,
                           const DerivativeActivity &activity, const CombinedPlaces &combined)
    : kernel(kernel) {
  kernel.getBody().walk([&](Operation *op) {
    if (activity.takesPart(op))
      reachOf(op, places, activity, combined);
  });
  while (!work.empty())
    follow(work.pop_back_val());
}

void NeededValues::reach(Value value) {
  if (needed.insert(value).second)
    work.push_back(value);
}

/// What an operation's code in reverse uses.
void NeededValues::reachOf(Operation *op, const DerivativePlaces &places,
                           const DerivativeActivity &activity, const CombinedPlaces &combined) {
  auto reachAll = [&](auto &&values) {
    for (Value value : values)
      reach(value);
  };
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return reach(branch.getCondition());
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return reachAll(loop->getOperands().take_front(loop.getNumControlOperands()));
  if (auto loop = dyn_cast<scf::WhileOp>(op)) // its turns are counted
    return reach(loop.getConditionOp().getCondition());
  if (isa<RangeOp, ForEachOp>(op))
    return reachAll(op->getOperands());
  if (std::optional<MemoryAccess> access = MemoryAccess::of(op)) {
    if (places.has(*access)) {
      reachAll(access->coordinates);
      reachAll(access->components);
      if (access->isProduct() || combined.has(*access))
        reach(access->written);
      if (combined.has(*access) && isLocalArray(kernel, access->base)) // its result as well
        reachWritesOf(access->base);
    }
    return;
  }
  if (op->getNumRegions() == 0)
    reachRules(op, activity);
}

void NeededValues::reachRules(Operation *op, const DerivativeActivity &activity) {
  Block scratch;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToStart(&scratch);
  DerivativeRules rules(builder, op->getLoc(), [&](Value value) {
    reach(value);
    return value;
  });
  SmallVector<Value> gradients;
  for (Value result : op->getResults())
    gradients.push_back(activity.isActive(result) ? rules.zero(result.getType()) : Value());
  if (!gradients.empty() && gradients.front() == Value() && op->getNumResults() == 1)
    return;
  rules.reverse(op, gradients, [&](Value value) { return activity.isActive(value); });
  scratch.dropAllReferences();
}

/// What it takes to have a value.
void NeededValues::follow(Value value) {
  for (Value before : handedOnFrom(value))
    reach(before);
  Operation *op = value.getDefiningOp();
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *of = op ? op : argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(of)) {
    for (Value bound : loop->getOperands().take_front(loop.getNumControlOperands()))
      reach(bound);
  } else if (auto loop = dyn_cast<scf::WhileOp>(of)) {
    reach(loop.getConditionOp().getCondition());
  } else if (auto branch = dyn_cast<scf::IfOp>(of)) {
    reach(branch.getCondition());
  } else if (op) {
    for (Value operand : op->getOperands())
      reach(operand);
    std::optional<MemoryAccess> access = MemoryAccess::of(op);
    if (access && isLocalArray(kernel, access->base))
      reachWritesOf(access->base);
  }
}

/// What a launch keeps for itself is gone when the derivative runs: what wrote it runs again.
void NeededValues::reachWritesOf(Value localArray) {
  if (!rewritten.insert(localArray).second || isMutant(Mutant::ReplayForgotten))
    return;
  kernel.getBody().walk([&](Operation *op) {
    std::optional<MemoryAccess> access = MemoryAccess::of(op);
    if (!access || !access->writes() || access->base != localArray)
      return;
    for (; !isa<KernelOp>(op); op = op->getParentOp()) {
      if (!replayed.insert(op).second)
        break;
      if (auto loop = dyn_cast<scf::WhileOp>(op))
        reach(loop.getConditionOp().getCondition());
      for (Value operand : op->getOperands())
        if (!isa<scf::ForOp, scf::WhileOp>(op) || operand.getType().isIndex())
          reach(operand);
    }
  });
}
