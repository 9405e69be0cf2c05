//===- Place.h - where in the user's source ---------------------*- C++ -*-===//
#ifndef METATE_DIALECT_PLACE_H
#define METATE_DIALECT_PLACE_H

#include "mlir/IR/Location.h"

namespace metate {

/// The user's place of an operation: the innermost file location (of an inlined call, the
/// callee's). Null where there is none.
mlir::FileLineColLoc placeOf(mlir::Location location);

} // namespace metate

#endif
