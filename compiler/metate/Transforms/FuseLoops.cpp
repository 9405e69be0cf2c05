//===- FuseLoops.cpp - loops over one box become one ------------*- C++ -*-===//
//
// Two parallel loops that stand one after the other, over the same box, run as one where each iteration of the second one sees of
// the first one only what its own iteration wrote: what both touch and one of them writes, each iteration touches at places of
// its own. The second loop then reads from registers and caches what the first one left there, and workers meet once.
//
// Only loops in whose iterations statements run once, in order, become one: inner loops, branches, atomics and activations have
// plans of later passes (rows, tiles, blends, reductions) that another loop's statements would be in the way of.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_FUSELOOPS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Streams that a machine's prefetchers follow side by side.
constexpr size_t mostTargets = 8;

/// Operations of an iteration, whose values stay in registers.
constexpr size_t mostFused = 128;

struct FusedAccess {
  AccessTarget target;
  ValueRange place;
  bool writes;
};

/// What an iteration touches; nullopt if it does anything else.
using Accesses = std::optional<SmallVector<FusedAccess>>;

struct FuseLoops : metate::impl::FuseLoopsBase<FuseLoops> {
  void runOnOperation() override {
    // Arguments that may overlap: an own place of one is another iteration's of the next.
    if (getOperation().getMayAlias())
      return;
    Operation *first = nullptr;
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      if (isa<RangeOp, ForEachOp>(op)) {
        if (first && mayFuse(first, &op))
          fuse(first, &op);
        first = &op;
      } else if (!isMemoryEffectFree(&op)) {
        first = nullptr;
      }
    }
  }

