//===- Reductions.h - steps of reductions -----------------------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_REDUCTIONS_H
#define METATE_TARGET_CPU_REDUCTIONS_H

#include "metate/Dialect/Metate.h"

#include "llvm/ADT/SetVector.h"

namespace metate::cpu {

/// `old` and `value` combined, in an order that is free.
mlir::Value combined(mlir::OpBuilder &builder, mlir::Location loc, mlir::arith::AtomicRMWKind kind,
                     mlir::Value old, mlir::Value value);

/// In loops that may become vectors, conditionals choose what is accumulated, an operand or what is
/// unwanted of that step (a neutral value from before `loops`), instead of whether. `steps` are reductions
/// whose block and offset are defined outside of `loops`; one that left a conditional replaces others.
void leaveConditionals(mlir::Operation *loops, llvm::SetVector<RmwOp> &steps,
                       llvm::function_ref<mlir::Value(RmwOp)> unwanted);

} // namespace metate::cpu

#endif
