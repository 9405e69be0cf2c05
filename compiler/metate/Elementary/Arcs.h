//===- Arcs.h - asin, acos, atan, atan2 -------------------------*- C++ -*-===//
//
// As in FreeBSD's s_atan.c and e_asin.c, but for quotients, which are kept as sums, and polynomials in place of rational
// functions.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_ELEMENTARY_ARCS_H
#define METATE_ELEMENTARY_ARCS_H

#include "metate/Elementary/Pairs.h"

namespace metate::elementary {

/// The angle of (x, y), neither negative nor infinite nor both 0: atan c + atan((y - c x) / (x + c y)) with the c of 0, 1/2,
/// 1, 3/2 and infinity that is next to y / x. `keepsRest`: of that quotient.
template <class A>
Pair<A> arcOf(const A &a, typename A::Float y, typename A::Float x, bool keepsRest) {
  struct Sector {
    double below, c; // of y / x
    Parts angle;
  };
  const Constants &k = a.k();
  const Sector sectors[] = {{39.0 / 16, 1.5, k.arcs[2]},
                            {19.0 / 16, 1, k.arcs[1]},
                            {11.0 / 16, 0.5, k.arcs[0]},
                            {7.0 / 16, 0, {0, 0}}};
  auto over = -x, under = y, hi = a.c(k.halfPi.hi), lo = a.c(k.halfPi.lo);
  for (const Sector &sector : sectors) {
    auto isBelow = a.lt(y, a.c(sector.below) * x);
    auto top = y, bottom = x;
    if (sector.c >= 1) // exact, nearly: 3/2 x would not be
      top = top - x;
    if (sector.c != 0 && sector.c != 1)
      top = top - a.c(0.5) * x;
    if (sector.c != 0)
      bottom = x + a.c(sector.c) * y;
    over = a.select(isBelow, top, over);
    under = a.select(isBelow, bottom, under);
    hi = a.select(isBelow, a.c(sector.angle.hi), hi);
    lo = a.select(isBelow, a.c(sector.angle.lo), lo);
  }
  auto t = over / under, z = t * t;
  auto rest = t * z * polynomial(a, z, k.arcTangent) + lo;
  if (keepsRest) {
    auto product = exactProduct(a, t, under);
    auto left = ((over - product.hi) - product.lo) / under;
    // of less, parts of the product underflow; and next to the axis t is the angle
    rest = rest + a.select(a.lt(abs(a, over), a.c(k.leastProduct)), a.c(0), left);
  }
  auto [sum, error] = exactSum(a, hi, t);
  return orderedSum(a, sum, error + rest);
}

template <class A> typename A::Float atan(const A &a, typename A::Float x) {
  auto magnitude = abs(a, x);
  auto isFinite = a.lt(magnitude, infinity(a));
  auto angle =
      arcOf(a, a.select(isFinite, magnitude, a.c(1)), a.select(isFinite, a.c(1), a.c(0)), false).hi;
  return a.select(a.eq(x, x), flipped(a, angle, signOf(a, x)), x);
}

template <class A> typename A::Float atan2(const A &a, typename A::Float y, typename A::Float x) {
  const Constants &k = a.k();
  auto zero = a.c(0), one = a.c(1);
  auto height = abs(a, y), width = abs(a, x);
  // infinities count as 1 beside 0, or beside one another; two zeros lie on the axis
  auto isHigh = a.eq(height, infinity(a)), isWide = a.eq(width, infinity(a));
  auto isInfinite = a.either(isHigh, isWide);
  height = a.select(isInfinite, a.select(isHigh, one, zero), height);
  width = a.select(isInfinite, a.select(isWide, one, zero), width);
  width = a.select(a.both(a.eq(height, zero), a.eq(width, zero)), one, width);
  auto larger = a.select(a.lt(width, height), height, width);
  auto factor = a.select(a.lt(larger, a.c(k.most)), one, a.c(0.0625));
  factor = a.select(a.lt(larger, a.c(k.least)), a.c(k.lift), factor);
  auto angle = arcOf(a, height * factor, width * factor, true);
  // left of the axis: pi - angle
  auto [sum, error] = orderedSum(a, a.c(k.pi.hi), -angle.hi);
  auto mirrored = sum + (error + (a.c(k.pi.lo) - angle.lo));
  auto result = a.select(a.same(signOf(a, x), a.w(0)), angle.hi, mirrored);
  auto isNumber = a.both(a.eq(x, x), a.eq(y, y));
  return a.select(isNumber, flipped(a, result, signOf(a, y)), x + y);
}

/// Of asin and acos: |x|, or what is left beside 1/2 in two parts: the angle is  angle = hi + lo + rest  of
/// |x| <= 1/2, and pi/2 - 2 (hi + lo + rest) above.
template <class A> struct ArcSine {
  typename A::Bool isSmall;
  typename A::Float hi, lo, rest;
};

template <class A> ArcSine<A> arcSineOf(const A &a, typename A::Float magnitude) {
  auto isSmall = a.lt(magnitude, a.c(0.5));
  auto z = a.select(isSmall, magnitude * magnitude, (a.c(1) - magnitude) * a.c(0.5));
  auto root = a.select(isSmall, magnitude, a.sqrt(z));
  auto first = cut(a, root);
  // the root exactly: sqrt z = first + (z - first^2) / (root + first)
  auto under = a.select(a.eq(root, a.c(0)), a.c(1), root + first);
  auto second = a.select(isSmall, root - first, (z - first * first) / under);
  return {isSmall, first, second, root * (z * polynomial(a, z, a.k().arcSine))};
}

template <class A> typename A::Float asin(const A &a, typename A::Float x) {
  auto magnitude = abs(a, x);
  auto [isSmall, hi, lo, rest] = arcSineOf(a, magnitude);
  auto low = hi + (lo + rest);
  auto [sum, error] = orderedSum(a, a.c(a.k().halfPi.hi), a.c(-2) * hi);
  auto high = sum + (error + (a.c(a.k().halfPi.lo) - a.c(2) * (lo + rest)));
  return flipped(a, a.select(isSmall, a.select(a.eq(rest, a.c(0)), magnitude, low), high),
                 signOf(a, x));
}

template <class A> typename A::Float acos(const A &a, typename A::Float x) {
  const Constants &k = a.k();
  auto [isSmall, hi, lo, rest] = arcSineOf(a, abs(a, x));
  auto isPositive = a.same(signOf(a, x), a.w(0));
  // pi/2 - asin x of small ones, else 2 asin, or pi less that
  auto factor = a.select(isSmall, a.c(1), a.c(2));
  auto doubled = factor * hi, tail = factor * (lo + rest);
  auto whole = a.select(isSmall, a.c(k.halfPi.hi), a.select(isPositive, a.c(0), a.c(k.pi.hi)));
  auto wholeLo = a.select(isSmall, a.c(k.halfPi.lo), a.select(isPositive, a.c(0), a.c(k.pi.lo)));
  // minus where x is small and positive, or large and negative
  auto adds = a.same(a.select(isSmall, signBit(a), a.w(0)), signOf(a, x));
  auto flip = a.select(adds, a.w(0), signBit(a));
  auto [sum, error] = exactSum(a, whole, flipped(a, doubled, flip));
  return sum + (error + (wholeLo + flipped(a, tail, flip)));
}

} // namespace metate::elementary

#endif
