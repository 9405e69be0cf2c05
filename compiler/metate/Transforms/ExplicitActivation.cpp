//===- ExplicitActivation.cpp - sparsity made explicit ----------*- C++ -*-===//
//
// Stage 3. After it, every store and atomic is `active`: guarded by an activate or proved to need
// none.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/QuantArith.h"
#include "metate/Transforms/SameCell.h"

#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/abi/module.h"

namespace metate {
#define GEN_PASS_DEF_EXPLICITACTIVATION
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct ExplicitActivation : metate::impl::ExplicitActivationBase<ExplicitActivation> {
  void runOnOperation() override {
    SmallVector<Operation *> writes;
    getOperation().walk([&](Operation *op) {
      if (auto cell = dyn_cast<CellOpInterface>(op); cell && cell.needsActivation())
        writes.push_back(op);
    });
    for (Operation *op : writes)
      guard(op);
    getOperation().walk([&](ForEachOp loop) { markTopology(loop); });
    recordAccess();
  }

private:
  /// True if the access is at the own cell of the struct-for around it, under the same levels, and stays active.
  bool isOwnCell(const CellAccess &access, const TreePath &path, Operation *op) {
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
      auto loop = dyn_cast<ForEachOp>(parent);
      if (!loop)
        continue;
      auto loopPath = findPath(cast<TreeType>(loop.getTree().getType()), loop.getPath());
      return loop.getTree() == access.tree && isSameCell(*loopPath, path) &&
             (llvm::equal(loop.getBody().getArguments(), access.coordinates) ||
              isMutant(Mutant::NeighbourStoreProved)) &&
             !mayDeactivate(getOperation(), loop, access.tree);
    }
    return false;
  }

  /// An earlier activate of the same cell that reaches `op`, or null.
  Value earlierActivation(const CellAccess &access, const TreePath &path, Operation *op) {
    if (mayDeactivate(getOperation(), getOperation(), access.tree))
      return {};
    for (ActivateOp earlier : activations[access.tree]) {
      TreePath other = *findPath(earlier.getTreeType(), earlier.getPath());
      if (isSameCell(other, path) &&
          (llvm::equal(earlier.getCoordinates(), access.coordinates) ||
           isMutant(Mutant::OtherCellProved)) &&
          earlier->getBlock()->findAncestorOpInBlock(*op) &&
          earlier->isBeforeInBlock(earlier->getBlock()->findAncestorOpInBlock(*op)))
        return earlier.getActive();
    }
    return {};
  }

  void guard(Operation *op) {
    CellAccess access = *CellAccess::of(op);
    TreePath path = access.resolve();
    if (path.lastActivity() < 0 || isOwnCell(access, path, op)) {
      ++proved;
      if (path.lastActivity() >= 0)
        if (auto remark = remarkDone(op, "explicit-activation", "activity"))
          remark << "'" << accessName(access.tree, access.path).name
                 << "' is written without an activation: the loop is at that cell, so it is active";
      op->setAttr("active", UnitAttr::get(&getContext()));
      return;
    }
    OpBuilder builder(op);
    Value active = earlierActivation(access, path, op);
    if (active) {
      ++proved;
    } else {
      auto activate = ActivateOp::create(builder, op->getLoc(), builder.getI1Type(), access.tree,
                                         builder.getStringAttr(access.path), access.coordinates);
      activations[access.tree].push_back(activate);
      active = activate.getActive();
      if (getOperation().getDebug())
        checkActivation(activate);
      ++inserted;
    }
    op->setAttr("active", builder.getUnitAttr());
    wrap(op, active, path);
  }

  /// Puts the access under `active`; an atomic that did not happen yields the background.
  void wrap(Operation *op, Value active, const TreePath &path) {
    OpBuilder builder(op);
    auto branch = scf::IfOp::create(builder, op->getLoc(), op->getResultTypes(), active,
                                    /*withElse=*/op->getNumResults() != 0);
    op->replaceAllUsesWith(branch);
    Block *then = branch.thenBlock();
    op->moveBefore(then, then->begin());
    if (op->getNumResults() == 0)
      return;
    builder.setInsertionPointToEnd(then);
    scf::YieldOp::create(builder, op->getLoc(), op->getResults());
    builder.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(builder, op->getLoc(), backgroundOf(builder, op, path));
  }

