//===- ScanMasks.cpp - activity read by rows --------------------*- C++ -*-===//
//
// A struct-for over a bitmasked leaf tests each cell. Where a row of the leaf lies in one word of the
// mask, the word is read once for the row: the row then is straight code under a mask, which
// flatten-rows and LLVM make vectors of.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
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
struct ScanMasks : metate::impl::ScanMasksBase<ScanMasks> {
  void runOnOperation() override {
    getOperation().walk([&](IsActiveOp test) {
      if (test->hasAttr("metate.own") && isRow(test))
        mark(test);
    });
  }

private:
  /// Is the test made in the innermost loop over a bitmasked leaf, whose rows divide the mask's words?
  static bool isRow(IsActiveOp test) {
    auto row = dyn_cast<scf::ForOp>(test->getParentOp());
    auto cells = test->getParentOfType<CellsOp>();
    if (!row || !row->hasAttr("metate.row") || !cells)
      return false;
    CellAccess access = *CellAccess::of(test);
    TreePath path = access.resolve();
    LevelInterface leaf = path.levels.back();
    int64_t extent = leaf.getLevelExtents().back();
    if (!isa<BitmaskedAttr>(leaf) || extent > 32 || !llvm::isPowerOf2_64(extent))
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

  void mark(IsActiveOp test) {
    Builder builder(&getContext());
    test->setAttr("metate.scanned", builder.getUnitAttr());
    for (Operation *user : test->getUsers())
      if (isa<scf::IfOp>(user))
        user->setAttr("metate.masked", builder.getUnitAttr());
    ++scanned;
  }
};
} // namespace
