//===- Functions.h - functions that tasks call ------------------*- C++ -*-===//
#ifndef METATE_TARGET_COMMON_FUNCTIONS_H
#define METATE_TARGET_COMMON_FUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace metate::target {

/// Replaces a function's prints, by calls that take its host pointer.
using PrintLowering = llvm::function_ref<void(mlir::Operation *function, mlir::Value host)>;

/// Functions that entries and bodies call: those that print, or may stop the kernel, are given the host, and where the stack
/// for calls ends. When all kernels have been mapped.
void mapFunctions(mlir::ModuleOp module, PrintLowering lowerPrints);

/// Moves the function's local arrays to its entry block, so that loops do not grow the stack.
void hoistAllocas(mlir::Operation *function);

} // namespace metate::target

#endif
