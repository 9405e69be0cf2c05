//===- MapTasks.h - one kernel to entry and bodies --------------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_MAPTASKS_H
#define METATE_TARGET_CPU_MAPTASKS_H

#include "metate/Dialect/Metate.h"
#include "metate/Target/Cpu/Abi.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace metate::cpu {

/// Types of the CPU target: LLVM's, and a block is a pointer.
class CpuTypeConverter : public mlir::LLVMTypeConverter {
public:
  explicit CpuTypeConverter(mlir::MLIRContext *context);
};

/// Maps one kernel: the entry function takes its place, task bodies stand before it.
class KernelMapping {
public:
  KernelMapping(KernelOp kernel, CpuTypeConverter &converter)
      : kernel(kernel), converter(converter) {}
  void run();

private:
  void annotateScopes();
  mlir::Value loadArgument(Code &code, mlir::Type type, unsigned &slot);
  mlir::Value maxWorkers(Code &code, llvm::ArrayRef<mlir::Value> arguments);
  void mapOperation(mlir::Operation &op);
  void mapRange(RangeOp range);
  void returnIfNonzero(mlir::Value status, mlir::Location loc);
  mlir::LLVM::LLVMFuncOp outline(RangeOp range, llvm::ArrayRef<mlir::Value> captured,
                                 mlir::LLVM::LLVMStructType frame);
  void buildLoops(Code &code, RangeOp range, mlir::ValueRange lower, mlir::ValueRange upper,
                  mlir::Value begin, mlir::Value end);
  /// `value` with its LLVM type, and back.
  mlir::Value toLLVM(Code &code, mlir::Value value);
  mlir::Value fromLLVM(Code &code, mlir::Value value, mlir::Type type);

  KernelOp kernel;
  CpuTypeConverter &converter;
  mlir::LLVM::LLVMFuncOp entry;
  mlir::Block *current = nullptr; ///< the entry's block that operations are moved to
  mlir::Value workers;
  unsigned taskNumber = 0;
};

/// Replaces the function's prints by calls of the host's sink; `host` is the function's host pointer.
void lowerPrints(mlir::LLVM::LLVMFuncOp function, mlir::Value host);

/// Moves the function's local arrays to its entry block, so that loops do not grow the stack.
void hoistAllocas(mlir::LLVM::LLVMFuncOp function);

/// The host pointer of an entry or task body, loaded at `builder`'s place where need be.
mlir::Value hostOf(mlir::LLVM::LLVMFuncOp function, Code &code);

} // namespace metate::cpu

#endif
