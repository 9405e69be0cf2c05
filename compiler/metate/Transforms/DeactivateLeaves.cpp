//===- DeactivateLeaves.cpp - deactivations by words ------------*- C++ -*-===//
//
// A cell that is given up costs an atomic operation on its word and a call. Iterations of one leaf are one worker's, so
// what they give up can wait until the leaf is done: bytes on the stack note it.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace metate {
#define GEN_PASS_DEF_DEACTIVATELEAVES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct DeactivateLeaves : metate::impl::DeactivateLeavesBase<DeactivateLeaves> {
  using DeactivateLeavesBase::DeactivateLeavesBase;
  void runOnOperation() override {
    SmallVector<CellsOp> tasks;
    getOperation().walk([&](CellsOp cells) { tasks.push_back(cells); });
    for (CellsOp cells : tasks)
      visit(cells);
  }

private:
  void visit(CellsOp cells) {
    SmallVector<DeactivateOp> work;
    cells.walk([&](DeactivateOp op) {
      if (mayBeSameTree(getOperation(), op.getTree(), cells.getTree()))
        work.push_back(op);
    });
    if (work.empty())
      return;
    auto isOwn = [&](DeactivateOp op) {
      return op.getPath() == work.front().getPath() && isAtOwnCell(cells, op);
    };
    StringRef problem =
        nestOf(cells).empty() ? "a slot of the loop is one cell"
        : !mayAllWait(cells)  ? "the iteration uses the tree afterwards, or may stop the kernel"
        : !llvm::all_of(work, isOwn) ? "they are not the iteration's own cells in a bitmasked leaf "
                                       "that the stack has room for"
                                     : "";
    for (DeactivateOp op : work) {
      auto remark = problem.empty() ? remarkDone(op, "deactivate-leaves", "deactivations")
                                    : remarkDeclined(op, "deactivate-leaves", "deactivations");
      remark << (problem.empty() ? "cells are given up by words of the mask, when the leaf is done"
                                 : "cells are given up one by one: ")
             << problem;
    }
    if (problem.empty())
      gather(cells, work);
  }

  /// The deactivated cell is the one that the iteration is at, in a bitmasked leaf, in the nest's body or under conditions.
  bool isAtOwnCell(CellsOp cells, DeactivateOp op) {
    for (Operation *parent = op->getParentOp(); parent != cells; parent = parent->getParentOp())
      if (!isa<scf::IfOp>(parent) && !parent->hasAttr(mark::nest))
        return false;
    CellAccess access = *changedCell(op);
    TreePath path = access.resolve();
    TreePath walked = *findPath(cast<TreeType>(cells.getTree().getType()), cells.getLevel());
    LevelInterface leaf = path.levels.back();
    if (op.getTree() != cells.getTree() || path.lastPool() < 0 || !leaf.hasMask() ||
        hasPools(leaf) || walked.levels != ArrayRef(path.levels).drop_back() || cellsOf(leaf) == 0)
      return false;
    std::optional<LeafForm> form = LeafForm::of(cells, access);
    return form && form->isOwnCell(cells, path) &&
           llvm::all_of(llvm::enumerate(walked.axes), [&](auto axis) {
             unsigned position = llvm::find(path.axes, axis.value()) - path.axes.begin();
             return form->slot[position] == cells.getBody().getArgument(1 + axis.index());
           });
  }

  /// 0: too many.
  int64_t cellsOf(LevelInterface leaf) {
    int64_t cells = 1;
    for (int64_t extent : leaf.getLevelExtents())
      cells = std::min<int64_t>(cells * extent, notedCells + 1);
    return cells > notedCells ? 0 : cells;
  }

  /// May deactivations of the tree that the task walks be made later? Nothing behind one of them asks for the tree's cells, and
  /// the kernel does not end before.
  bool mayAllWait(CellsOp cells) {
    bool deactivates = false;
    auto visit = [&](Operation *op) {
      if (mayStop(op) || callsIntoMemory(op))
        return WalkResult::interrupt();
      bool touches = op != cells && llvm::any_of(op->getOperands(), [&](Value operand) {
                       return isa<TreeType>(operand.getType()) &&
                              mayBeSameTree(getOperation(), operand, cells.getTree());
                     });
      deactivates |= touches && isa<DeactivateOp>(op);
      return deactivates && touches && !isa<DeactivateOp>(op) ? WalkResult::interrupt()
                                                              : WalkResult::advance();
    };
    return !cells.walk<WalkOrder::PreOrder>(visit).wasInterrupted();
  }

  static scf::ForOp loop(OpBuilder &builder, Location loc, int64_t end, ValueRange carried = {}) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value upper = arith::ConstantIndexOp::create(builder, loc, end);
    auto result = scf::ForOp::create(builder, loc, zero, upper, one, carried);
    builder.setInsertionPointToStart(result.getBody());
    return result;
  }

  static Value sum(OpBuilder &builder, Location loc, Value scaled, int64_t by, Value rest) {
    Value factor = arith::ConstantIndexOp::create(builder, loc, by);
    Value product = arith::MulIOp::create(builder, loc, scaled, factor);
    return rest ? arith::AddIOp::create(builder, loc, product, rest).getResult() : product;
  }

  void gather(CellsOp cells, MutableArrayRef<DeactivateOp> work) {
    CellAccess access = *changedCell(work.front());
    LevelInterface leaf = access.resolve().levels.back();
    LeafForm form = *LeafForm::of(cells, access);
    int64_t words = (cellsOf(leaf) + 31) / 32;
    OpBuilder builder(leafPoint(cells));
    Location loc = work.front().getLoc();
    SmallVector<Value> base = form.base(builder, loc);
    Value flags =
        memref::AllocaOp::create(builder, loc, MemRefType::get({words * 32}, builder.getI8Type()),
                                 ValueRange(), builder.getI64IntegerAttr(64));
    Value none = arith::ConstantIntOp::create(builder, loc, 0, 8);
    scf::ForOp reset = loop(builder, loc, words * 32);
    memref::StoreOp::create(builder, loc, none, flags, reset.getInductionVar());
    builder.setInsertionPointAfter(nestOf(cells).front());
    clearWords(builder, work.front(), base, flags, words);
    for (DeactivateOp op : work)
      note(cells, op, leaf, flags);
  }

  /// In place of the deactivation the cell's byte becomes 1.
  void note(CellsOp cells, DeactivateOp op, LevelInterface leaf, Value flags) {
    OpBuilder builder(op);
    Value cell;
    for (auto [nest, extent] : llvm::zip(nestOf(cells), leaf.getLevelExtents()))
      cell = cell ? sum(builder, op.getLoc(), cell, extent, nest.getInductionVar())
                  : nest.getInductionVar();
    memref::StoreOp::create(builder, op.getLoc(),
                            arith::ConstantIntOp::create(builder, op.getLoc(), 1, 8), flags, cell);
    op.erase();
    ++gathered;
  }

  static void clearWords(OpBuilder &builder, DeactivateOp op, ValueRange base, Value flags,
                         int64_t words) {
    Location loc = op.getLoc();
    Type type = builder.getI32Type();
    Value none = arith::ConstantIntOp::create(builder, loc, 0, 32);
    Value word = loop(builder, loc, words).getInductionVar();
    scf::ForOp pack = loop(builder, loc, 32, none);
    Value at = sum(builder, loc, word, 32, pack.getInductionVar());
    Value flag = memref::LoadOp::create(builder, loc, flags, at);
    Value bit = arith::ShLIOp::create(
        builder, loc, arith::ExtUIOp::create(builder, loc, type, flag),
        arith::IndexCastOp::create(builder, loc, type, pack.getInductionVar()));
    Value bits = arith::OrIOp::create(builder, loc, pack.getRegionIterArg(0), bit);
    scf::YieldOp::create(builder, loc, bits);
    builder.setInsertionPointAfter(pack);
    Value some =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, pack.getResult(0), none);
    auto branch = scf::IfOp::create(builder, loc, some);
    builder.setInsertionPointToStart(branch.thenBlock());
    DeactivateWordOp::create(builder, loc, op.getTree(), op.getPathAttr(), base, word,
                             pack.getResult(0));
  }
};
} // namespace
