//===- ForwardMode.cpp - a kernel with derivatives beside its values ---*- C++ -*-===//
#include "metate/Transforms/ForwardMode.h"
#include "metate/Dialect/Quant.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

ForwardMode::ForwardMode(KernelOp kernel, const DerivativePlaces &places,
                         const DerivativeActivity &activity)
    : kernel(kernel), places(places), activity(activity), builder(kernel.getContext()) {}

LogicalResult ForwardMode::run() {
  for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front()))
    if (isa<RangeOp, ForEachOp>(op) && failed(putInOrder(&op)))
      return failure();
  if (failed(visit(kernel.getBody().front())))
    return failure();
  for (auto &[call, results] : calls) {
    call.replaceAllUsesWith(results);
    call.erase();
  }
  builder.setInsertionPointToStart(&kernel.getBody().front());
  for (Value array : places.ofLaunch())
    clear(builder, kernel.getLoc(), array);
  return success();
}

LogicalResult ForwardMode::fail(Operation *op, const Twine &why) {
  return op->emitError("derivative of kernel '" + kernel.getSymName() + "': ") << why;
}

DerivativeRules ForwardMode::rules(Location loc) {
  return DerivativeRules(builder, loc, [](Value value) { return value; });
}

Value ForwardMode::derivativeOrZero(Value value) {
  Value known = derivatives.lookup(value);
  return known ? known : rules(value.getLoc()).zero(value.getType());
}

SmallVector<Value> ForwardMode::variablesFor(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) -> Value {
    if (!activity.isActive(value))
      return {};
    return memref::AllocaOp::create(builder, value.getLoc(), MemRefType::get({}, value.getType()));
  });
}

/// All are read before the first is written: a loop may exchange two values.
void ForwardMode::store(ValueRange values, ArrayRef<Value> variables) {
  SmallVector<Value> stored;
  for (auto [value, variable] : llvm::zip(values, variables))
    stored.push_back(variable ? derivativeOrZero(value) : Value());
  for (auto [value, variable] : llvm::zip(stored, variables))
    if (variable)
      memref::StoreOp::create(builder, value.getLoc(), value, variable);
}

void ForwardMode::load(ValueRange values, ArrayRef<Value> variables) {
  for (auto [value, variable] : llvm::zip(values, variables))
    if (variable)
      derivatives[value] = memref::LoadOp::create(builder, value.getLoc(), variable);
}

LogicalResult ForwardMode::visit(Block &block) {
  SmallVector<Operation *> old;
  for (Operation &op : block)
    old.push_back(&op);
  for (Operation *op : old)
    if (failed(visit(op)))
      return failure();
  return success();
}

LogicalResult ForwardMode::visit(Operation *op) {
  builder.setInsertionPointAfter(op);
  if (std::optional<MemoryAccess> access = MemoryAccess::of(op))
    return visitAccess(*access);
  if (isa<DecodeOp>(op)) // of what an atomic operation gives, which has said its derivative
    return success();
  if (op->getNumRegions())
    return visitRegions(op);
  if (llvm::none_of(op->getResults(), [&](Value result) { return activity.isActive(result); }))
    return success();
  if (!DerivativeRules::knows(op))
    return fail(op, "no derivative of '" + op->getName().getStringRef() + "' is known");
  if (auto call = dyn_cast<CallOp>(op)) {
    visitCall(call);
    return success();
  }
  SmallVector<Value> given =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) { return derivativeOf(operand); });
  SmallVector<Value> made = rules(op->getLoc()).forward(op, given);
  for (auto [result, derivative] : llvm::zip(op->getResults(), made))
    if (derivative)
      derivatives[result] = derivative;
  return success();
}

/// Its results are had anew: while derivatives are written, values of the primal are the old ones.
void ForwardMode::visitCall(CallOp call) {
  SmallVector<Value> given =
      llvm::map_to_vector(call.getOperands(), [&](Value operand) { return derivativeOf(operand); });
  SmallVector<Value> made = rules(call.getLoc()).forwardOfCall(call, given);
  ArrayRef<Value> duals = ArrayRef<Value>(made).drop_front(call.getNumResults());
  for (Value result : call.getResults())
    if (isDifferentiable(result.getType())) {
      derivatives[result] = duals.front();
      duals = duals.drop_front();
    }
  made.truncate(call.getNumResults());
  calls.push_back({call, std::move(made)});
}

