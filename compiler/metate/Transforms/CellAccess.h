//===- CellAccess.h - what the cell operations have in common ---*- C++ -*-===//
//
// A view of operations that name a cell as "tree, path, coordinates", for passes that ask the same question of all of them.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_CELLACCESS_H
#define METATE_TRANSFORMS_CELLACCESS_H

#include "metate/Dialect/Call.h"
#include "metate/Dialect/Tree.h"

namespace metate {

struct CellAccess {
  mlir::Value tree;
  llvm::StringRef path;
  mlir::OperandRange coordinates;

  /// The access that an operation makes, or nullopt if it is no cell operation.
  static std::optional<CellAccess> of(mlir::Operation *op) {
    auto cell = llvm::dyn_cast<CellOpInterface>(op);
    return cell && cell.namesCell() ? std::optional(from(cell)) : std::nullopt;
  }
  /// What an operation names: a cell, or a list by its parent cell.
  static CellAccess from(CellOpInterface cell) {
    return {cell.getTree(), cell.getPath(), cell.getCellCoordinates()};
  }

  TreePath resolve() const { return *findPath(llvm::cast<TreeType>(tree.getType()), path); }
};

/// True if two tree arguments can be one instance: the same value, or, in a kernel compiled for
/// overlapping arguments, of one type.
inline bool mayBeSameTree(KernelOp kernel, mlir::Value a, mlir::Value b) {
  return a == b || (kernel.getMayAlias() && a.getType() == b.getType());
}

/// Levels of a path down to its last one whose cells can be inactive: what has to be active for the cell to be.
inline llvm::ArrayRef<LevelInterface> activityLevels(const TreePath &path) {
  return llvm::ArrayRef(path.levels).take_front(path.lastActivity() + 1);
}

/// Does the operation write a member of a tree?
inline bool writesMember(mlir::Operation *op) {
  auto cell = llvm::dyn_cast<CellOpInterface>(op);
  return cell && cell.writesMember();
}

/// Does the operation ask which cells of the tree are active?
inline bool asksActivity(KernelOp kernel, mlir::Operation *op, mlir::Value tree) {
  auto cell = llvm::dyn_cast<CellOpInterface>(op);
  return cell && cell.asksActivity() && mayBeSameTree(kernel, cell.getTree(), tree);
}

/// The cell whose activity an operation may change (of a list: its parent cell), or nullopt.
inline std::optional<CellAccess> changedCell(mlir::Operation *op) {
  auto cell = llvm::dyn_cast<CellOpInterface>(op);
  return cell && cell.changesActivity() ? std::optional(CellAccess::from(cell)) : std::nullopt;
}

/// True if `scope`, or a function that it calls, may do such an operation to the tree.
template <typename Op> bool mayDo(KernelOp kernel, mlir::Operation *scope, mlir::Value tree) {
  return walkWithCalls(scope,
                       [&](mlir::Operation *op) {
                         auto found = llvm::dyn_cast<Op>(op);
                         return found && mayBeSameTree(kernel, found.getTree(), tree)
                                    ? mlir::WalkResult::interrupt()
                                    : mlir::WalkResult::advance();
                       })
      .wasInterrupted();
}
inline bool mayDeactivate(KernelOp kernel, mlir::Operation *scope, mlir::Value tree) {
  return mayDo<DeactivateOp>(kernel, scope, tree);
}

} // namespace metate

#endif
