//===- Passes.h - passes that families of targets share -----------*- C++ -*-===//
#ifndef METATE_TARGET_COMMON_PASSES_H
#define METATE_TARGET_COMMON_PASSES_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace metate {

#define GEN_PASS_DECL
#include "metate/Target/Common/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "metate/Target/Common/Passes.h.inc"

} // namespace metate

#endif
