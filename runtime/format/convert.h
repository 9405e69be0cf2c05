// Rows of bits to numbers and back: loops without branches, of which the compiler makes vectors. Part of quant.cpp. `raw` are the bits
// of one member each, the others 0; bits above them that an encoding leaves are cut off by who stores them.
#ifndef METATE_RUNTIME_FORMAT_CONVERT_H
#define METATE_RUNTIME_FORMAT_CONVERT_H

#include "metate/abi/tree.h"

#include <type_traits>

namespace metate {

// IEEE numbers by their bits: `digits` below the hidden one, exponents count from `bias`.
template <typename Float> struct Ieee;
template <> struct Ieee<float> {
  using Bits = uint32_t;
  static constexpr uint32_t digits = 23, bias = 127;
};
template <> struct Ieee<double> {
  using Bits = uint64_t;
  static constexpr uint32_t digits = 52, bias = 1023;
};

template <typename To, typename From> To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

// 2^exponent, of a normal number.
template <typename Float> Float powerOfTwo(int32_t exponent) {
  using Bits = typename Ieee<Float>::Bits;
  return bitsAs<Float>(Bits(exponent + int32_t(Ieee<Float>::bias)) << Ieee<Float>::digits);
}

// A whole number of at most `digits` bits as a float: beside 2^digits it is the lowest bits.
template <typename Float> Float smallInteger(typename Ieee<Float>::Bits number) {
  Float large = powerOfTwo<Float>(Ieee<Float>::digits);
  return bitsAs<Float>(bitsAs<typename Ieee<Float>::Bits>(large) | number) - large;
}

// The whole number next to one from 0 to 2^digits, half away from zero.
template <typename Float> typename Ieee<Float>::Bits nearestInteger(Float number) {
  using Bits = typename Ieee<Float>::Bits;
  Float large = powerOfTwo<Float>(Ieee<Float>::digits), sum = number + large; // half to even
  return bitsAs<Bits>(sum) - bitsAs<Bits>(large) + Bits(number - (sum - large) >= Float(0.5));
}

// A float's format, as loops need it.
template <typename Float> struct Format {
  using Bits = typename Ieee<Float>::Bits;
  uint32_t digits;  // below the sign and the exponent
  uint32_t bias;    // what the exponent counts from
  uint32_t highest; // greatest exponent that is stored
  bool isSigned;
  bool isWhole; // its exponents are those of Float: small numbers are those of Float too

  explicit Format(const metate_quant &quant) {
    isSigned = quant.flags & METATE_QUANT_SIGNED;
    bool shared = quant.flags & METATE_QUANT_SHARED;
    digits = quant.bits - isSigned - (shared ? 0 : quant.exponent_bits);
    bias = (1u << (quant.exponent_bits - 1)) - 1;
    highest = (1u << quant.exponent_bits) - 1;
    isWhole = bias == Ieee<Float>::bias;
    if (isWhole)
      --highest;
  }
};

// QV1

template <typename Raw> Raw signOf(const metate_quant &quant) {
  return quant.flags & METATE_QUANT_SIGNED ? Raw(1) << (quant.bits - 1) : 0;
}

template <typename Raw, typename Int>
void decodeIntegers(const metate_quant &quant, const Raw *raw, uint64_t count, Int *values) {
  Raw sign = signOf<Raw>(quant);
  for (uint64_t i = 0; i < count; ++i)
    values[i] = Int((raw[i] ^ sign) - sign);
}

template <typename Raw, typename Int>
void encodeIntegers(const Int *values, uint64_t count, Raw *raw) {
  for (uint64_t i = 0; i < count; ++i)
    raw[i] = values[i];
}

// QV2

template <typename Raw, typename Float>
void decodeFixed(const metate_quant &quant, const Raw *raw, uint64_t count, Float *values) {
  Raw sign = signOf<Raw>(quant);
  Float scale = Float(quant.scale);
  for (uint64_t i = 0; i < count; ++i)
    values[i] = Float(std::make_signed_t<Raw>((raw[i] ^ sign) - sign)) * scale;
}

// A count of steps beyond `Int`, and no number, are stored as 0.
template <typename Raw, typename Float, typename Int>
void encodeFixed(const metate_quant &quant, const Float *values, uint64_t count, Raw *raw) {
  const Float steps = Float(1 / quant.scale), half = Float(0.5);
  const Float beyond = Float(~std::make_unsigned_t<Int>(0) >> 1) + half;
  for (uint64_t i = 0; i < count; ++i) {
    Float number = values[i] * steps;
    number = number < beyond && -number < beyond ? number : Float(0);
    Int whole = Int(number);
    Float rest = number - Float(whole);
    raw[i] = Raw(whole + Int(rest >= half) - Int(rest <= -half));
  }
}

// QV3

template <typename Float, typename Raw>
void decodeFloats(const metate_quant &quant, const Raw *raw, uint64_t count, Float *values) {
  using Number = Ieee<Float>;
  const Format<Float> format(quant);
  const uint32_t up = Number::digits - format.digits;
  const Raw sign = signOf<Raw>(quant), infinity = bitsAs<Raw>(Float(__builtin_inf()));
  const Raw rebias = Raw(Number::bias - format.bias) << Number::digits;
  const Raw first = format.isWhole ? 0 : Raw(1) << format.digits; // with an exponent that is not 0
  const Float unit =
      format.isWhole ? Float(0) : powerOfTwo<Float>(1 - int32_t(format.bias + format.digits));
  for (uint64_t i = 0; i < count; ++i) {
    Raw size = raw[i] & ~sign;
    Raw normal = (size << up) + rebias;
    normal = normal < infinity ? normal : infinity;
    Raw small = bitsAs<Raw>(smallInteger<Float>(size & (first - 1)) * unit);
    Raw bits = size < first ? small : normal;
    values[i] = bitsAs<Float>(raw[i] & sign ? bits | Raw(1) << (8 * sizeof(Raw) - 1) : bits);
  }
}

template <typename Float, typename Raw>
void encodeFloats(const metate_quant &quant, const Float *values, uint64_t count, Raw *raw) {
  using Number = Ieee<Float>;
  const Format<Float> format(quant);
  const uint32_t down = Number::digits - format.digits;
  const Raw top = Raw(1) << (8 * sizeof(Raw) - 1), infinity = bitsAs<Raw>(Float(__builtin_inf()));
  const Raw sign = signOf<Raw>(quant), half = (Raw(1) << down) >> 1;
  const Raw rebias = Raw(Number::bias - format.bias) << Number::digits;
  const Raw greatest = (Raw(format.highest) + 1) * (Raw(1) << format.digits) - 1;
  const Raw first = format.isWhole ? 0 : rebias + (Raw(1) << Number::digits);
  const Float steps =
      format.isWhole ? Float(0) : powerOfTwo<Float>(int32_t(format.bias + format.digits) - 1);
  for (uint64_t i = 0; i < count; ++i) {
    Raw bits = bitsAs<Raw>(values[i]), size = bits & ~top;
    bool isSmall = size < first;
    Raw small = nearestInteger<Float>((isSmall ? bitsAs<Float>(size) : Float(0)) * steps);
    Raw normal = (size - rebias + half) >> down;
    normal = normal < greatest ? normal : greatest;
    Raw stored = isSmall ? small : normal;
    bool isNothing = size > infinity || (!sign && bits & top);
    stored |= bits & top ? sign : 0;
    raw[i] = isNothing ? 0 : stored;
  }
}

// QV4. To the power of two in halves: one alone may be no normal number.
template <typename Float, typename Raw>
void decodeShared(const metate_quant &quant, const Raw *raw, const Raw *exponents, uint64_t count,
                  Float *values) {
  using Number = Ieee<Float>;
  const Format<Float> format(quant);
  const Raw sign = signOf<Raw>(quant);
  const uint32_t down = format.bias + format.digits - 1;
  const Raw low = Number::bias - down / 2, high = Number::bias - (down - down / 2);
  for (uint64_t i = 0; i < count; ++i) {
    Raw half = exponents[i] / 2, other = exponents[i] - half;
    Float number = smallInteger<Float>(raw[i] & ~sign);
    number *= bitsAs<Float>((half + low) << Number::digits);
    number *= bitsAs<Float>((other + high) << Number::digits);
    Raw bits = bitsAs<Raw>(number);
    values[i] = bitsAs<Float>(raw[i] & sign ? bits | Raw(1) << (8 * sizeof(Raw) - 1) : bits);
  }
}

} // namespace metate

#endif
