//===- Passes.h - passes of the CPU target ----------------------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_PASSES_H
#define METATE_TARGET_CPU_PASSES_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace metate {

#define GEN_PASS_DECL
#include "metate/Target/Cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "metate/Target/Cpu/Passes.h.inc"

} // namespace metate

#endif
