//===- LowerActivity.cpp - which cells are active, to bytes -----*- C++ -*-===//
#include "metate/Transforms/LayoutPatterns.h"

using namespace mlir;
using namespace metate;
namespace header = metate::layout::header;

namespace {
struct LowerIsActive : LayoutPattern<IsActiveOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(IsActiveOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    Value active;
    if (site.path.lastActivity() > site.path.lastPool())
      active = op->hasAttr(mark::scanned) ? inRow(rewriter, op, site) : inLeaf(rewriter, op, site);
    else if (op->hasAttr(mark::own))
      active = op.getEntry() ? atEntry(rewriter, op, site) : inList(rewriter, op, site);
    rewriter.replaceOp(op, active ? active : site.address.isActive(op.getEntry()));
    return success();
  }

private:
  /// Of a level below a slot that is looked up once; null as of SlotCache::find.
  Value inLeaf(OpBuilder &builder, IsActiveOp op, CellSite &site) const {
    auto place =
        kernel.slots.find(builder, op, site.access, site.path, /*isOwn=*/op->hasAttr(mark::own));
    if (!place)
      return {};
    ByteBuilder bytes = kernel.arguments.bytesFor(site.argument, builder, op.getLoc());
    return TreeAddress(bytes, *site.argument.layout, site.path, place->local,
                       site.argument.concurrent)
        .isActiveInSlot(site.path.lastPool(), place->slot, op.getEntry());
  }

  /// The same, where the bits of a row are read before it (metate-scan-masks).
  Value inRow(OpBuilder &builder, IsActiveOp op, CellSite &site) const {
    auto row = cast<scf::ForOp>(op->getParentOp());
    auto cells = op->getParentOfType<CellsOp>();
    LeafForm form = *LeafForm::of(cells, site.access);
    Value slot = kernel.slots.slotOf(builder, cells, form, site.access, site.path);
    OpBuilder before(row, builder.getListener());
    ByteBuilder outside = kernel.arguments.bytesFor(site.argument, before, op.getLoc());
    SmallVector<Value> first;
    for (const LinearForm &linear : form.local)
      first.push_back(linear.without(row.getInductionVar()).emit(outside));
    Value bits =
        TreeAddress(outside, *site.argument.layout, site.path, first, site.argument.concurrent)
            .bitsInSlot(site.path.lastPool(), slot, op.getEntry());
    ByteBuilder bytes = kernel.arguments.bytesFor(site.argument, builder, op.getLoc());
    Value shifted = arith::ShRUIOp::create(builder, op.getLoc(), bits,
                                           bytes.toInteger(row.getInductionVar(), 32));
    return arith::TruncIOp::create(builder, op.getLoc(), builder.getI1Type(), shifted);
  }

  /// Whether a list's cell at the slot that the task is at was active when the task began.
  Value atEntry(OpBuilder &builder, IsActiveOp op, CellSite &site) const {
    auto cells = op->getParentOfType<CellsOp>();
    TreePath slots = *findPath(site.argument.type, cells.getLevel());
    const layout::Node &node = site.argument.node(site.argument.poolOf(site.path));
    OpBuilder before(leafPoint(cells), builder.getListener());
    ByteBuilder outside = kernel.arguments.bytesFor(site.argument, before, op.getLoc());
    ByteBuilder bytes = kernel.arguments.bytesFor(site.argument, builder, op.getLoc());
    // Not through the links from the root: they may be gone by now.
    Value meta = outside.toIndex(outside.readInteger(outside.index(header::poolMeta(node.pool)), 64,
                                                     false, /*invariant=*/true));
    Value record =
        outside.add(meta, outside.multiply(cells.getBody().getArgument(0), node.metaBytes()));
    Value count = outside.toIndex(outside.readInteger(outside.add(record, node.metaEntry()), 32));
    unsigned position = llvm::find(site.path.axes, node.axes[0]) - site.path.axes.begin();
    unsigned first = llvm::find(slots.axes, node.axes[0]) - slots.axes.begin();
    Value within =
        bytes.subtract(op.getCoordinates()[position], cells.getBody().getArgument(1 + first));
    return bytes.compare(arith::CmpIPredicate::ult, within, count);
  }

