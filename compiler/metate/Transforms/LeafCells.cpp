//===- LeafCells.cpp - which cells of a leaf a nest reaches -----*- C++ -*-===//
#include "metate/Transforms/LeafCells.h"

#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

/// A nest of more iterations is not enumerated...
constexpr int64_t mostIterations = 4096;
/// ...nor is a leaf of more cells set by words...
constexpr int64_t mostCells = 1 << 16;
/// ...or one whose words differ more often.
constexpr size_t mostRuns = 32;

namespace {
/// The values that integers have in all iterations of a nest, one after the other.
class Enumeration {
public:
  using Values = std::vector<int64_t>;

  explicit Enumeration(ValueRange variables) {
    for (Value variable : variables) {
      auto bounds = boundsOf(variable);
      int64_t extent = bounds ? bounds->second - bounds->first : 0;
      if (extent <= 0 || extent > mostIterations || (count *= extent) > mostIterations) {
        count = 0;
        return;
      }
    }
    int64_t inner = count;
    for (Value variable : variables) {
      auto [first, end] = *boundsOf(variable);
      inner /= end - first;
      Values values(count);
      for (int64_t k = 0; k < count; ++k)
        values[k] = first + k / inner % (end - first);
      known[variable] = std::move(values);
    }
  }

  /// 0: the bounds are not known, or there are too many.
  int64_t iterations() const { return count; }

  /// Signed. nullopt: the value depends on something else, or on an operation that has no range of its operands'.
  std::optional<Values> valuesOf(Value value) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return Values(count, constant.getSExtValue());
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumOperands() == 0)
      return std::nullopt;
    SmallVector<Values> operands;
    for (Value operand : op->getOperands()) {
      std::optional<Values> values =
          operand.getType().isIntOrIndex() ? valuesOf(operand) : std::nullopt;
      if (!values)
        return std::nullopt;
      operands.push_back(std::move(*values));
    }
    Values result(count);
    SmallVector<ConstantIntRanges> at(operands.size(), ConstantIntRanges::maxRange(1));
    for (int64_t k = 0; k < count; ++k) {
      for (auto [one, values, operand] : llvm::zip(at, operands, op->getOperands())) {
        unsigned width = ConstantIntRanges::getStorageBitwidth(operand.getType());
        one = ConstantIntRanges::constant(APInt(width, values[k], /*isSigned=*/true));
      }
      // Of constants upstream's ranges are constants: no attribute is made for each iteration, as folding would.
      std::optional<ConstantIntRanges> range = resultRange(op, at);
      std::optional<APInt> one = range ? range->getConstantValue() : std::nullopt;
      if (!one)
        return std::nullopt;
      result[k] = one->getSExtValue();
    }
    known[value] = result;
    return result;
  }

private:
  int64_t count = 1;
  llvm::DenseMap<Value, Values> known;
};
} // namespace

/// The local part of a coordinate in all iterations.
static std::optional<Enumeration::Values> localValues(Enumeration &nest, FixedCoordinate coordinate,
                                                      int64_t extent) {
  if (coordinate.isWhole) { // the same for all: its rest may be known
    auto parts = FixedCoordinate::of(coordinate.base.front(), extent);
    if (!parts)
      return std::nullopt;
    coordinate = std::move(*parts);
  }
  Enumeration::Values sum(nest.iterations(), coordinate.localConstant);
  for (Value term : coordinate.local) {
    auto values = nest.valuesOf(term);
    if (!values)
      return std::nullopt;
    for (auto [total, value] : llvm::zip(sum, *values))
      total += value;
  }
  bool isInside = llvm::all_of(sum, [&](int64_t at) { return at >= 0 && at < extent; });
  return isInside ? std::optional(std::move(sum)) : std::nullopt;
}

std::optional<MaskWords> metate::cellsReached(const TreePath &path, const FixedSlot &slot,
                                              ValueRange variables) {
  unsigned depth = path.lastPool();
  if (depth + 2 != path.levels.size() || !path.levels.back().hasMask())
    return std::nullopt;
  LevelInterface leaf = path.levels.back();
  int64_t cells = 1;
  for (int64_t extent : leaf.getLevelExtents())
    cells = std::min(cells * extent, mostCells + 1);
  Enumeration nest(variables);
  if (cells > mostCells || nest.iterations() == 0)
    return std::nullopt;
  Enumeration::Values linear(nest.iterations(), 0);
  for (auto [axis, extent] : llvm::zip(levelAxes(leaf), leaf.getLevelExtents())) {
    unsigned position = llvm::find(path.axes, axis) - path.axes.begin();
    auto local = localValues(nest, slot.coordinates[position], extent);
    if (!local)
      return std::nullopt;
    for (auto [total, index] : llvm::zip(linear, *local))
      total = total * extent + index;
  }
  MaskWords words((cells + 31) / 32, 0);
  for (int64_t cell : linear)
    words[cell / 32] |= int32_t(uint32_t(1) << cell % 32);
  if (runsOf(words).size() > mostRuns)
    return std::nullopt;
  return words;
}
