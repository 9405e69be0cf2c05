//===- DerivativeRules.h - derivatives of operations ------------*- C++ -*-===//
//
// The table of what can be differentiated, for both modes: what an operation's result passes on to an operand of what is given to
// it (reverse), or takes from it (forward). Component by component the two are one product with one partial derivative. A call is
// that of the function's own derivative. Control flow and memory are not here.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_DERIVATIVERULES_H
#define METATE_TRANSFORMS_DERIVATIVERULES_H

#include "metate/Dialect/Derivative.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>

namespace metate {

/// Floats, and vectors of floats.
bool isDifferentiable(mlir::Type type);

/// Writes rules. `primal` gives the value that an operand or result of the primal has where the code is written.
class DerivativeRules {
public:
  using ValueAt = std::function<mlir::Value(mlir::Value)>;
  DerivativeRules(mlir::OpBuilder &builder, mlir::Location loc, ValueAt primal)
      : builder(builder), loc(loc), primal(std::move(primal)) {}

  /// Reverse: what each operand that is active gets where the operation's results have these gradients, null where one has none.
  /// Null: nothing, for it is not active or the derivative is zero.
  /// `isPartial`: a gradient of zero may say that the result is not used (PartialUses); it passes on zero, whatever the slope.
  llvm::SmallVector<mlir::Value> reverse(mlir::Operation *op, llvm::ArrayRef<mlir::Value> gradients,
                                         llvm::function_ref<bool(mlir::Value)> isActive,
                                         bool isPartial = false);

  /// Forward: the derivatives of the results, of those of the operands, null where one has none. Null results are zero.
  llvm::SmallVector<mlir::Value> forward(mlir::Operation *op,
                                         llvm::ArrayRef<mlir::Value> derivatives);
  /// The same of a call: gives its results anew, which are to take the place of the old ones, then the derivatives of the floats among them.
  llvm::SmallVector<mlir::Value> forwardOfCall(CallOp call,
                                               llvm::ArrayRef<mlir::Value> derivatives);

  /// Is it known how to differentiate it, or that its derivative is zero?
  static bool knows(mlir::Operation *op);

  mlir::Value constant(mlir::Type type, double value);
  mlir::Value zero(mlir::Type type) { return constant(type, 0); }
  mlir::Value add(mlir::Value a, mlir::Value b);

private:
  mlir::Value reverseOf(mlir::Operation *op, unsigned operand,
                        llvm::ArrayRef<mlir::Value> gradients, bool isPartial);
  llvm::SmallVector<mlir::Value> reverseOfCall(CallOp call, llvm::ArrayRef<mlir::Value> gradients);
  /// Component by component: `seed` times the partial derivative for an operand; null: zero.
  mlir::Value partial(mlir::Operation *op, unsigned operand, mlir::Value seed);
  mlir::Value unlessZero(mlir::Operation *op, unsigned operand, mlir::Value seed,
                         mlir::Value passed);
  mlir::Value elementary(mlir::Operation *op, unsigned operand, mlir::Value seed);
  mlir::Value ofPower(mlir::Operation *op, unsigned operand, mlir::Value seed);
  mlir::Value reverseOfVector(mlir::Operation *op, unsigned operand,
                              llvm::ArrayRef<mlir::Value> gradients);
  llvm::SmallVector<mlir::Value> forwardOfVector(mlir::Operation *op,
                                                 llvm::ArrayRef<mlir::Value> derivatives);

  mlir::Value negate(mlir::Value a);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value divide(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ValueAt primal;
};

} // namespace metate

#endif
