//===- OwnPlaces.cpp - places that one iteration owns -----------*- C++ -*-===//
//
// Coordinates are sums of loop variables times constants, of values that are the same in every iteration, and of a constant.
// A coordinate tells the variables that it names if it differs wherever one of them does, whatever the accesses of two
// iterations are: its values are digits of a number. What one coordinate has told counts as the same for the others. For example
// x[j, i + 1], and x[2 * i] beside x[2 * i + 1]; neither x[i + j], nor x[i] beside x[i + 1]. What changes within an iteration, the
// variable of a loop in order or a number of few values, is a last digit: x[8 * i + k % 8], and x[q] for q from 1024 * i to 1024 * (i + 1).
//
// Coordinates were computed in 32 bits, and wrap: equal ones are equal numbers where no sum leaves 32 bits.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/OwnPlaces.h"

#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/IntegerRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

namespace {
/// Products of coefficients and spans stay far below 64 bits.
constexpr int64_t mostCoefficient = 1 << 24;

/// Values that cannot come nearer to one another by wrapping at 32 bits.
constexpr int64_t mostSpan = (int64_t(1) << 32) - 1;

/// Operations of one coordinate: a value that is used again and again is looked at each time.
constexpr unsigned mostSteps = 256;

/// A coordinate: variables of the loop and values from outside, with their coefficients, and a number that may change within an
/// iteration.
struct Coordinate {
  llvm::SmallMapVector<Value, int64_t, 4> terms;
  int64_t least = 0, greatest = 0; ///< of the rest

  void addConstant(int64_t value) { addBetween(value, value); }
  void addBetween(int64_t from, int64_t to) {
    least += from;
    greatest += to;
  }

  bool hasSameTerms(const Coordinate &other) const {
    return terms.size() == other.terms.size() && llvm::all_of(terms, [&](auto &term) {
             return other.terms.lookup(term.first) == term.second;
           });
  }
};

class Loop {
public:
  explicit Loop(Operation *loop)
      : region(&loop->getRegion(0)),
        names(region->getArguments().begin(), region->getArguments().end()) {}
  explicit Loop(ArrayRef<scf::ForOp> nest) : region(&nest.front()->getRegion(0)) {
    for (scf::ForOp loop : nest)
      names.push_back(cast<BlockArgument>(loop.getInductionVar()));
  }

  ArrayRef<BlockArgument> variables() const { return names; }

  std::optional<Coordinate> coordinateOf(Value value) const {
    Coordinate coordinate;
    unsigned left = mostSteps;
    if (!add(coordinate, value, 1, left))
      return std::nullopt;
    coordinate.terms.remove_if([](auto &term) { return term.second == 0; });
    return coordinate;
  }

private:
  /// Adds factor * value; false of what varies in an iteration, or in another way than the variables.
  bool add(Coordinate &coordinate, Value value, int64_t factor, unsigned &left) const {
    if (!left || factor > mostCoefficient || factor < -mostCoefficient)
      return false;
    --left;
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) {
      coordinate.addConstant(factor * constant.getSExtValue());
      return constant.abs().ule(mostCoefficient);
    }
    if (value.getParentRegion()->isProperAncestor(region) ||
        llvm::is_contained(variables(), value)) {
      coordinate.terms[value] += factor;
      return true;
    }
    Operation *op = value.getDefiningOp();
    if (!isNumber(value) || (op && !region->isAncestor(op->getParentRegion())))
      return false;
    if (!op)
      return addVarying(coordinate, value, factor, left);
    if (auto cast = dyn_cast<arith::IndexCastOp>(op))
      return isNumber(cast.getIn()) && add(coordinate, cast.getIn(), factor, left);
    if (auto sum = dyn_cast<arith::AddIOp>(op))
      return add(coordinate, sum.getLhs(), factor, left) &&
             add(coordinate, sum.getRhs(), factor, left);
    if (auto difference = dyn_cast<arith::SubIOp>(op))
      return add(coordinate, difference.getLhs(), factor, left) &&
             add(coordinate, difference.getRhs(), -factor, left);
    auto product = dyn_cast<arith::MulIOp>(op);
    if (product && matchPattern(product.getRhs(), m_ConstantInt(&constant)) &&
        constant.abs().ule(mostCoefficient))
      return add(coordinate, product.getLhs(), factor * constant.getSExtValue(), left);
    return addVarying(coordinate, value, factor, left);
  }

