//===- TakenPlaces.cpp - places that iterations of a loop take --*- C++ -*-===//
#include "metate/Transforms/TakenPlaces.h"
#include "metate/Dialect/Quant.h"

#include "metate/Dialect/Elementary.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/ScatterBases.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;

/// Operations that are done once more for each iteration; in a loop whose turns nobody knows they may be most of what it does.
static constexpr size_t mostOfSlice = 100, mostOfSliceInLoop = 32;

OperandRange metate::listOf(Operation *site) {
  if (auto append = dyn_cast<AppendOp>(site))
    return append.getCoordinates();
  if (auto cell = dyn_cast<AtomicOp>(site))
    return cell.getCoordinates();
  return cast<memref::AtomicRMWOp>(site).getIndices();
}

Value metate::placesOf(Operation *site) {
  if (auto cell = dyn_cast<AtomicOp>(site))
    return cell.getValue();
  auto element = dyn_cast<memref::AtomicRMWOp>(site);
  return element ? element.getValue() : Value();
}

/// The tree or array that a site names.
static AccessTarget targetOf(Operation *site) {
  if (auto append = dyn_cast<AppendOp>(site))
    return {append.getTree(), append.getPath()};
  return writeOf(site)->first;
}

/// Does the operation take a place that is then used?
static bool takesPlace(Operation *op) {
  if (isa<AppendOp>(op))
    return true;
  auto cell = dyn_cast<AtomicOp>(op);
  auto element = dyn_cast<memref::AtomicRMWOp>(op);
  bool adds =
      (cell && cell.getKind() == arith::AtomicRMWKind::addi && cell.getComponents().empty()) ||
      (element && element.getKind() == arith::AtomicRMWKind::addi);
  return adds && !op->use_empty() && op->getResult(0).getType().isInteger(32);
}

/// The extents of the lists' coordinates; none where they are not known, or cells are not there before.
static SmallVector<int64_t> extentsOf(Operation *site) {
  AccessTarget target = targetOf(site);
  if (auto array = dyn_cast<MemRefType>(target.first.getType())) {
    bool isKnown = isa<BlockArgument>(target.first) && array.hasStaticShape();
    return isKnown ? SmallVector<int64_t>(array.getShape()) : SmallVector<int64_t>();
  }
  TreePath path = *findPath(cast<TreeType>(target.first.getType()), target.second);
  SmallVector<int64_t> extents = path.extents;
  if (isa<AppendOp>(site)) {
    unsigned axis = levelAxes(path.levels.back())[0];
    if (path.parentRank() == path.rank()) // the list's axis is one of a level above, too
      return {};
    extents.erase(extents.begin() + (llvm::find(path.axes, axis) - path.axes.begin()));
  } else if (path.lastActivity() >= 0 || path.lastPool() >= 0) {
    return {};
  }
  bool isBounded = llvm::none_of(extents, [](int64_t extent) { return extent == unboundedExtent; });
  return isBounded ? extents : SmallVector<int64_t>();
}

/// Does anything else in the loop change, or ask, how many places are taken?
static bool isTakenOtherwise(RangeOp range, const TakenPlaces &target) {
  KernelOp kernel = range->getParentOfType<KernelOp>();
  auto [value, path] = target.place;
  return walkWithCalls(
             range,
             [&](Operation *op) {
               if (llvm::is_contained(target.sites, op) || isa<memref::DimOp>(op) ||
                   !llvm::is_contained(op->getOperands(), value))
                 return WalkResult::advance();
               auto cell = dyn_cast<CellOpInterface>(op);
               bool counts =
                   !cell || cell.changesActivity() || cell.asksActivity() ||
                   (!target.isList() && cell.getPath() == path) ||
                   // What is read there may be what an earlier iteration has put behind the rest.
                   (target.isList() && kernel->hasAttr(mark::deterministic) && isa<LoadOp>(op));
               return counts ? WalkResult::interrupt() : WalkResult::advance();
             })
      .wasInterrupted();
}

