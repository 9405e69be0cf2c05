//===- LowerActivity.cpp - which cells are active, to bytes -----*- C++ -*-===//
#include "metate/Transforms/LayoutPatterns.h"

using namespace mlir;
using namespace metate;
namespace header = metate::layout::header;

namespace {
struct LowerIsActive : LayoutPattern<IsActiveOp> {
  using LayoutPattern::LayoutPattern;
  void lower(IsActiveOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    Value active;
    if (site.path.lastActivity() > site.path.lastPool())
      active = op->hasAttr(mark::scanned) ? inRow(rewriter, op, site) : inLeaf(rewriter, op, site);
    else if (op->hasAttr(mark::own))
      active = op.getEntry() ? atEntry(rewriter, op, site) : inList(rewriter, op, site);
    rewriter.replaceOp(op, active ? active : site.address.isActive(op.getEntry()));
  }

private:
  /// Of a level below a slot that is looked up once; null as of SlotCache::find.
  Value inLeaf(OpBuilder &builder, IsActiveOp op, CellSite &site) const {
    auto place =
        kernel.slots.find(builder, op, site.access, site.path, /*isOwn=*/op->hasAttr(mark::own));
    if (!place)
      return {};
    ByteBuilder bytes = kernel.arguments.bytesFor(site.argument, builder, op.getLoc());
    return site.addressOf(bytes, place->local)
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
        site.addressOf(outside, first).bitsInSlot(site.path.lastPool(), slot, op.getEntry());
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
  void lower(ActivateOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    site.bytes.strict = op.getStrict();
    Value active;
    if (op->hasAttr(mark::linked))
      active = inSlot(rewriter, op, site);
    rewriter.replaceOp(op, active ? active : site.address.activate());
  }

private:
  /// The bits below a slot that is active and looked up once.
  Value inSlot(OpBuilder &builder, ActivateOp op, CellSite &site) const {
    auto place = kernel.slots.find(builder, op, site.access, site.path, /*isOwn=*/false);
    if (!place)
      return {};
    ByteBuilder bytes = kernel.arguments.bytesFor(site.argument, builder, op.getLoc());
    return site.addressOf(bytes, place->local).activateInSlot(site.path.lastPool(), place->slot);
  }
};

struct LowerDeactivate : LayoutPattern<DeactivateOp> {
  using LayoutPattern::LayoutPattern;
  void lower(DeactivateOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite(kernel, rewriter, op).address.deactivate();
    rewriter.eraseOp(op);
  }
};

struct LowerAppend : LayoutPattern<AppendOp> {
  using LayoutPattern::LayoutPattern;
  void lower(AppendOp op, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, CellSite(kernel, rewriter, op).address.append());
  }
};

struct LowerLength : LayoutPattern<LengthOp> {
  using LayoutPattern::LayoutPattern;
  void lower(LengthOp op, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, CellSite(kernel, rewriter, op).address.length());
  }
};

struct LowerUsed : LayoutPattern<UsedOp> {
  using LayoutPattern::LayoutPattern;
  void lower(UsedOp op, ConversionPatternRewriter &rewriter) const override {
    PathSite site(kernel, rewriter, op);
    Value used = site.bytes.index(header::poolUsed(site.node().pool));
    Value slots = site.bytes.readInteger(used, 32, site.argument.concurrent);
    rewriter.replaceOpWithNewOp<arith::ExtUIOp>(op, rewriter.getI64Type(), slots);
  }
};

struct LowerReserve : LayoutPattern<ReserveOp> {
  using LayoutPattern::LayoutPattern;
  void lower(ReserveOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    Value counts =
        arith::IndexCastOp::create(rewriter, op.getLoc(), rewriter.getIndexType(), op.getCounts());
    site.address.reserve(counts, site.argument.scope, op.getAppend());
    rewriter.eraseOp(op);
  }
};
} // namespace

void metate::addActivityPatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerIsActive, LowerActivate, LowerDeactivate, LowerAppend, LowerLength, LowerUsed,
               LowerReserve>(kernel);
}
