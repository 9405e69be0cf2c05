//===- Pairs.h - numbers as sums of two floats ------------------*- C++ -*-===//
//
// Dekker's and Knuth's exact sums and products, without fused operations, and what all expansions use. `A` is an arithmetic
// (Native.h).
//
//===----------------------------------------------------------------------===//
#ifndef METATE_ELEMENTARY_PAIRS_H
#define METATE_ELEMENTARY_PAIRS_H

#include "metate/Elementary/Constants.h"

#include <cmath>
#include <ranges>

namespace metate::elementary {

/// The number hi + lo, where lo is about half a unit of hi's last place.
template <class A> struct Pair {
  typename A::Float hi, lo;
};

/// x + y exactly, where |x| >= |y| or x is 0.
template <class A> Pair<A> orderedSum(const A &, typename A::Float x, typename A::Float y) {
  auto sum = x + y;
  return {sum, y - (sum - x)};
}

/// x + y exactly.
template <class A> Pair<A> exactSum(const A &, typename A::Float x, typename A::Float y) {
  auto sum = x + y;
  auto rest = sum - x;
  return {sum, (x - (sum - rest)) + (y - rest)};
}

/// The number's first half: 12 of 24 bits, or 26 of 53.
template <class A> typename A::Float cut(const A &a, typename A::Float x) {
  return a.value(a.bits(x) & a.w(~a.k().lowBits));
}

/// x * y exactly, unless parts underflow.
template <class A> Pair<A> exactProduct(const A &a, typename A::Float x, typename A::Float y) {
  auto xHi = cut(a, x), xLo = x - xHi, yHi = cut(a, y), yLo = y - yHi;
  auto product = x * y;
  return {product, ((xHi * yHi - product) + xHi * yLo + xLo * yHi) + xLo * yLo};
}

/// By Horner's rule, the constant coefficient first.
template <class A>
typename A::Float polynomial(const A &a, typename A::Float x, std::span<const double> factors) {
  auto sum = a.c(factors.back());
  for (double factor : factors.first(factors.size() - 1) | std::views::reverse)
    sum = sum * x + a.c(factor);
  return sum;
}

template <class A> typename A::Word signBit(const A &a) {
  return a.w(uint64_t(1) << (a.k().bias == 127 ? 31 : 63));
}
template <class A> typename A::Word signOf(const A &a, typename A::Float x) {
  return a.bits(x) & signBit(a);
}
template <class A> typename A::Float abs(const A &a, typename A::Float x) {
  return a.value(a.bits(x) & a.w(~(uint64_t(1) << (a.k().bias == 127 ? 31 : 63))));
}
/// With the sign flipped where `sign` has the sign bit.
template <class A>
typename A::Float flipped(const A &a, typename A::Float x, typename A::Word sign) {
  return a.value(a.bits(x) ^ sign);
}
template <class A> typename A::Float infinity(const A &a) { return a.c(HUGE_VAL); }

/// NaNs stay.
template <class A>
typename A::Float clamped(const A &a, typename A::Float x, double least, double most) {
  x = a.select(a.lt(x, a.c(least)), a.c(least), x);
  return a.select(a.lt(a.c(most), x), a.c(most), x);
}

/// A whole number below 2^mantissa as a float.
template <class A> typename A::Float toFloat(const A &a, typename A::Word whole) {
  return a.value(whole | a.bits(a.c(a.k().unit))) - a.c(a.k().unit);
}

/// The nearest whole number of |x| < 2^(mantissa - 1), as a float and as a word that wraps.
template <class A> struct Rounded {
  typename A::Float number;
  typename A::Word word;
};
template <class A> Rounded<A> rounded(const A &a, typename A::Float x) {
  auto sum = x + a.c(a.k().rounder);
  return {sum - a.c(a.k().rounder), a.bits(sum) - a.bits(a.c(a.k().rounder))};
}

} // namespace metate::elementary

#endif
