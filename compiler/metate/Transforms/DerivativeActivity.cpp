//===- DerivativeActivity.cpp - which values have a derivative --*- C++ -*-===//
#include "metate/Transforms/DerivativeActivity.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/DerivativeRules.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

SmallVector<Value> metate::handedOnTo(OpOperand &use) {
  Operation *user = use.getOwner(), *parent = user->getParentOp();
  unsigned number = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(user)) {
    if (number < loop.getNumControlOperands())
      return {};
    unsigned k = number - loop.getNumControlOperands();
    return {loop.getRegionIterArg(k), loop.getResult(k)};
  }
  if (auto loop = dyn_cast<scf::WhileOp>(user))
    return {loop.getBeforeArguments()[number]};
  if (auto condition = dyn_cast<scf::ConditionOp>(user)) {
    if (number == 0)
      return {};
    auto loop = cast<scf::WhileOp>(parent);
    return {loop.getAfterArguments()[number - 1], loop.getResult(number - 1)};
  }
  if (!isa<scf::YieldOp>(user))
    return {};
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (isMutant(Mutant::CarriedInactive))
      return {loop.getResult(number)};
    return {loop.getRegionIterArg(number), loop.getResult(number)};
  }
  if (auto loop = dyn_cast<scf::WhileOp>(parent))
    return {loop.getBeforeArguments()[number]};
  return {cast<scf::IfOp>(parent).getResult(number)};
}

SmallVector<Value> metate::handedOnFrom(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      if (argument == loop.getInductionVar())
        return {};
      unsigned k = argument.getArgNumber() - loop.getNumInductionVars();
      return {loop.getInitArgs()[k], loop.getYieldedValues()[k]};
    }
    if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      unsigned k = argument.getArgNumber();
      if (argument.getOwner() == loop.getBeforeBody())
        return {loop.getInits()[k], loop.getYieldedValues()[k]};
      return {loop.getConditionOp().getArgs()[k]};
    }
    return {};
  }
  unsigned k = cast<OpResult>(value).getResultNumber();
  if (auto loop = value.getDefiningOp<scf::ForOp>())
    return {loop.getInitArgs()[k], loop.getYieldedValues()[k]};
  if (auto loop = value.getDefiningOp<scf::WhileOp>())
    return {loop.getConditionOp().getArgs()[k]};
  if (auto branch = value.getDefiningOp<scf::IfOp>())
    return {branch.thenYield().getOperand(k), branch.elseYield().getOperand(k)};
  return {};
}

DerivativeActivity::DerivativeActivity(KernelOp kernel, const DerivativePlaces &places)
    : places(places) {
  findVaried(kernel);
  findUseful(kernel);
}

void DerivativeActivity::findVaried(KernelOp kernel) {
  SmallVector<Value> work;
  auto reach = [&](Value value) {
    if (isDifferentiable(value.getType()) && varied.insert(value).second)
      work.push_back(value);
  };
  kernel.walk([&](Operation *op) {
    std::optional<MemoryAccess> access = MemoryAccess::of(op);
    if (access && access->reads() && places.has(*access))
      reach(access->result);
  });
  while (!work.empty())
    for (OpOperand &use : work.pop_back_val().getUses()) {
      for (Value next : handedOnTo(use))
        reach(next);
      Operation *user = use.getOwner();
      if (user->getNumRegions() == 0 && !MemoryAccess::of(user) && !isa<StopGradientOp>(user))
        for (Value result : user->getResults())
          reach(result);
    }
}

void DerivativeActivity::findUseful(KernelOp kernel) {
  SmallVector<Value> work;
  auto reach = [&](Value value) {
    if (isDifferentiable(value.getType()) && useful.insert(value).second)
      work.push_back(value);
  };
  kernel.walk([&](Operation *op) {
    std::optional<MemoryAccess> access = MemoryAccess::of(op);
    if (access && access->writes() && places.has(*access))
      reach(access->written);
  });
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (Value before : handedOnFrom(value))
      reach(before);
    Operation *op = value.getDefiningOp();
    if (op && op->getNumRegions() == 0 && !MemoryAccess::of(op) && !isa<StopGradientOp>(op))
      for (Value operand : op->getOperands())
        reach(operand);
  }
}

bool DerivativeActivity::takesPart(Operation *op) const {
  // Of a branch or loop also: it may hand on what was active before it, and do nothing else.
  if (llvm::any_of(op->getResults(), [&](Value result) { return isActive(result); }))
    return true;
  if (op->getNumRegions())
    return op
        ->walk([&](Operation *inner) {
          return inner->getNumRegions() == 0 && takesPart(inner) ? WalkResult::interrupt()
                                                                 : WalkResult::advance();
        })
        .wasInterrupted();
  // What a plain store overwrites has no influence on what comes after it; an atomic operation that is no sum changes the
  // influence of what was there, whatever it is given.
  std::optional<MemoryAccess> access = MemoryAccess::of(op);
  return access && access->writes() && places.has(*access) &&
         (!access->isSum() || isActive(access->written) ||
          (access->result && isActive(access->result)));
}
