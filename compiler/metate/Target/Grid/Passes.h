//===- Passes.h - passes of targets that run grids --------------*- C++ -*-===//
#ifndef METATE_TARGET_GRID_PASSES_H
#define METATE_TARGET_GRID_PASSES_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace metate {

#define GEN_PASS_DECL
#include "metate/Target/Grid/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "metate/Target/Grid/Passes.h.inc"

} // namespace metate

#endif
