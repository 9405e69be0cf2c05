//===- Speculation.h - what may run where the program would not -*- C++ -*-===//
#ifndef METATE_DIALECT_SPECULATION_H
#define METATE_DIALECT_SPECULATION_H

#include "mlir/IR/Operation.h"

namespace metate {

/// May an operation, with what is inside of it, run where the program would not have run it? It has no effects on memory and stops nothing.
///
/// Upstream calls remainders speculatable. A processor stops at one by 0, and at one of the least number by -1: the divisor must be a constant, or
/// guarded as the front end does it, `n == -1 ? 1 : (n == 0 ? 1 : n)`. In a nest whose extent is the divisor that guard is gone
/// (metate-split-rows): what leaves the nest is to ask here.
bool mayRunAnywhere(mlir::Operation *op);

} // namespace metate

#endif
