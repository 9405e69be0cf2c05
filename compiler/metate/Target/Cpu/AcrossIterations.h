//===- AcrossIterations.h - iterations as lanes of vectors -----------------*- C++ -*-===//
//
// What AcrossIterations.cpp (long loops side by side) and Nontemporal.cpp (stores around the caches) share.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_ACROSSITERATIONS_H
#define METATE_TARGET_CPU_ACROSSITERATIONS_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace metate::cpu {

/// Finds out whether the iterations of a loop can be lanes, and what differs from lane to lane.
class LaneAnalysis {
public:
  /// `variable` is the loop's, an argument of `body`.
  LaneAnalysis(mlir::Block &body, mlir::Value variable) : body(body), variable(variable) {
    differs.insert(variable);
  }

  /// Can they? Only after this is the rest known. `withBytes`: numbers of 8 and 16 bits too.
  bool run(bool withBytes = false) {
    least = withBytes ? 8 : 32;
    return isPossible(body, /*isInner=*/false);
  }

  /// What is in the way, if they can not; of the loop itself, if its results are.
  mlir::Operation *obstacle() const { return blocking; }

  bool isSame(mlir::Value value) const { return !differs.contains(value); }

  /// Do the lanes of an access lie one after the other?
  bool isRow(mlir::Value offset, mlir::Type type) const;

  /// Can a lane hold it?
  bool isNumber(mlir::Type type) const;

private:
  bool isStored(mlir::Type type) const;
  bool isPossible(mlir::Block &block, bool isInner);
  bool isPossible(mlir::Operation &op, bool isInner);
  bool isPossible(mlir::scf::ForOp inner);
  bool isPossible(ReadOp read, bool isInner);

  mlir::Block &body;
  mlir::Value variable;
  mlir::Operation *blocking = nullptr;
  unsigned least = 32; ///< bits of an integer, but for truth values
  llvm::DenseSet<mlir::Value> differs;
};

/// Writes iterations of a loop as lanes of vectors. A value that differs is as many vectors of lanes as
/// it has components.
class Widening {
public:
  Widening(mlir::scf::ForOp loop, const LaneAnalysis &analysis, int64_t lanes)
      : loop(loop), analysis(analysis), builder(loop), loc(loop.getLoc()), lanes(lanes) {}

  /// A loop over [lower, upper), whole vectors, before the loop itself; it is left as it is.
  mlir::scf::ForOp run(mlir::Value lower, mlir::Value upper);

private:
  mlir::Type wideType(mlir::Type type) const { return mlir::VectorType::get(lanes, type); }
  llvm::SmallVector<mlir::Value> lanesOf(mlir::Value value);
  void widen(mlir::Block &block);
  void widen(mlir::Operation &op);
  void widenElementwise(mlir::Operation &op);
  void widenLoop(mlir::scf::ForOp inner);
  void widenRead(ReadOp read);
  void widenWrite(WriteOp write);
  mlir::Value laneOf(mlir::Value vector, int64_t lane);

  mlir::scf::ForOp loop;
  const LaneAnalysis &analysis;
  mlir::OpBuilder builder;
  mlir::Location loc;
  int64_t lanes;
  mlir::IRMapping
      same; ///< what is one for all lanes, and of what differs but for reads, the first lane
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> parts;
};

/// What a reader calls an operation that keeps iterations from being lanes: "a branch", "an atomic operation", ...
llvm::StringRef obstacleName(mlir::Operation *op);

/// Tells stage emit that the function's vectors are lanes.
void markLanes(mlir::LLVM::LLVMFuncOp function);

} // namespace metate::cpu

#endif
