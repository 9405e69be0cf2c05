//===- LeafForm.h - coordinates as base + local + constant ------*- C++ -*-===//
//
// In a `cells` nest, coordinates have the form `slot coordinate * leaf extent + local index +
// constant`. This analysis recognises it: what leaf hoisting, staging and the layout's slot reuse
// are built on.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_LEAFFORM_H
#define METATE_TRANSFORMS_LEAFFORM_H

#include "metate/Transforms/CellAccess.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate {

class IndexBuilder;

/// Constant bounds of a loop variable: [least, end).
std::optional<std::pair<int64_t, int64_t>> boundsOf(mlir::Value variable);

/// sum of coefficient * value, plus a constant.
struct LinearForm {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;
  int64_t constant = 0;

  static LinearForm of(mlir::Value value);
  int64_t coefficient(mlir::Value value) const;
  /// The same without one of its terms.
  LinearForm without(mlir::Value value) const;
  /// The same with another constant: what is there and `shift`.
  LinearForm plus(int64_t shift) const;
  /// Adds coefficient * value.
  void add(mlir::Value value, int64_t coefficient);
  /// Is it at least 0 and less than the extent, in all turns of loops with constant bounds that it names?
  bool isWithin(int64_t extent) const;
  /// What is left of one without another.
  LinearForm minus(const LinearForm &other) const;
  /// Its value, computed anew.
  mlir::Value emit(IndexBuilder &at) const;

  /// Quotient and remainder by a positive constant, where the loops' constant bounds tell them apart
  /// (4 * block + cell, with cell in [0, 4)).
  std::optional<std::pair<LinearForm, LinearForm>> divide(int64_t divisor) const;
};

/// One access in a cells nest whose slot is the nest's own or one of its neighbours.
struct LeafForm {
  /// Per axis of the access's path: cells of the leaf, and least and greatest local index
  /// (neighbours lie below 0 and from extent on).
  llvm::SmallVector<int64_t> extents, least, greatest;
  /// Cells per step of the slot coordinate: the extent, but along a list, whose slots hold several cells.
  llvm::SmallVector<int64_t> scale;
  /// The slot coordinate of the nest along the axis, a block argument of the cells operation; null
  /// for an axis that the levels down to the pool do not split.
  llvm::SmallVector<mlir::Value> slot;
  /// Coordinate minus the slot's first: what remains are the nest's variables.
  llvm::SmallVector<LinearForm> local;

  /// The first cell of the leaf, along each axis.
  llvm::SmallVector<mlir::Value> base(mlir::OpBuilder &builder, mlir::Location loc) const;

  /// True if every iteration stays in the leaf of the own slot coordinates.
  bool staysInLeaf() const;
  /// True if no iteration leaves the leaf and its direct neighbours.
  bool staysNear() const;

  /// True if the access, of this path, is at the cell that the iteration is at, and the nest goes over the whole of
  /// the leaf, one level right below the pool.
  bool isOwnCell(CellsOp cells, const TreePath &path) const;

  /// The form of an access inside `cells`, or nullopt if it has another one.
  static std::optional<LeafForm> of(CellsOp cells, const CellAccess &access);
};

/// True if no other iteration of `cells` writes, or gives up, the cell that the store writes, whether or not this one does.
bool isOnlyWriter(KernelOp kernel, CellsOp cells, StoreOp store);

/// True if no other slot's turn of the task makes the access in the slot in which this one makes it. Of lists not known.
bool staysInOwnSlot(CellsOp cells, const CellAccess &access);

/// The loops over the cells of a slot, outermost first: constant bounds, marked `metate.nest` by
/// offload.
llvm::SmallVector<mlir::scf::ForOp> nestOf(CellsOp cells);

/// True if the operation runs once for each cell of the nest, under no condition.
bool runsForEveryCell(CellsOp cells, mlir::Operation *op);

/// As runsForEveryCell, under no condition but that the nest's own cell is active.
bool runsForEveryActiveCell(CellsOp cells, mlir::Operation *op);

/// True for a condition that holds for about every other cell: a parity, as of a chessboard's colour.
bool holdsForHalf(mlir::Value condition);

/// As runsForEveryActiveCell, for all cells or for about every other one.
bool runsForManyCells(CellsOp cells, mlir::Operation *op);

/// The operation before which goes what is needed once per leaf: the nest, or the body's first.
mlir::Operation *leafPoint(CellsOp cells);

} // namespace metate

#endif
