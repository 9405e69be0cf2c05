//===- WriteNumbers.h - which write a place holds the value of --*- C++ -*-===//
//
// Trees and arrays of the same form as a kernel's own, with the number of the last write in place of each scalar (metate.written). A number is that
// of a call times `sitesPerCall`, and the write's number in its kernel. Who numbers calls is the host's business.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_WRITENUMBERS_H
#define METATE_TRANSFORMS_WRITENUMBERS_H

#include "metate/Transforms/DerivativePlaces.h"

namespace metate {

/// The writes of a kernel that have numbers, each with its own: operations that store, combine or deactivate. The order is that of the import stage.
llvm::SmallVector<mlir::Operation *> numberedWrites(KernelOp kernel);

class WriteNumbers {
public:
  /// Calls are this far apart; the last number is that of all writes from there on.
  static constexpr int64_t sitesPerCall = 1024;

  /// Takes what the kernel's metate.written operations say, and the operations away.
  explicit WriteNumbers(KernelOp kernel);

  bool isEmpty() const { return places.empty(); }
  bool has(mlir::Value base) const { return bool(find(base)); }
  mlir::Value numbersOf(mlir::Value base) const { return find(base)->numbers; }
  /// The number of a write of this call.
  mlir::Value number(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base,
                     int64_t site) const;
  /// Notes the number of a write behind it.
  void note(mlir::OpBuilder &builder, const MemoryAccess &write, int64_t site) const;
  /// Behind a read, in a derivative: stops the kernel where a later call has written what is read. The coordinates are those of the read.
  void check(mlir::OpBuilder &builder, KernelOp kernel, const MemoryAccess &read) const;

private:
  struct Place {
    mlir::Value primal, numbers, call;
  };
  const Place *find(mlir::Value base) const;

  llvm::SmallVector<Place> places;
};

} // namespace metate

#endif
