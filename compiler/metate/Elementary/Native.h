//===- Native.h - arithmetic of C++'s numbers -------------------*- C++ -*-===//
#ifndef METATE_ELEMENTARY_NATIVE_H
#define METATE_ELEMENTARY_NATIVE_H

#include "metate/Elementary/Constants.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace metate::elementary {

/// The model of an arithmetic: what an expansion may ask for. Words are as wide as floats and wrap.
template <typename F> struct Native {
  using Float = F;
  using Word = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;
  using Bool = bool;
  static constexpr bool isDouble = sizeof(F) == 8;

  static const Constants &k() { return isDouble ? doubleConstants : floatConstants; }
  static Float c(double value) { return F(value); }
  static Word w(uint64_t value) { return Word(value); }

  static Word bits(Float x) { return std::bit_cast<Word>(x); }
  static Float value(Word w) { return std::bit_cast<F>(w); }
  static Word shl(Word x, Word by) { return Word(x << by); }
  static Word shr(Word x, Word by) { return Word(x >> by); }
  static Float sqrt(Float x) { return std::sqrt(x); }

  static Bool lt(Float x, Float y) { return x < y; }
  static Bool le(Float x, Float y) { return x <= y; }
  static Bool eq(Float x, Float y) { return x == y; }
  static Bool same(Word x, Word y) { return x == y; }
  static Bool below(Word x, Word y) { return x < y; }
  static Bool both(Bool x, Bool y) { return x && y; }
  static Bool either(Bool x, Bool y) { return x || y; }
  static Float select(Bool condition, Float x, Float y) { return condition ? x : y; }
  static Word select(Bool condition, Word x, Word y) { return condition ? x : y; }

  /// The arithmetic of doubles, of one number for each of this one's, and the ways there and back.
  static Native<double> wide() { return {}; }
  static double widen(Float x) { return x; }
  static Float narrow(double x) { return F(x); }
  static uint64_t extend(Word x) { return x; }
  static Word truncate(uint64_t x) { return Word(x); }
  /// Eight bytes of the digits of 2 / pi, the first of them the lowest.
  static Word digits(Word offset) {
    uint64_t read = 0;
    for (unsigned k = 0; k < 8; ++k)
      read |= uint64_t(doubles::digits[offset + k]) << 8 * k;
    return read;
  }
};

} // namespace metate::elementary

#endif