/// A counter that shares its word with others.
static bool isPacked(Operation *op) {
  return isa<AtomicOp>(op) && isQuantised(CellAccess::of(op)->resolve().place.getType());
}

SmallVector<TakenPlaces> metate::takenPlaces(RangeOp range) {
  SmallVector<TakenPlaces> targets;
  range.walk([&](Operation *op) {
    if (!takesPlace(op) || op->hasAttr(mark::reduction) || isPacked(op))
      return;
    AccessTarget place = targetOf(op);
    for (TakenPlaces &known : targets)
      if (known.place == place)
        return known.sites.push_back(op);
    targets.push_back({place, {op}, extentsOf(op)});
  });
  llvm::erase_if(targets, [&](const TakenPlaces &target) {
    SmallVector<ValueRange> places;
    for (Operation *site : target.sites)
      places.push_back(listOf(site));
    bool isOne = llvm::all_of(places, [&](ValueRange coordinates) {
      return llvm::all_of(coordinates, [&](Value value) {
        return !range->isAncestor(value.getParentRegion()->getParentOp()) ||
               matchPattern(value, m_Constant());
      });
    });
    return target.extents.empty() || isOne || areOwnPlaces(range, places) ||
           isTakenOtherwise(range, target);
  });
  return targets;
}

PlaceSlice::PlaceSlice(RangeOp range, ArrayRef<TakenPlaces> targets) : range(range) {
  bool isRepeated = false;
  for (const TakenPlaces &target : targets)
    for (Operation *site : target.sites) {
      sites.insert(site);
      auto loop = site->getParentOfType<scf::ForOp>();
      isRepeated |= site->getParentOfType<scf::WhileOp>() || (loop && !loop.getStaticTripCount());
    }
  for (Operation *site : sites) {
    for (Value coordinate : listOf(site))
      reach(coordinate);
    if (Value places = placesOf(site))
      reach(places);
    if (site->getParentOp() != range)
      add(site->getParentOp());
  }
  for (size_t k = 0; k < operations.size() && why.empty(); ++k)
    follow(operations[k]);
  if (operations.size() > (isRepeated ? mostOfSliceInLoop : mostOfSlice))
    why = "it takes too much to know the list of an iteration";
  for (Operation *site : sites)
    operations.insert(site);
}

void PlaceSlice::reach(Value value) {
  Operation *op = value.getDefiningOp();
  add(op ? op : cast<BlockArgument>(value).getOwner()->getParentOp());
}

void PlaceSlice::add(Operation *op) {
  if (!range->isProperAncestor(op))
    return;
  if (sites.contains(op))
    why = "the list of an iteration depends on the place that it took in another one";
  else
    operations.insert(op);
}

void PlaceSlice::follow(Operation *op) {
  for (Value operand : op->getOperands())
    reach(operand);
  add(op->getParentOp());
  if (op->hasTrait<OpTrait::IsTerminator>())
    return;
  if (op->getNumRegions() == 0) {
    bool isRead = isa<memref::LoadOp, LoadOp>(op) && !isWrittenIn(range, op);
    // A function that is computed twice may be rounded in two ways.
    if (isa<ElementaryOp>(op) || (!isRead && !isMemoryEffectFree(op)))
      why = "the list of an iteration depends on more than arithmetic and reads of what the loop "
            "does "
            "not write";
    return;
  }
  bool isAround = llvm::any_of(sites, [&](Operation *site) { return op->isAncestor(site); });
  if (!isa<scf::IfOp>(op) && !(isAround && isa<scf::ForOp, scf::WhileOp>(op)))
    why = "a loop of its own finds the list of an iteration";
  for (Region &region : op->getRegions())
    for (Block &block : region)
      add(block.getTerminator());
}

void PlaceSlice::keepRounding() const {
  for (Operation *op : operations)
    if (auto floats = dyn_cast<arith::ArithFastMathInterface>(op))
      op->setAttr(floats.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(op->getContext(), arith::FastMathFlags::none));
}
