//===- PerTarget.h - a copy of the module for each target -------*- C++ -*-===//
//
// From the first pass that depends on the target to the payload, each target has a module of its own. Must not know
// stages.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_PIPELINES_PERTARGET_H
#define METATE_PIPELINES_PERTARGET_H

#include "metate/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace metate {

/// Runs `work` on the module for one target, on a copy for each of several. The copies' payloads (work must leave one
/// in each) then come together in the module, named payload0, payload1, ... in the targets' order; what else the copies
/// hold describes the module, and must be the same in all. On failure of several the module is left as it was.
llvm::Error forEachTarget(mlir::ModuleOp module, llvm::ArrayRef<TargetPtr> targets,
                          llvm::function_ref<llvm::Error(mlir::ModuleOp, const Target &)> work);

} // namespace metate

#endif
