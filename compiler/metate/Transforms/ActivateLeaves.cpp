//===- ActivateLeaves.cpp - activations by words of a mask ------*- C++ -*-===//
//
// `for I in x: y[I] = ...` activates in y what is active in x: a leaf's bits are those of the other, and a
// slot is there where one of them is set.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_ACTIVATELEAVES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct ActivateLeaves : metate::impl::ActivateLeavesBase<ActivateLeaves> {
  void runOnOperation() override {
    SmallVector<std::pair<CellsOp, ActivateOp>> work;
    getOperation().walk([&](CellsOp cells) {
      cells.walk([&](ActivateOp activate) {
        if (!nestOf(cells).empty() && runsForEveryActiveCell(cells, activate))
          work.emplace_back(cells, activate);
      });
    });
    for (auto [cells, activate] : work)
      visit(cells, activate);
  }

private:
  /// The test that the nest's body stands under; null where all cells of the leaf are active.
  static IsActiveOp ownTest(ActivateOp activate) {
    auto branch = dyn_cast<scf::IfOp>(activate->getParentOp());
    return branch ? branch.getCondition().getDefiningOp<IsActiveOp>() : IsActiveOp();
  }

  /// The path ends in one level that its last pool's slots hold.
  static bool endsInLeaf(const TreePath &path) {
    return path.lastPool() >= 0 && size_t(path.lastPool()) + 2 == path.levels.size() &&
           path.levels[path.lastPool()].hasSlotForEachCell() && !path.levels.back().hasPool();
  }

  /// Does the nest ask about the tree's cells, other than whether the own one is active, or change one of its lists? The bits
  /// would be there too early.
  bool asksActivity(CellsOp cells, IsActiveOp own, Value tree) {
    return walkWithCalls(cells,
                         [&](Operation *one) {
                           auto op = dyn_cast<CellOpInterface>(one);
                           bool differs = op && one != own &&
                                          (op.asksActivity() || !op.namesCell()) &&
                                          mayBeSameTree(getOperation(), op.getTree(), tree);
                           return differs ? WalkResult::interrupt() : WalkResult::advance();
                         })
        .wasInterrupted();
  }

  /// May a cell stop the kernel before the others have activated theirs?
  static bool mayStopInside(CellsOp cells, ActivateOp activate) {
    return cells
        .walk([&](Operation *op) {
          return op != activate && mayStop(op) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  void visit(CellsOp cells, ActivateOp activate) {
    CellAccess access = *CellAccess::of(activate);
    TreePath path = access.resolve();
    IsActiveOp own = ownTest(activate);
    std::optional<LeafForm> form = LeafForm::of(cells, access);
    StringRef problem = !endsInLeaf(path) ? "its leaf is not one level right below a slot"
                        : !form           ? "its cell is not near the one that the iteration is at"
                        : !form->staysInLeaf() ? "it reaches neighbouring leaves"
                        : activate.getStrict() ? "debug mode checks each activation"
                        : mayDeactivate(getOperation(), cells, activate.getTree())
                            ? "the loop deactivates cells of the tree"
                        : asksActivity(cells, own, activate.getTree())
                            ? "the loop asks which cells are active"
                        : mayStopInside(cells, activate) ? "a check in the loop may stop the kernel"
                                                         : "";
    if (!problem.empty()) {
      if (auto remark = remarkDeclined(activate, "activate-leaves", "activations"))
        remark << "cells of '" << accessName(activate.getTree(), activate.getPath()).name
               << "' are not activated by words of their mask: " << problem;
      return;
    }
    Operation *body = own ? activate->getParentOp()->getParentOp() : activate->getParentOp();
    bool hasBits = path.levels.back().hasMask();
    // Of every cell of a leaf one slot: metate-hoist-activations.
    if (body != nestOf(cells).back() || (!own && !hasBits))
      return;
    if (own) {
      TreePath walked = CellAccess::of(own)->resolve();
      if (!endsInLeaf(walked) || !walked.levels.back().hasMask() ||
          levelAxes(walked.levels.back()) != levelAxes(path.levels.back()) ||
          walked.levels.back().getLevelExtents() != path.levels.back().getLevelExtents())
        return;
    }
    if (!hasBits || form->isOwnCell(cells, path))
      merge(cells, activate, own, *form);
  }

  void merge(CellsOp cells, ActivateOp activate, IsActiveOp own, const LeafForm &form) {
    if (auto remark = remarkDone(activate, "activate-leaves", "activations"))
      remark << "cells of '" << accessName(activate.getTree(), activate.getPath()).name
             << "' are activated once a leaf, by words of its mask";
    OpBuilder builder(leafPoint(cells));
    Location loc = activate.getLoc();
    SmallVector<Value> base = form.base(builder, loc);
    auto once = ActivateLeafOp::create(builder, loc, builder.getI1Type(), activate.getTree(),
                                       activate.getPathAttr(), base, own ? own.getTree() : Value(),
                                       own ? own.getPathAttr() : StringAttr(),
                                       own && own.getEntry(), DenseI32ArrayAttr());
    activate.replaceAllUsesWith(once.getOperation());
    activate.erase();
    ++merged;
  }
};
} // namespace
