//===- Speculation.cpp - what may run where the program would not -*- C++ -*-===//
#include "metate/Dialect/Speculation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;

namespace {
/// Is the value never `number`? `unequal`: values that are not, where it is used.
bool excludes(Value value, int64_t number, SmallVector<Value, 2> unequal) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue() != number;
  if (llvm::is_contained(unequal, value))
    return true;
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>();
      cast && cast.getType().isIndex()) // 32 bits, extended
    return excludes(cast.getIn(), number, unequal);
  if (auto extension = value.getDefiningOp<arith::ExtSIOp>())
    return excludes(extension.getIn(), number, unequal);
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select || !excludes(select.getTrueValue(), number, unequal))
    return false;
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
      matchPattern(compare.getRhs(), m_ConstantInt(&constant)) && constant.getSExtValue() == number)
    unequal.push_back(compare.getLhs());
  return excludes(select.getFalseValue(), number, unequal);
}

bool isRemainderThatStops(Operation *op) {
  if (isa<arith::RemUIOp>(op))
    return !excludes(op->getOperand(1), 0, {});
  return isa<arith::RemSIOp>(op) &&
         !(excludes(op->getOperand(1), 0, {}) && excludes(op->getOperand(1), -1, {}));
}
} // namespace

bool metate::mayRunAnywhere(Operation *op) {
  auto visit = [](Operation *inner) {
    return isRemainderThatStops(inner) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return isMemoryEffectFree(op) && isSpeculatable(op) && !op->walk(visit).wasInterrupted();
}
