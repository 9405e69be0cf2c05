//===- ScatterBases.h - the place that a scatter is around ------*- C++ -*-===//
//
// A particle adds to nodes around one: each coordinate of what an iteration adds to is a number of the iteration and a distance with known
// limits. Must not know what is made of that.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_SCATTERBASES_H
#define METATE_TRANSFORMS_SCATTERBASES_H

#include "metate/Transforms/ScatterTargets.h"

namespace metate {

/// An axis: coordinates are `base` and something from `least` to `most`.
struct ScatterBase {
  mlir::Value base; ///< an integer or index, of the loop's own block
  int64_t least = 0, most = 0;

  int64_t span() const { return most - least; }
};

/// By axis, for all atomics on the targets, which have one shape. None: there is no such place, or it cannot be computed before the loop,
/// because that takes more than arithmetic and reads of what the loop does not write.
std::optional<llvm::SmallVector<ScatterBase>> basesOf(RangeOp range,
                                                      llvm::ArrayRef<ScatterTarget> targets);

/// The bases of the iteration, as index values, where the builder stands.
llvm::SmallVector<mlir::Value> computeBases(mlir::OpBuilder &builder, RangeOp range,
                                            llvm::ArrayRef<ScatterBase> bases,
                                            mlir::Value iteration);

/// Whether the loop, or what it calls, may write what the operation reads.
bool isWrittenIn(RangeOp range, mlir::Operation *read);

/// Reads of the loop's own block at places that the number of the iteration says, of what the loop does not write.
llvm::SmallVector<mlir::Operation *> readsOfIteration(RangeOp range);

/// How many numbers there are for iterations, which such a read asks for by their number, if that is known.
std::optional<int64_t> extentOfIteration(RangeOp range, mlir::Operation *read);

/// Such reads under conditions, and in loops, come before them where there is a number for each iteration up to `upper`, as long as an iteration reads
/// no more than `room` bytes first; and so do the parts of what is read.
void readBeforeGuards(RangeOp range, int64_t upper, int64_t room);

/// Each of these reads happens once, and what is computed of them: what stands between two of them does not change what they read.
void readOnce(RangeOp range);

} // namespace metate

#endif
