//===- ContiguousAxis.h - which coordinate lies side by side ----*- C++ -*-===//
//
// Of an access, what its neighbours in memory differ in: the last index of an array, the last axis of a tree's innermost level.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_CONTIGUOUSAXIS_H
#define METATE_TRANSFORMS_CONTIGUOUSAXIS_H

#include "metate/Dialect/Metate.h"

namespace metate {

/// Coordinates of a read, write or atomic operation on memory, the slowest first; empty: it is none, or they have no such order.
llvm::SmallVector<mlir::Value> coordinatesByStride(mlir::Operation *op);

/// Does the variable name the contiguous coordinate of such an access, with a factor of one or minus one, and no other?
bool isContiguousIn(llvm::ArrayRef<mlir::Value> byStride, mlir::Value variable);
/// Does any of the coordinates depend on it, as far as sums and products by constants tell?
bool isNamedBy(llvm::ArrayRef<mlir::Value> byStride, mlir::Value variable);

} // namespace metate

#endif
