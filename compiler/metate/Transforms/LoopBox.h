//===- LoopBox.h - the box that a parallel loop walks -----------*- C++ -*-===//
#ifndef METATE_TRANSFORMS_LOOPBOX_H
#define METATE_TRANSFORMS_LOOPBOX_H

#include "metate/Dialect/Metate.h"

namespace metate {

/// Bounds of a parallel loop whose iterations are all integers of a box.
struct LoopBox {
  llvm::SmallVector<mlir::Value> lower, upper;

  /// A range, or a struct-for over the cells of one dense level, which are all active.
  static bool is(mlir::Operation *loop);
  /// Of such; constants are made where the builder stands.
  static LoopBox of(mlir::Operation *loop, mlir::OpBuilder &builder);
};

} // namespace metate

#endif // METATE_TRANSFORMS_LOOPBOX_H
