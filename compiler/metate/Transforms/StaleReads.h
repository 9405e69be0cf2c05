//===- StaleReads.h - what a kernel reads and then overwrites ---*- C++ -*-===//
#ifndef METATE_TRANSFORMS_STALEREADS_H
#define METATE_TRANSFORMS_STALEREADS_H

#include "metate/Transforms/NeededValues.h"

namespace metate {

/// Reverse mode computes values of the primal anew from memory: a place is read as the kernel left it, or, where that has overwritten what
/// is needed, as it was before the kernel ran. Then who calls the derivative puts that back first.
struct ReadStates {
  /// Reads of places as they were before, one of each place.
  llvm::SmallVector<MemoryAccess> before;

  /// nullopt, with an error at the read where `reports`, if a place would have to be read in both states or in one between.
  static std::optional<ReadStates> of(KernelOp kernel, const CombinedPlaces &combined,
                                      const NeededValues &needed, bool reports);
  /// Says so at the kernel's arguments (mark::before).
  void mark(KernelOp kernel) const;
};

/// May the write overwrite what was read, after it was read? Both are of one member or array.
bool mayOverwrite(const MemoryAccess &read, const MemoryAccess &write);

/// May the operation change which cells of a tree are active?
bool mayChangeCells(mlir::Operation *op);

/// Which cells are active is asked as the kernel left them: a loop over a tree's cells visits in reverse those that are active when the kernel has run. Fails
/// where the kernel may have changed that since.
mlir::LogicalResult checkVisitedCells(KernelOp kernel, const NeededValues &needed);

/// What users call the member or array of an access.
std::string shownName(KernelOp kernel, const MemoryAccess &access);

} // namespace metate

#endif
