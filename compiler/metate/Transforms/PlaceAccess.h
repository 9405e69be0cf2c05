//===- PlaceAccess.h - reads and writes of cells and elements ---*- C++ -*-===//
//
// A view of loads, stores and atomics of members and arrays as "target, coordinates, components", for passes that ask whether two of them meet.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_PLACEACCESS_H
#define METATE_TRANSFORMS_PLACEACCESS_H

#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/OwnPlaces.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace metate {

/// An access of one place.
struct PlaceAccess {
  mlir::Operation *op;
  AccessTarget target;
  llvm::SmallVector<mlir::Value> coordinates, components;
  mlir::Type type; ///< of the value

  static std::optional<PlaceAccess> of(mlir::Operation *op);
  bool isLoad() const { return llvm::isa<LoadOp, mlir::memref::LoadOp>(op); }
  bool isStore() const { return llvm::isa<StoreOp, mlir::memref::StoreOp>(op); }
  bool isArray() const { return llvm::isa<mlir::MemRefType>(target.first.getType()); }

  bool isAtSamePlace(const PlaceAccess &other) const;

  /// Never at one place with `other`.
  bool isApartFrom(const PlaceAccess &other, bool mayAlias) const;
};

} // namespace metate

#endif
