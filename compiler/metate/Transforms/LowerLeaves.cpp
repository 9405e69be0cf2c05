//===- LowerLeaves.cpp - many cells of a leaf at once, to bytes -*- C++ -*-===//
#include "metate/Level/Mask.h"
#include "metate/Transforms/LayoutPatterns.h"

using namespace mlir;
using namespace metate;

/// The level that ends the path.
static const layout::Node &leafOf(const PathSite &site) {
  return site.argument.node(site.argument.leafOf(site.path));
}

static const layout::Node &poolOf(const PathSite &site) {
  return site.argument.node(site.argument.poolOf(site.path));
}

static unsigned widthOf(const PathSite &site) {
  return LeafMask::widthOf(leafOf(site), poolOf(site));
}

/// The mask of the leaf in the slot that the task is at.
static LeafMask ownMask(PathSite &site, unsigned width, CellsOp cells, bool entry) {
  Value slot = site.bytes.slotAt(poolOf(site), cells.getBody().getArgument(0));
  return LeafMask(site.bytes, leafOf(site), width, slot, entry);
}

namespace {
struct LowerActivateLeaf : LayoutPattern<ActivateLeafOp> {
  using LayoutPattern::LayoutPattern;
  void lower(ActivateLeafOp op, ConversionPatternRewriter &rewriter) const override {
    PathSite site(kernel, rewriter, op);
    rewriter.replaceOp(op,
                       op.getCells() ? setNamed(op, site, rewriter) : setAll(op, site, rewriter));
  }

private:
  /// The cells that are active in another leaf, or all.
  Value setAll(ActivateLeafOp op, PathSite &site, ConversionPatternRewriter &rewriter) const {
    auto cells = op->getParentOfType<CellsOp>();
    ByteBuilder &bytes = site.bytes;
    std::optional<LeafMask> like;
    unsigned width = widthOf(site);
    if (op.getLike()) {
      PathSite other(kernel, rewriter, op.getLoc(), op.getLike(), *op.getLikePath());
      width = std::min(width, widthOf(other));
      like.emplace(ownMask(other, width, cells, op.getEntry()));
    }
    TreeAddress address = site.addressOf(op.getCoordinates());
    CellAccess access{op.getTree(), op.getPath(), op.getCoordinates()};
    bool isOwn = kernel.slots.isOwnSlot(cells, *LeafForm::of(cells, access), access, site.path);
    Value active = bytes.integer(1, 1);
    if (!isOwn)
      active = activateSlot(site, address, like ? like->isAnySet() : active);
    if (site.path.levels.back().hasMask()) {
      auto branch = scf::IfOp::create(rewriter, op.getLoc(), active);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      Value slot = isOwn ? bytes.slotAt(poolOf(site), cells.getBody().getArgument(0))
                         : address.slotOffset(site.path.lastPool());
      LeafMask mask(bytes, leafOf(site), width, slot);
      mask.setBits([&](Value word) { return like ? like->read(word) : mask.full(word); });
    }
    return like && !isOwn ? isThere(op, site, rewriter) : active;
  }

  /// Is the slot there now? Cells of which none is wanted do not ask, so they need not know whether any was.
  Value isThere(ActivateLeafOp op, PathSite &site, OpBuilder &builder) const {
    ByteBuilder &bytes = site.bytes;
    Value slot = site.addressOf(op.getCoordinates()).slotOffset(site.path.lastPool());
    Value ambient = bytes.slotAt(poolOf(site), bytes.index(0));
    return arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::ne, slot, ambient);
  }

  static Value activateSlot(PathSite &site, TreeAddress &address, Value isWanted) {
    ByteBuilder &bytes = site.bytes;
    OpBuilder &builder = bytes.builder;
    auto branch = scf::IfOp::create(builder, bytes.loc, builder.getI1Type(), isWanted,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, bytes.loc, bytes.integer(0, 1));
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, bytes.loc, address.activate(site.path.lastPool()));
    return branch.getResult(0);
  }

  /// Cells that are known beforehand.
  Value setNamed(ActivateLeafOp op, PathSite &site, ConversionPatternRewriter &rewriter) const {
    const layout::Node &leaf = leafOf(site);
    Value active = site.addressOf(op.getCoordinates()).activate(site.path.lastPool());
    auto branch = scf::IfOp::create(rewriter, op.getLoc(), active);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    // Addresses of its own: those above are of values that only hold where they were computed.
    site.addressOf(op.getCoordinates()).visitContainer([&](Value container) {
      Value mask = site.bytes.add(container, leaf.maskOffset);
      setCells(site.bytes, mask, *op.getCells(), leaf.cells);
    });
    return active;
  }
};

struct LowerIsLeafFull : LayoutPattern<IsLeafFullOp> {
  using LayoutPattern::LayoutPattern;
  void lower(IsLeafFullOp op, ConversionPatternRewriter &rewriter) const override {
    PathSite site(kernel, rewriter, op);
    auto cells = op->getParentOfType<CellsOp>();
    rewriter.replaceOp(op, ownMask(site, widthOf(site), cells, op.getEntry()).isFull());
  }
};

/// Of deactivate_leaf and deactivate_word.
template <typename Op> struct LowerDeactivateLeaf : LayoutPattern<Op> {
  using LayoutPattern<Op>::LayoutPattern;
  void lower(Op op, ConversionPatternRewriter &rewriter) const override {
    PathSite site(this->kernel, rewriter, op);
    ByteBuilder &bytes = site.bytes;
    auto clear = [&](Value container, Value begin, Value end, Value bits) {
      bytes.call("deactivate_bits", leafOf(site), {container, begin, end, bits}, {}, std::nullopt);
    };
    auto visit = [&](Value container) {
      if constexpr (std::is_same_v<Op, DeactivateWordOp>)
        clear(container, op.getWord(), bytes.add(op.getWord(), 1), bytes.toIndex(op.getBits()));
      else
        for (const MaskRun &run : runsOf(op.getCells()))
          clear(container, bytes.index(run.first), bytes.index(run.end),
                bytes.index(uint32_t(run.bits)));
    };
    site.addressOf(op.getCoordinates(), site.argument.unlinked).visitContainer(visit);
    rewriter.eraseOp(op);
  }
};
} // namespace

void metate::addLeafPatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerActivateLeaf, LowerIsLeafFull, LowerDeactivateLeaf<DeactivateLeafOp>,
               LowerDeactivateLeaf<DeactivateWordOp>>(kernel);
}