  static bool isNumber(Value value) {
    return value.getType().isIndex() || value.getType().isInteger(32);
  }

  /// A value that may change within an iteration, where what it is between is known.
  bool addVarying(Coordinate &coordinate, Value value, int64_t factor, unsigned &left) const {
    auto argument = dyn_cast<BlockArgument>(value);
    auto inner = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
    if (inner && inner.getInductionVar() == value)
      if (std::optional<int64_t> span = spanFromLower(inner, left)) {
        addBetween(coordinate, 0, *span, factor);
        return add(coordinate, inner.getLowerBound(), factor, left);
      }
    std::optional<IntegerRange> range = IntegerRange::of(value);
    if (range)
      addBetween(coordinate, range->least, range->greatest, factor);
    return range.has_value();
  }

  static void addBetween(Coordinate &coordinate, int64_t least, int64_t greatest, int64_t factor) {
    if (isMutant(Mutant::VaryingPlaceFixed))
      greatest = least;
    auto [from, to] = std::minmax(factor * least, factor * greatest);
    coordinate.addBetween(from, to);
  }

  /// By how much the variable of a loop over one block (`block * 8` to `block * 8 + 8`, or to less) exceeds its lower bound at most.
  std::optional<int64_t> spanFromLower(scf::ForOp inner, unsigned &left) const {
    auto formOf = [&](Value bound) -> std::optional<Coordinate> {
      Coordinate form;
      bool isKnown = add(form, bound, 1, left) && form.least == form.greatest;
      return isKnown ? std::optional(std::move(form)) : std::nullopt;
    };
    std::optional<Coordinate> lower = formOf(inner.getLowerBound());
    if (!lower)
      return std::nullopt;
    SmallVector<Value> bounds{inner.getUpperBound()};
    if (auto least = bounds[0].getDefiningOp<arith::MinSIOp>())
      llvm::append_range(bounds, least->getOperands());
    for (Value bound : bounds)
      if (std::optional<Coordinate> upper = formOf(bound);
          upper && upper->hasSameTerms(*lower) && upper->least > lower->least)
        return upper->least - lower->least - 1;
    return std::nullopt;
  }

  Region *region;
  SmallVector<BlockArgument> names;
};

/// One axis of all accesses.
struct Axis {
  Coordinate coordinate;  ///< of one of them
  int64_t difference = 0; ///< between the rests of two of them, at most
};
} // namespace

/// The axis of all accesses; nullopt where they differ by more than a constant.
static std::optional<Axis> axisOf(const Loop &loop, ArrayRef<ValueRange> places, unsigned axis) {
  std::optional<Axis> result;
  int64_t least = 0, greatest = 0;
  for (ValueRange place : places) {
    std::optional<Coordinate> coordinate = loop.coordinateOf(place[axis]);
    if (!coordinate || (result && !result->coordinate.hasSameTerms(*coordinate)))
      return std::nullopt;
    least = result ? std::min(least, coordinate->least) : coordinate->least;
    greatest = result ? std::max(greatest, coordinate->greatest) : coordinate->greatest;
    if (greatest - least > mostSpan)
      return std::nullopt;
    result = Axis{*coordinate, greatest - least};
  }
  return result;
}

/// Greatest difference between two values of a loop's variable; nullopt: not known.
static std::optional<int64_t> spanOf(BlockArgument variable) {
  if (auto loop = dyn_cast<ForEachOp>(variable.getOwner()->getParentOp())) {
    TreePath path = *findPath(cast<TreeType>(loop.getTree().getType()), loop.getPath());
    int64_t extent = path.extents[variable.getArgNumber()];
    return extent == unboundedExtent ? std::nullopt : std::optional(extent - 1);
  }
  std::optional<IntegerRange> range = IntegerRange::of(variable);
  return range ? std::optional(range->greatest - range->least) : std::nullopt;
}

