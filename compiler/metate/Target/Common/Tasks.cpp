//===- Tasks.cpp - tasks that are functions ---------------------*- C++ -*-===//
#include "metate/Target/Common/Tasks.h"
#include "metate/Dialect/Speculation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::target;

LaunchedTask::LaunchedTask(LaunchOp launch)
    : launch(launch),
      function(SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, launch.getTaskAttr())) {
  auto ranges = function.getBody().getOps<RangeOp>();
  if (!ranges.empty())
    range = *ranges.begin();
}

Value LaunchedTask::inHost(Value value, OpBuilder &builder) const {
  Copies known;
  return inHost(value, builder, /*ofIteration=*/false, known);
}

Value LaunchedTask::ofMiddle(Value value, OpBuilder &builder) const {
  Copies known;
  return inHost(value, builder, /*ofIteration=*/true, known);
}

/// The iteration in the middle of the range: its variable's value.
Value LaunchedTask::middle(unsigned axis, OpBuilder &builder) const {
  RangeOp loop = range;
  Location loc = loop.getLoc();
  Value sum = builder.createOrFold<arith::AddIOp>(loc, inHost(loop.getLower()[axis], builder),
                                                  inHost(loop.getUpper()[axis], builder));
  return builder.createOrFold<arith::ShRSIOp>(loc, sum,
                                              arith::ConstantIndexOp::create(builder, loc, 1));
}

Value LaunchedTask::inHost(Value value, OpBuilder &builder, bool ofIteration, Copies &known) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (ofIteration && isa<RangeOp>(owner))
      return middle(argument.getArgNumber(), builder);
    return owner == function ? launch->getOperand(argument.getArgNumber()) : Value();
  }
  Operation *op = value.getDefiningOp();
  if (op->getNumRegions() || !mayRunAnywhere(op))
    return {};
  if (auto found = known.find(value); found != known.end())
    return found->second;
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value moved = inHost(operand, builder, ofIteration, known);
    if (!moved)
      return known[value] = {};
    mapping.map(operand, moved);
  }
  Operation *copy = builder.clone(*op, mapping);
  return known[value] = copy->getResult(cast<OpResult>(value).getResultNumber());
}

SmallVector<Value> LaunchedTask::inHost(ValueRange bounds, OpBuilder &builder) const {
  return llvm::map_to_vector(bounds, [&](Value bound) { return inHost(bound, builder); });
}
