//===- CarriedPlaces.h - places that a loop in order counts itself ---------*- C++ -*-===//
//
// `n = 0; for i in range(k): if x[i] < h: out[n] = x[i]; n += 1`: the loop carries how many places are taken. A copy of the loop that keeps
// the number in a local array, so that a turn takes its place by an operation, as iterations do that share a counter. Must not ask whether that pays.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_CARRIEDPLACES_H
#define METATE_TARGET_CPU_CARRIEDPLACES_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate::cpu {

class CarriedPlaces {
public:
  explicit CarriedPlaces(mlir::scf::ForOp loop);

  /// Numbers of the carried values that only go up, by one constant, where a condition holds, and that only what stands behind that condition looks at.
  llvm::ArrayRef<unsigned> numbers() const { return counters; }
  /// Makes a copy in front of the loop in which these are in memory; where it takes its places, in their order.
  llvm::SmallVector<mlir::memref::AtomicRMWOp> copy(llvm::ArrayRef<unsigned> chosen);
  /// The copy takes the loop's place, or goes.
  void keep();
  void drop();

private:
  mlir::memref::AtomicRMWOp takeInMemory(unsigned number, mlir::Value cell);
  void dropFromLoop();

  mlir::scf::ForOp loop, made;
  llvm::SmallVector<unsigned> counters, moved;
  llvm::SmallVector<mlir::Value> cells;
  llvm::SmallVector<mlir::Operation *> created;
};

/// Where local memory of an operation's task is made.
mlir::Block &taskBlockOf(mlir::Operation *op);

/// A place that nobody takes together with others is read and written.
void takePlainly(mlir::memref::AtomicRMWOp site);

} // namespace metate::cpu

#endif
