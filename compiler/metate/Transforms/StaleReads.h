//===- StaleReads.h - what a kernel reads and then overwrites ---*- C++ -*-===//
#ifndef METATE_TRANSFORMS_STALEREADS_H
#define METATE_TRANSFORMS_STALEREADS_H

#include "metate/Transforms/NeededValues.h"

namespace metate {

/// Reverse mode computes values of the primal anew from memory, as the kernel left it. Fails, with an error at the read, where a
/// value that is needed was read from a place that the kernel may have overwritten since.
mlir::LogicalResult checkStaleReads(KernelOp kernel, const NeededValues &needed);

/// The same of which cells are active: a loop over a tree's cells visits in reverse those that are active when the kernel has run. Fails
/// where the kernel may have changed that since.
mlir::LogicalResult checkVisitedCells(KernelOp kernel, const NeededValues &needed);

/// What users call the member or array of an access.
std::string shownName(KernelOp kernel, const MemoryAccess &access);

} // namespace metate

#endif
