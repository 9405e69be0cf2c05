//===- ScatterTargets.h - what a loop adds to at any place ------*- C++ -*-===//
//
// Which members and arrays a parallel loop only accumulates in, at places that it computes. Must not know what is made of that.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_SCATTERTARGETS_H
#define METATE_TRANSFORMS_SCATTERTARGETS_H

#include "metate/Dialect/Metate.h"
#include "metate/Transforms/OwnPlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace metate {

/// A member or an array that all its accesses in a loop combine with something, by one kind, and never look at.
struct ScatterTarget {
  AccessTarget place;
  mlir::arith::AtomicRMWKind kind;
  mlir::Type scalar;        ///< of a number of its own
  mlir::IntegerType stored; ///< what its atomics take, where it shares a word: less bits
  llvm::SmallVector<int64_t>
      member; ///< the shape of a vector or matrix, or of an array's last dimensions that are one
  llvm::SmallVector<int64_t> extents; ///< of an array may be ShapedType::kDynamic
  llvm::SmallVector<mlir::Operation *> atomics;

  bool isArray() const { return llvm::isa<mlir::MemRefType>(place.first.getType()); }
  /// Numbers in a cell.
  int64_t components() const { return llvm::product_of(member); }
  /// Of one of the atomics: the cell that it adds to, and which number of it; none: the cell is a number, or all of its numbers are added to.
  mlir::ValueRange coordinatesOf(mlir::Operation *atomic) const;
  mlir::ValueRange componentsOf(mlir::Operation *atomic) const;
};

/// The loops of a kernel whose scatters may use planned memory: none of a graph's node, of a debug kernel, or where arguments
/// may be the same memory; no rests of other loops.
llvm::SmallVector<RangeOp> scatterLoops(KernelOp kernel);

/// The targets of the range's atomics, each once. `tell`: atomics on others are told of in a remark.
llvm::SmallVector<ScatterTarget> scatterTargets(RangeOp range, bool tell = true);

} // namespace metate

#endif
