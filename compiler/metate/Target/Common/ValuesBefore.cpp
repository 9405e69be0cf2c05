//===- ValuesBefore.cpp - a loop's values before the loop -------*- C++ -*-===//
#include "metate/Target/Common/ValuesBefore.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate::target;

Value ValuesBefore::of(Value value) {
  if (!loop->isAncestor(value.getParentRegion()->getParentOp()))
    return value;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() || !isMemoryEffectFree(op) || !isSpeculatable(op))
    return {};
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value moved = of(operand);
    if (!moved)
      return {};
    mapping.map(operand, moved);
  }
  Operation *copy = copies.lookup(op);
  if (!copy)
    copies[op] = copy = OpBuilder(loop).clone(*op, mapping);
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}
