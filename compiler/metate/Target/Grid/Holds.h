//===- Holds.h - questions of what stands in an operation -------*- C++ -*-===//
#ifndef METATE_TARGET_GRID_HOLDS_H
#define METATE_TARGET_GRID_HOLDS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Visitors.h"

namespace metate::grid {

/// Is it so of the operation or of one that it holds?
inline bool holds(mlir::Operation *op, llvm::function_ref<bool(mlir::Operation *)> is) {
  auto ask = [&](mlir::Operation *one) {
    return is(one) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  };
  return op->walk(ask).wasInterrupted();
}

} // namespace metate::grid

#endif
