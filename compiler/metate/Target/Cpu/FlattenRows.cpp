//===- FlattenRows.cpp - conditionals in rows become selections -*- C++ -*-===//
//
// Rows are short (a leaf's extent) and computed as vectors, where a branch a cell costs more than
// computing both sides for all of them.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_FLATTENROWS
#include "metate/Target/Cpu/Passes.h.inc"
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
    return op->hasAttr(mark::knownSlot);
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
         isa<ElementaryOp, memref::LoadOp, ReadOp, WriteOp, scf::YieldOp>(op);
}

struct FlattenRows : metate::impl::FlattenRowsBase<FlattenRows> {
  using FlattenRowsBase::FlattenRowsBase;
  void runOnOperation() override {
    SmallVector<scf::ForOp> rows;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(mark::row))
        rows.push_back(loop);
    });
    for (scf::ForOp row : rows)
      visit(row);
  }

private:
  /// A store into a cell that no other iteration writes (metate.only_writer): where it is not wanted, the old value is
  /// stored.
  bool isBlended(Operation &op) const {
    auto write = dyn_cast<WriteOp>(op);
    return blend && write && write->hasAttr(mark::onlyWriter) && !write.getRelease() &&
           !isa<VectorType>(write.getValue().getType());
  }

  bool isSimple(scf::IfOp branch) {
    unsigned count = 0;
    bool stores = false, vectors = true;
    for (Region &region : branch->getRegions())
      for (Block &block : region)
        for (Operation &op : block.without_terminator()) {
          if (++count > maxOperations || !(mayRunAlways(&op) || isBlended(op)))
            return false;
          stores |= isBlended(op);
          vectors &= staysVector(&op);
        }
    return vectors || !stores;
  }

  /// A store that machines have an instruction under a mask for.
  static bool isMaskedStore(Operation &op) {
    auto write = dyn_cast<WriteOp>(op);
    Type type = write ? write.getValue().getType() : Type();
    return write && !write.getRelease() && !isa<VectorType>(type) &&
           llvm::is_contained({32u, 64u}, type.getIntOrFloatBitWidth());
  }

  /// What stands under the bits of a bitmasked leaf (metate-scan-masks): arithmetic and stores.
  static bool isMasked(scf::IfOp branch) {
    if (!branch->hasAttr(mark::masked))
      return false;
    bool isShort = llvm::range_size(*branch.thenBlock()) <= maxOperations, stored = false;
    bool possible = isShort && branch.getNumResults() == 0 && !branch.elseBlock() &&
                    llvm::all_of(branch.thenBlock()->without_terminator(), [&](Operation &op) {
                      if (isMaskedStore(op))
                        return stored = true;
                      // A read would move over the stores before it.
                      return mayRunAlways(&op) && staysVector(&op) && !(stored && isa<ReadOp>(op));
                    });
    if (!possible)
      branch->removeAttr(mark::masked);
    return possible;
  }

  /// All but the stores leaves the conditional.
  void keepStores(scf::IfOp branch) {
    bool isMutated = isMutant(Mutant::MaskIgnored);
    for (Operation &op : llvm::make_early_inc_range(branch.thenBlock()->without_terminator()))
      if (!isa<WriteOp>(op) || isMutated)
        op.moveBefore(branch);
    ++flattened;
  }

  /// What a branch has that is not computed for nothing; null: it is only long.
  Operation *obstacleIn(scf::IfOp branch) {
    Operation *found = nullptr;
    branch.walk([&](Operation *op) {
      bool isPart = op == branch || isa<scf::YieldOp>(op) || mayRunAlways(op) || isBlended(*op);
      found = isPart || found ? found : op;
    });
    return found;
  }

  void remarkStays(scf::IfOp branch) {
    auto remark = remarkDeclined(branch, "flatten-rows", "conditionals");
    if (!remark)
      return;
    Operation *obstacle = obstacleIn(branch);
    remark << "the row branches for each cell: "
           << (!obstacle ? "a side is long, or calls the C library"
               : isa<WriteOp, memref::StoreOp>(obstacle)
                   ? "a write that may meet another iteration's"
               : isa<ReadOp, memref::LoadOp>(obstacle) ? "a read that may not be made for nothing"
               : isa<RmwOp, CasOp>(obstacle)           ? "an atomic operation"
               : obstacle->getNumRegions() ? "a loop or a branch inside"
                                           : "a call, or a division that may not happen")
           << atLine(obstacle);
  }

  void visit(scf::ForOp row) {
    SmallVector<scf::IfOp> branches; // inner ones first
    row.walk([&](scf::IfOp branch) { branches.push_back(branch); });
    for (scf::IfOp branch : branches) {
      if (isSimple(branch)) {
        remarkDone(branch, "flatten-rows", "conditionals")
            << "both sides are computed for the whole row, and one is chosen for each cell";
        flatten(branch);
      } else if (isMasked(branch)) {
        remarkDone(branch, "flatten-rows", "conditionals")
            << "the row is computed whole, and stored under the leaf's bits";
        keepStores(branch);
      } else {
        remarkStays(branch);
      }
    }
    bool straight = llvm::all_of(*row.getBody(), [](Operation &op) {
      if (op.hasAttr(mark::masked))
        return true;
      bool ordered = isa<ReadOp>(op) && op.hasAttr("acquire");
      return op.getNumRegions() == 0 && staysVector(&op) && !ordered;
    });
    if (straight)
      setMark(row, mark::straight);
  }

  static void blendWrite(WriteOp write, Value condition, bool wanted) {
    OpBuilder builder(write);
    Value old =
        ReadOp::create(builder, write.getLoc(), write.getValue().getType(), write.getBlock(),
                       write.getOffset(), write.getScope(), /*acquire=*/false,
                       /*invariant=*/false);
    setMark(old.getDefiningOp(), mark::knownSlot);
    Value value = write.getValue();
    if (!isMutant(Mutant::MaskIgnored))
      value = arith::SelectOp::create(builder, write.getLoc(), condition, wanted ? value : old,
                                      wanted ? old : value);
    write.getValueMutable().assign(value);
  }

  void flatten(scf::IfOp branch) {
    OpBuilder builder(branch);
    SmallVector<Value> sides[2];
    for (unsigned k : {0u, 1u}) {
      Region &region = branch->getRegion(k);
      if (region.empty())
        continue;
      Block &block = region.front();
      for (WriteOp write : llvm::make_early_inc_range(block.getOps<WriteOp>()))
        blendWrite(write, branch.getCondition(), k == 0);
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
