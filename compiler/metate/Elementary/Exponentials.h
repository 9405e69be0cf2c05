//===- Exponentials.h - exp, exp2, sinh, cosh, tanh -------------*- C++ -*-===//
//
// e^x = 2^k e^h with |h| <= ln 2 / 2 and a polynomial for e^h, as a sum of two floats.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_ELEMENTARY_EXPONENTIALS_H
#define METATE_ELEMENTARY_EXPONENTIALS_H

#include "metate/Elementary/Pairs.h"

namespace metate::elementary {

/// 2^k * (hi + lo); `k` is a word that wraps.
template <class A> struct Scaled {
  Pair<A> number;
  typename A::Word k;
};

/// x * 2^k, of -2 * bias < k <= bias + 8, in two steps: each is a normal number.
template <class A> typename A::Float scaled(const A &a, typename A::Float x, typename A::Word k) {
  auto both = k + a.w(2 * a.k().bias);
  auto first = a.shr(both, a.w(1)), second = both - first;
  auto shift = a.w(a.k().mantissa);
  return x * a.value(a.shl(first, shift)) * a.value(a.shl(second, shift));
}

/// e^(h + l), of |h| <= ln 2 / 2 and l below its last place.
template <class A> Pair<A> smallExponential(const A &a, typename A::Float h, typename A::Float l) {
  auto [sum, rest] = orderedSum(a, a.c(1), h);
  return orderedSum(a, sum, rest + (h * h * polynomial(a, h, a.k().exponential) + l));
}

/// e^(x + l) of a clamped x.
template <class A> Scaled<A> exponential(const A &a, typename A::Float x, typename A::Float l) {
  auto k = rounded(a, x * a.c(a.k().invLn2));
  auto h = x - k.number * a.c(a.k().ln2Step.hi), tail = k.number * a.c(a.k().ln2Step.lo) - l;
  auto r = h - tail;
  return {smallExponential(a, r, (h - r) - tail), k.word};
}

template <class A> typename A::Float exp(const A &a, typename A::Float x) {
  auto [least, most] = a.k().expRange;
  auto [number, k] = exponential(a, clamped(a, x, least, most), a.c(0));
  return scaled(a, number.hi, k);
}

template <class A> typename A::Float exp2(const A &a, typename A::Float x) {
  auto [least, most] = a.k().exp2Range;
  x = clamped(a, x, least, most);
  auto k = rounded(a, x);
  auto r = x - k.number, first = cut(a, r);
  // r * ln 2 = h + l
  auto [h, l] = orderedSum(a, first * a.c(a.k().ln2Product.hi),
                           (r - first) * a.c(a.k().ln2Product.hi) + r * a.c(a.k().ln2Product.lo));
  return scaled(a, smallExponential(a, h, l).hi, k.word);
}

/// e^|x| / 2.
template <class A> Pair<A> halfExponential(const A &a, typename A::Float magnitude) {
  auto [number, k] = exponential(a, clamped(a, magnitude, 0, a.k().coshRange), a.c(0));
  auto less = k - a.w(1);
  return {scaled(a, number.hi, less), scaled(a, number.lo, less)};
}

/// x + x^3 p(x^2).
template <class A>
typename A::Float oddPolynomial(const A &a, typename A::Float x, std::span<const double> factors) {
  auto square = x * x;
  return x + x * square * polynomial(a, square, factors);
}

template <class A> typename A::Float sinh(const A &a, typename A::Float x) {
  auto magnitude = abs(a, x);
  auto half = halfExponential(a, magnitude);
  auto large = half.hi - (a.c(0.25) / half.hi - half.lo);
  auto small = oddPolynomial(a, magnitude, a.k().hyperbolicSine);
  return flipped(a, a.select(a.lt(magnitude, a.c(1)), small, large), signOf(a, x));
}

template <class A> typename A::Float cosh(const A &a, typename A::Float x) {
  auto half = halfExponential(a, abs(a, x));
  return half.hi + (a.c(0.25) / half.hi + half.lo);
}

template <class A> typename A::Float tanh(const A &a, typename A::Float x) {
  auto magnitude = abs(a, x);
  auto bounded = clamped(a, magnitude, 0, a.k().tanhRange);
  auto [number, k] = exponential(a, bounded + bounded, a.c(0));
  // 1 - 2 / (e^2x + 1)
  auto [sum, rest] = orderedSum(a, scaled(a, number.hi, k), a.c(1));
  auto part = a.c(2) / sum;
  auto [less, lost] = orderedSum(a, a.c(1), -part);
  auto large = less + (lost + part * (rest + scaled(a, number.lo, k)) * (a.c(0.5) * part));
  auto small = oddPolynomial(a, magnitude, a.k().hyperbolicTangent);
  return flipped(a, a.select(a.lt(magnitude, a.c(0.55)), small, large), signOf(a, x));
}

} // namespace metate::elementary

#endif
