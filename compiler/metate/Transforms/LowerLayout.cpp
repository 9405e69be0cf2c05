//===- LowerLayout.cpp - trees and arrays become bytes ----------*- C++ -*-===//
//
// A dialect conversion of each kernel, in two steps: operations on cells and arrays, then the tasks over slots. Between
// them a kernel has both signatures (LoweredArguments).
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Graph.h"
#include "metate/Transforms/Arena.h"
#include "metate/Transforms/LayoutPatterns.h"
#include "metate/Transforms/OwnWords.h"
#include "metate/Transforms/Passes.h"

#include "metate/abi/module.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace metate {
#define GEN_PASS_DEF_LOWERLAYOUT
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
namespace header = metate::layout::header;

namespace {
struct LowerLayout : metate::impl::LowerLayoutBase<LowerLayout> {
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (failed(lower(kernel)))
        return signalPassFailure();
  }

private:
  static LogicalResult lower(KernelOp kernel) {
    KernelLayout layout(kernel);
    if (failed(layout.arguments.add()))
      return failure();
    layout.slots.noteInnerChanges();
    noteOnlyWriters(layout);
    layout.wordOwners = writersOfOwnWords(layout.kernel);
    lowerRuns(layout);
    if (failed(lowerCells(layout)) || failed(lowerTasks(layout)))
      return failure();
    settle(layout);
    returnStatus(layout);
    layout.arguments.eraseOld();
    return success();
  }

  static void noteOnlyWriters(KernelLayout &layout) {
    layout.kernel.walk([&](StoreOp store) {
      auto cells = store->getParentOfType<CellsOp>();
      if (cells && isOnlyWriter(layout.kernel, cells, store))
        layout.onlyWriters.insert(store);
    });
  }

  /// An array of the graph's own that is planned: its part of the pool.
  static void flattenPlanned(RunOp run, IntermediateOp op, SmallVectorImpl<Value> &flat) {
    OpBuilder builder(run);
    Location loc = op.getLoc();
    flat.push_back(PoolOp::create(builder, loc, BlockType::get(builder.getContext()),
                                  "intermediates", PoolKind::Launch, *op.getTotal(), Arena::align,
                                  /*scale=*/0, ValueRange(), IntegerAttr(), *op.getOffset()));
    auto type = cast<MemRefType>(op.getArray().getType());
    SmallVector<Value> extents, strides(type.getRank());
    for (int64_t extent : type.getShape())
      extents.push_back(ShapedType::isDynamic(extent)
                            ? Value()
                            : arith::ConstantIndexOp::create(builder, loc, extent).getResult());
    unsigned dim = 0;
    for (Value &extent : extents)
      extent = extent ? extent : op.getExtents()[dim++];
    Value stride = arith::ConstantIndexOp::create(builder, loc, 1);
    for (int64_t k = type.getRank(); k-- > 0;) {
      strides[k] = stride;
      stride = builder.createOrFold<arith::MulIOp>(loc, stride, extents[k]);
    }
    llvm::append_range(flat, extents);
    llvm::append_range(flat, strides);
  }

  /// An array of the graph's own: its address, its extents and strides.
  static void flattenOwn(RunOp run, Value array, SmallVectorImpl<Value> &flat) {
    if (auto op = array.getDefiningOp<IntermediateOp>())
      return flattenPlanned(run, op, flat);
    OpBuilder builder(run);
    auto collapsed = array.getDefiningOp<memref::CollapseShapeOp>();
    Value room = collapsed ? collapsed.getSrc() : array;
    flat.push_back(
        memref::ExtractAlignedPointerAsIndexOp::create(builder, run.getLoc(), room).getResult());
    ArrayRef<int64_t> shape = cast<MemRefType>(array.getType()).getShape();
    for (int64_t number : shape)
      flat.push_back(arith::ConstantIndexOp::create(builder, run.getLoc(), number));
    for (int64_t number : computeStrides(shape))
      flat.push_back(arith::ConstantIndexOp::create(builder, run.getLoc(), number));
  }

