//===- IntegerRange.cpp - least and greatest value of an integer -*- C++ -*-===//
#include "metate/Transforms/IntegerRange.h"
#include "metate/Dialect/Metate.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// The dim that an extent of a kernel's argument is, which the launch has checked.
static DimAttr dimOf(Value value) {
  auto op = value.getDefiningOp<memref::DimOp>();
  auto array = op ? dyn_cast<BlockArgument>(op.getSource()) : BlockArgument();
  auto kernel = array ? dyn_cast<KernelOp>(array.getOwner()->getParentOp()) : KernelOp();
  std::optional<int64_t> axis = op ? op.getConstantIndex() : std::nullopt;
  auto shape =
      kernel ? kernel.getArgAttrOfType<ArrayAttr>(array.getArgNumber(), mark::shape) : ArrayAttr();
  return shape && axis && *axis < int64_t(shape.size()) ? dyn_cast<DimAttr>(shape[*axis])
                                                        : DimAttr();
}

using KnownRanges = llvm::DenseMap<Value, ConstantIntRanges>;

static ConstantIntRanges rangeOf(Value value, KnownRanges &known);

/// Of the variable of a loop: from the least lower bound to the greatest upper one.
static std::optional<ConstantIntRanges> rangeOfVariable(Value value, KnownRanges &known) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *loop = argument ? argument.getOwner()->getParentOp() : nullptr;
  Value lower, upper;
  if (auto nest = dyn_cast_or_null<scf::ForOp>(loop); nest && nest.getInductionVar() == value) {
    lower = nest.getLowerBound();
    upper = nest.getUpperBound();
  } else if (auto range = dyn_cast_or_null<RangeOp>(loop)) {
    lower = range.getLower()[argument.getArgNumber()];
    upper = range.getUpper()[argument.getArgNumber()];
  } else {
    return std::nullopt;
  }
  APInt least = rangeOf(lower, known).smin(), end = rangeOf(upper, known).smax();
  if (end.isMaxSignedValue() || least.sge(end))
    return std::nullopt;
  return ConstantIntRanges::fromSigned(least, end - 1);
}

/// The range of a value of integer type; `known` keeps what was computed for this question.
static ConstantIntRanges rangeOf(Value value, KnownRanges &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  ConstantIntRanges range = ConstantIntRanges::maxRange(width);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    range = ConstantIntRanges::constant(constant);
  } else if (auto variable = rangeOfVariable(value, known)) {
    range = *variable;
  } else if (DimAttr dim = dimOf(value)) {
    int64_t most = isMutant(Mutant::DimRangeOfLeast) ? dim.getMin() : dim.getMax();
    range = ConstantIntRanges::fromSigned(APInt(width, dim.getMin()), APInt(width, most));
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
