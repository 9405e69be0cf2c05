//===- TakenPlaces.h - places that iterations of a loop take ----*- C++ -*-===//
//
// `x[c].append(v)` and `atomic_add(count[c], 1)` give an iteration a place of its own in one of many lists. Which lists a loop takes places
// of, and what it takes to know the list of an iteration before the loop runs. Must not know what is made of that.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_TAKENPLACES_H
#define METATE_TRANSFORMS_TAKENPLACES_H

#include "metate/Dialect/Metate.h"
#include "metate/Transforms/OwnPlaces.h"

namespace metate {

/// Lists of a dynamic level, or counters: one for each tuple of coordinates.
struct TakenPlaces {
  AccessTarget place;                         ///< the tree or array, and the path
  llvm::SmallVector<mlir::Operation *> sites; ///< of one kind: appends or atomic additions
  llvm::SmallVector<int64_t> extents;         ///< of the coordinates

  bool isList() const { return llvm::isa<AppendOp>(sites.front()); }
  int64_t lists() const { return llvm::product_of(extents); }
};

/// The coordinates of a list or counter.
mlir::OperandRange listOf(mlir::Operation *site);
/// What an atomic addition adds; none: an append takes one place.
mlir::Value placesOf(mlir::Operation *site);

/// What a loop takes places of, if nothing else in the loop, and in what it calls, changes or asks how many are taken.
llvm::SmallVector<TakenPlaces> takenPlaces(RangeOp range);

/// The operations that say which lists an iteration takes places of, and how many: arithmetic and reads of what the loop does not
/// write, under the conditions and in the loops around the sites.
class PlaceSlice {
public:
  PlaceSlice(RangeOp range, llvm::ArrayRef<TakenPlaces> targets);

  /// Why it cannot be computed beforehand, or would cost too much.
  llvm::StringRef problem() const { return why; }
  /// Each copy of the slice gives the same bits from then on: an addition and a product are not one operation in one of them.
  void keepRounding() const;
  bool has(mlir::Operation *op) const { return operations.contains(op); }

private:
  void reach(mlir::Value value);
  void add(mlir::Operation *op);
  void follow(mlir::Operation *op);

  RangeOp range;
  llvm::SetVector<mlir::Operation *> operations;
  llvm::SmallPtrSet<mlir::Operation *, 4> sites;
  llvm::StringRef why;
};

} // namespace metate

#endif
