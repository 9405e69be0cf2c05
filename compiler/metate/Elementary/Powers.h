//===- Powers.h - pow -------------------------------------------*- C++ -*-===//
//
// x^y = e^(y log |x|) with the sign of x where y is odd. Of floats in double; of doubles with a logarithm of two parts.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_ELEMENTARY_POWERS_H
#define METATE_ELEMENTARY_POWERS_H

#include "metate/Elementary/Exponentials.h"
#include "metate/Elementary/Logarithms.h"

namespace metate::elementary {

/// x * y of two sums.
template <class A> Pair<A> product(const A &a, const Pair<A> &x, const Pair<A> &y) {
  auto exact = exactProduct(a, x.hi, y.hi);
  return orderedSum(a, exact.hi, exact.lo + (x.hi * y.lo + x.lo * y.hi));
}

/// log x of a positive finite x to about 100 bits of 2^k and 66 of m.
template <class A> Pair<A> preciseLogarithm(const A &a, typename A::Float x) {
  auto [k, m] = splitAtSqrtHalf(a, x);
  auto f = m - a.c(1);
  auto under = exactSum(a, a.c(1), m);
  // s = f / (1 + m) as a sum
  auto quotient = f / under.hi;
  auto back = exactProduct(a, quotient, under.hi);
  auto s = orderedSum(a, quotient, (((f - back.hi) - back.lo) - quotient * under.lo) / under.hi);
  auto z = product(a, s, s);
  auto tail = z.hi * polynomial(a, z.hi, std::span(doubles::powerLogarithm));
  auto factor = orderedSum(a, a.c(0x1.5555555555555p-1), tail); // 2/3 + ...
  factor.lo = factor.lo + a.c(0x1.5555555555555p-55);
  auto cubic = product(a, product(a, z, factor), s);
  // k ln 2 + 2 s + cubic
  auto sum = orderedSum(a, k * a.c(a.k().ln2Step.hi), s.hi + s.hi);
  auto all = orderedSum(a, sum.hi, cubic.hi);
  return orderedSum(a, all.hi,
                    sum.lo + (all.lo + ((s.lo + s.lo) + cubic.lo + k * a.c(a.k().ln2Step.lo))));
}

template <class A>
typename A::Float powerOfDouble(const A &a, typename A::Float x, typename A::Float y) {
  // an exponent beyond leads to 0 or infinity like this one, unless x is 1
  y = clamped(a, y, -0x1p66, 0x1p66);
  auto logarithm = preciseLogarithm(a, x);
  auto exact = exactProduct(a, y, logarithm.hi);
  auto [least, most] = a.k().expRange;
  auto bounded = clamped(a, exact.hi, least, most);
  auto rest = a.select(a.eq(bounded, exact.hi), exact.lo + y * logarithm.lo, a.c(0));
  auto [number, k] = exponential(a, bounded, rest);
  return scaled(a, number.hi, k);
}

template <class A>
typename A::Float powerOfFloat(const A &a, typename A::Float x, typename A::Float y) {
  const auto &d = a.wide();
  return a.narrow(exp(d, a.widen(y) * log(d, a.widen(x), d.k().natural)));
}

template <class A> typename A::Float pow(const A &a, typename A::Float x, typename A::Float y) {
  const Constants &k = a.k();
  auto zero = a.c(0), one = a.c(1), unit = a.c(k.unit);
  auto magnitude = abs(a, x), size = abs(a, y);
  auto regular = [&] {
    if constexpr (A::isDouble)
      return powerOfDouble(a, magnitude, y);
    else
      return powerOfFloat(a, magnitude, y);
  }();
  // |x| of 0 or infinity, and an infinite y: 0 or infinity
  auto isZero = a.eq(magnitude, zero), isInfinite = a.eq(magnitude, infinity(a));
  auto isShrinking = a.lt(magnitude, one), isNegativePower = a.lt(y, zero);
  auto isSmall =
      a.either(a.both(isShrinking, a.lt(zero, y)), a.both(a.lt(one, magnitude), isNegativePower));
  auto isEnd = a.either(a.either(isZero, isInfinite), a.eq(size, infinity(a)));
  auto result = a.select(isEnd, a.select(isSmall, zero, infinity(a)), regular);
  // is y whole, and odd? From `unit` on floats are whole, from twice as much even.
  auto sum = size + unit;
  auto isBig = a.le(unit, size);
  auto isWhole = a.either(isBig, a.eq(sum - unit, size));
  auto last = a.select(isBig, a.bits(size), a.bits(sum)) & a.w(1);
  auto isOdd = a.both(a.both(isWhole, a.same(last, a.w(1))), a.lt(size, unit + unit));
  result = flipped(a, result, a.select(isOdd, signOf(a, x), a.w(0)));
  auto isReal = a.either(isWhole, a.either(isInfinite, a.le(zero, x)));
  result = a.select(isReal, result, a.c(NAN));
  result = a.select(a.both(a.eq(x, x), a.eq(y, y)), result, x + y);
  auto isOne = a.either(a.eq(y, zero), a.eq(x, one));
  // (-1)^infinity
  isOne = a.either(isOne, a.both(a.eq(magnitude, one), a.eq(size, infinity(a))));
  return a.select(isOne, one, result);
}

} // namespace metate::elementary

#endif
