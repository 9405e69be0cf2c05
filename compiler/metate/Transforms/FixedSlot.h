//===- FixedSlot.h - accesses of one slot through a whole loop nest -*- C++ -*-===//
//
// In a loop over a range, coordinates often have the form `a multiple of the leaf's extent, the same for the
// whole loop + a part below that extent`: 8 * leaves[l] + c % 8. This analysis recognises it, so that the slot
// is activated and looked up once, before the loop. LeafForm does the same for the nests of struct-fors.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_FIXEDSLOT_H
#define METATE_TRANSFORMS_FIXEDSLOT_H

#include "metate/Transforms/CellAccess.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate {

class ByteBuilder;

/// One coordinate as base + local. Both are sums, in the type of their terms (i32 wraps) and then of type index.
struct FixedCoordinate {
  llvm::SmallVector<mlir::Value> base, local; ///< terms
  int64_t baseConstant = 0, localConstant = 0;
  /// The base is the coordinate itself, which is the same for the whole nest; the local part is its rest.
  bool isWhole = false;

  /// The form whose base is a multiple of `extent` and whose local part is below it, of any values.
  static std::optional<FixedCoordinate> of(mlir::Value coordinate, int64_t extent);

  bool hasSameBase(const FixedCoordinate &other) const {
    return base == other.base && baseConstant == other.baseConstant;
  }
};

/// An access whose slot of its path's last pool is the same for every iteration of a nest.
struct FixedSlot {
  llvm::SmallVector<FixedCoordinate> coordinates; ///< one per axis of the path

  /// The form of an access, where `isFixed` tells which values are the same for the whole nest; nullopt if it has
  /// another one. Paths that end in lists, or have no pool, have none.
  static std::optional<FixedSlot> of(const TreePath &path, mlir::OperandRange coordinates,
                                     llvm::function_ref<bool(mlir::Value)> isFixed);

  bool hasSameBase(const FixedSlot &other) const;
  /// Coordinates of one cell of the slot, to be computed before the nest.
  llvm::SmallVector<mlir::Value> base(mlir::OpBuilder &builder, mlir::Location loc) const;
  /// Coordinates inside of the slot, to be computed where the access stands.
  llvm::SmallVector<mlir::Value> local(ByteBuilder &bytes, const TreePath &path) const;
};

/// The outermost loop of the nest, marked `metate.slots`, that an operation stands in; or null.
mlir::scf::ForOp slotNestOf(mlir::Operation *op);

} // namespace metate

#endif