  static Value backgroundOf(OpBuilder &builder, Operation *op, const TreePath &path) {
    if (auto update = dyn_cast<UpdateOp>(op))
      return shownBackground(builder, update, path);
    return storedBackground(builder, cast<AtomicOp>(op), path);
  }

  /// The background's value, of a member that is decoded.
  static Value shownBackground(OpBuilder &builder, UpdateOp op, const TreePath &path) {
    Type type = path.place.getType();
    bool isShared = sharesExponent(op.getTreeType(), op.getPath());
    Value bits;
    if (isShared)
      bits = LoadSharedOp::create(builder, op.getLoc(), signlessType(type), op.getTree(),
                                  op.getPathAttr(), op.getCoordinates());
    else
      bits = LoadOp::create(builder, op.getLoc(), signlessType(type), op.getTree(),
                            op.getPathAttr(), op.getCoordinates(), ValueRange());
    return expandDecode(builder, op.getLoc(), bits, *QuantFormat::of(type, isShared));
  }

  static Value storedBackground(OpBuilder &builder, AtomicOp op, const TreePath &path) {
    Type type = op.getOld().getType();
    TypedAttr background = path.place.getBackground();
    if (isQuantised(path.place.getType())) // it is of another type
      background = {};
    else if (!background)
      background = builder.getZeroAttr(type);
    else if (auto integer = dyn_cast<IntegerAttr>(background)) // an unsigned member's has a sign
      background = IntegerAttr::get(type, integer.getValue());
    if (background && background.getType() == type)
      return arith::ConstantOp::create(builder, op.getLoc(), background);
    // Of a vector or a component of one: reading the inactive cell gives it.
    return LoadOp::create(builder, op.getLoc(), type, op.getTree(), op.getPathAttr(),
                          op.getCoordinates(), op.getComponents());
  }

  /// An activation or append in another branch of the tree, whose levels above the fork are the own cell's: that is active
  /// already.
  static bool isBesideWalk(ForEachOp loop, const TreePath &walked, Operation *op,
                           const CellAccess &change) {
    TreePath path = change.resolve();
    auto fork = std::mismatch(walked.levels.begin(), walked.levels.end(), path.levels.begin(),
                              path.levels.end());
    unsigned shared = fork.first - walked.levels.begin();
    if (isa<AppendOp>(op)) {
      if (shared == path.levels.size())
        return false; // the list is walked
      path = parentOf(path);
    }
    for (auto [k, axis] : llvm::enumerate(path.axes)) {
      auto splits = [axis = axis](LevelInterface level) {
        return llvm::is_contained(levelAxes(level), axis);
      };
      if (llvm::none_of(ArrayRef(path.levels).take_front(shared), splits))
        continue;
      unsigned own = llvm::find(walked.axes, axis) - walked.axes.begin();
      if (path.extentBelow(shared - 1, k) != walked.extentBelow(shared - 1, own) ||
          change.coordinates[k] != loop.getBody().getArgument(own))
        return false;
    }
    return true;
  }

  /// Do several cells of the walk ask one bit whether they are active? The cells of a slot are visited without a question.
  static bool shareBits(const TreePath &walked) {
    int depth = walked.lastActivity();
    return depth > walked.lastPool() &&
           llvm::any_of(ArrayRef(walked.levels).drop_front(depth + 1), [](LevelInterface level) {
             return llvm::any_of(level.getLevelExtents(),
                                 [](int64_t extent) { return extent > 1; });
           });
  }

