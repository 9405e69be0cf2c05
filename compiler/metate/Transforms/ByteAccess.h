//===- ByteAccess.h - which bytes two accesses touch ------------*- C++ -*-===//
//
// Of reads and writes of blocks, from stage layout on: whether two of one iteration are at the same bytes, or may be. For kernels whose arguments
// do not overlap.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_BYTEACCESS_H
#define METATE_TRANSFORMS_BYTEACCESS_H

#include "metate/Transforms/LeafForm.h"

namespace metate {

struct ByteAccess {
  mlir::Value block;
  LinearForm form; ///< where its bytes begin
  int64_t bytes, scope;
  llvm::ArrayRef<int64_t> member; ///< as the mark says; empty where there is none
  bool isOrdered;                 ///< an acquire or a release

  /// Nullopt where the operation accesses no bytes of a block.
  static std::optional<ByteAccess> of(mlir::Operation *op);

  bool isSameAs(const ByteAccess &other) const;
  bool mayOverlap(const ByteAccess &other) const;
};

} // namespace metate

#endif
