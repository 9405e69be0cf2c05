//===- CutLists.cpp - loops over a list, chunk by chunk ---------*- C++ -*-===//
//
// `for k in range(x[i].length()): ... x[i, k]` names cells that are there: who knows a length that is not 0 knows that the list's parent
// cell is active and inside, and what is below a length stays active while no task gives it up. The loop becomes one over the list's
// chunks and one over a chunk's cells: the way to the chunk is walked once, before the inner loop, and a cell is a row's.
//
//===----------------------------------------------------------------------===//
#include "metate/Level/IndexBuilder.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace metate {
#define GEN_PASS_DEF_CUTLISTS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Chunks of fewer cells are hardly worth a loop of their own.
constexpr int64_t leastChunk = 4;

/// A loop over the cells of a list from its first one on.
struct ListLoop {
  scf::ForOp loop;
  LengthOp length;
  TreePath list;
  SmallVector<LoadOp> loads; ///< of cells of that list, at the loop's variable
};

/// The length that a loop's bound is.
LengthOp lengthOf(Value bound) {
  while (auto cast = bound.getDefiningOp<arith::IndexCastOp>())
    bound = cast.getIn();
  return bound.getDefiningOp<LengthOp>();
}

/// The kernel's task that an operation stands in.
Operation *taskOf(KernelOp kernel, Operation *op) {
  while (op && op->getParentOp() != kernel)
    op = op->getParentOp();
  return op;
}

/// Does the access name the cell of the list at the loop's variable?
bool isOfList(const CellAccess &access, ListLoop &at) {
  LengthOp length = at.length;
  TreePath path = access.resolve();
  unsigned depth = at.list.levels.size() - 1;
  if (access.tree != length.getTree() || path.lastPool() != int(depth) ||
      path.lastActivity() != int(depth) || path.axes != at.list.axes ||
      ArrayRef(path.levels).take_front(depth + 1) != ArrayRef(at.list.levels))
    return false;
  unsigned axis = levelAxes(at.list.levels.back())[0];
  auto parent = length.getCoordinates().begin();
  for (auto [number, coordinate] : llvm::zip(path.axes, access.coordinates))
    if (coordinate != (number == axis ? at.loop.getInductionVar() : *parent++))
      return false;
  return true;
}

struct CutLists : metate::impl::CutListsBase<CutLists> {
  void runOnOperation() override {
    SmallVector<ListLoop, 4> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (std::optional<ListLoop> found = find(loop))
        loops.push_back(*found);
    });
    for (ListLoop &loop : loops)
      cut(loop);
  }

private:
  std::optional<ListLoop> find(scf::ForOp loop) {
    LengthOp length = lengthOf(loop.getUpperBound());
    if (!length || getConstantIntValue(loop.getLowerBound()) != 0 ||
        getConstantIntValue(loop.getStep()) != 1)
      return std::nullopt;
    Operation *task = taskOf(getOperation(), loop);
    // Appends put the length ahead of chunks, on a device (protocol/metate/protocol/cells.h).
    if (!task || !task->isAncestor(length) ||
        mayDeactivate(getOperation(), task, length.getTree()) ||
        mayDo<AppendOp>(getOperation(), task, length.getTree()))
      return std::nullopt;
    ListLoop found{loop, length, *findPath(length.getTreeType(), length.getPath()), {}};
    if (found.list.levels.back().getSlotCells() < leastChunk)
      return std::nullopt;
    loop.walk([&](LoadOp load) {
      if (isOfList(*CellAccess::of(load), found))
        found.loads.push_back(load);
    });
    return found.loads.empty() ? std::nullopt : std::optional(found);
  }

  void cut(ListLoop &found) {
    ++lists;
    if (auto remark = remarkDone(found.loop, "cut-lists", "lists"))
      remark << "the loop goes over '"
             << accessName(found.length.getTree(), found.length.getPath()).name
             << "' chunk by chunk: each is looked up once";
    scf::ForOp whole = found.loop;
    int64_t cells = found.list.levels.back().getSlotCells();
    OpBuilder builder(whole);
    IndexBuilder at(builder, whole.getLoc());
    Value zero = at.index(0), one = at.index(1), end = whole.getUpperBound();
    Value chunks = at.divide(at.add(end, cells - 1), cells);
    auto chunk = scf::ForOp::create(builder, at.loc, zero, chunks, one, whole.getInits());
    builder.setInsertionPointToStart(chunk.getBody());
    Value first = at.multiply(chunk.getInductionVar(), cells);
    // Of unsigned numbers: there is one left, and no border of the loops outside is meant.
    Value left = arith::MinUIOp::create(builder, at.loc, at.subtract(end, first), at.index(cells));
    auto inner = scf::ForOp::create(builder, at.loc, zero, left, one, chunk.getRegionIterArgs());
    // Without values the loops have their ends already.
    if (whole.getNumResults() != 0)
      scf::YieldOp::create(builder, at.loc, inner.getResults());
    builder.setInsertionPointToStart(inner.getBody());
    auto number = arith::AddIOp::create(builder, at.loc, first, inner.getInductionVar());
    for (LoadOp load : found.loads)
      setMark(load, mark::ofChunk);
    Block &from = *whole.getBody(), &to = *inner.getBody();
    if (whole.getNumResults() == 0)
      to.getTerminator()->erase();
    from.getArgument(0).replaceAllUsesWith(number);
    for (auto [old, carried] : llvm::zip(whole.getRegionIterArgs(), inner.getRegionIterArgs()))
      old.replaceAllUsesWith(carried);
    to.getOperations().splice(to.end(), from.getOperations());
    whole->replaceAllUsesWith(chunk.getResults());
    whole->erase();
  }
};
} // namespace
