//===- LowerTasks.cpp - tasks over slots, and what is between them -*- C++ -*-===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LayoutPatterns.h"

using namespace mlir;
using namespace metate;
namespace header = metate::layout::header;

namespace {
struct LowerCollect : LayoutPattern<CollectOp> {
  using LayoutPattern::LayoutPattern;
  void lower(CollectOp op, ConversionPatternRewriter &rewriter) const override {
    ByteBuilder bytes = bytesFor(kernel.arguments[op.getTree()], rewriter, op);
    if (!isMutant(Mutant::CollectLeftOut))
      bytes.call("collect", op.getSweep(), {}, {}, std::nullopt);
    rewriter.eraseOp(op);
  }
};

struct LowerSort : LayoutPattern<SortOp> {
  using LayoutPattern::LayoutPattern;
  void lower(SortOp op, ConversionPatternRewriter &rewriter) const override {
    ByteBuilder bytes = bytesFor(kernel.arguments[op.getTree()], rewriter, op);
    bytes.call("sort", 0, {}, {}, std::nullopt);
    rewriter.eraseOp(op);
  }
};

struct LowerSnapshot : LayoutPattern<SnapshotOp> {
  using LayoutPattern::LayoutPattern;
  void lower(SnapshotOp op, ConversionPatternRewriter &rewriter) const override {
    PathSite site(kernel, rewriter, op.getLoc(), op.getTree(), op.getLevel());
    if (!isMutant(Mutant::SnapshotLeftOut))
      site.bytes.call("snapshot", site.node(), {}, {}, std::nullopt);
    rewriter.eraseOp(op);
  }
};

/// A loop over slot numbers, whose body runs where the slot is in use.
struct LowerCells : LayoutPattern<CellsOp> {
  using LayoutPattern::LayoutPattern;
  void lower(CellsOp cells, ConversionPatternRewriter &rewriter) const override {
    Location loc = cells.getLoc();
    PathSite site(kernel, rewriter, loc, cells.getTree(), cells.getLevel());
    const layout::Node &node = site.argument.node(site.argument.poolOf(site.path));
    ByteBuilder &bytes = site.bytes;
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
    llvm::append_range(values, coordinatesIn(bytes, record, site.path));
    Block &from = cells.getBody().front();
    rewriter.eraseOp(from.getTerminator());
    rewriter.inlineBlockBefore(&from, then, std::prev(then->end()), values);
    rewriter.eraseOp(cells);
  }

private:
  /// Slots that the task itself claims have a later epoch than those before.
  static Value nextEpoch(ByteBuilder &bytes) {
    Value epoch = bytes.readInteger(bytes.index(header::epoch()), 32);
    Value limit = arith::AddIOp::create(bytes.builder, bytes.loc, epoch, bytes.integer(1, 32));
    bytes.write(limit, bytes.index(header::epoch()));
    return limit;
  }

  /// A number of a slot's record.
  static Value readRecord(ByteBuilder &bytes, Value at, bool acquire = false) {
    Value number = bytes.readInteger(at, 32, acquire);
    setMark(number.getDefiningOp(), mark::record);
    return number;
  }

  /// i1; `limit` may be null.
  static Value isVisible(ByteBuilder &bytes, Value record, Value limit) {
    Value state = readRecord(bytes, record, /*acquire=*/bool(limit));
    Value visible = bytes.isNonzero(state);
    if (!limit)
      return visible;
    return arith::AndIOp::create(bytes.builder, bytes.loc, visible,
                                 bytes.compare(arith::CmpIPredicate::ult, state, limit));
  }

  static SmallVector<Value> coordinatesIn(ByteBuilder &bytes, Value record, const TreePath &path) {
    SmallVector<Value> coordinates;
    for (unsigned k = 0; k < path.rank(); ++k) {
      Value word = readRecord(bytes, bytes.add(record, header::slotCoordinate(k)));
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
