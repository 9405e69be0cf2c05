//===- LowerLeaves.cpp - many cells of a leaf at once, to bytes -*- C++ -*-===//
#include "metate/Level/Mask.h"
#include "metate/Transforms/LayoutPatterns.h"

using namespace mlir;
using namespace metate;

/// The mask of the leaf in the slot that the task is at, at the builder's place.
static LeafMask ownMask(ByteBuilder bytes, const LoweredArgument &argument, const TreePath &path,
                        unsigned width, CellsOp cells, bool entry) {
  Value slot = bytes.slotAt(argument.node(argument.poolOf(path)), cells.getBody().getArgument(0));
  return LeafMask(bytes, argument.node(argument.leafOf(path)), width, slot, entry);
}

static unsigned widthOf(const LoweredArgument &argument, const TreePath &path) {
  return LeafMask::widthOf(argument.node(argument.leafOf(path)),
                           argument.node(argument.poolOf(path)));
}

namespace {
struct LowerActivateLeaf : LayoutPattern<ActivateLeafOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(ActivateLeafOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoweredArgument &argument = kernel.arguments[op.getTree()];
    TreePath path = *findPath(argument.type, op.getPath());
    Value active = op.getCells() ? setNamed(op, argument, path, rewriter)
                                 : setAll(op, argument, path, rewriter);
    rewriter.replaceOp(op, active);
    return success();
  }

private:
  /// The cells that are active in another leaf, or all.
  Value setAll(ActivateLeafOp op, LoweredArgument &argument, const TreePath &path,
               ConversionPatternRewriter &rewriter) const {
    auto cells = op->getParentOfType<CellsOp>();
    ByteBuilder bytes = bytesFor(argument, rewriter, op);
    std::optional<LeafMask> like;
    unsigned width = widthOf(argument, path);
    if (op.getLike()) {
      LoweredArgument &other = kernel.arguments[op.getLike()];
      TreePath walked = *findPath(other.type, *op.getLikePath());
      width = std::min(width, widthOf(other, walked));
      like.emplace(
          ownMask(bytesFor(other, rewriter, op), other, walked, width, cells, op.getEntry()));
    }
    TreeAddress address(bytes, *argument.layout, path, llvm::to_vector(op.getCoordinates()),
                        argument.concurrent);
    CellAccess access{op.getTree(), op.getPath(), op.getCoordinates()};
    bool isOwn = kernel.slots.isOwnSlot(cells, *LeafForm::of(cells, access), access, path);
    Value active = bytes.integer(1, 1);
    if (!isOwn)
      active = activateSlot(bytes, address, path, like ? like->isAnySet() : active);
    if (path.levels.back().hasMask()) {
      auto branch = scf::IfOp::create(rewriter, op.getLoc(), active);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      Value slot =
          isOwn ? bytes.slotAt(argument.node(argument.poolOf(path)), cells.getBody().getArgument(0))
                : address.slotOffset(path.lastPool());
      LeafMask mask(bytes, argument.node(argument.leafOf(path)), width, slot);
      mask.setBits([&](Value word) { return like ? like->read(word) : mask.full(word); });
    }
    return active;
  }

  static Value activateSlot(ByteBuilder &bytes, TreeAddress &address, const TreePath &path,
                            Value isWanted) {
    OpBuilder &builder = bytes.builder;
    auto branch = scf::IfOp::create(builder, bytes.loc, builder.getI1Type(), isWanted,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, bytes.loc, bytes.integer(0, 1));
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, bytes.loc, address.activate(path.lastPool()));
    return branch.getResult(0);
  }

  /// Cells that are known beforehand.
  Value setNamed(ActivateLeafOp op, LoweredArgument &argument, const TreePath &path,
                 ConversionPatternRewriter &rewriter) const {
    ByteBuilder bytes = bytesFor(argument, rewriter, op);
    const layout::Node &leaf = argument.node(argument.leafOf(path));
    TreeAddress address(bytes, *argument.layout, path, llvm::to_vector(op.getCoordinates()),
                        argument.concurrent);
    Value active = address.activate(path.lastPool());
    auto branch = scf::IfOp::create(rewriter, op.getLoc(), active);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    // Addresses of its own: those above are of values that only hold where they were computed.
    TreeAddress(bytes, *argument.layout, path, llvm::to_vector(op.getCoordinates()),
                argument.concurrent)
        .visitContainer([&](Value container) {
          setCells(bytes, bytes.add(container, leaf.maskOffset), *op.getCells(), leaf.cells);
        });
    return active;
  }
};

struct LowerIsLeafFull : LayoutPattern<IsLeafFullOp> {
  using LayoutPattern::LayoutPattern;
  LogicalResult matchAndRewrite(IsLeafFullOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoweredArgument &argument = kernel.arguments[op.getTree()];
    TreePath path = *findPath(argument.type, op.getPath());
    LeafMask mask = ownMask(bytesFor(argument, rewriter, op), argument, path,
                            widthOf(argument, path), op->getParentOfType<CellsOp>(), op.getEntry());
    rewriter.replaceOp(op, mask.isFull());
    return success();
  }
};

/// Of deactivate_leaf and deactivate_word.
template <typename Op> struct LowerDeactivateLeaf : LayoutPattern<Op> {
  using LayoutPattern<Op>::LayoutPattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    LoweredArgument &argument = this->kernel.arguments[op.getTree()];
    ByteBuilder bytes = this->bytesFor(argument, rewriter, op);
    TreePath path = *findPath(argument.type, op.getPath());
    const layout::Node &leaf = argument.node(argument.leafOf(path));
    auto clear = [&](Value container, Value begin, Value end, Value bits) {
      bytes.call("deactivate_bits", leaf, {container, begin, end, bits}, {}, std::nullopt);
    };
    auto visit = [&](Value container) {
      if constexpr (std::is_same_v<Op, DeactivateWordOp>)
        clear(container, op.getWord(), bytes.add(op.getWord(), 1), bytes.toIndex(op.getBits()));
      else
        for (const MaskRun &run : runsOf(op.getCells()))
          clear(container, bytes.index(run.first), bytes.index(run.end),
                bytes.index(uint32_t(run.bits)));
    };
    TreeAddress(bytes, *argument.layout, path, llvm::to_vector(op.getCoordinates()),
                argument.concurrent, argument.unlinked)
        .visitContainer(visit);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void metate::addLeafPatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerActivateLeaf, LowerIsLeafFull, LowerDeactivateLeaf<DeactivateLeafOp>,
               LowerDeactivateLeaf<DeactivateWordOp>>(kernel);
}
