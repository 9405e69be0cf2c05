//===- ArithChecks.h - what integers and casts are judged by ----*- C++ -*-===//
//
// Overflow, division by zero and casts that change a value. Only what the user wrote is judged:
// the front end marks it (`metate.signed`, `metate.unsigned`, `metate.cast`, `metate.divisor`).
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_ARITHCHECKS_H
#define METATE_INTERP_ARITHCHECKS_H

#include "metate/Interp/Machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace metate::interp {

/// A marked addition, subtraction or multiplication: does the exact result fit?
void checkOverflow(Machine &machine, mlir::Operation *op, char symbol, uint64_t a, uint64_t b);
/// The same of an atomic on memory whose type, with its sign, is `shown`.
void checkOverflow(Machine &machine, mlir::Operation *atomic, mlir::arith::AtomicRMWKind kind,
                   mlir::Type shown, uint64_t old, uint64_t value);

/// Is the divisor one that the front end guarded, and is it zero? Asked of the division that is
/// left in place of the user's.
void checkDivision(Machine &machine, mlir::Operation *division, bool isUnsigned);
/// The mark itself, where no division is left: the divisor is a constant.
void checkDivisor(Machine &machine, mlir::arith::CmpIOp mark);

/// The last operation of a marked cast has run: is the value still the same?
void checkCast(Machine &machine, mlir::Operation *op);

} // namespace metate::interp

#endif
