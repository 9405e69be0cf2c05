//===- NeededValues.h - what the reverse sweep asks of the primal ---*- C++ -*-===//
//
// The values of the primal that code in reverse uses, and what it takes to compute them anew: found before any of that code is
// written, so that nothing is computed or kept in vain.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_NEEDEDVALUES_H
#define METATE_TRANSFORMS_NEEDEDVALUES_H

#include "metate/Transforms/CombinedPlaces.h"

namespace metate {

class NeededValues {
public:
  NeededValues(KernelOp kernel, const DerivativePlaces &places, const DerivativeActivity &activity,
               const CombinedPlaces &combined);

  bool isNeeded(mlir::Value value) const { return needed.contains(value); }
  bool isAnyNeeded(mlir::ValueRange values) const {
    return llvm::any_of(values, [&](mlir::Value value) { return isNeeded(value); });
  }

  /// Must it run once more, with its effect? Writes of arrays of the launch that are read, and what is around them.
  bool isReplayed(mlir::Operation *op) const { return replayed.contains(op); }

private:
  void reachWritesOf(mlir::Value localArray);
  void reach(mlir::Value value);
  void reachOf(mlir::Operation *op, const DerivativePlaces &places,
               const DerivativeActivity &activity, const CombinedPlaces &combined);
  void reachRules(mlir::Operation *op, const DerivativeActivity &activity);
  void follow(mlir::Value value);

  KernelOp kernel;
  llvm::DenseSet<mlir::Value> needed, rewritten;
  llvm::DenseSet<mlir::Operation *> replayed;
  llvm::SmallVector<mlir::Value> work;
};

} // namespace metate

#endif
