//===- StridedTurns.h - workers that share the turns of a loop --*- C++ -*-===//
#ifndef METATE_TRANSFORMS_STRIDEDTURNS_H
#define METATE_TRANSFORMS_STRIDEDTURNS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate {

/// `for w in range(s): for i in range(w + a, n, s)`: each worker takes every s-th turn, all together take each number from a to n once,
/// and nothing else depends on the worker. The first of these numbers; nullopt: the parallel loop and the one in it are otherwise.
std::optional<int64_t> firstOfStridedTurns(mlir::Operation *parallel, mlir::scf::ForOp serial);

} // namespace metate

#endif // METATE_TRANSFORMS_STRIDEDTURNS_H
