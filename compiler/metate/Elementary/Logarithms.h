//===- Logarithms.h - log, log2, log10 --------------------------*- C++ -*-===//
//
// log x = k log 2 + log m with 1/sqrt 2 <= m < sqrt 2, and log m by s = (m - 1) / (m + 1), as in FreeBSD's e_log2.c.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_ELEMENTARY_LOGARITHMS_H
#define METATE_ELEMENTARY_LOGARITHMS_H

#include "metate/Elementary/Pairs.h"

namespace metate::elementary {

/// x = 2^k * m of a positive finite x.
template <class A> struct Split {
  typename A::Float k, m;
};

template <class A> Split<A> splitAtSqrtHalf(const A &a, typename A::Float x) {
  const Constants &c = a.k();
  auto isSmall = a.lt(x, a.c(c.tiny));
  x = a.select(isSmall, x * a.c(c.grow), x);
  auto half = a.bits(a.c(c.sqrtHalf)), one = a.bits(a.c(1));
  auto moved = a.bits(x) + (one - half);
  auto k = toFloat(a, a.shr(moved, a.w(c.mantissa))) - a.c(double(c.bias));
  auto m = (moved & a.w((uint64_t(1) << c.mantissa) - 1)) + half;
  return {k - a.select(isSmall, a.c(c.mantissa + 2), a.c(0)), a.value(m)};
}

/// What the logarithm is of 0, below, and of what is not finite.
template <class A>
typename A::Float logarithmAtEnds(const A &a, typename A::Float x, typename A::Float inside) {
  auto result = a.select(a.lt(x, infinity(a)), inside, x); // infinity and NaN
  result = a.select(a.lt(x, a.c(0)), a.c(NAN), result);
  return a.select(a.eq(x, a.c(0)), a.c(-HUGE_VAL), result);
}

template <class A> typename A::Float log(const A &a, typename A::Float x, const Base &base) {
  auto [k, m] = splitAtSqrtHalf(a, x);
  auto f = m - a.c(1);
  auto s = f / (a.c(2) + f), z = s * s;
  auto halfSquare = a.c(0.5) * f * f;
  auto rest = s * (halfSquare + z * polynomial(a, z, a.k().logarithm));
  // ln m = hi + lo, and hi is so short that its product is exact
  auto hi = cut(a, f - halfSquare);
  auto lo = ((f - hi) - halfSquare) + rest;
  if (base.scale.lo != 0) {
    auto product = hi * a.c(base.scale.hi);
    lo = (lo + hi) * a.c(base.scale.lo) + lo * a.c(base.scale.hi);
    hi = product;
  }
  auto sum = orderedSum(a, k * a.c(base.step.hi), hi);
  lo = lo + sum.lo;
  if (base.step.lo != 0)
    lo = lo + k * a.c(base.step.lo);
  return logarithmAtEnds(a, x, sum.hi + lo);
}

} // namespace metate::elementary

#endif
