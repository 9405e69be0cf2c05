//===- ScatterTargets.cpp - what a loop adds to at any place ----*- C++ -*-===//
#include "metate/Transforms/ScatterTargets.h"
#include "metate/Dialect/Quant.h"

#include "metate/Dialect/Graph.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace metate;

static bool isAtomic(Operation *op) { return isa<AtomicOp, memref::AtomicRMWOp>(op); }

static arith::AtomicRMWKind atomicKindOf(Operation *atomic) {
  if (auto cell = dyn_cast<AtomicOp>(atomic))
    return cell.getKind();
  return cast<memref::AtomicRMWOp>(atomic).getKind();
}

ValueRange ScatterTarget::coordinatesOf(Operation *atomic) const {
  if (auto cell = dyn_cast<AtomicOp>(atomic))
    return cell.getCoordinates();
  return ValueRange(cast<memref::AtomicRMWOp>(atomic).getIndices()).take_front(extents.size());
}

ValueRange ScatterTarget::componentsOf(Operation *atomic) const {
  if (auto cell = dyn_cast<AtomicOp>(atomic))
    return cell.getComponents();
  return ValueRange(cast<memref::AtomicRMWOp>(atomic).getIndices()).drop_front(extents.size());
}

/// How many of an array's last dimensions are inside of a cell: those of its elements, or those whose numbers all additions name.
static size_t innerRank(const ScatterTarget &target) {
  auto array = cast<BlockArgument>(target.place.first);
  auto kernel = dyn_cast<KernelOp>(array.getOwner()->getParentOp());
  if (auto element =
          kernel ? kernel.getArgAttrOfType<DenseI64ArrayAttr>(array.getArgNumber(), mark::element)
                 : DenseI64ArrayAttr())
    return element.size();
  ArrayRef<int64_t> shape = cast<MemRefType>(array.getType()).getShape();
  auto isNamed = [&](size_t axis) {
    return llvm::all_of(target.atomics, [&](Operation *atomic) {
      std::optional<int64_t> index =
          getConstantIntValue(cast<memref::AtomicRMWOp>(atomic).getIndices()[axis]);
      return index && *index >= 0 && *index < shape[axis];
    });
  };
  constexpr int64_t mostNumbers = 16, mostRank = 2;
  size_t rank = 0;
  for (int64_t numbers = 1; rank < std::min<size_t>(shape.size(), mostRank); ++rank) {
    int64_t extent = shape[shape.size() - 1 - rank];
    if (ShapedType::isDynamic(extent) || (numbers *= extent) > mostNumbers ||
        !isNamed(shape.size() - 1 - rank))
      break;
  }
  return rank;
}

/// The target with the shape of what lies there; why it has no copy.
static StringRef shapeOf(ScatterTarget &target, Operation *atomic) {
  auto [value, path] = target.place;
  Type type;
  if (target.isArray()) {
    auto array = cast<MemRefType>(value.getType());
    if (!isa<BlockArgument>(value))
      return "it is a local array";
    type = array.getElementType();
    size_t inner = innerRank(target);
    llvm::append_range(target.extents, array.getShape().drop_back(inner));
    llvm::append_range(target.member, array.getShape().take_back(inner));
  } else {
    TreePath way = *findPath(cast<TreeType>(value.getType()), path);
    if (way.lastActivity() >= 0 || way.lastPool() >= 0)
      return "its cells may be inactive";
    type = signlessType(way.place.getType());
    if (isQuantised(way.place.getType())) {
      // Bits that are added up in a number of its own wrap as in the word.
      target.stored = dyn_cast<IntegerType>(cast<AtomicOp>(atomic).getValue().getType());
      if (!target.stored || target.stored.getWidth() > 32)
        return "its numbers have more than 32 bits";
      unsigned bits = std::max<unsigned>(8, llvm::PowerOf2Ceil(target.stored.getWidth()));
      type = IntegerType::get(atomic->getContext(), bits);
    }
    target.extents = way.extents;
  }
  if (auto vector = dyn_cast<VectorType>(type)) {
    target.member.assign(vector.getShape().begin(), vector.getShape().end());
    type = vector.getElementType();
  }
  target.scalar = type;
  target.kind = atomicKindOf(atomic);
  if (!type.isIntOrFloat() || (!target.stored && type.getIntOrFloatBitWidth() < 32))
    return "its numbers have less than 32 bits";
  return target.extents.empty() ? "it is one place" : "";
}

/// Whether all that the loop, and what it calls, does with the target is in `atomics`.
static StringRef problemOf(RangeOp range, const ScatterTarget &target) {
  auto [value, path] = target.place;
  StringRef problem;
  walkWithCalls(range, [&](Operation *op) {
    if (!llvm::is_contained(op->getOperands(), value) || isa<memref::DimOp>(op))
      return WalkResult::advance();
    if (std::optional<CellAccess> cell = CellAccess::of(op);
        cell && (cell->tree != value || cell->path != path))
      return WalkResult::advance();
    if (!isAtomic(op))
      problem = "the loop reads or changes it in another way too";
    else if (!range->isAncestor(op))
      problem = "a function that the loop calls adds to it";
    else if (!op->use_empty())
      problem = "the value from before is used";
    else if (atomicKindOf(op) == arith::AtomicRMWKind::assign || atomicKindOf(op) != target.kind)
      problem = "it is changed by operations of several kinds";
    return problem.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return problem;
}

SmallVector<RangeOp> metate::scatterLoops(KernelOp kernel) {
  // A graph plans no memory for its kernels.
  if (kernel.getDebug() || kernel.getMayAlias() || isNode(kernel))
    return {};
  auto isRest = [](RangeOp range) { return range->hasAttr(mark::rest); };
  SmallVector<RangeOp> ranges(kernel.getBody().front().getOps<RangeOp>());
  llvm::erase_if(ranges, isRest);
  return ranges;
}

SmallVector<ScatterTarget> metate::scatterTargets(RangeOp range, bool tell) {
  SmallVector<ScatterTarget> targets;
  range.walk([&](Operation *op) {
    if (!isAtomic(op) || op->hasAttr(mark::reduction))
      return;
    AccessTarget place = writeOf(op)->first;
    for (ScatterTarget &known : targets)
      if (known.place == place)
        return known.atomics.push_back(op);
    targets.emplace_back().place = place;
    targets.back().atomics.push_back(op);
  });
  llvm::erase_if(targets, [&](ScatterTarget &target) {
    Operation *atomic = target.atomics.front();
    StringRef problem = shapeOf(target, atomic);
    if (problem.empty())
      problem = problemOf(range, target);
    if (!problem.empty() && tell)
      remarkDeclined(atomic, "private-copies", "atomics")
          << "no copies of '" << accessName(target.place.first, target.place.second).name
          << "': " << problem;
    return !problem.empty();
  });
  return targets;
}
