//===- FlattenRows.cpp - conditionals in rows become selections -*- C++ -*-===//
//
// Rows are short (a leaf's extent) and computed as vectors, where a branch a cell costs more than
// computing both sides for all of them.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_FLATTENROWS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// A conditional beyond this many operations is left alone: computing it for nothing would cost
/// more than vectors save.
constexpr unsigned maxOperations = 256;

/// May the operation run where the program would not have run it?
bool mayRunAlways(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op)) // a tile: its indices are inside by construction
    return isa_and_present<memref::AllocaOp>(load.getMemRef().getDefiningOp());
  if (isa<ReadOp>(op))
    return op->hasAttr("metate.known_slot");
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) && isSpeculatable(op);
}

/// Operations that stay vectors in LLVM: no calls of the C library, nothing with an order.
bool staysVector(Operation *op) {
  if (isa<math::MathDialect>(op->getDialect()))
    return isa<math::SqrtOp, math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::FmaOp,
               math::CopySignOp>(op);
  if (isa<arith::RemFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return false;
  return isa<arith::ArithDialect>(op->getDialect()) ||
         isa<memref::LoadOp, ReadOp, WriteOp, scf::YieldOp>(op);
}

struct FlattenRows : metate::impl::FlattenRowsBase<FlattenRows> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> rows;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr("metate.row"))
        rows.push_back(loop);
    });
    for (scf::ForOp row : rows)
      visit(row);
  }

private:
  static bool isSimple(scf::IfOp branch) {
    unsigned count = 0;
    for (Region &region : branch->getRegions())
      for (Block &block : region)
        for (Operation &op : block.without_terminator())
          if (++count > maxOperations || !mayRunAlways(&op))
            return false;
    return true;
  }

  void visit(scf::ForOp row) {
    SmallVector<scf::IfOp> branches; // inner ones first
    row.walk([&](scf::IfOp branch) { branches.push_back(branch); });
    for (scf::IfOp branch : branches)
      if (isSimple(branch))
        flatten(branch);
    bool straight = llvm::all_of(*row.getBody(), [](Operation &op) {
      bool ordered = isa<ReadOp>(op) && op.hasAttr("acquire");
      return op.getNumRegions() == 0 && staysVector(&op) && !ordered;
    });
    if (straight)
      row->setAttr("metate.straight", UnitAttr::get(&getContext()));
  }

  void flatten(scf::IfOp branch) {
    OpBuilder builder(branch);
    SmallVector<Value> sides[2];
    for (unsigned k : {0u, 1u}) {
      Region &region = branch->getRegion(k);
      if (region.empty())
        continue;
      Block &block = region.front();
      llvm::append_range(sides[k], block.getTerminator()->getOperands());
      block.getTerminator()->erase();
      branch->getBlock()->getOperations().splice(branch->getIterator(), block.getOperations());
    }
    for (auto [k, result] : llvm::enumerate(branch.getResults())) {
      Value selected =
          arith::SelectOp::create(builder, branch.getLoc(), branch.getCondition(), sides[0][k],
                                  sides[isMutant(Mutant::FlattenedElseLost) ? 0 : 1][k]);
      result.replaceAllUsesWith(selected);
    }
    branch.erase();
    ++flattened;
  }
};
} // namespace
