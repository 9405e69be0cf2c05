//===- Call.h - functions that kernels call ---------------------*- C++ -*-===//
#ifndef METATE_DIALECT_CALL_H
#define METATE_DIALECT_CALL_H

#include "metate/Dialect/Metate.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#define GET_OP_CLASSES
#include "metate/Dialect/MetateCallOps.h.inc"

namespace metate {

/// The function that is called; null where the kernel has none of that name.
FunctionOp functionOf(CallOp call);

/// Functions that may run when `scope` does, each once: those that it calls, and those that these call.
llvm::SmallVector<FunctionOp> functionsCalledIn(mlir::Operation *scope);

/// Visits what `scope` does: the operations inside of it and, as if they stood there, those of the functions that it calls.
mlir::WalkResult walkWithCalls(mlir::Operation *scope,
                               llvm::function_ref<mlir::WalkResult(mlir::Operation *)> visit);

/// Does a function that `op` calls touch a tree or an array? False of what is no call.
bool callsIntoMemory(mlir::Operation *op);

/// May the function, called once, be called again before it has ended?
bool mayCallItself(FunctionOp function);

/// Bytes of stack that calls inside one another may take in debug mode; the interpreter, which needs more for each, allows
/// interpretedCallBytes.
inline constexpr int64_t callBytes = 1 << 20, interpretedCallBytes = 4 << 20;

/// What debug mode says of more.
std::string callDepthMessage(llvm::StringRef function, int64_t bytes);

} // namespace metate

#endif