/// Does the axis tell its variables, once those of `told` are known?
static bool tells(const Axis &axis, ArrayRef<BlockArgument> names) {
  auto coefficientOf = [&](BlockArgument variable) {
    return std::abs(axis.coordinate.terms.lookup(variable));
  };
  // An odd factor loses nothing in 32 bits.
  if (names.size() == 1 && axis.difference == 0 && coefficientOf(names[0]) % 2 == 1)
    return true;
  SmallVector<BlockArgument> digits(names);
  // Of equal steps the one of fewer values first: of one value it is no digit.
  auto order = [&](BlockArgument variable) {
    return std::pair(coefficientOf(variable), spanOf(variable).value_or(mostSpan));
  };
  llvm::sort(digits, [&](BlockArgument a, BlockArgument b) { return order(a) < order(b); });
  int64_t span = axis.difference; // of the digits so far
  for (BlockArgument digit : digits) {
    std::optional<int64_t> own = spanOf(digit);
    if (!own || coefficientOf(digit) <= span)
      return false;
    span += coefficientOf(digit) * *own;
    if (span > mostSpan)
      return false;
  }
  return true;
}

static bool areOwn(const Loop &loop, ArrayRef<ValueRange> places) {
  size_t rank = places.front().size();
  SmallVector<Axis> axes;
  for (unsigned k = 0; k < rank; ++k)
    if (llvm::all_of(places, [&](ValueRange place) { return place.size() == rank; }))
      if (std::optional<Axis> axis = axisOf(loop, places, k))
        axes.push_back(std::move(*axis));
  llvm::SmallSetVector<BlockArgument, 4> unknown(loop.variables().begin(), loop.variables().end());
  unknown.remove_if([](BlockArgument variable) { return spanOf(variable) == 0; }); // of one value
  for (bool changed = true; changed && !unknown.empty();) {
    changed = false;
    for (const Axis &axis : axes) {
      SmallVector<BlockArgument> names;
      for (BlockArgument variable : unknown)
        if (axis.coordinate.terms.contains(variable))
          names.push_back(variable);
      if (names.empty() || !tells(axis, names))
        continue;
      unknown.remove_if(
          [&](BlockArgument variable) { return llvm::is_contained(names, variable); });
      changed = true;
    }
  }
  return unknown.empty();
}

bool metate::areOwnPlaces(Operation *loop, ArrayRef<ValueRange> places) {
  return areOwn(Loop(loop), places);
}

bool metate::areOwnPlaces(ArrayRef<scf::ForOp> nest, ArrayRef<ValueRange> places) {
  return areOwn(Loop(nest), places);
}

std::optional<std::pair<AccessTarget, OperandRange>> metate::writeOf(Operation *op) {
  if (auto cell = CellAccess::of(op))
    return writesMember(op)
               ? std::optional(std::pair(AccessTarget(cell->tree, cell->path), cell->coordinates))
               : std::nullopt;
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return std::pair(AccessTarget(store.getMemRef(), ""), store.getIndices());
  if (auto rmw = dyn_cast<memref::AtomicRMWOp>(op))
    return std::pair(AccessTarget(rmw.getMemref(), ""), rmw.getIndices());
  return std::nullopt;
}

LoopWrites::LoopWrites(Operation *loop, bool mayAlias) {
  llvm::MapVector<AccessTarget, SmallVector<ValueRange>> writes;
  walkWithCalls(loop, [&](Operation *op) {
    if (auto write = writeOf(op))
      writes[write->first].push_back(write->second);
    return WalkResult::advance();
  });
  for (auto &[target, places] : writes)
    if (!areOwnPlaces(loop, places))
      shared.insert(target);
  // Overlapping arguments: one foreign write anywhere may hit any of them, and the own element of
  // one may be another iteration's of the next.
  meets = mayAlias && (writes.size() > 1 || !shared.empty());
}