private:
  static std::optional<FusedAccess> accessOf(Operation &op) {
    if (auto write = writeOf(&op))
      return FusedAccess{write->first, write->second, true};
    if (auto load = dyn_cast<LoadOp>(op))
      return FusedAccess{{load.getTree(), load.getPath()}, load.getCoordinates(), false};
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return FusedAccess{{load.getMemRef(), ""}, load.getIndices(), false};
    return std::nullopt;
  }

  static Accesses accessesOf(Operation *loop) {
    SmallVector<FusedAccess> accesses;
    for (Operation &op : loop->getRegion(0).front().without_terminator()) {
      if (op.getNumRegions())
        return std::nullopt;
      bool isPlain = isa<LoadOp, StoreOp, memref::LoadOp, memref::StoreOp>(op);
      if (!isPlain && !isMemoryEffectFree(&op))
        return std::nullopt;
      std::optional<FusedAccess> access = isPlain ? accessOf(op) : std::nullopt;
      // What an iteration has for itself, and what activates cells, is not looked into.
      if (isPlain && !isa<BlockArgument>(access->target.first))
        return std::nullopt;
      if (auto store = dyn_cast<StoreOp>(op); store && !store.getActive())
        return std::nullopt;
      if (access)
        accesses.push_back(*access);
    }
    return accesses;
  }

  /// A member's cells, all there from the start.
  static std::optional<TreePath> denseBox(ForEachOp loop) {
    TreePath path = *findPath(cast<TreeType>(loop.getTree().getType()), loop.getPath());
    bool isDense = path.lastPool() < 0 && path.lastActivity() < 0;
    return isDense ? std::optional(path) : std::nullopt;
  }

  /// The loops' variables take the same values, in the same order of memory.
  static bool haveSameBox(Operation *first, Operation *second) {
    auto range = dyn_cast<RangeOp>(first), otherRange = dyn_cast<RangeOp>(second);
    if (range && otherRange)
      return first->getAttrDictionary() == second->getAttrDictionary() &&
             range.getLower() == otherRange.getLower() && range.getUpper() == otherRange.getUpper();
    auto cells = dyn_cast<ForEachOp>(first), otherCells = dyn_cast<ForEachOp>(second);
    if (!cells || !otherCells)
      return false;
    std::optional<TreePath> path = denseBox(cells), otherPath = denseBox(otherCells);
    return path && otherPath && path->axes == otherPath->axes &&
           path->extents == otherPath->extents && path->levels == otherPath->levels;
  }

  static bool mayFuse(Operation *first, Operation *second) {
    if (!haveSameBox(first, second))
      return false;
    Block &one = first->getRegion(0).front(), &other = second->getRegion(0).front();
    if (one.getOperations().size() + other.getOperations().size() > mostFused)
      return false;
    Accesses accesses = accessesOf(first), otherAccesses = accessesOf(second);
    if (!accesses || !otherAccesses)
      return false;
    llvm::SmallDenseSet<AccessTarget> own, common, all;
    for (const FusedAccess &access : *accesses)
      own.insert(access.target);
    all = own;
    for (const FusedAccess &access : *otherAccesses) {
      all.insert(access.target);
      if (own.contains(access.target))
        common.insert(access.target);
    }
    if (common.empty() || all.size() > mostTargets)
      return false;
    return isMutant(Mutant::LoopsFusedAcrossTurns) ||
           llvm::all_of(common, [&](AccessTarget target) {
             return areOwn(first, second, *accesses, *otherAccesses, target);
           });
  }

  /// Each iteration touches the target at places that no other one touches, in either loop; or nobody writes it.
  static bool areOwn(Operation *first, Operation *second, ArrayRef<FusedAccess> accesses,
                     ArrayRef<FusedAccess> otherAccesses, AccessTarget target) {
    bool isWritten = false;
    // Places of one loop have to name the variables of one: those of the other one are looked at as if they were.
    SmallVector<ValueRange> places, otherPlaces;
    for (const FusedAccess &access : accesses)
      if (access.target == target) {
        places.push_back(access.place);
        isWritten |= access.writes;
      }
    for (const FusedAccess &access : otherAccesses)
      if (access.target == target) {
        otherPlaces.push_back(access.place);
        isWritten |= access.writes;
      }
    if (!isWritten)
      return true;
    return areOwnPlaces(first, places) && areOwnPlaces(second, otherPlaces) &&
           arePlain(first, places) && arePlain(second, otherPlaces) &&
           haveSameVariables(first, second, places.front(), otherPlaces.front());
  }

  /// All places are the same values, each a variable of the loop or comes from outside.
  static bool arePlain(Operation *loop, ArrayRef<ValueRange> places) {
    return llvm::all_of(places, [&](ValueRange place) {
      return place == places.front() && llvm::all_of(place, [&](Value coordinate) {
               auto argument = dyn_cast<BlockArgument>(coordinate);
               return (argument && argument.getOwner() == &loop->getRegion(0).front()) ||
                      coordinate.getParentRegion()->isProperAncestor(&loop->getRegion(0));
             });
    });
  }

  /// The places are the same once the loops' variables are.
  static bool haveSameVariables(Operation *first, Operation *second, ValueRange place,
                                ValueRange otherPlace) {
    Block *one = &first->getRegion(0).front(), *other = &second->getRegion(0).front();
    return place.size() == otherPlace.size() &&
           llvm::all_of(llvm::zip(place, otherPlace), [&](auto pair) {
             auto a = dyn_cast<BlockArgument>(std::get<0>(pair)),
                  b = dyn_cast<BlockArgument>(std::get<1>(pair));
             if (a && b && a.getOwner() == one && b.getOwner() == other)
               return a.getArgNumber() == b.getArgNumber();
             return std::get<0>(pair) == std::get<1>(pair);
           });
  }

  /// The second loop begins with the first one's statements, in whose place it is: what stands between has no effects.
  void fuse(Operation *first, Operation *second) {
    if (auto remark = remarkDone(second, "fuse-loops", "tasks"))
      remark << "the loop is one with the loop before it: of what both touch each iteration has "
                "places of its own";
    Block &from = first->getRegion(0).front(), &to = second->getRegion(0).front();
    from.getTerminator()->erase();
    for (auto [variable, own] : llvm::zip(from.getArguments(), to.getArguments()))
      variable.replaceAllUsesWith(own);
    to.getOperations().splice(to.begin(), from.getOperations());
    first->erase();
    forward(to);
    ++fused;
  }

  /// What was stored or loaded before is not loaded again.
  static void forward(Block &body) {
    struct Known {
      AccessTarget target;
      SmallVector<Value> place; ///< with components
      Value value;
    };
    SmallVector<Known> known;
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      std::optional<FusedAccess> access = accessOf(op);
      if (!access)
        continue;
      unsigned values = access->writes; // a store's first operand
      SmallVector<Value> place(op.getOperands().drop_front(values));
      if (access->writes) {
        llvm::erase_if(known, [&](const Known &one) { return one.target == access->target; });
        known.push_back({access->target, place, op.getOperand(0)});
        continue;
      }
      auto *found = llvm::find_if(known, [&](const Known &one) {
        return one.target == access->target && one.place == place &&
               one.value.getType() == op.getResult(0).getType();
      });
      if (found == known.end()) {
        known.push_back({access->target, place, op.getResult(0)});
        continue;
      }
      op.getResult(0).replaceAllUsesWith(found->value);
      op.erase();
    }
  }
};
} // namespace
