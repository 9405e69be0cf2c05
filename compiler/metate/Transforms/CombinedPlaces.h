//===- CombinedPlaces.h - minima, maxima and products in places ---*- C++ -*-===//
//
// Atomic operations that are no sums. In reverse the result is asked, as the kernel left it: a minimum or maximum hands its gradient
// to one of the numbers that equal it, a product to each factor the result by the factor. So nothing else may change the place
// afterwards, nothing may read it before the last of them, and what is compared must be the same number when it is computed again.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_COMBINEDPLACES_H
#define METATE_TRANSFORMS_COMBINEDPLACES_H

#include "metate/Transforms/DerivativeActivity.h"

namespace metate {

class CombinedPlaces {
public:
  CombinedPlaces(KernelOp kernel, const DerivativePlaces &places,
                 const DerivativeActivity &activity);

  /// Is the result asked? Not by products with constants alone: these scale the gradient of what was there.
  bool has(const MemoryAccess &access) const { return combined.contains(access.op); }
  /// Must it run once more behind all, to scale the gradient of what was there? Products of `has`, and what is around them.
  bool isPassedOn(mlir::Operation *op) const { return passedOn.contains(op); }

  /// Fails, with an error at its place, where the result cannot be asked.
  mlir::LogicalResult check(const DerivativePlaces &places,
                            const DerivativeActivity &activity) const;

private:
  mlir::LogicalResult checkOne(const MemoryAccess &access, const MemoryAccess &other,
                               const DerivativeActivity &activity) const;
  mlir::InFlightDiagnostic error(mlir::Operation *op) const;

  KernelOp kernel;
  llvm::SmallVector<MemoryAccess> accesses; ///< of all places that have derivatives
  llvm::DenseSet<mlir::Operation *> combined, passedOn;
};

} // namespace metate

#endif
