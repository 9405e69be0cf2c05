//===- LowerTasks.cpp - tasks over slots, and what is between them -*- C++ -*-===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LayoutPatterns.h"

using namespace mlir;
using namespace metate;
namespace header = metate::layout::header;

namespace {
struct LowerCollect : LayoutPattern<CollectOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(CollectOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ByteBuilder bytes = bytesFor(kernel.arguments[op.getTree()], rewriter, op);
    if (!isMutant(Mutant::CollectLeftOut))
      bytes.call("collect", op.getSweep(), {}, {}, std::nullopt);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerSort : LayoutPattern<SortOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(SortOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ByteBuilder bytes = bytesFor(kernel.arguments[op.getTree()], rewriter, op);
    bytes.call("sort", 0, {}, {}, std::nullopt);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerSnapshot : LayoutPattern<SnapshotOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(SnapshotOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoweredArgument &argument = kernel.arguments[op.getTree()];
    ByteBuilder bytes = bytesFor(argument, rewriter, op);
    TreePath path = *findPath(argument.type, op.getLevel());
    if (!isMutant(Mutant::SnapshotLeftOut))
      bytes.call("snapshot", argument.layout->nodesOf(path).back(), {}, {}, std::nullopt);
    rewriter.eraseOp(op);
    return success();
  }
};

/// A loop over slot numbers, whose body runs where the slot is in use.
struct LowerCells : LayoutPattern<CellsOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(CellsOp cells, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoweredArgument &argument = kernel.arguments[cells.getTree()];
    TreePath path = *findPath(argument.type, cells.getLevel());
    const layout::Node &node = argument.node(argument.poolOf(path));
    Location loc = cells.getLoc();
    ByteBuilder bytes = bytesFor(argument, rewriter, cells);
    Value highWater = bytes.toIndex(
        bytes.readInteger(bytes.index(header::poolHighWater(node.pool)), 32, /*acquire=*/true));
    Value meta = bytes.toIndex(
        bytes.readInteger(bytes.index(header::poolMeta(node.pool)), 64, false, /*invariant=*/true));
    Value limit = cells.getChangesTopology() ? nextEpoch(bytes) : Value();
    Value zero = bytes.index(0);
    auto range = RangeOp::create(rewriter, loc, ValueRange(zero), ValueRange(highWater));
    setMark(range, mark::cells);
    rewriter.setInsertionPointToStart(&range.getBody().front());
    Value slot =
        bytes.add(range.getBody().getArgument(0), isMutant(Mutant::LastSlotSkipped) ? 0 : 1);
    Value record = bytes.add(meta, bytes.multiply(slot, node.metaBytes()));
    auto branch = scf::IfOp::create(rewriter, loc, isVisible(bytes, record, limit));
    Block *then = branch.thenBlock();
    rewriter.setInsertionPointToStart(then);
    SmallVector<Value> values{slot};
    llvm::append_range(values, coordinatesIn(bytes, record, path));
    Block &from = cells.getBody().front();
    rewriter.eraseOp(from.getTerminator());
    rewriter.inlineBlockBefore(&from, then, std::prev(then->end()), values);
    rewriter.eraseOp(cells);
    return success();
  }

private:
  /// Slots that the task itself claims have a later epoch than those before.
  static Value nextEpoch(ByteBuilder &bytes) {
    Value epoch = bytes.readInteger(bytes.index(header::epoch()), 32);
    Value limit = arith::AddIOp::create(bytes.builder, bytes.loc, epoch, bytes.integer(1, 32));
    bytes.write(limit, bytes.index(header::epoch()));
    return limit;
  }

  /// i1; `limit` may be null.
  static Value isVisible(ByteBuilder &bytes, Value record, Value limit) {
    Value state = bytes.readInteger(record, 32, /*acquire=*/bool(limit));
    Value visible = bytes.isNonzero(state);
    if (!limit)
      return visible;
    return arith::AndIOp::create(bytes.builder, bytes.loc, visible,
                                 bytes.compare(arith::CmpIPredicate::ult, state, limit));
  }

  static SmallVector<Value> coordinatesIn(ByteBuilder &bytes, Value record, const TreePath &path) {
    SmallVector<Value> coordinates;
    for (unsigned k = 0; k < path.rank(); ++k) {
      Value word = bytes.readInteger(bytes.add(record, header::slotCoordinate(k)), 32);
      coordinates.push_back(path.extents[k] == unboundedExtent ? bytes.toSignedIndex(word)
                                                               : bytes.toIndex(word));
    }
    return coordinates;
  }
};
} // namespace

void metate::addTaskEdgePatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerCollect, LowerSort, LowerSnapshot>(kernel);
}

void metate::addTaskPatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerCells>(kernel);
}
