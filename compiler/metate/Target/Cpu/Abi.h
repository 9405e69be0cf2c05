//===- Abi.h - abi/kernel.h as LLVM types and accesses ----------*- C++ -*-===//
//
// How generated code sees metate_host and its hooks. Offsets come from the C structs themselves.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_ABI_H
#define METATE_TARGET_CPU_ABI_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace metate::cpu {

/// Shorthand for LLVM dialect code at one place.
class Code {
public:
  Code(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Type pointer() { return mlir::LLVM::LLVMPointerType::get(builder.getContext()); }
  mlir::Value constant(int64_t value, unsigned width);
  mlir::Value null();
  mlir::Value at(mlir::Value base, int64_t offset);
  mlir::Value load(mlir::Type type, mlir::Value base, int64_t offset);
  void store(mlir::Value value, mlir::Value base, int64_t offset);
  mlir::Value isNull(mlir::Value pointer);
};

/// The entry's type: (slots, scratch, host) -> i32; and a task body's: (context, begin, end,
/// worker) -> i32.
mlir::LLVM::LLVMFunctionType entryType(mlir::MLIRContext *context);
mlir::LLVM::LLVMFunctionType bodyType(mlir::MLIRContext *context);

/// Where a task's context says whether one worker runs the whole task (i64, 0 or 1).
constexpr int64_t aloneOffset = 8;

/// Instead of a number of `loners`: the calling thread runs the task, in order.
constexpr int64_t inOrder = -1;

/// The module's function (host, count, grain, max_workers, loners, body, context) -> i32 that runs a
/// task through the host's executor (for one worker where no more than `loners` could come), or
/// serially: without one, and for a single chunk.
mlir::LLVM::LLVMFuncOp parallelFor(mlir::ModuleOp module);

/// The module's function (host, items, count) that prints through the host's sink, if there is one.
mlir::LLVM::LLVMFuncOp printItems(mlir::ModuleOp module);

/// The module's function (host, code, text index, rank, values) -> i32 that records a failed check
/// and returns the code. `values`: METATE_MAX_RANK indices, then as many extents; not read for rank 0.
mlir::LLVM::LLVMFuncOp recordFailure(mlir::ModuleOp module);

/// Address of a metate_host that is all zero.
mlir::Value noHost(mlir::ModuleOp module, Code &code);

/// Address of a zero-terminated constant text, one global per distinct text.
mlir::Value textAddress(mlir::ModuleOp module, Code &code, llvm::StringRef text);

} // namespace metate::cpu

#endif
