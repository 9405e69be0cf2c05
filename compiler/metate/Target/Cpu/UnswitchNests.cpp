//===- UnswitchNests.cpp - fixed conditions leave their loops ---*- C++ -*-===//
//
// What guards a whole nest leaves it, so that rows are straight code for LLVM's vectoriser. The CPU's: a device runs a cell
// with an invocation, for which the test costs nothing.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_UNSWITCHNESTS
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Each unswitching may copy the loop; beyond this many the code would grow for little.
constexpr unsigned maxPerNest = 2;

struct UnswitchNests : metate::impl::UnswitchNestsBase<UnswitchNests> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> outermost;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (loop.getNumResults() == 0)
        outermost.push_back(loop);
      return WalkResult::skip();
    });
    for (scf::ForOp loop : outermost)
      visit(loop, maxPerNest);
  }

private:
  /// A conditional without results in the nest whose condition is defined outside of it.
  static scf::IfOp findFixed(scf::ForOp loop) {
    scf::IfOp found;
    loop.walk([&](scf::IfOp branch) {
      Operation *definition = branch.getCondition().getDefiningOp();
      bool outside =
          definition ? !loop->isAncestor(definition)
                     : !loop->isAncestor(
                           cast<BlockArgument>(branch.getCondition()).getOwner()->getParentOp());
      if (!outside || branch.getNumResults() != 0 ||
          matchPattern(branch.getCondition(), m_Constant()))
        return WalkResult::advance();
      found = branch;
      return WalkResult::interrupt();
    });
    return found;
  }

  static void replaceCondition(OpBuilder &builder, scf::ForOp loop, Value condition, bool value) {
    builder.setInsertionPoint(loop);
    Value constant = arith::ConstantIntOp::create(builder, loop.getLoc(), value, 1);
    condition.replaceUsesWithIf(
        constant, [&](OpOperand &use) { return loop->isProperAncestor(use.getOwner()); });
    // Fold at once: the next look must not find it again.
    SmallVector<scf::IfOp> branches;
    loop.walk([&](scf::IfOp branch) {
      if (branch.getCondition() == constant && branch.getNumResults() == 0)
        branches.push_back(branch);
    });
    for (scf::IfOp branch : branches) {
      Region &taken = value ? branch.getThenRegion() : branch.getElseRegion();
      if (!taken.empty() && (value || !isMutant(Mutant::UnswitchedElseLost))) {
        taken.front().getTerminator()->erase();
        branch->getBlock()->getOperations().splice(branch->getIterator(),
                                                   taken.front().getOperations());
      }
      branch.erase();
    }
  }

  void visit(scf::ForOp loop, unsigned budget) {
    scf::IfOp branch = budget || wantsRemarks(&getContext()) ? findFixed(loop) : scf::IfOp();
    if (branch && !budget)
      remarkDeclined(branch, "unswitch-nests", "conditionals")
          << "a condition that is the same for all turns stays in its loop: two have left it "
             "already";
    if (!branch || !budget)
      return;
    remarkDone(branch, "unswitch-nests", "conditionals")
        << "a condition that is the same for all turns leaves its loop, which is there once for "
           "each outcome";
    Value condition = branch.getCondition();
    OpBuilder builder(loop);
    auto outer = scf::IfOp::create(builder, loop.getLoc(), condition, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(outer.elseBlock());
    auto other = cast<scf::ForOp>(builder.clone(*loop));
    loop->moveBefore(outer.thenBlock(), outer.thenBlock()->begin());
    replaceCondition(builder, loop, condition, true);
    replaceCondition(builder, other, condition, false);
    ++unswitched;
    visit(loop, budget - 1);
    if (isOpTriviallyDead(other))
      other.erase();
    else
      visit(other, budget - 1);
  }
};
} // namespace
