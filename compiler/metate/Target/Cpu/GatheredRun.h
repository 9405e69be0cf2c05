//===- GatheredRun.h - what a block of iterations writes together ----------*- C++ -*-===//
//
// How a loop is rewritten that GatherAppends.cpp has judged.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_GATHEREDRUN_H
#define METATE_TARGET_CPU_GATHEREDRUN_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate::cpu {

/// A place that iterations of a loop take, by an atomic addition or an append.
struct GatheredRun {
  mlir::Operation *site;                    ///< gives the place
  mlir::Operation *loop;                    ///< a range, or a loop in order without values
  llvm::SetVector<mlir::Operation *> moved; ///< of the site's block: what needs the place
  llvm::SetVector<mlir::Value> values;      ///< of the iteration, that these need
  llvm::SetVector<mlir::Value> constants;   ///< the same, which are repeated
};

/// Blocks of `block` iterations take their places at once. The loop over a block's iterations.
mlir::scf::ForOp gatherRun(GatheredRun &run, int64_t block);

} // namespace metate::cpu

#endif
