//===- OwnPlaces.h - places that one iteration owns -------------*- C++ -*-===//
#ifndef METATE_TRANSFORMS_OWNPLACES_H
#define METATE_TRANSFORMS_OWNPLACES_H

#include "mlir/IR/ValueRange.h"

namespace metate {

/// No two iterations of the parallel loop name one place: `places` are the coordinates, of one tree's member or one array,
/// of all accesses in the loop that count.
bool areOwnPlaces(mlir::Operation *loop, llvm::ArrayRef<mlir::ValueRange> places);

} // namespace metate

#endif