LogicalResult ForwardMode::visitAccess(const MemoryAccess &access) {
  if (!places.has(access))
    return success();
  auto here = [](Value value) { return value; };
  if (!access.writes()) {
    if (activity.isActive(access.result))
      derivatives[access.result] = places.load(builder, access, here);
    return success();
  }
  if (!access.combined) {
    if (derivativeOf(access.written) || !isMutant(Mutant::ConstantKeepsDual))
      places.store(builder, access, derivativeOrZero(access.written), here);
    return success();
  }
  if (isOfPairs(access))
    return visitPair(access);
  if (access.isProduct()) {
    places.scale(builder, access, access.written, here);
    return success();
  }
  bool isRead = activity.isActive(access.result);
  if (Value derivative = isRead ? derivativeOrZero(access.written) : derivativeOf(access.written)) {
    Value old = places.add(builder, access, derivative, here);
    if (isRead)
      derivatives[access.result] = old;
  }
  return success();
}

/// What is there and its dual are one pair: the loop is one in order.
LogicalResult ForwardMode::visitPair(const MemoryAccess &access) {
  Location loc = access.op->getLoc();
  auto here = [](Value value) { return value; };
  Value old = access.result, given = access.written;
  Value ofOld = places.load(builder, access, here), ofGiven = derivativeOrZero(given), now;
  if (access.isProduct()) {
    now = rules(loc).add(arith::MulFOp::create(builder, loc, ofOld, given),
                         arith::MulFOp::create(builder, loc, old, ofGiven));
  } else if (access.isExtreme()) {
    auto keeps = access.isLeast() ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT;
    Value stays = arith::CmpFOp::create(builder, loc, keeps, old, given);
    now = arith::SelectOp::create(builder, loc, stays, ofOld, ofGiven);
  } else {
    return fail(access.op, "an atomic operation (" +
                               arith::stringifyAtomicRMWKind(*access.combined) +
                               ") has no derivative here");
  }
  places.store(builder, access, now, here);
  if (activity.isActive(old))
    derivatives[old] = ofOld;
  return success();
}

LogicalResult ForwardMode::visitRegions(Operation *op) {
  if (!activity.takesPart(op))
    return success();
  builder.setInsertionPoint(op);
  auto atEnd = [&](Block &block, ValueRange values, ArrayRef<Value> variables) {
    builder.setInsertionPoint(block.getTerminator());
    store(values, variables);
  };
  auto atStart = [&](Block &block, ArrayRef<Value> variables) {
    builder.setInsertionPointToStart(&block);
    load(block.getArguments(), variables);
  };
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    SmallVector<Value> variables = variablesFor(op->getResults());
    for (Region &region : op->getRegions()) {
      if (region.empty())
        continue;
      if (failed(visit(region.front())))
        return failure();
      atEnd(region.front(), region.front().getTerminator()->getOperands(), variables);
    }
    builder.setInsertionPointAfter(op);
    load(op->getResults(), variables);
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    SmallVector<Value> variables = variablesFor(loop.getRegionIterArgs());
    for (auto [variable, result] : llvm::zip(variables, loop.getResults()))
      if (!variable && activity.isActive(result))
        variable = variablesFor(result).front();
    store(loop.getInitArgs(), variables);
    builder.setInsertionPointToStart(loop.getBody());
    load(loop.getRegionIterArgs(), variables);
    if (failed(visit(*loop.getBody())))
      return failure();
    atEnd(*loop.getBody(), loop.getYieldedValues(), variables);
    builder.setInsertionPointAfter(op);
    load(op->getResults(), variables);
    return success();
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    SmallVector<Value> carried = variablesFor(loop.getBeforeArguments());
    SmallVector<Value> handed = variablesFor(loop.getAfterArguments());
    for (auto [variable, result] : llvm::zip(handed, loop.getResults()))
      if (!variable && activity.isActive(result))
        variable = variablesFor(result).front();
    store(loop.getInits(), carried);
    atStart(*loop.getBeforeBody(), carried);
    if (failed(visit(*loop.getBeforeBody())))
      return failure();
    atEnd(*loop.getBeforeBody(), loop.getConditionOp().getArgs(), handed);
    atStart(*loop.getAfterBody(), handed);
    if (failed(visit(*loop.getAfterBody())))
      return failure();
    atEnd(*loop.getAfterBody(), loop.getYieldedValues(), carried);
    builder.setInsertionPointAfter(op);
    load(op->getResults(), handed);
    return success();
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(visit(block)))
        return failure();
  return success();
}
