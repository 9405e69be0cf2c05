//===- BriefKernel.h - is a launch over in no time? -------------*- C++ -*-===//
//
// A bound of a kernel's work that holds for every launch, not an estimate: who launches it may do so with a lock held
// that others wait for. What cannot be bounded makes a kernel that is not brief.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_FRONTEND_BRIEFKERNEL_H
#define METATE_FRONTEND_BRIEFKERNEL_H

#include "mlir/IR/BuiltinOps.h"

namespace metate::frontend {

/// Of the one kernel of a module, as it is after the import stage: launches are brief whose arrays have no larger extent; -1: none is.
int64_t briefExtent(mlir::ModuleOp module);

} // namespace metate::frontend

#endif
