//===- Abi.h - metate/abi/kernel.h as LLVM types and accesses ---*- C++ -*-===//
//
// How generated code sees slots, metate_host and metate_failure, for every target that goes on to LLVM. Offsets come
// from the C structs themselves. Must not know how a target runs tasks.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_COMMON_ABI_H
#define METATE_TARGET_COMMON_ABI_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace metate::target {

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

/// The entry's type: (slots, pools, host) -> i32; and a task body's: (context, begin, end,
/// worker) -> i32.
mlir::LLVM::LLVMFunctionType entryType(mlir::MLIRContext *context);
mlir::LLVM::LLVMFunctionType bodyType(mlir::MLIRContext *context);

/// Finds or makes a private function of the module; `fill` writes its body, starting in the entry block.
mlir::LLVM::LLVMFuncOp helper(mlir::ModuleOp module, llvm::StringRef name,
                              mlir::LLVM::LLVMFunctionType type,
                              llvm::function_ref<void(mlir::LLVM::LLVMFuncOp, Code &)> fill);

/// The module's function (host, code, text index, rank, values) -> i32 that records a failed check
/// and returns the code. `values`: METATE_MAX_RANK indices, then as many extents; not read for rank 0.
mlir::LLVM::LLVMFuncOp recordFailure(mlir::ModuleOp module);

/// What a host shows of a value: a print item's kind, and the value widened to 64 bits (of a float,
/// an f64).
std::pair<uint32_t, mlir::Value> shownValue(Code &code, mlir::Value value, bool isUnsigned);

/// The host pointer of an entry, of a task body or of a function that they call, loaded at `code`'s place where need be.
mlir::Value hostOf(mlir::Operation *function, Code &code);

/// Types of targets that go on to LLVM: upstream's, and a block is a pointer.
class KernelTypeConverter : public mlir::LLVMTypeConverter {
public:
  explicit KernelTypeConverter(mlir::MLIRContext *context);
};

/// `value` with its LLVM type, and back.
mlir::Value toLLVM(Code &code, const mlir::TypeConverter &converter, mlir::Value value);
mlir::Value fromLLVM(Code &code, mlir::Value value, mlir::Type type);

/// An argument of a kernel, as its slots from `slot` on hold it; `slot` is then the next one's.
mlir::Value loadArgument(Code &code, const mlir::TypeConverter &converter, mlir::Value slots,
                         mlir::Type type, unsigned &slot);

/// Address of a metate_host that is all zero.
mlir::Value noHost(mlir::ModuleOp module, Code &code);

/// Address of a zero-terminated constant text, one global per distinct text.
mlir::Value textAddress(mlir::ModuleOp module, Code &code, llvm::StringRef text);

} // namespace metate::target

#endif
