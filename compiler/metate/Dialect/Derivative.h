//===- Derivative.h - what is differentiated --------------------*- C++ -*-===//
#ifndef METATE_DIALECT_DERIVATIVE_H
#define METATE_DIALECT_DERIVATIVE_H

#include "metate/Dialect/Metate.h"

#define GET_OP_CLASSES
#include "metate/Dialect/MetateDerivativeOps.h.inc"

namespace metate {

/// Values of the mark `metate.differentiate`.
inline constexpr llvm::StringLiteral reverseMode = "reverse", forwardMode = "forward";

} // namespace metate

#endif
