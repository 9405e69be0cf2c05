//===- LoweredArguments.h - a kernel's trees and arrays as blocks -*- C++ -*-===//
//
// The signature of a kernel in bytes: a tree is its block; an array its block, extents and strides; the rest stays.
// While operations are lowered the kernel has its old arguments and, behind them, the new ones.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_LOWEREDARGUMENTS_H
#define METATE_TRANSFORMS_LOWEREDARGUMENTS_H

#include "metate/Level/ByteBuilder.h"

#include "mlir/Transforms/DialectConversion.h"

namespace metate {

/// One tree or array argument.
struct LoweredArgument {
  mlir::Value block;
  TreeType type; ///< a tree
  int64_t scope = 0;
  bool concurrent = false; ///< the kernel may change which of its cells are active
  bool unlinked = false;   ///< the kernel may deactivate some
  bool changes = false;    ///< the kernel changes them through this argument
  std::unique_ptr<layout::TreeLayout> layout; ///< a tree
  llvm::DenseMap<unsigned, mlir::Value> slotsBase;
  llvm::SmallVector<mlir::Value> extents, strides; ///< an array

  const layout::Node &node(unsigned number) const { return layout->nodes[number]; }
  /// Node of the pool that a path's cells live in.
  unsigned poolOf(const TreePath &path) const { return layout->nodesOf(path)[path.lastPool()]; }
  /// Node of the last level of a path.
  unsigned leafOf(const TreePath &path) const {
    return layout->nodesOf(path)[path.levels.size() - 1];
  }
};

/// Types of arguments in bytes. Arrays that are no arguments, local tiles and variables, stay what they are.
struct ArgumentTypes : mlir::TypeConverter {
  explicit ArgumentTypes(mlir::MLIRContext *context);
};

class LoweredArguments {
public:
  explicit LoweredArguments(KernelOp kernel) : kernel(kernel) {}

  /// Adds the new arguments; fails, with a diagnostic, where a tree is too large.
  mlir::LogicalResult add();
  /// Takes the old ones away, which nothing uses any more.
  void eraseOld();

  /// The tree or array that is an old argument; null of any other value.
  LoweredArgument *find(mlir::Value old);
  LoweredArgument &operator[](mlir::Value old) { return *find(old); }
  llvm::ArrayRef<mlir::BlockArgument> old() {
    return kernel.getBody().getArguments().take_front(oldCount);
  }
  /// Number of the new argument that a block is.
  unsigned numberOf(const LoweredArgument &argument) const {
    return llvm::cast<mlir::BlockArgument>(argument.block).getArgNumber() - oldCount;
  }

  ByteBuilder bytesFor(LoweredArgument &argument, mlir::OpBuilder &builder, mlir::Location loc);

private:
  /// Extents that are a dim are multiples of what that says.
  void noteMultiples(unsigned old, llvm::ArrayRef<mlir::Value> extents);
  void addTree(LoweredArgument &argument, llvm::ArrayRef<mlir::Value> changed,
               mlir::BlockArgument old);

  KernelOp kernel;
  llvm::DenseMap<mlir::Value, LoweredArgument> arguments;
  unsigned oldCount = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>>
      multiples; ///< of new arguments: what they are multiples of
};

} // namespace metate

#endif
