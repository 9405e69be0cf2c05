// What the bits of quantised members mean, written down slowly and in another way than libmetate does it: numbers of 64 digits
// (long double) that hold every f64 scaled by a power of two exactly, and searches instead of bit patterns.
#ifndef METATE_TESTS_QUANT_MODEL_H
#define METATE_TESTS_QUANT_MODEL_H

#include "fixture.h"

#include <cmath>
#include <random>

namespace metate::test {

static_assert(std::numeric_limits<long double>::digits >= 64, "the model's numbers have 64 digits");

inline uint64_t lowest(uint32_t bits) {
  return bits < 64 ? (uint64_t(1) << bits) - 1 : ~uint64_t(0);
}

// A member: how it is stored and what hosts see. Values are the bits of the host's type.
struct QuantModel {
  Quant quant;
  uint32_t dtype = 0;
  bool isShared = false;

  explicit QuantModel(const Node &node)
      : quant(node.quant), dtype(node.dtype), isShared(node.quant.group >= 0) {}

  uint32_t bytes() const { return metate_dtype_bytes(dtype); }
  bool isDouble() const { return dtype == METATE_F64; }
  int digits() const {
    return int(quant.bits) - quant.isSigned - int(isShared ? 0 : quant.exponentBits);
  }
  int bias() const { return (1 << (quant.exponentBits - 1)) - 1; }
  int highest() const {
    return std::min((1 << quant.exponentBits) - 1, bias() + (isDouble() ? 1023 : 127));
  }
  int unit(int exponent) const {
    return isShared ? exponent - bias() - (digits() - 1)
                    : std::max(exponent, 1) - bias() - digits();
  }

  static long double number(uint64_t value, bool isDouble) {
    uint32_t low = uint32_t(value);
    double wide;
    float narrow;
    std::memcpy(&wide, &value, 8);
    std::memcpy(&narrow, &low, 4);
    return isDouble ? static_cast<long double>(wide) : static_cast<long double>(narrow);
  }
  long double number(uint64_t value) const { return number(value, isDouble()); }
  uint64_t value(long double number) const {
    uint64_t bits = 0;
    if (isDouble()) {
      double wide = double(number);
      std::memcpy(&bits, &wide, 8);
    } else {
      float narrow = float(number);
      std::memcpy(&bits, &narrow, 4);
    }
    return bits;
  }

  // Half away from zero; not negative.
  static long double rounded(long double number) {
    long double whole = std::floor(number);
    return number - whole >= 0.5L ? whole + 1 : whole;
  }

  uint64_t encodeFixed(uint64_t given) const {
    long double product;
    if (isDouble()) {
      volatile double steps = 1 / quant.scale, times = double(number(given)) * steps;
      product = times;
    } else {
      volatile float steps = float(1 / quant.scale), times = float(number(given)) * steps;
      product = times;
    }
    if (!std::isfinite(product))
      return 0;
    long double whole = product < 0 ? -rounded(-product) : rounded(product);
    if (std::fabs(whole) >= std::ldexp(1.0L, quant.bits < 32 ? 31 : 63))
      return 0;
    return uint64_t(int64_t(whole)) & lowest(quant.bits);
  }

  // At this exponent; 2^64 - 1 where that is too small. What is too large for the last one is its largest.
  uint64_t digitsAt(long double size, int exponent) const {
    uint64_t limit = uint64_t(1) << (digits() + (!isShared && exponent != 0));
    long double whole = rounded(std::ldexp(size, -unit(exponent)));
    if (whole < static_cast<long double>(limit))
      return uint64_t(whole);
    return exponent == highest() ? limit - 1 : ~uint64_t(0);
  }
  int leastExponent(long double size) const {
    int exponent = 0;
    while (digitsAt(size, exponent) == ~uint64_t(0))
      ++exponent;
    return exponent;
  }
  bool isNothing(uint64_t given) const {
    long double from = number(given);
    return std::isnan(from) || (!quant.isSigned && std::signbit(from));
  }
  uint64_t encodeFloat(uint64_t given) const {
    if (isNothing(given))
      return 0;
    long double size = std::fabs(number(given));
    int exponent = leastExponent(size);
    uint64_t bits = digitsAt(size, exponent) & lowest(uint32_t(digits()));
    bits |= uint64_t(exponent) << digits();
    return bits | uint64_t(std::signbit(number(given))) << (quant.bits - 1);
  }

  // The bits that a store leaves.
  uint64_t encode(uint64_t given) const {
    return quant.kind == METATE_QUANT_INT     ? given & lowest(quant.bits)
           : quant.kind == METATE_QUANT_FIXED ? encodeFixed(given)
                                              : encodeFloat(given);
  }

