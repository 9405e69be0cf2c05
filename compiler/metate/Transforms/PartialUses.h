//===- PartialUses.h - values of which a part may be unused -----*- C++ -*-===//
//
// What a select, a minimum or a branch does not take has a gradient of zero, and what it was computed from gets nothing of it, even where
// its derivative is infinite or NaN: `select(x > 0, log(x), 0)` has the derivative 0 at 0. Reverse mode asks for the values that
// this can happen to; everything else is multiplied as it is.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_PARTIALUSES_H
#define METATE_TRANSFORMS_PARTIALUSES_H

#include "metate/Dialect/Metate.h"

#include "llvm/ADT/DenseSet.h"

namespace metate {

class PartialUses {
public:
  explicit PartialUses(KernelOp kernel);

  /// May the launch use the value, or a component of it, nowhere though it computes it?
  bool contains(mlir::Value value) const { return found.contains(value); }

private:
  llvm::DenseSet<mlir::Value> found;
};

} // namespace metate

#endif
