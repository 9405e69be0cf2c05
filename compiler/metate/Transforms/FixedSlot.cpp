//===- FixedSlot.cpp - accesses of one slot through a whole loop nest -*- C++ -*-===//
#include "metate/Transforms/FixedSlot.h"
#include "metate/Level/ByteBuilder.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/abi/base.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

/// Is the value a multiple of `divisor`, whether or not it has wrapped? Upstream's range analysis knows bounds and no strides.
static bool isMultiple(Value value, int64_t divisor) {
  if (divisor == 1)
    return true;
  if (auto constant = getConstantIntValue(value))
    return *constant % divisor == 0;
  Operation *op = value.getDefiningOp();
  if (!op || (!value.getType().isIndex() && !llvm::isPowerOf2_64(divisor)))
    return false;
  if (isa<arith::IndexCastOp>(op))
    return isMultiple(op->getOperand(0), divisor);
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return isMultiple(op->getOperand(0), divisor) && isMultiple(op->getOperand(1), divisor);
  std::optional<int64_t> right;
  if (op->getNumOperands() == 2)
    right = getConstantIntValue(op->getOperand(1));
  if (!right)
    return false;
  if (isa<arith::MulIOp>(op))
    return *right % divisor == 0;
  if (isa<arith::ShLIOp>(op))
    return *right >= 0 && *right < 31 && (int64_t(1) << *right) % divisor == 0;
  return false;
}

namespace {
/// Takes a coordinate apart.
class Splitter {
public:
  Splitter(int64_t extent, llvm::function_ref<bool(Value)> isFixed)
      : extent(extent), isFixed(isFixed) {}

  /// `below`: the local part is less than that.
  std::optional<FixedCoordinate> split(Value coordinate, int64_t below, bool mayBeWhole) {
    if (mayBeWhole && isFixed(coordinate)) {
      result.isWhole = true;
      result.base.push_back(coordinate);
      return result;
    }
    Value value = coordinate;
    if (auto cast = value.getDefiningOp<arith::IndexCastOp>();
        cast && cast.getIn().getType().isInteger(32))
      value = cast.getIn();
    // The sum of a multiple of a power of two that fits i32 and a part below it does not wrap.
    if (!value.getType().isIndex() && !llvm::isPowerOf2_64(extent))
      return std::nullopt;
    if (!add(value))
      return std::nullopt;
    int64_t rest = ((constant % extent) + extent) % extent;
    result.baseConstant = constant - rest;
    result.localConstant = rest;
    if (least + rest < 0 || greatest + rest >= below + isMutant(Mutant::SlotEndOffByOne))
      return std::nullopt;
    return result;
  }

private:
  bool add(Value value) {
    if (auto known = getConstantIntValue(value)) {
      constant += *known;
      return std::abs(constant) < IntegerRange::most;
    }
    if (isFixed(value) && isMultiple(value, extent)) {
      result.base.push_back(value);
      return true;
    }
    // Before its range: a base that is known to be within bounds is a base.
    if (auto sum = value.getDefiningOp<arith::AddIOp>())
      return add(sum.getLhs()) && add(sum.getRhs());
    auto range = IntegerRange::of(value);
    if (!range)
      return false;
    least += range->least;
    greatest += range->greatest;
    result.local.push_back(value);
    return true;
  }

  int64_t extent;
  llvm::function_ref<bool(Value)> isFixed;
  FixedCoordinate result;
  int64_t constant = 0, least = 0, greatest = 0;
};
} // namespace

std::optional<FixedCoordinate> FixedCoordinate::of(Value coordinate, int64_t extent) {
  auto any = [](Value) { return true; };
  return Splitter(extent, any).split(coordinate, extent, /*mayBeWhole=*/false);
}

std::optional<FixedSlot> FixedSlot::of(const TreePath &path, OperandRange coordinates,
                                       llvm::function_ref<bool(Value)> isFixed) {
  int depth = path.lastPool();
  if (depth < 0 || !path.levels[depth].hasSlotForEachCell())
    return std::nullopt;
  SmallVector<bool> splitAbove(METATE_MAX_AXES, false);
  for (LevelInterface level : ArrayRef(path.levels).take_front(depth + 1))
    for (unsigned axis : levelAxes(level))
      splitAbove[axis] = true;
  FixedSlot slot;
  for (auto [k, axis] : llvm::enumerate(path.axes)) {
    // An axis that lies in the slot as a whole: all of the coordinate is local, and known to be inside.
    bool isAbove = splitAbove[axis];
    int64_t extent = isAbove ? path.extentBelow(depth, k) : path.extents[k];
    if (path.extents[k] == unboundedExtent && !llvm::isPowerOf2_64(extent))
      return std::nullopt;
    auto nothing = [](Value) { return false; };
    auto one = isAbove ? Splitter(extent, isFixed).split(coordinates[k], extent, true)
                       : Splitter(extent, nothing).split(coordinates[k], extent, false);
    if (!one || (!isAbove && one->baseConstant != 0))
      return std::nullopt;
    slot.coordinates.push_back(std::move(*one));
  }
  return slot;
}

bool FixedSlot::hasSameBase(const FixedSlot &other) const {
  return coordinates.size() == other.coordinates.size() &&
         llvm::all_of(llvm::zip(coordinates, other.coordinates), [](auto pair) {
           auto &[one, two] = pair;
           return one.hasSameBase(two);
         });
}

static Value asIndex(OpBuilder &builder, Location loc, Value value) {
  Type index = builder.getIndexType();
  return value.getType() == index
             ? value
             : arith::IndexCastOp::create(builder, loc, index, value).getResult();
}

static Value constantLike(OpBuilder &builder, Location loc, Type type, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
}

/// The sum in the terms' own type, which has wrapped as the program's has.
static Value sumOf(OpBuilder &builder, Location loc, ArrayRef<Value> terms, int64_t constant) {
  if (terms.empty())
    return constantLike(builder, loc, builder.getIndexType(), constant);
  Value sum = terms.front();
  for (Value term : terms.drop_front())
    sum = arith::AddIOp::create(builder, loc, sum, term);
  if (constant != 0)
    sum = arith::AddIOp::create(builder, loc, sum,
                                constantLike(builder, loc, sum.getType(), constant));
  return asIndex(builder, loc, sum);
}

SmallVector<Value> FixedSlot::base(OpBuilder &builder, Location loc) const {
  return llvm::map_to_vector(coordinates, [&](const FixedCoordinate &one) {
    return sumOf(builder, loc, one.base, one.baseConstant);
  });
}

SmallVector<Value> FixedSlot::local(ByteBuilder &bytes, const TreePath &path) const {
  SmallVector<Value> result;
  for (auto [k, one] : llvm::enumerate(coordinates)) {
    if (!one.isWhole) {
      result.push_back(sumOf(bytes.builder, bytes.loc, one.local, one.localConstant));
      continue;
    }
    // Modulo a power of two the sign does not matter; other extents have no negative coordinates.
    int64_t extent = path.extentBelow(path.lastPool(), k);
    result.push_back(llvm::isPowerOf2_64(extent)
                         ? arith::AndIOp::create(bytes.builder, bytes.loc, one.base.front(),
                                                 bytes.index(extent - 1))
                         : bytes.remainder(one.base.front(), extent));
  }
  return result;
}

scf::ForOp metate::slotNestOf(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && loop->hasAttr(mark::slots))
      return loop;
  return {};
}
