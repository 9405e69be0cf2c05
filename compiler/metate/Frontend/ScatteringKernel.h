//===- ScatteringKernel.h - does a kernel scatter to arrays? ----*- C++ -*-===//
//
// Whether code made for the extents of a call's arrays could be another kind of code: metate-bin-scatters wants to know how large what a loop adds
// to is. Must not know who calls the kernel.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_FRONTEND_SCATTERINGKERNEL_H
#define METATE_FRONTEND_SCATTERINGKERNEL_H

#include "mlir/IR/BuiltinOps.h"

namespace metate::frontend {

/// Of the one kernel of a module, as it is after the import stage: does a parallel loop of one dimension add at other places than its iterations'
/// own, so often in an iteration that the iterations might be put in order, and use arrays of unknown extents?
bool scattersToArrays(mlir::ModuleOp module);

} // namespace metate::frontend

#endif