  __int128 integer(uint64_t bits) const {
    bool isNegative = quant.isSigned && bits >> (quant.bits - 1) & 1;
    return __int128(bits) - (isNegative ? __int128(1) << quant.bits : 0);
  }
  // The value that a load gives; `exponent`: a shared one.
  uint64_t decode(uint64_t bits, int exponent = 0) const {
    if (quant.kind == METATE_QUANT_INT)
      return uint64_t(integer(bits)) & lowest(8 * bytes());
    if (quant.kind == METATE_QUANT_FIXED) {
      volatile double wide = double(integer(bits)), wideScale = quant.scale,
                      widest = wide * wideScale;
      volatile float narrow = float(integer(bits)), scale = float(quant.scale),
                     least = narrow * scale;
      return value(isDouble() ? static_cast<long double>(widest) : static_cast<long double>(least));
    }
    uint64_t own = bits & lowest(uint32_t(digits()));
    if (!isShared)
      exponent = int(bits >> digits() & lowest(quant.exponentBits));
    if (!isShared && exponent)
      own |= uint64_t(1) << digits();
    long double size = std::ldexp(static_cast<long double>(own), unit(exponent));
    return value(quant.isSigned && bits >> (quant.bits - 1) & 1 ? -size : size);
  }

  // Values that break what rounds and saturates.
  uint64_t draw(std::mt19937_64 &random) const {
    uint64_t bits = random() & lowest(8 * bytes());
    if (quant.kind == METATE_QUANT_INT)
      return bits;
    long double inf = std::numeric_limits<long double>::infinity();
    long double sign = random() & 1 ? -1 : 1;
    switch (random() % 8) {
    case 0: {
      const long double odd[] = {0, inf, std::nanl(""), 1, 1e-45L, 0.5L};
      return value(sign * odd[random() % 6]);
    }
    case 1:
    case 2: { // what can be stored, or halfway to its neighbour, or next to that
      int exponent = quant.kind == METATE_QUANT_FLOAT ? int(random() % uint64_t(highest() + 1)) : 0;
      uint64_t own = random() & lowest(quant.bits);
      long double at = static_cast<long double>(own) + static_cast<long double>(random() % 3) / 2;
      long double step = quant.kind == METATE_QUANT_FIXED ? static_cast<long double>(quant.scale)
                                                          : std::ldexp(1.0L, unit(exponent));
      if (quant.kind == METATE_QUANT_FLOAT)
        at = static_cast<long double>((own & lowest(uint32_t(digits()))) +
                                      (exponent && !isShared ? uint64_t(1) << digits() : 0)) +
             static_cast<long double>(random() % 3) / 2;
      return (value(sign * at * step) + random() % 3 - 1) & lowest(8 * bytes());
    }
    case 3: // beyond the largest
      if (quant.kind == METATE_QUANT_FLOAT)
        return value(sign * std::ldexp(1.0L + static_cast<long double>(random() % 9) / 8,
                                       highest() - bias() - int(random() % 2)));
      if (random() & 1) // where counts of steps end
        return (value(sign * static_cast<long double>(quant.scale) *
                      (std::ldexp(1.0L, quant.bits < 32 ? 31 : 63) -
                       static_cast<long double>(random() % 5) / 4)) +
                random() % 5 - 2) &
               lowest(8 * bytes());
      return value(sign * std::ldexp(static_cast<long double>(quant.scale), int(random() % 70)) *
                   (1 + static_cast<long double>(random() % 100) / 100));
    case 4: // about the smallest
      return value(sign * std::ldexp(1 + static_cast<long double>(random() % 16) / 16,
                                     (quant.kind == METATE_QUANT_FLOAT ? unit(0) : -9) +
                                         int(random() % 5) - 3));
    case 5:
      return value(sign * static_cast<long double>(random() % 100000) / 1000);
    default:
      return bits;
    }
  }
};

// Values that are stored together at the least exponent that holds all of them; NaN and what has no sign to be stored with: 0.
inline int sharedExponent(const std::vector<QuantModel> &members,
                          const std::vector<uint64_t> &values) {
  int exponent = 0;
  for (size_t k = 0; k < members.size(); ++k)
    if (!members[k].isNothing(values[k]))
      exponent =
          std::max(exponent, members[k].leastExponent(std::fabs(members[k].number(values[k]))));
  return exponent;
}
inline uint64_t encodeAt(const QuantModel &member, uint64_t value, int exponent) {
  if (member.isNothing(value))
    return 0;
  long double from = member.number(value);
  return member.digitsAt(std::fabs(from), exponent) | uint64_t(std::signbit(from))
                                                          << member.digits();
}

} // namespace metate::test

#endif