  /// Whether a list's cell at the slot that the task is at is active, by a length that is looked up once per slot; null where
  /// the task itself changes lists.
  Value inList(OpBuilder &builder, IsActiveOp op, CellSite &site) const {
    auto cells = op->getParentOfType<CellsOp>();
    if (!cells || kernel.slots.hasInnerChange(cells, op.getTree()) || site.argument.unlinked)
      return {};
    TreePath list = *findPath(site.argument.type, cells.getLevel());
    OpBuilder before(leafPoint(cells), builder.getListener());
    ByteBuilder outside = kernel.arguments.bytesFor(site.argument, before, op.getLoc());
    TreeAddress address(outside, *site.argument.layout, list,
                        llvm::to_vector_of<Value>(cells.getBody().getArguments().drop_front()),
                        site.argument.concurrent);
    Value length = outside.toIndex(address.length());
    // No other level splits the list's axis.
    unsigned axis = levelAxes(list.levels.back())[0];
    unsigned position = llvm::find(site.path.axes, axis) - site.path.axes.begin();
    ByteBuilder bytes = kernel.arguments.bytesFor(site.argument, builder, op.getLoc());
    return bytes.compare(arith::CmpIPredicate::ult, op.getCoordinates()[position], length);
  }
};

struct LowerActivate : LayoutPattern<ActivateOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(ActivateOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    site.bytes.strict = op.getStrict();
    Value active;
    if (op->hasAttr(mark::linked))
      active = inSlot(rewriter, op, site);
    rewriter.replaceOp(op, active ? active : site.address.activate());
    return success();
  }

private:
  /// The bits below a slot that is active and looked up once.
  Value inSlot(OpBuilder &builder, ActivateOp op, CellSite &site) const {
    auto place = kernel.slots.find(builder, op, site.access, site.path, /*isOwn=*/false);
    if (!place)
      return {};
    ByteBuilder bytes = kernel.arguments.bytesFor(site.argument, builder, op.getLoc());
    return TreeAddress(bytes, *site.argument.layout, site.path, place->local,
                       site.argument.concurrent)
        .activateInSlot(site.path.lastPool(), place->slot);
  }
};

struct LowerDeactivate : LayoutPattern<DeactivateOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(DeactivateOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    CellSite(kernel, rewriter, op).address.deactivate();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerAppend : LayoutPattern<AppendOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(AppendOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, CellSite(kernel, rewriter, op).address.append());
    return success();
  }
};

struct LowerLength : LayoutPattern<LengthOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(LengthOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, CellSite(kernel, rewriter, op).address.length());
    return success();
  }
};

struct LowerUsed : LayoutPattern<UsedOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(UsedOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoweredArgument &argument = kernel.arguments[op.getTree()];
    ByteBuilder bytes = bytesFor(argument, rewriter, op);
    TreePath path = *findPath(op.getTreeType(), op.getPath());
    int pool = argument.node(argument.layout->nodesOf(path).back()).pool;
    Value slots = bytes.readInteger(bytes.index(header::poolUsed(pool)), 32, argument.concurrent);
    rewriter.replaceOpWithNewOp<arith::ExtUIOp>(op, rewriter.getI64Type(), slots);
    return success();
  }
};

struct LowerReserve : LayoutPattern<ReserveOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(ReserveOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    Value counts =
        arith::IndexCastOp::create(rewriter, op.getLoc(), rewriter.getIndexType(), op.getCounts());
    site.address.reserve(counts, site.argument.scope, op.getAppend());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void metate::addActivityPatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerIsActive, LowerActivate, LowerDeactivate, LowerAppend, LowerLength, LowerUsed,
               LowerReserve>(kernel);
}
