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

/// Of an extent of a kernel's argument: the launch has checked it.
static std::optional<ConstantIntRanges> rangeOfExtent(Value value, unsigned width) {
  auto op = value.getDefiningOp<memref::DimOp>();
  auto array = op ? dyn_cast<BlockArgument>(op.getSource()) : BlockArgument();
  auto kernel = array ? dyn_cast<KernelOp>(array.getOwner()->getParentOp()) : KernelOp();
  if (!kernel)
    return std::nullopt;
  unsigned number = array.getArgNumber();
  auto shape = kernel.getArgAttrOfType<ArrayAttr>(number, mark::shape);
  std::optional<int64_t> axis = op.getConstantIndex();
  int64_t least = 0, most = std::numeric_limits<int32_t>::max();
  if (auto dim = shape && axis && *axis < int64_t(shape.size())
                     ? dyn_cast<DimAttr>(shape[size_t(*axis)])
                     : DimAttr()) {
    least = dim.getMin();
    most = isMutant(Mutant::DimRangeOfLeast) ? dim.getMin() : dim.getMax();
  } else if (kernel.getArgAttr(number, mark::longExtents)) {
    return std::nullopt;
  }
  return ConstantIntRanges::fromSigned(APInt(width, uint64_t(least)), APInt(width, uint64_t(most)));
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
  } else if (auto extent = rangeOfExtent(value, width)) {
    range = *extent;
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

static std::optional<IntegerRange> rangeWithin(Value value, int64_t least, int64_t most) {
  KnownRanges known;
  ConstantIntRanges range = rangeOf(value, known);
  if (range.smin().slt(least) || range.smax().sgt(most))
    return std::nullopt;
  return IntegerRange{range.smin().getSExtValue(), range.smax().getSExtValue()};
}

std::optional<IntegerRange> IntegerRange::of(Value value) {
  return rangeWithin(value, -most, most);
}

std::optional<IntegerRange> IntegerRange::of32Bits(Value value) {
  return rangeWithin(value, std::numeric_limits<int32_t>::min(),
                     std::numeric_limits<int32_t>::max());
}
