//===- IntegerRange.cpp - least and greatest value of an integer -*- C++ -*-===//
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

std::optional<ConstantIntRanges> metate::resultRange(Operation *op,
                                                     ArrayRef<ConstantIntRanges> operands) {
  auto infer = dyn_cast<InferIntRangeInterface>(op);
  auto isScalar = [](Type type) { return type.isIntOrIndex(); };
  if (!infer || op->getNumResults() != 1 || !isScalar(op->getResult(0).getType()) ||
      !llvm::all_of(op->getOperandTypes(), isScalar))
    return std::nullopt;
  std::optional<ConstantIntRanges> result;
  infer.inferResultRanges(operands, [&](Value, const ConstantIntRanges &range) { result = range; });
  return result;
}

using KnownRanges = llvm::DenseMap<Value, ConstantIntRanges>;

/// The range of a value of integer type; `known` keeps what was computed for this question.
static ConstantIntRanges rangeOf(Value value, KnownRanges &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  ConstantIntRanges range = ConstantIntRanges::maxRange(width);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    range = ConstantIntRanges::constant(constant);
  } else if (auto bounds = boundsOf(value); bounds && bounds->first < bounds->second) {
    range = ConstantIntRanges::fromSigned(APInt(width, bounds->first, /*isSigned=*/true),
                                          APInt(width, bounds->second - 1, /*isSigned=*/true));
  } else if (Operation *op = value.getDefiningOp();
             op &&
             llvm::all_of(op->getOperandTypes(), [](Type type) { return type.isIntOrIndex(); })) {
    auto operands =
        llvm::map_to_vector(op->getOperands(), [&](Value one) { return rangeOf(one, known); });
    range = resultRange(op, operands).value_or(range);
  }
  known.try_emplace(value, range);
  return range;
}

std::optional<IntegerRange> IntegerRange::of(Value value) {
  KnownRanges known;
  ConstantIntRanges range = rangeOf(value, known);
  if (range.smin().slt(-most) || range.smax().sgt(most))
    return std::nullopt;
  return IntegerRange{range.smin().getSExtValue(), range.smax().getSExtValue()};
}
