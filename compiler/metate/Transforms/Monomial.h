//===- Monomial.h - products of values that a loop does not change -*- C++ -*-===//
//
// What divides a loop's variable, as a constant times values: `c // (n * m)` by {n, m}. Only a guess of what the divisor is: guards
// against zero are looked through, products may wrap. Who relies on it compares the two when the loop begins.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_MONOMIAL_H
#define METATE_TRANSFORMS_MONOMIAL_H

#include "metate/Dialect/Metate.h"

namespace metate {

struct Monomial {
  int64_t constant = 1;
  /// Integers, in the order in which they were met; one may be there several times.
  llvm::SmallVector<mlir::Value, 2> factors;

  /// Of an integer that is computed outside of the loop or of nothing but such; `seen` gets what it looked through. Nullopt: of
  /// constants that are not positive, and what is computed in the loop.
  static std::optional<Monomial> of(mlir::Value value, mlir::Operation *loop,
                                    llvm::SetVector<mlir::Value> *seen = nullptr);

  bool isOne() const { return constant == 1 && factors.empty(); }
  bool operator==(const Monomial &other) const;
  std::optional<Monomial> operator*(const Monomial &other) const;
  /// Nullopt: not without remainder.
  std::optional<Monomial> operator/(const Monomial &other) const;
  /// Divides it and is another one.
  bool isBelow(const Monomial &other) const;
};

} // namespace metate

#endif // METATE_TRANSFORMS_MONOMIAL_H
