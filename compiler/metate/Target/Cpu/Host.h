//===- Host.h - the host's hooks, called ---------------------------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_HOST_H
#define METATE_TARGET_CPU_HOST_H

#include "metate/Target/Common/Abi.h"

namespace metate::cpu {

using namespace target;

/// Where a task's context says whether one worker runs the whole task (i64, 0 or 1).
constexpr int64_t aloneOffset = 8;

/// Instead of a number of `loners`: the calling thread runs the task, in order.
constexpr int64_t inOrder = -1;

/// The module's function (host, count, grain, max_workers, loners, body, context, part) -> i32 that
/// runs a task through the host's executor (for one worker where no more than `loners` could come), or
/// serially: without one, and with less than a 2^part-th of a chunk (0: than two chunks).
mlir::LLVM::LLVMFuncOp parallelFor(mlir::ModuleOp module);

/// The module's function (host, items, count) that prints through the host's sink, if there is one.
mlir::LLVM::LLVMFuncOp printItems(mlir::ModuleOp module);

/// The module's function (host, task, line, iterations) that says that a task begins, if somebody asks (metate_task_hooks).
mlir::LLVM::LLVMFuncOp beginTask(mlir::ModuleOp module);
/// The same (host, task), that it has ended.
mlir::LLVM::LLVMFuncOp endTask(mlir::ModuleOp module);

} // namespace metate::cpu

#endif
