//===- ScatterBases.cpp - the place that a scatter is around ----*- C++ -*-===//
#include "metate/Transforms/ScatterBases.h"

#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace metate;

/// Distances are small: a tile has room for them.
static constexpr int64_t mostDistance = 64;

/// Limits of a serial loop's variable, if they are known.
static std::optional<std::pair<int64_t, int64_t>> limitsOf(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return std::pair(*constant, *constant);
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    return limitsOf(cast.getIn());
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || loop.getInductionVar() != value)
    return {};
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *step <= 0 || *upper <= *lower)
    return {};
  return std::pair(*lower, *upper - 1);
}

static bool isNear(int64_t distance) { return std::abs(distance) <= mostDistance; }

/// What a coordinate is made of. Sums of integers may wrap: then the coordinate is far outside of every grid.
static std::optional<ScatterBase> baseOf(Value coordinate) {
  ScatterBase made{coordinate, 0, 0};
  while (Operation *op = made.base.getDefiningOp()) {
    if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
      made.base = cast.getIn();
      continue;
    }
    bool isDifference = isa<arith::SubIOp>(op);
    if (!isDifference && !isa<arith::AddIOp>(op))
      break;
    Value first = op->getOperand(0), second = op->getOperand(1);
    auto limits = limitsOf(second);
    if (!limits && !isDifference) {
      std::swap(first, second);
      limits = limitsOf(second);
    }
    if (!limits || !isNear(limits->first) || !isNear(limits->second))
      break;
    made.least += isDifference ? -limits->second : limits->first;
    made.most += isDifference ? -limits->first : limits->second;
    made.base = first;
  }
  if (!isNear(made.least) || !isNear(made.most))
    return {};
  return made;
}

bool metate::isWrittenIn(RangeOp range, Operation *read) {
  Value memory;
  std::optional<CellAccess> cell = CellAccess::of(read);
  if (auto load = dyn_cast<memref::LoadOp>(read))
    memory = load.getMemRef();
  else if (cell)
    memory = cell->tree;
  if (!memory || !isa<BlockArgument>(memory))
    return true;
  bool found = false;
  walkWithCalls(range, [&](Operation *op) {
    if (isMemoryEffectFree(op) || !llvm::is_contained(op->getOperands(), memory))
      return WalkResult::advance();
    if (isa<memref::LoadOp, LoadOp>(op))
      return WalkResult::advance();
    std::optional<CellAccess> other = CellAccess::of(op);
    if (other && cell && other->path != cell->path)
      return WalkResult::advance();
    found = true;
    return WalkResult::interrupt();
  });
  return found;
}

/// The operations of the loop's own block that the values are made of, in order; none: more than arithmetic and such reads.
static std::optional<llvm::SetVector<Operation *>> sliceOf(RangeOp range,
                                                           ArrayRef<ScatterBase> bases) {
  Block *block = &range.getBody().front();
  llvm::SetVector<Operation *> found;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && op->getBlock() == block)
      found.insert(op);
  };
  for (ScatterBase base : bases) {
    Block *its = base.base.getParentBlock();
    if (its != block && range->isAncestor(its->getParentOp()))
      return {};
    add(base.base);
  }
  for (size_t k = 0; k < found.size(); ++k) {
    Operation *op = found[k];
    bool isRead = isa<memref::LoadOp, LoadOp>(op) && !isWrittenIn(range, op);
    if (op->getNumRegions() != 0 || !(isRead || isPure(op)))
      return {};
    for (Value operand : op->getOperands())
      add(operand);
  }
  SmallVector<Operation *> ordered = found.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return llvm::SetVector<Operation *>(ordered.begin(), ordered.end());
}

std::optional<SmallVector<ScatterBase>> metate::basesOf(RangeOp range,
                                                        ArrayRef<ScatterTarget> targets) {
  SmallVector<ScatterBase> bases;
  for (const ScatterTarget &target : targets)
    for (Operation *atomic : target.atomics) {
      for (auto [axis, coordinate] : llvm::enumerate(target.coordinatesOf(atomic))) {
        std::optional<ScatterBase> base = baseOf(coordinate);
        if (!base)
          return {};
        if (axis == bases.size()) {
          bases.push_back(*base);
          continue;
        }
        if (bases[axis].base != base->base)
          return {};
        bases[axis].least = std::min(bases[axis].least, base->least);
        bases[axis].most = std::max(bases[axis].most, base->most);
      }
    }
  if (!sliceOf(range, bases))
    return {};
  return bases;
}

SmallVector<Value> metate::computeBases(OpBuilder &builder, RangeOp range,
                                        ArrayRef<ScatterBase> bases, Value iteration) {
  IRMapping mapping;
  mapping.map(range.getBody().getArgument(0), iteration);
  llvm::SetVector<Operation *> slice = *sliceOf(range, bases);
  for (Operation *op : slice)
    builder.clone(*op, mapping);
  SmallVector<Value> values;
  for (const ScatterBase &base : bases) {
    Value value = mapping.lookupOrDefault(base.base);
    if (!value.getType().isIndex())
      value = arith::IndexCastOp::create(builder, range.getLoc(), builder.getIndexType(), value);
    values.push_back(value);
  }
  return values;
}

