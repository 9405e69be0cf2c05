//===- Passes.h - the passes of the metate compiler -------------*- C++ -*-===//
#ifndef METATE_TRANSFORMS_PASSES_H
#define METATE_TRANSFORMS_PASSES_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace metate {

#define GEN_PASS_DECL
#include "metate/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "metate/Transforms/Passes.h.inc"

} // namespace metate

#endif
