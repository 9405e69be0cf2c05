//===- DerivativePlaces.h - where derivatives are ---------------*- C++ -*-===//
//
// Which member or array holds the derivative of another one (metate.derivative), and accesses of it. An access is an operation
// of the primal: its place, with coordinates as they are where the derivative's code runs.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_DERIVATIVEPLACES_H
#define METATE_TRANSFORMS_DERIVATIVEPLACES_H

#include "metate/Dialect/Derivative.h"
#include "metate/Dialect/Tree.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace metate {

/// What an operation reads or writes of a tree's member or an array. Of a quantised number: metate.decode reads, of what a load gives; a
/// store or atomic operation writes what metate.encode takes: the derivative goes straight through.
struct MemoryAccess {
  mlir::Operation *op = nullptr;
  mlir::Value base;
  llvm::StringRef path;           ///< empty: an array
  mlir::OperandRange coordinates; ///< of the cell or element
  mlir::OperandRange components;  ///< of a vector in it
  mlir::Value written;            ///< what is stored or combined; null: a read
  mlir::Value result;             ///< what is read: the value, or the old one; may be null
  std::optional<mlir::arith::AtomicRMWKind> combined; ///< of an atomic operation

  bool isQuantised() const;

  /// nullopt: the operation accesses no member and no array. Local variables are neither.
  static std::optional<MemoryAccess> of(mlir::Operation *op);
  /// All that it does: a write of one of the floats that share an exponent writes the others as well.
  static llvm::SmallVector<MemoryAccess, 1> allOf(mlir::Operation *op);
  /// The operation on a cell or element itself: of a quantised number that is read, the load.
  mlir::Operation *inMemory() const;
  bool reads() const { return bool(result); }
  bool writes() const { return bool(written); }
  bool isSum() const { return combined == mlir::arith::AtomicRMWKind::addf; }
  bool isProduct() const { return combined == mlir::arith::AtomicRMWKind::mulf; }
  bool isLeast() const;
  bool isExtreme() const; ///< a minimum or maximum
};

/// Do two of them name one member, or one array?
inline bool areOfOnePlace(const MemoryAccess &a, const MemoryAccess &b) {
  return a.base == b.base && a.path == b.path;
}

/// Memory of the launch that hosts do not see: what variables of the kernel have that parallel loops accumulate in.
bool isLocalArray(KernelOp kernel, mlir::Value base);
/// A further one, of scalars in this shape.
mlir::Value addLocalArray(KernelOp kernel, llvm::ArrayRef<int64_t> shape, mlir::Type scalar);
/// Writes zero to all of it.
void clear(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value localArray);

class DerivativePlaces {
public:
  /// Takes what the kernel's metate.derivative operations say, and the operations away.
  explicit DerivativePlaces(KernelOp kernel);

  bool has(const MemoryAccess &access) const { return bool(find(access)); }
  /// Does the access itself touch a derivative?
  bool isDerivative(const MemoryAccess &access) const;
  /// Are derivatives of members of the tree known that lie in the cells of a path?
  bool hasBelow(mlir::Value tree, const TreePath &path) const;
  /// Arrays of the launch that hold derivatives: they are to be zero when the derivative begins.
  llvm::ArrayRef<mlir::Value> ofLaunch() const { return localArrays; }

  /// Finds values of the primal where code is written.
  using ValueAt = llvm::function_ref<mlir::Value(mlir::Value)>;
  mlir::Value load(mlir::OpBuilder &builder, const MemoryAccess &access, ValueAt at) const;
  void store(mlir::OpBuilder &builder, const MemoryAccess &access, mlir::Value value,
             ValueAt at) const;
  /// Adds to it, or multiplies it, indivisibly; gives what was there.
  mlir::Value add(mlir::OpBuilder &builder, const MemoryAccess &access, mlir::Value value,
                  ValueAt at) const {
    return combine(builder, access, mlir::arith::AtomicRMWKind::addf, value, at);
  }
  mlir::Value scale(mlir::OpBuilder &builder, const MemoryAccess &access, mlir::Value value,
                    ValueAt at) const {
    return combine(builder, access, mlir::arith::AtomicRMWKind::mulf, value, at);
  }
  /// Puts zero in the place of one component, indivisibly; gives what was there. `position`: in a vector that is accessed whole.
  mlir::Value take(mlir::OpBuilder &builder, const MemoryAccess &access,
                   llvm::ArrayRef<int64_t> position, ValueAt at) const;

  /// What the primal's place itself holds.
  static mlir::Value loadPrimal(mlir::OpBuilder &builder, const MemoryAccess &access, ValueAt at);

private:
  struct Place {
    mlir::Value primal;
    std::string path;
    mlir::Value derivative;
    std::string derivativePath;
  };
  const Place *find(const MemoryAccess &access) const;
  mlir::Value combine(mlir::OpBuilder &builder, const MemoryAccess &access,
                      mlir::arith::AtomicRMWKind kind, mlir::Value value, ValueAt at) const;

  llvm::SmallVector<Place> places;
  llvm::SmallVector<mlir::Value> localArrays;
};

} // namespace metate

#endif
