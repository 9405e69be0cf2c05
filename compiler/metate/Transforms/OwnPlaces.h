//===- OwnPlaces.h - places that one iteration owns -------------*- C++ -*-===//
#ifndef METATE_TRANSFORMS_OWNPLACES_H
#define METATE_TRANSFORMS_OWNPLACES_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Operation.h"

namespace metate {

/// A tree's member or an array.
using AccessTarget = std::pair<mlir::Value, llvm::StringRef>;

/// Where an operation writes: the member or array and its coordinates; nullopt if it writes nothing.
std::optional<std::pair<AccessTarget, mlir::OperandRange>> writeOf(mlir::Operation *op);

/// No two iterations of the parallel loop name one place: `places` are the coordinates, of one target, of all accesses in the
/// loop that count.
bool areOwnPlaces(mlir::Operation *loop, llvm::ArrayRef<mlir::ValueRange> places);

/// The same of the turns that a nest of loops in order makes for one iteration of what is around it.
bool areOwnPlaces(llvm::ArrayRef<mlir::scf::ForOp> nest, llvm::ArrayRef<mlir::ValueRange> places);

/// What a parallel loop writes, and the functions that it calls.
class LoopWrites {
public:
  /// `mayAlias`: arguments may overlap.
  LoopWrites(mlir::Operation *loop, bool mayAlias);

  /// An iteration may write, through another argument, where a second one does.
  bool mayMeet() const { return meets; }
  /// No two iterations write one place of the target.
  bool areOwn(AccessTarget target) const { return !meets && !shared.contains(target); }

private:
  llvm::DenseSet<AccessTarget> shared;
  bool meets;
};

} // namespace metate

#endif
