//===- CellAccess.h - what the cell operations have in common ---*- C++ -*-===//
//
// A view of metate.load / store / atomic / is_active / activate as "tree, path, coordinates", for
// passes that ask the same question of all of them.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_CELLACCESS_H
#define METATE_TRANSFORMS_CELLACCESS_H

#include "metate/Dialect/Tree.h"

#include "llvm/ADT/TypeSwitch.h"

namespace metate {

struct CellAccess {
  mlir::Value tree;
  llvm::StringRef path;
  mlir::OperandRange coordinates;

  /// The access that an operation makes, or nullopt if it is no cell operation.
  static std::optional<CellAccess> of(mlir::Operation *op) {
    return llvm::TypeSwitch<mlir::Operation *, std::optional<CellAccess>>(op)
        .Case<LoadOp, StoreOp, AtomicOp, IsActiveOp, ActivateOp>([](auto cell) {
          return CellAccess{cell.getTree(), cell.getPath(), cell.getCoordinates()};
        })
        .Default([](mlir::Operation *) { return std::nullopt; });
  }

  TreePath resolve() const { return *findPath(llvm::cast<TreeType>(tree.getType()), path); }
};

/// True if two tree arguments can be one instance: the same value, or, in a kernel compiled for
/// overlapping arguments, of one type.
inline bool mayBeSameTree(KernelOp kernel, mlir::Value a, mlir::Value b) {
  return a == b || (kernel.getMayAlias() && a.getType() == b.getType());
}

/// Levels of a path down to its last pool: what has to be active for the cell to be.
inline llvm::ArrayRef<LevelInterface> poolLevels(const TreePath &path) {
  return llvm::ArrayRef(path.levels).take_front(path.lastPool() + 1);
}

} // namespace metate

#endif
