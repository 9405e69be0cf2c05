//===- ParallelLoops.h - loops whose iterations are unordered ---*- C++ -*-===//
#ifndef METATE_TRANSFORMS_PARALLELLOOPS_H
#define METATE_TRANSFORMS_PARALLELLOOPS_H

#include "metate/Dialect/Metate.h"

namespace metate {

inline bool isParallel(mlir::Operation *op) { return mlir::isa<RangeOp, ForEachOp, CellsOp>(op); }

} // namespace metate

#endif
