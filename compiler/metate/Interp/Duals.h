//===- Duals.h - derivatives along a direction, beside values ---*- C++ -*-===//
//
// A kernel that stands for its forward derivative is interpreted as dual numbers: every float, and the stored bits of one, has a
// second part, an f64, which
// its scalars carry behind the first ones (Components), so that control flow, calls and local variables hand both on alike. What
// does not set the second part leaves it zero. This knows nothing of the pass that differentiates: it is what that is compared with.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_DUALS_H
#define METATE_INTERP_DUALS_H

#include "metate/Interp/Objects.h"

#include <functional>
#include <optional>

namespace metate::interp {

class Machine;

/// A number with its derivative.
struct Dual {
  double value = 0, derivative = 0;
};

/// The derivative of an operation on single numbers; nullopt: it is no such operation, or has none.
std::optional<double> derivativeOf(mlir::Operation *op, llvm::ArrayRef<Dual> operands);

class Duals {
public:
  /// Sets the second parts of what the operation, which has just run, gave, and of the places that it wrote.
  void passed(Machine &machine, mlir::Operation *op);

private:
  using Parts = llvm::SmallVector<double>;

  void componentwise(Machine &machine, mlir::Operation *op);
  void ofVector(Machine &machine, mlir::Operation *op);
  void ofArray(Machine &machine, mlir::Operation *op, mlir::Value base, mlir::ValueRange indices,
               mlir::Value written, mlir::Value result,
               std::optional<mlir::arith::AtomicRMWKind> kind);
  void ofCell(Machine &machine, mlir::Operation *op);

  static Parts partsOf(Machine &machine, mlir::Value value);
  static void setParts(Machine &machine, mlir::Value value, llvm::ArrayRef<double> parts);

  /// Where the derivative of an array or member is: by the primal and its path.
  std::map<std::pair<void *, std::string>, std::pair<mlir::Value, std::string>> places;
  std::map<const uint8_t *, double> ofVariables; ///< of variables that live in the launch's memory
};

} // namespace metate::interp

#endif
