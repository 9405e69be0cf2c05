//===- StridedTurns.cpp - workers that share the turns of a loop -*- C++ -*-===//
#include "metate/Transforms/StridedTurns.h"

#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

namespace {
/// Sums of such do not wrap in 32 bits.
constexpr int64_t mostBound = 1 << 20;

/// What the loop's first turn is away from the worker's number, which is asked for nowhere else.
std::optional<int64_t> distanceFrom(Value worker, Value first) {
  int64_t distance = 0;
  for (; first != worker; first = first.getDefiningOp()->getOperand(0)) {
    Operation *op = first.getDefiningOp();
    APInt constant;
    if (!op || !op->hasOneUse())
      return std::nullopt;
    if (isa<arith::AddIOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&constant)))
      distance += constant.getSExtValue();
    else if (!isa<arith::IndexCastOp>(op))
      return std::nullopt;
    if (std::abs(distance) > mostBound)
      return std::nullopt;
  }
  return worker.hasOneUse() ? std::optional(distance) : std::nullopt;
}
} // namespace

std::optional<int64_t> metate::firstOfStridedTurns(Operation *parallel, scf::ForOp serial) {
  Block &body = parallel->getRegion(0).front();
  APInt step;
  if (body.getNumArguments() != 1 || !matchPattern(serial.getStep(), m_ConstantInt(&step)) ||
      parallel->isAncestor(serial.getUpperBound().getParentBlock()->getParentOp()))
    return std::nullopt;
  Value worker = body.getArgument(0);
  auto workers = boundsOf(worker);
  if (!workers || workers->first < -mostBound || workers->second > mostBound ||
      workers->second - workers->first != step.getSExtValue())
    return std::nullopt;
  std::optional<int64_t> distance = distanceFrom(worker, serial.getLowerBound());
  if (!distance)
    return std::nullopt;
  return isMutant(Mutant::SharedTurnsFromFirst) ? workers->first : workers->first + *distance;
}
