//===- HoistActivations.cpp - one activation per leaf -----------*- C++ -*-===//
#include "metate/Dialect/Call.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_HOISTACTIVATIONS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct HoistActivations : metate::impl::HoistActivationsBase<HoistActivations> {
  void runOnOperation() override {
    SmallVector<std::pair<CellsOp, ActivateOp>> work;
    getOperation().walk([&](CellsOp cells) {
      cells.walk([&](ActivateOp activate) {
        if (nestOf(cells).empty())
          return;
        if (runsForEveryCell(cells, activate) || isMutant(Mutant::ConditionalActivationHoisted))
          work.emplace_back(cells, activate);
        else
          remarkStays(activate, "it runs under a condition");
      });
    });
    for (auto [cells, activate] : work)
      hoist(cells, activate);
  }

private:
  /// Does the nest ask which cells of the tree are active? The cell that activates the leaf must
  /// still find it inactive before.
  bool asksActivity(CellsOp cells, Value tree) {
    return walkWithCalls(cells,
                         [&](Operation *op) {
                           return metate::asksActivity(getOperation(), op, tree)
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         })
        .wasInterrupted();
  }

  /// May the first cell stop the kernel before it activates the leaf? Then no cell may.
  static bool mayStopBefore(CellsOp cells, ActivateOp activate) {
    bool stops = false;
    cells.walk<WalkOrder::PreOrder>([&](Operation *op) {
      stops = op != activate && mayStop(op);
      return stops || op == activate ? WalkResult::interrupt() : WalkResult::advance();
    });
    return stops;
  }

  static void remarkStays(ActivateOp activate, StringRef why) {
    if (auto remark = remarkDeclined(activate, "hoist-activations", "activations"))
      remark << "cells of '" << accessName(activate.getTree(), activate.getPath()).name
             << "' are activated one by one: " << why;
  }

  void hoist(CellsOp cells, ActivateOp activate) {
    // Cells below the leaf's slot with bits of their own: activating one is not activating all.
    TreePath path = CellAccess::of(activate)->resolve();
    if (path.lastPool() < 0)
      return;
    bool isLeafs = (path.lastActivity() == path.lastPool() &&
                    path.levels[path.lastPool()].hasSlotForEachCell()) ||
                   isMutant(Mutant::OneBitForAll);
    std::optional<LeafForm> form = LeafForm::of(cells, *CellAccess::of(activate));
    StringRef problem = !isLeafs ? "each cell has a bit of its own"
                        : !form  ? "its cell is not near the one that the iteration is at"
                        : !form->staysInLeaf()           ? "it reaches neighbouring leaves"
                        : mayStopBefore(cells, activate) ? "a check before it may stop the kernel"
                        : mayDeactivate(getOperation(), cells, activate.getTree())
                            ? "the loop deactivates cells of the tree"
                        : asksActivity(cells, activate.getTree())
                            ? "the loop asks which cells are active"
                            : "";
    if (!problem.empty())
      return remarkStays(activate, problem);
    if (auto remark = remarkDone(activate, "hoist-activations", "activations"))
      remark << "the slot of '" << accessName(activate.getTree(), activate.getPath()).name
             << "' is activated once a leaf, not for each cell";
    // The leaf's first cell stands for all of them.
    OpBuilder builder(leafPoint(cells));
    Location loc = activate.getLoc();
    SmallVector<Value> base = form->base(builder, loc);
    auto once = ActivateOp::create(builder, loc, activate.getActive().getType(), activate.getTree(),
                                   activate.getPathAttr(), base, activate.getStrictAttr());
    activate.replaceAllUsesWith(once.getOperation());
    activate.erase();
    ++hoisted;
  }
};
} // namespace
