//===- ForwardMode.h - a kernel with derivatives beside its values ---*- C++ -*-===//
#ifndef METATE_TRANSFORMS_FORWARDMODE_H
#define METATE_TRANSFORMS_FORWARDMODE_H

#include "metate/Transforms/DerivativeActivity.h"
#include "metate/Transforms/DerivativeRules.h"

namespace metate {

/// Writes the derivative along a direction (the dual) of each active value beside it. What loops and branches hand on is
/// handed on by local variables.
class ForwardMode {
public:
  ForwardMode(KernelOp kernel, const DerivativePlaces &places, const DerivativeActivity &activity);
  mlir::LogicalResult run();

private:
  using Values = llvm::SmallVector<mlir::Value>;

  mlir::LogicalResult visit(mlir::Block &block);
  mlir::LogicalResult visit(mlir::Operation *op);
  void visitCall(CallOp call);
  mlir::LogicalResult visitAccess(const MemoryAccess &access);
  mlir::LogicalResult visitPair(const MemoryAccess &access);
  /// Does its dual depend on the number that is there, so that no other iteration may come between? (LoopsInOrder.cpp)
  bool isOfPairs(const MemoryAccess &access) const;
  mlir::LogicalResult putInOrder(mlir::Operation *loop);
  mlir::LogicalResult boundsOf(mlir::Operation *loop, Values &lower, Values &upper);
  mlir::LogicalResult visitRegions(mlir::Operation *op);
  mlir::LogicalResult fail(mlir::Operation *op, const llvm::Twine &why);

  mlir::Value derivativeOf(mlir::Value value) { return derivatives.lookup(value); }
  mlir::Value derivativeOrZero(mlir::Value value);
  /// Variables that hold the derivatives of these values where they are active; null elsewhere.
  llvm::SmallVector<mlir::Value> variablesFor(mlir::ValueRange values);
  void store(mlir::ValueRange values, llvm::ArrayRef<mlir::Value> variables);
  void load(mlir::ValueRange values, llvm::ArrayRef<mlir::Value> variables);
  DerivativeRules rules(mlir::Location loc);

  KernelOp kernel;
  const DerivativePlaces &places;
  const DerivativeActivity &activity;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, mlir::Value> derivatives;
  llvm::SmallVector<std::pair<CallOp, Values>> calls; ///< and their results had anew
};

} // namespace metate

#endif
