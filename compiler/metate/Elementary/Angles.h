//===- Angles.h - sin, cos, tan ---------------------------------*- C++ -*-===//
//
// |x| = n pi/2 + r with |r| <= pi/4, for every x by the same whole numbers (Payne and Hanek): x is m 2^e with a whole m, and
// of 2 / pi only those digits count whose product with m 2^e is neither a multiple of four nor too small. They are read from
// a table.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_ELEMENTARY_ANGLES_H
#define METATE_ELEMENTARY_ANGLES_H

#include "metate/Elementary/Pairs.h"

#include <array>
#include <optional>

namespace metate::elementary {

/// The angle r = hi + lo in the quadrant `n` (its last two bits).
template <class A> struct Angle {
  Pair<A> r;
  typename A::Word n;
};

/// |x| as m 2^e, for the product with the digits of 2 / pi that begin at e.
template <class A> struct Factor {
  typename A::Word m, e;
};

template <class A> Factor<A> factorOf(const A &a, typename A::Float magnitude) {
  const Constants &c = a.k();
  auto one = a.w(uint64_t(1) << c.mantissa);
  auto exponent = a.shr(a.bits(magnitude), a.w(c.mantissa)), least = a.w(c.bias - 1);
  return {(a.bits(magnitude) & (one - a.w(1))) | one,
          a.select(a.below(exponent, least), a.w(0), exponent - least)};
}

/// The product of m with 192 digits, of which the highest 128 count: 2 of them are the quadrant's.
template <class A> Angle<A> reducedDouble(const A &a, typename A::Float magnitude) {
  auto [whole, e] = factorOf(a, magnitude);
  auto m = a.shl(whole, e & a.w(7)), start = a.shr(e, a.w(3));
  auto low = [&](auto word) { return word & a.w(0xFFFFFFFF); };
  auto high = [&](auto word) { return a.shr(word, a.w(32)); };
  auto m0 = low(m), m1 = high(m);
  auto top = a.digits(a.w(144) - start), middle = a.digits(a.w(136) - start),
       bottom = a.digits(a.w(128) - start);
  // columns of 32 bits; what m0 adds to the lowest one does not count
  auto u2 = m0 * low(middle) + high(m0 * high(bottom));
  auto u3 = m0 * high(middle) + high(u2);
  auto u4 = m0 * low(top) + high(u3);
  auto u5 = m0 * high(top) + high(u4);
  auto v2 = m1 * high(bottom) + high(m1 * low(bottom)) + low(u2);
  auto v3 = m1 * low(middle) + high(v2) + low(u3);
  auto v4 = m1 * high(middle) + high(v3) + low(u4);
  auto v5 = m1 * low(top) + high(v4) + u5;
  auto first = a.shl(v5, a.w(32)) | low(v4), second = a.shl(v3, a.w(32)) | low(v2);
  auto n = a.shr(first + a.w(uint64_t(1) << 61), a.w(62));
  // the fraction, from -1/2 on, in four words: each becomes the last places of a power of two, which is taken away
  auto fraction = (a.shl(first, a.w(2)) | a.shr(second, a.w(62))) + a.w(uint64_t(1) << 63);
  auto below = a.shl(second, a.w(2));
  auto placed = [&](auto word, double power, double less) {
    return a.value(word | a.bits(a.c(power))) - a.c(less);
  };
  auto f3 = placed(high(fraction), 0x1p20, 0x1p20 + 0.5),
       f2 = placed(low(fraction), 0x1p-12, 0x1p-12), f1 = placed(high(below), 0x1p-44, 0x1p-44),
       f0 = placed(low(below), 0x1p-76, 0x1p-76);
  auto sum = orderedSum(a, f3, f2);
  auto f = orderedSum(a, sum.hi, sum.lo + (f1 + f0));
  auto r = exactProduct(a, f.hi, a.c(a.k().halfPi.hi));
  return {{r.hi, r.lo + (f.hi * a.c(a.k().halfPi.lo) + f.lo * a.c(a.k().halfPi.hi))}, n};
}

/// The 96 digits from e on, as words, the highest first: chosen of constants, for lanes read memory one by one.
template <class A> std::array<typename A::Word, 3> digitsOfFloat(const A &a, typename A::Word e) {
  auto digit = [&](int k) { return a.w(singles::digits[k]); };
  typename A::Word words[] = {digit(0), digit(1), digit(2), digit(3)};
  for (int step = 1; step <= 4; ++step) {
    auto isBefore = a.below(e, a.w(32 * step));
    for (int k = 0; k < 4; ++k)
      words[k] = a.select(isBefore, words[k], digit(k + step));
  }
  auto by = e & a.w(31), back = a.w(31) - by;
  auto joined = [&](int k) {
    return a.shl(words[k], by) | a.shr(a.shr(words[k + 1], a.w(1)), back);
  };
  return {joined(0), joined(1), joined(2)};
}

/// The product of m with 96 digits, of which the highest 64 count; what is left is a double times pi / 2.
template <class A> Angle<A> reducedFloat(const A &a, typename A::Float magnitude) {
  auto [whole, e] = factorOf(a, magnitude);
  auto [top, middle, bottom] = digitsOfFloat(a, e);
  const auto &d = a.wide();
  auto m = a.extend(whole);
  auto low = [&](auto word) { return word & d.w(0xFFFFFFFF); };
  auto high = [&](auto word) { return d.shr(word, d.w(32)); };
  auto product =
      high(m * a.extend(bottom)) + m * a.extend(middle) + d.shl(m * a.extend(top), d.w(32));
  auto n = a.truncate(d.shr(product + d.w(uint64_t(1) << 61), d.w(62)));
  auto fraction = d.shl(product, d.w(2)) + d.w(uint64_t(1) << 63);
  auto f = (d.value(high(fraction) | d.bits(d.c(0x1p20))) - d.c(0x1p20 + 0.5)) +
           (d.value(low(fraction) | d.bits(d.c(0x1p-12))) - d.c(0x1p-12));
  auto r = f * d.c(d.k().halfPi.hi);
  auto hi = a.narrow(r);
  return {{hi, a.narrow(r - a.widen(hi))}, n};
}

/// Of |x|; below pi / 4 it is |x| itself, in quadrant 0.
template <class A> Angle<A> reduced(const A &a, typename A::Float magnitude) {
  auto [r, n] = [&] {
    if constexpr (A::isDouble)
      return reducedDouble(a, magnitude);
    else
      return reducedFloat(a, magnitude);
  }();
  auto isSmall = a.le(magnitude, a.c(a.k().quarterPi.hi));
  return {{a.select(isSmall, magnitude, r.hi), a.select(isSmall, a.c(0), r.lo)},
          a.select(isSmall, a.w(0), n)};
}

/// sin r and cos r as sums. `lost`: what hi^2 lost when it was rounded, or nothing where one unit in the last place is allowed.
template <class A>
Pair<A> sineOf(const A &a, const Pair<A> &r, std::optional<typename A::Float> lost = {}) {
  auto z = r.hi * r.hi, v = z * r.hi;
  auto tail = polynomial(a, z, a.k().sine.subspan(1)) * z; // without the first term
  auto cubic = r.lo - a.c(0.5) * z * r.lo;
  if (lost)
    cubic = cubic + r.hi * *lost * a.c(a.k().sine[0]);
  auto rest = v * a.c(a.k().sine[0]) + (v * tail + cubic);
  return orderedSum(a, r.hi, rest);
}
template <class A>
Pair<A> cosineOf(const A &a, const Pair<A> &r, std::optional<typename A::Float> lost = {}) {
  auto z = r.hi * r.hi, half = a.c(0.5) * z;
  auto [sum, rest] = orderedSum(a, a.c(1), -half);
  if (lost)
    rest = rest - a.c(0.5) * *lost;
  return orderedSum(a, sum, rest + (z * z * polynomial(a, z, a.k().cosine) - r.hi * r.lo));
}

/// sin of |x| + n pi/2, with the sign of `sign`.
template <class A>
typename A::Float sineInQuadrant(const A &a, typename A::Float x, typename A::Word more,
                                 typename A::Word sign) {
  auto magnitude = abs(a, x);
  auto [r, quadrant] = reduced(a, magnitude);
  auto n = quadrant + more;
  auto isEven = a.same(n & a.w(1), a.w(0));
  auto value = a.select(isEven, sineOf(a, r).hi, cosineOf(a, r).hi);
  auto isNegative = a.same(n & a.w(2), a.w(0));
  auto turned = flipped(a, value, a.select(isNegative, sign, sign ^ signBit(a)));
  auto notANumber = x * a.c(0); // of infinity and of what was none
  return a.select(a.lt(magnitude, infinity(a)), turned, notANumber);
}

template <class A> typename A::Float sin(const A &a, typename A::Float x) {
  return sineInQuadrant(a, x, a.w(0), signOf(a, x));
}

template <class A> typename A::Float cos(const A &a, typename A::Float x) {
  return sineInQuadrant(a, x, a.w(1), a.w(0));
}

template <class A> typename A::Float tan(const A &a, typename A::Float x) {
  auto magnitude = abs(a, x);
  auto [r, n] = reduced(a, magnitude);
  auto lost = exactProduct(a, r.hi, r.hi).lo;
  auto sine = sineOf(a, r, lost), cosine = cosineOf(a, r, lost);
  // tan r, or -1 / tan r
  auto isEven = a.same(n & a.w(1), a.w(0));
  Pair<A> over = {a.select(isEven, sine.hi, cosine.hi), a.select(isEven, sine.lo, cosine.lo)};
  Pair<A> under = {a.select(isEven, cosine.hi, sine.hi), a.select(isEven, cosine.lo, sine.lo)};
  auto quotient = over.hi / under.hi;
  auto product = exactProduct(a, quotient, under.hi);
  auto left = ((over.hi - product.hi) - product.lo) + (over.lo - quotient * under.lo);
  auto corrected = quotient + left / under.hi;
  auto exact = a.select(a.eq(magnitude, a.c(0)), magnitude, corrected);
  auto flip = a.select(isEven, a.w(0), signBit(a)) ^ signOf(a, x);
  auto notANumber = x * a.c(0); // as of the sine
  return a.select(a.lt(magnitude, infinity(a)), flipped(a, exact, flip), notANumber);
}

} // namespace metate::elementary

#endif
