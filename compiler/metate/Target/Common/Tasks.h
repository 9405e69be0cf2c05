//===- Tasks.h - tasks that are functions -----------------------*- C++ -*-===//
//
// What metate-outline-tasks leaves, as a target's own half of stage map reads it: a launch in the kernel, the function that
// it runs, and the range in it. Must not know how a target runs iterations.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_COMMON_TASKS_H
#define METATE_TARGET_COMMON_TASKS_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace metate::target {

/// A launch, with the function that it names. A view: it holds as long as these do.
struct LaunchedTask {
  explicit LaunchedTask(LaunchOp launch);

  /// What `value`, of the function, is where the launch stands: of an argument the launch's operand, of arithmetic on
  /// arguments and constants a copy at `builder`. Null: it depends on the iteration or on memory.
  mlir::Value inHost(mlir::Value value, mlir::OpBuilder &builder) const;
  /// The same, of what may depend on the iteration: as it is in the one in the middle. For estimates.
  mlir::Value ofMiddle(mlir::Value value, mlir::OpBuilder &builder) const;
  /// Bounds are always known to the host.
  mlir::SmallVector<mlir::Value> inHost(mlir::ValueRange bounds, mlir::OpBuilder &builder) const;

  LaunchOp launch;
  mlir::func::FuncOp function;
  RangeOp range; ///< null of a task that runs once

private:
  /// `known`: what was asked for already, so that a value that is used again and again is copied once.
  using Copies = llvm::DenseMap<mlir::Value, mlir::Value>;
  mlir::Value inHost(mlir::Value value, mlir::OpBuilder &builder, bool ofIteration,
                     Copies &known) const;
  mlir::Value middle(unsigned axis, mlir::OpBuilder &builder) const;
};

} // namespace metate::target

#endif
