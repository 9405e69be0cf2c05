//===- Expressions.h - numbers that a driver computes -----------*- C++ -*-===//
//
// Values of a kernel as the postfix expressions of abi/metate/abi/grid.h. Must not know what they are for.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_GRID_EXPRESSIONS_H
#define METATE_TARGET_GRID_EXPRESSIONS_H

#include "metate/Target/Grid/Table.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate::grid {

/// Writes values of one kernel as steps: what follows from its arguments, constants and the loops of a graph.
class Expressions {
public:
  /// `slots`: the first one of each argument.
  explicit Expressions(llvm::ArrayRef<unsigned> slots) : slots(slots) {}

  /// Loops around what is written next, the innermost last.
  llvm::SmallVector<mlir::scf::ForOp> loops;
  /// Where arrays of a graph's own (memref.alloca) lie in its frame.
  llvm::DenseMap<mlir::Value, int64_t> places;

  /// The value's bits: of a number as wide as it is, above them zeros or a sign. None: a driver cannot compute it.
  std::optional<std::vector<Step>> of(mlir::Value value) const;
  /// The same of what is built before an operation for this alone, and gone again.
  std::optional<std::vector<Step>>
  ofBuilt(mlir::Operation *at, llvm::function_ref<mlir::Value(mlir::OpBuilder &)> build) const;
  /// The components of a vector; one of any other value.
  std::optional<std::vector<std::vector<Step>>> slotsOf(mlir::Value value) const;

private:
  using Steps = std::vector<Step>;
  /// Adds steps whose number has the value's bits below; what is above them is nothing.
  bool add(mlir::Value value, Steps &steps) const;
  bool addExtended(mlir::Value value, bool isSigned, Steps &steps) const;
  bool addTurn(mlir::BlockArgument variable, Steps &steps) const;
  bool addConstant(mlir::Attribute constant, Steps &steps) const;

  llvm::ArrayRef<unsigned> slots;
};

} // namespace metate::grid

#endif
