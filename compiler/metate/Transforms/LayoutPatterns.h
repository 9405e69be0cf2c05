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
  /// Writes of quantised members whose words no other iteration writes.
  llvm::DenseSet<mlir::Operation *> wordOwners;
};

/// A pattern for one operation, which always applies. An argument's block comes with its layout and its alias scope, so that
/// it is looked up by the argument that the operation has (kernel.arguments), not taken from an adaptor.
template <typename Op> class LayoutPattern : public mlir::OpConversionPattern<Op> {
public:
  explicit LayoutPattern(KernelLayout &kernel)
      : mlir::OpConversionPattern<Op>(kernel.kernel.getContext()), kernel(kernel) {}
  using Rewriter = mlir::ConversionPatternRewriter;

  /// Replaces or erases the operation.
  virtual void lower(Op op, Rewriter &rewriter) const = 0;

protected:
  ByteBuilder bytesFor(LoweredArgument &argument, Rewriter &rewriter, mlir::Operation *op) const {
    return kernel.arguments.bytesFor(argument, rewriter, op->getLoc());
  }

  KernelLayout &kernel;

private:
  llvm::LogicalResult matchAndRewrite(Op op, typename Op::Adaptor, Rewriter &rewriter) const final {
    lower(op, rewriter);
    return mlir::success();
  }
};

/// The member or level of a tree that an operation names, and code for the tree's block.
struct PathSite {
  PathSite(KernelLayout &kernel, mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tree,
           llvm::StringRef path)
      : argument(kernel.arguments[tree]), path(*findPath(argument.type, path)),
        bytes(kernel.arguments.bytesFor(argument, builder, loc)) {}
  template <typename Op>
  PathSite(KernelLayout &kernel, mlir::OpBuilder &builder, Op op)
      : PathSite(kernel, builder, op.getLoc(), op.getTree(), op.getPath()) {}
  PathSite(const PathSite &) = delete; // addresses refer to the path

  /// The node of what the path ends in.
  const layout::Node &node() const { return argument.node(argument.layout->nodesOf(path).back()); }
  /// The cell at these coordinates; `unlinked`: as of TreeAddress.
  TreeAddress addressOf(mlir::ValueRange coordinates, bool unlinked = false) {
    return addressOf(bytes, coordinates, unlinked);
  }
  /// The same by code at another place.
  TreeAddress addressOf(ByteBuilder &at, mlir::ValueRange coordinates,
                        bool unlinked = false) const {
    return TreeAddress(at, *argument.layout, path, llvm::to_vector(coordinates),
                       argument.concurrent, unlinked);
  }

  LoweredArgument &argument;
  TreePath path;
  ByteBuilder bytes;
};

/// The cell, or the list, that an operation names, with the way to it from the root.
struct CellSite : PathSite {
  CellSite(KernelLayout &kernel, mlir::OpBuilder &builder, CellOpInterface op);

  CellAccess access;
  TreeAddress address;
};

/// The member's byte offset where its slot is looked up once; null where it is not.
mlir::Value offsetInSlot(KernelLayout &kernel, mlir::OpBuilder &builder, mlir::Operation *op,
                         CellSite &site);

/// A value's read-modify-write: indivisible for each component.
mlir::Value atomicAt(ByteBuilder &bytes, mlir::arith::AtomicRMWKind kind, mlir::Value offset,
                     mlir::Value value);

/// Where a quantised member's bits are, and what reads and writes them.
class WordAccess {
public:
  /// `own`: no other iteration writes the word. The member is at a byte offset that the accesses give.
  WordAccess(CellSite &site, bool own);

  mlir::Value load(mlir::Value offset);
  void store(mlir::Value bits, mlir::Value offset);
  /// Combines the stored bits with others; yields the old ones.
  mlir::Value atomic(mlir::arith::AtomicRMWKind kind, mlir::Value bits, mlir::Value offset,
                     bool isAsked);
  /// Combines the decoded value with another; yields the old one.
  mlir::Value update(mlir::arith::AtomicRMWKind kind, mlir::Value value, mlir::Value offset);
  /// Writes members, by their names, that share an exponent with this one.
  void storeShared(llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Value>> given,
                   mlir::Value offset);
  /// The bits of the member's background; what `update` yields of it.
  mlir::Value background();
  mlir::Value shownBackground();

private:
  using Change = llvm::function_ref<mlir::Value(mlir::Value word)>;
  mlir::Value integer(uint64_t value) { return bytes.integer(int64_t(value), width); }
  mlir::Value resized(mlir::Value value, unsigned bits);
  mlir::Value shifted(mlir::Value bits);
  mlir::Value mask();
  mlir::Value extract(mlir::Value word, const layout::Node &member);
  mlir::Value insert(mlir::Value word, mlir::Value bits);
  using NewValues = llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Value>>;
  mlir::Value insertShared(mlir::Value word, NewValues given);
  /// Replaces the word by what it becomes; yields the old one.
  mlir::Value change(mlir::Value offset, Change changed);

  CellSite &site;
  ByteBuilder &bytes;
  const layout::Node &node;
  const layout::PackedBits &packed;
  bool own;
  unsigned width; ///< of the word
};

/// Load, store, atomic; is_active, activate, deactivate; append, length, used, reserve.
void addAccessPatterns(mlir::RewritePatternSet &patterns, KernelLayout &kernel);
/// Load_shared, store_shared, load_word, store_word, update.
void addWordPatterns(mlir::RewritePatternSet &patterns, KernelLayout &kernel);
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
