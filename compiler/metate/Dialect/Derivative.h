//===- Derivative.h - what is differentiated --------------------*- C++ -*-===//
#ifndef METATE_DIALECT_DERIVATIVE_H
#define METATE_DIALECT_DERIVATIVE_H

#include "metate/Dialect/Call.h"

#define GET_OP_CLASSES
#include "metate/Dialect/MetateDerivativeOps.h.inc"

namespace metate {

/// Values of the mark `metate.differentiate`.
inline constexpr llvm::StringLiteral reverseMode = "reverse", forwardMode = "forward";

/// Of a function of the kernel: the name of that one that is its derivative. In reverse mode this takes the parameters, the results, and the gradients of
/// those results that are floats, and gives the gradients of the parameters that are floats. In forward mode it takes the parameters and the duals of those
/// that are floats, and gives the results and the duals of those that are floats.
inline constexpr llvm::StringLiteral givenDerivative = "derivative";

/// And of that one which is called instead where values are had again in reverse mode, with the same parameters and results: these may be others that are as
/// right, next to which a derivative exists.
inline constexpr llvm::StringLiteral givenAgain = "again";

/// The function of the kernel that is said to be the derivative of this one; null: none is.
FunctionOp derivativeOf(FunctionOp function);
/// The one that is called where values are had again; itself if none is said to be.
FunctionOp calledAgain(FunctionOp function);

} // namespace metate

#endif