  /// Nothing but the own cell of the loop, or cells below it that the loop does not walk.
  bool keepsWalk(ForEachOp loop, const TreePath &walked, Operation *op, bool deactivates,
                 bool activates) {
    CellAccess change = *changedCell(op);
    if (change.tree != loop.getTree())
      return false;
    TreePath path = change.resolve();
    if (isa<DeactivateOp>(op)) {
      ArrayRef<LevelInterface> levels = activityLevels(path);
      if (levels != ArrayRef(walked.levels).take_front(levels.size()))
        return true;
    }
    if (isa<AppendOp>(op))
      path = parentOf(path);
    if (!isa<DeactivateOp>(op) && !deactivates && isBesideWalk(loop, walked, op, change))
      return true;
    bool isOwn =
        isSameCell(walked, path) && llvm::equal(loop.getBody().getArguments(), change.coordinates);
    if (!isa<DeactivateOp>(op))
      return isOwn && !deactivates;
    return isOwn && !activates && !shareBits(walked);
  }

  /// The path without its last level.
  static TreePath parentOf(const TreePath &path) {
    TreePath parent;
    parent.levels.append(path.levels.begin(), std::prev(path.levels.end()));
    LevelInterface last = path.levels.back();
    for (auto [axis, extent] : llvm::zip(path.axes, path.extents))
      if (!llvm::is_contained(levelAxes(last), axis)) { // a list has its axis to itself
        parent.axes.push_back(axis);
        parent.extents.push_back(extent);
      }
    return parent;
  }

  /// A loop that may change which cells of the tree it walks are active visits those that were at entry.
  void markTopology(ForEachOp loop) {
    SmallVector<Operation *> changes;
    bool deactivates = false, activates = false;
    walkWithCalls(loop, [&](Operation *op) {
      std::optional<CellAccess> change = changedCell(op);
      if (change && mayBeSameTree(getOperation(), change->tree, loop.getTree())) {
        changes.push_back(op);
        (isa<DeactivateOp>(op) ? deactivates : activates) = true;
      }
      return WalkResult::advance();
    });
    TreePath walked = *findPath(cast<TreeType>(loop.getTree().getType()), loop.getPath());
    if (llvm::all_of(changes, [&](Operation *op) {
          return keepsWalk(loop, walked, op, deactivates, activates) ||
                 isMutant(Mutant::EveryChangeOwn);
        }))
      return;
    remarkNoted(loop, "explicit-activation", "walk")
        << "the loop changes which cells of its tree are active: it visits those that were when it "
           "began";
    setMark(loop, mark::changesTopology);
  }

  static int64_t accessOf(CellOpInterface cell) {
    int64_t bits = 0;
    if (cell.readsMember() || cell.asksActivity())
      bits |= METATE_ACCESS_READ;
    if (cell.writesMember() || cell.changesActivity())
      bits |= METATE_ACCESS_WRITE;
    return cell.activates() ? bits | METATE_ACCESS_ACTIVATE : bits;
  }

  void recordAccess() {
    llvm::DenseMap<Value, int64_t> access;
    getOperation().walk([&](Operation *op) {
      if (auto cell = dyn_cast<CellOpInterface>(op))
        access[cell.getTree()] |= accessOf(cell);
      TypeSwitch<Operation *>(op)
          .Case<memref::LoadOp>([&](auto load) { access[load.getMemRef()] |= METATE_ACCESS_READ; })
          .Case<memref::StoreOp>(
              [&](auto store) { access[store.getMemRef()] |= METATE_ACCESS_WRITE; })
          .Case<memref::AtomicRMWOp>([&](auto rmw) {
            access[rmw.getMemref()] |= METATE_ACCESS_READ | METATE_ACCESS_WRITE;
          });
      if (auto loop = dyn_cast<ForEachOp>(op); loop && loop->hasAttr(mark::changesTopology))
        access[loop.getTree()] |= METATE_ACCESS_WRITE;
    });
    KernelOp kernel = getOperation();
    Builder builder(&getContext());
    for (BlockArgument argument : kernel.getBody().getArguments())
      if (isa<TreeType, MemRefType>(argument.getType()))
        kernel.setArgAttr(argument.getArgNumber(), mark::access,
                          builder.getI64IntegerAttr(access.lookup(argument)));
  }

  llvm::DenseMap<Value, SmallVector<ActivateOp>> activations;
};
} // namespace