  /// Operands become as flat as the arguments of the kernel that is run.
  static void lowerRuns(KernelLayout &layout) {
    layout.kernel.walk([&](RunOp run) {
      SmallVector<Value> flat;
      for (Value operand : run.getOperands()) {
        LoweredArgument *argument = layout.arguments.find(operand);
        if (!argument && isa<MemRefType>(operand.getType())) {
          flattenOwn(run, operand, flat);
          continue;
        }
        flat.push_back(argument ? argument->block : operand);
        if (!argument)
          continue;
        llvm::append_range(flat, argument->extents);
        llvm::append_range(flat, argument->strides);
      }
      run->setOperands(flat);
    });
    for (IntermediateOp op :
         llvm::make_early_inc_range(layout.kernel.getBody().getOps<IntermediateOp>()))
      op.erase();
  }

  static LogicalResult lowerCells(KernelLayout &layout) {
    ConversionTarget target(*layout.kernel.getContext());
    target.markUnknownOpDynamicallyLegal(
        [](Operation *op) { return isa<CellsOp>(op) || !op->hasTrait<LoweredByLayout>(); });
    // Local tiles and variables stay.
    target.addDynamicallyLegalDialect<memref::MemRefDialect>([&](Operation *op) {
      return llvm::none_of(op->getOperands(),
                           [&](Value operand) { return layout.arguments.find(operand); });
    });
    RewritePatternSet patterns(layout.kernel.getContext());
    addAccessPatterns(patterns, layout);
    addWordPatterns(patterns, layout);
    addActivityPatterns(patterns, layout);
    addLeafPatterns(patterns, layout);
    addTilePatterns(patterns, layout);
    addArrayPatterns(patterns, layout);
    addTaskEdgePatterns(patterns, layout);
    return convert(layout.kernel, target, std::move(patterns));
  }

  static LogicalResult lowerTasks(KernelLayout &layout) {
    ConversionTarget target(*layout.kernel.getContext());
    target.markUnknownOpDynamicallyLegal(
        [](Operation *op) { return !op->hasTrait<LoweredByLayout>(); });
    RewritePatternSet patterns(layout.kernel.getContext());
    addTaskPatterns(patterns, layout);
    return convert(layout.kernel, target, std::move(patterns));
  }

  static LogicalResult convert(KernelOp kernel, ConversionTarget &target,
                               RewritePatternSet &&patterns) {
    ConversionConfig config;
    config.allowPatternRollback =
        false; // each pattern succeeds, and the next looks at what it made
    config.foldingMode = DialectConversionFoldingMode::Never; // the map stage canonicalises
    return applyPartialConversion(kernel, target, FrozenRewritePatternSet(std::move(patterns)),
                                  config);
  }

  /// Whoever calls the entry, a topology that changed gets another number.
  static void settle(KernelLayout &layout) {
    OpBuilder builder(layout.kernel.getBody().front().getTerminator());
    for (BlockArgument old : layout.arguments.old())
      if (LoweredArgument *argument = layout.arguments.find(old); argument && argument->changes)
        layout.arguments.bytesFor(*argument, builder, layout.kernel.getLoc())
            .call("settle", 0, {}, {}, std::nullopt);
  }

  /// The launch fails if a pool of a tree that it may activate was exhausted.
  static void returnStatus(KernelLayout &layout) {
    KernelOp kernel = layout.kernel;
    OpBuilder builder(kernel.getBody().front().getTerminator());
    SmallVector<int64_t> activates;
    for (BlockArgument old : layout.arguments.old()) {
      LoweredArgument *argument = layout.arguments.find(old);
      auto access = kernel.getArgAttrOfType<IntegerAttr>(old.getArgNumber(), mark::access);
      if (!argument || !argument->layout || !access || !(access.getInt() & METATE_ACCESS_ACTIVATE))
        continue;
      ByteBuilder bytes = layout.arguments.bytesFor(*argument, builder, kernel.getLoc());
      Value status = bytes.readInteger(bytes.index(header::status()), 32, /*acquire=*/true);
      ReturnStatusOp::create(builder, kernel.getLoc(), status);
      activates.push_back(layout.arguments.numberOf(*argument));
    }
    // The target bounds the number of workers by these trees' slack slots.
    kernel->setAttr(mark::activates, builder.getDenseI64ArrayAttr(activates));
  }
};
} // namespace