SmallVector<Operation *> metate::readsOfIteration(RangeOp range) {
  Block &body = range.getBody().front();
  SmallVector<Operation *> reads;
  for (Operation &op : body) {
    if (!isa<memref::LoadOp, LoadOp>(op) ||
        !getElementTypeOrSelf(op.getResult(0).getType()).isIntOrFloat() || isWrittenIn(range, &op))
      continue;
    bool isOfIteration = false;
    bool isKnown = llvm::all_of(op.getOperands(), [&](Value operand) {
      isOfIteration |= operand == body.getArgument(0);
      return operand == body.getArgument(0) || operand.getParentBlock() != &body;
    });
    if (isKnown && isOfIteration)
      reads.push_back(&op);
  }
  return reads;
}

/// Coordinates of a read, each with the extent along it; none: the place may not be there.
static SmallVector<std::tuple<Value, int64_t>> placeOf(Operation *read) {
  if (auto load = dyn_cast<memref::LoadOp>(read))
    return llvm::to_vector_of<std::tuple<Value, int64_t>>(
        llvm::zip(load.getIndices(), load.getMemRefType().getShape()));
  auto load = cast<LoadOp>(read);
  TreePath way = CellAccess::of(load)->resolve();
  if (way.lastActivity() >= 0 || way.lastPool() >= 0)
    return {};
  return llvm::to_vector_of<std::tuple<Value, int64_t>>(
      llvm::zip(load.getCoordinates(), way.extents));
}

std::optional<int64_t> metate::extentOfIteration(RangeOp range, Operation *read) {
  for (auto [at, extent] : placeOf(read))
    if (at == range.getBody().getArgument(0) && !ShapedType::isDynamic(extent))
      return extent;
  return {};
}

/// Is there a number wherever an iteration may read, whatever guards the read?
static bool isAlwaysThere(RangeOp range, int64_t upper, Operation *read) {
  auto isKnown = [](Value component) { return getConstantIntValue(component).has_value(); };
  if (auto load = dyn_cast<LoadOp>(read); load && !llvm::all_of(load.getComponents(), isKnown))
    return false;
  std::optional<int64_t> lower = getConstantIntValue(range.getLower()[0]);
  auto place = placeOf(read);
  return !place.empty() && llvm::all_of(place, [&](auto pair) {
    auto [at, extent] = pair;
    if (ShapedType::isDynamic(extent))
      return false;
    if (at == range.getBody().getArgument(0))
      return lower && *lower >= 0 && upper <= extent;
    std::optional<int64_t> known = getConstantIntValue(at);
    return known && *known >= 0 && *known < extent;
  });
}

static int64_t bytesRead(Operation *read) {
  Type type = read->getResult(0).getType();
  auto vector = dyn_cast<VectorType>(type);
  return llvm::divideCeil(getElementTypeOrSelf(type).getIntOrFloatBitWidth(), 8) *
         (vector ? vector.getNumElements() : 1);
}

void metate::readBeforeGuards(RangeOp range, int64_t upper, int64_t room) {
  Block &body = range.getBody().front();
  SmallVector<Operation *> first = readsOfIteration(range);
  for (Operation *read : first)
    room -= bytesRead(read);
  // One that is read first already costs nothing.
  auto hasRoom = [&](Operation *read) {
    if (llvm::any_of(first, [&](Operation *other) {
          return OperationEquivalence::isEquivalentTo(other, read,
                                                      OperationEquivalence::IgnoreLocations);
        }))
      return true;
    if (bytesRead(read) > room)
      return false;
    room -= bytesRead(read);
    first.push_back(read);
    return true;
  };
  auto isOutside = [&](Value value) {
    return value == body.getArgument(0) || !range.getBody().isAncestor(value.getParentRegion());
  };
  auto isOfBody = [&](Value value) { return value.getParentBlock() == &body || isOutside(value); };
  range.walk([&](Operation *op) {
    if (op->getBlock() == &body || op == range)
      return;
    bool isRead = isa<memref::LoadOp, LoadOp>(op) &&
                  getElementTypeOrSelf(op->getResult(0).getType()).isIntOrFloat() &&
                  llvm::all_of(op->getOperands(), isOutside) && isAlwaysThere(range, upper, op) &&
                  !isWrittenIn(range, op) && hasRoom(op);
    bool isPart =
        isa<vector::ExtractOp, arith::IndexCastOp>(op) && llvm::all_of(op->getOperands(), isOfBody);
    // Parts of parts follow: the walk goes on in order.
    if (isRead || isPart)
      op->moveBefore(body.findAncestorOpInBlock(*op));
  });
}

void metate::readOnce(RangeOp range) {
  SmallVector<Operation *> kept;
  for (Operation *read : readsOfIteration(range)) {
    auto known = llvm::find_if(kept, [&](Operation *other) {
      return OperationEquivalence::isEquivalentTo(other, read,
                                                  OperationEquivalence::IgnoreLocations);
    });
    if (known == kept.end()) {
      kept.push_back(read);
      continue;
    }
    read->replaceAllUsesWith(*known);
    read->erase();
  }
  IRRewriter rewriter(range.getContext());
  DominanceInfo dominance(range);
  eliminateCommonSubExpressions(rewriter, dominance, range);
}
