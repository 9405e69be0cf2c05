//===- DerivativeActivity.h - which values have a derivative ----*- C++ -*-===//
//
// A value is active if it depends on a place that has a derivative and such a place depends on it. Everything else is a constant
// to the derivative, and costs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_DERIVATIVEACTIVITY_H
#define METATE_TRANSFORMS_DERIVATIVEACTIVITY_H

#include "metate/Transforms/DerivativePlaces.h"

#include "llvm/ADT/DenseSet.h"

namespace metate {

/// Values that a value is handed on to as it is: what a loop carries, what a branch or a loop gives.
llvm::SmallVector<mlir::Value> handedOnTo(mlir::OpOperand &use);
/// The values that a block argument, or the result of a loop or branch, may be.
llvm::SmallVector<mlir::Value> handedOnFrom(mlir::Value value);

class DerivativeActivity {
public:
  DerivativeActivity(KernelOp kernel, const DerivativePlaces &places);

  bool isActive(mlir::Value value) const {
    return varied.contains(value) && useful.contains(value);
  }
  /// Is there anything to do for an operation in reverse? Of loops and branches: for something inside.
  bool takesPart(mlir::Operation *op) const;

private:
  void findVaried(KernelOp kernel);
  void findUseful(KernelOp kernel);

  const DerivativePlaces &places;
  llvm::DenseSet<mlir::Value> varied, useful;
};

} // namespace metate

#endif
