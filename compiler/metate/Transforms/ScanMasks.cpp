//===- ScanMasks.cpp - activity read by rows --------------------*- C++ -*-===//
//
// A struct-for over a bitmasked leaf tests each cell. Where a row of the leaf lies in one word of the
// mask, the word is read once for the row: the row then is straight code under a mask, which
// flatten-rows and LLVM make vectors of. Leaves that are full ask for no bits.
//
//===----------------------------------------------------------------------===//
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/Passes.h"

#include "llvm/Support/MathExtras.h"

namespace metate {
#define GEN_PASS_DEF_SCANMASKS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// What is done to cells of full leaves is copied up to this many operations.
constexpr unsigned maxOperations = 256;

struct ScanMasks : metate::impl::ScanMasksBase<ScanMasks> {
  using ScanMasksBase::ScanMasksBase;
  void runOnOperation() override {
    SmallVector<IsActiveOp> tests;
    getOperation().walk([&](IsActiveOp test) {
      if (!test->hasAttr(mark::own))
        return;
      if (isRow(test))
        tests.push_back(test);
      else
        remarkDeclined(test, "scan-masks", "masks")
            << "cells are tested one by one: rows of the leaf are not whole parts of the words of "
               "a mask "
               "(a bitmasked leaf whose last extent is a power of two, up to 32)";
    });
    for (IsActiveOp test : tests)
      mark(test);
  }

private:
  /// Is the test made in the innermost loop over a bitmasked leaf, whose rows divide the mask's words?
  static bool isRow(IsActiveOp test) {
    auto row = dyn_cast<scf::ForOp>(test->getParentOp());
    auto cells = test->getParentOfType<CellsOp>();
    if (!row || !row->hasAttr(mark::row) || !cells)
      return false;
    CellAccess access = *CellAccess::of(test);
    TreePath path = access.resolve();
    LevelInterface leaf = path.levels.back();
    int64_t extent = leaf.getLevelExtents().back();
    if (!leaf.hasMask() || extent > 32 || !llvm::isPowerOf2_64(extent))
      return false;
    std::optional<LeafForm> form = LeafForm::of(cells, access);
    if (!form || !form->staysInLeaf())
      return false;
    unsigned last = levelAxes(leaf).back();
    return llvm::all_of(llvm::zip(path.axes, form->local), [&](auto axis) {
      auto &[number, local] = axis;
      return local.coefficient(row.getInductionVar()) == (number == last ? 1 : 0);
    });
  }

  /// The only conditional that asks, if it is short and nothing in it stops being a vector for what it does.
  static scf::IfOp splittable(IsActiveOp test) {
    auto cells = test->getParentOfType<CellsOp>();
    TreePath leaf = CellAccess::of(test)->resolve();
    TreePath slots = *findPath(cast<TreeType>(cells.getTree().getType()), cells.getLevel());
    if (test.getTree() != cells.getTree() ||
        ArrayRef(leaf.levels).drop_back() != ArrayRef(slots.levels))
      return {};
    auto branch = test->hasOneUse() ? dyn_cast<scf::IfOp>(*test->getUsers().begin()) : scf::IfOp();
    if (!branch || branch.getNumResults() != 0 || branch.elseBlock() ||
        llvm::range_size(*branch.thenBlock()) > maxOperations)
      return {};
    bool isSimple = llvm::all_of(branch.thenBlock()->without_terminator(), [](Operation &op) {
      return isa<LoadOp, StoreOp, memref::LoadOp>(op) ||
             (op.getNumRegions() == 0 && isMemoryEffectFree(&op));
    });
    return isSimple ? branch : scf::IfOp();
  }

  /// In a leaf that is full no bit is asked for: a nest of its own, once unswitch-nests has taken it out.
  void splitFull(IsActiveOp test, scf::IfOp branch) {
    auto cells = test->getParentOfType<CellsOp>();
    OpBuilder before(leafPoint(cells)), builder(branch);
    auto full = IsLeafFullOp::create(before, test.getLoc(), test.getTree(), test.getPathAttr(),
                                     test.getEntryAttr());
    auto outer = scf::IfOp::create(builder, branch.getLoc(), full, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(outer.thenBlock());
    IRMapping mapping;
    for (Operation &op : branch.thenBlock()->without_terminator())
      builder.clone(op, mapping);
    branch->moveBefore(outer.elseBlock(), outer.elseBlock()->begin());
    ++split;
  }

  void mark(IsActiveOp test) {
    Builder builder(&getContext());
    setMark(test, mark::scanned);
    for (Operation *user : test->getUsers())
      if (isa<scf::IfOp>(user))
        setMark(user, mark::masked);
    ++scanned;
    remarkDone(test, "scan-masks", "masks") << "the bits of a row of the leaf are read at once";
    scf::IfOp branch = splitLeaves ? splittable(test) : scf::IfOp();
    if (branch) {
      remarkDone(test, "scan-masks", "full leaves")
          << "leaves all of whose cells are active have a nest of their own, without bits";
      splitFull(test, branch);
    } else {
      remarkDeclined(test, "scan-masks", "full leaves")
          << "full leaves test bits as well: the body is long, branches, or changes more than its "
             "own members";
    }
  }
};
} // namespace
