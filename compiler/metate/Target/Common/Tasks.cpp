//===- Tasks.cpp - tasks that are functions ---------------------*- C++ -*-===//
#include "metate/Target/Common/Tasks.h"

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
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner()->getParentOp() == function
               ? launch->getOperand(argument.getArgNumber())
               : Value();
  Operation *op = value.getDefiningOp();
  if (op->getNumRegions() || !isMemoryEffectFree(op) || !isSpeculatable(op))
    return {};
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value moved = inHost(operand, builder);
    if (!moved)
      return {};
    mapping.map(operand, moved);
  }
  return builder.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
}

SmallVector<Value> LaunchedTask::inHost(ValueRange bounds, OpBuilder &builder) const {
  return llvm::map_to_vector(bounds, [&](Value bound) { return inHost(bound, builder); });
}
