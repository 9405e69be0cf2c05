//===- KernelParts.h - a kernel as kernels that run one after the other ----*- C++ -*-===//
//
// What a kernel's own statements do together, parts of it do one after the other, each a launch of its own: between them memory is
// the host's. A derivative that needs memory as it was between two statements is that of parts (mt.ad.Tape).
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_KERNELPARTS_H
#define METATE_TRANSFORMS_KERNELPARTS_H

#include "metate/Transforms/DerivativePlaces.h"

namespace metate {

/// What one part reads and writes: numbers of arguments, with the member of a tree; empty: of an array.
struct PartAccesses {
  using Place = std::pair<unsigned, std::string>;
  std::vector<Place> read, written;
};

struct KernelParts {
  /// The statements of each part, in order: as many parts as there can be.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> parts;

  /// The kernel's variables are values (metate-promote-locals). What a part needs of an earlier one but memory keeps them together. One part, where
  /// derivatives of parts are no derivative of the kernel: where it may change which cells of a tree are active, or calls functions that touch memory.
  static KernelParts of(KernelOp kernel);

  std::vector<PartAccesses> accesses(KernelOp kernel) const;

  /// Takes the others' statements away.
  void keep(size_t number);
};

} // namespace metate

#endif
