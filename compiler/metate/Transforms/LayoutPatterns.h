//===- LayoutPatterns.h - what the patterns of lower-layout share -*- C++ -*-===//
//
// metate-lower-layout is a dialect conversion of one kernel after the other: operations on cells first, while the tasks that
// they are in say where slots are looked up, then the tasks. What a kernel's patterns share stands here; the patterns are in
// Lower*.cpp, one file a concern.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_LAYOUTPATTERNS_H
#define METATE_TRANSFORMS_LAYOUTPATTERNS_H

#include "metate/Transforms/SlotCache.h"
#include "metate/Transforms/TreeAddress.h"

#include "mlir/Transforms/DialectConversion.h"

namespace metate {

/// One kernel that is being lowered.
struct KernelLayout {
  explicit KernelLayout(KernelOp kernel)
      : kernel(kernel), arguments(kernel), slots(kernel, arguments) {}

  KernelOp kernel;
  LoweredArguments arguments;
  SlotCache slots;
  /// Stores into cells that no other iteration writes.
  llvm::DenseSet<mlir::Operation *> onlyWriters;
};

/// A pattern for one operation.
template <typename Op> class LayoutPattern : public mlir::OpConversionPattern<Op> {
public:
  explicit LayoutPattern(KernelLayout &kernel)
      : mlir::OpConversionPattern<Op>(kernel.kernel.getContext()), kernel(kernel) {}
  using Adaptor = typename Op::Adaptor;

protected:
  ByteBuilder bytesFor(LoweredArgument &argument, mlir::ConversionPatternRewriter &rewriter,
                       mlir::Operation *op) const {
    return kernel.arguments.bytesFor(argument, rewriter, op->getLoc());
  }

  KernelLayout &kernel;
};

/// The cell, or the list, that an operation names, with the way to it from the root.
struct CellSite {
  CellSite(KernelLayout &kernel, mlir::OpBuilder &builder, CellOpInterface op);
  CellSite(const CellSite &) = delete; // the address refers to the path

  CellAccess access;
  LoweredArgument &argument;
  TreePath path;
  ByteBuilder bytes;
  TreeAddress address;
};

/// A value's read-modify-write: indivisible for each component.
mlir::Value atomicAt(ByteBuilder &bytes, mlir::arith::AtomicRMWKind kind, mlir::Value offset,
                     mlir::Value value);

/// Load, store, atomic; is_active, activate, deactivate; append, length, used, reserve.
void addAccessPatterns(mlir::RewritePatternSet &patterns, KernelLayout &kernel);
void addActivityPatterns(mlir::RewritePatternSet &patterns, KernelLayout &kernel);
/// Many cells of a leaf at once: activate_leaf, deactivate_leaf, deactivate_word, is_leaf_full.
void addLeafPatterns(mlir::RewritePatternSet &patterns, KernelLayout &kernel);
/// Copies of what a nest reads of neighbour leaves: stage_leaf, stage_row.
void addTilePatterns(mlir::RewritePatternSet &patterns, KernelLayout &kernel);
/// Operations of memref on arguments.
void addArrayPatterns(mlir::RewritePatternSet &patterns, KernelLayout &kernel);
/// What stands between tasks: collect, snapshot, sort.
void addTaskEdgePatterns(mlir::RewritePatternSet &patterns, KernelLayout &kernel);
/// The tasks over slots themselves.
void addTaskPatterns(mlir::RewritePatternSet &patterns, KernelLayout &kernel);

} // namespace metate

#endif
