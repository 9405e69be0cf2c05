// Members that share an exponent (docs/semantics.md, QV4): a store of one stores all of them, at the least exponent at which each
// rounds to its digits. In whole numbers: nothing is rounded twice.
#include "format/convert.h"
#include "format/quant.h"

#include <cstring>

namespace metate {

namespace {

// digits * 2^unit
struct Number {
  uint64_t digits = 0;
  int32_t unit = 0;
  bool isNegative = false;
};

// Digits without the lowest `count` of them, half away from zero.
uint64_t without(uint64_t digits, int32_t count) {
  return count > 63 ? 0 : (digits + (uint64_t(1) << (count - 1))) >> count;
}

// How one member of a group is stored.
template <typename Float> struct Member {
  Format<Float> format;
  uint32_t shift;

  explicit Member(const metate_quant &quant) : format(quant), shift(quant.shift) {}

  uint64_t greatest() const { return (uint64_t(1) << format.digits) - 1; }
  // What the lowest digit counts at this exponent.
  int32_t unitAt(int32_t exponent) const {
    return exponent - int32_t(format.bias + format.digits) + 1;
  }

  Number stored(uint64_t word, int32_t exponent) const {
    uint64_t bits = word >> shift;
    return {bits & greatest(), unitAt(exponent), format.isSigned && bits >> format.digits & 1};
  }

  Number given(const uint8_t *value) const {
    using Bits = typename Ieee<Float>::Bits;
    constexpr uint32_t digits = Ieee<Float>::digits;
    Bits bits;
    memcpy(&bits, value, sizeof bits);
    constexpr Bits infinity = ~Bits(0) << digits << 1 >> 1;
    Bits size = bits << 1 >> 1;
    bool isNegative = size != bits;
    if (size > infinity || (isNegative && !format.isSigned))
      return {};
    if (size == infinity)
      return {1, 1 << 14, isNegative};
    int32_t exponent = int32_t(size >> digits);
    uint64_t hidden = exponent ? uint64_t(1) << digits : 0;
    uint64_t below = size & ((Bits(1) << digits) - 1);
    return {hidden | below, (exponent ? exponent : 1) - int32_t(Ieee<Float>::bias + digits),
            isNegative};
  }

  // The least exponent at which the number rounds to its digits; it may be larger than there is one.
  int32_t leastExponent(const Number &number) const {
    if (!number.digits)
      return 0;
    int32_t dropped = 64 - __builtin_clzll(number.digits) - int32_t(format.digits);
    if (dropped > 0 && without(number.digits, dropped) > greatest())
      ++dropped;
    int32_t exponent = dropped + number.unit - unitAt(0);
    return exponent > 0 ? exponent : 0;
  }

  uint64_t bitsAt(const Number &number, int32_t exponent) const {
    int32_t dropped = unitAt(exponent) - number.unit;
    uint64_t digits = number.digits;
    if (dropped > 0)
      digits = without(digits, dropped);
    else if (digits)
      digits = -dropped >= __builtin_clzll(digits) ? greatest() : digits << -dropped;
    digits = digits < greatest() ? digits : greatest();
    return (digits | uint64_t(number.isNegative) << format.digits) << shift;
  }
  uint64_t mask() const { return (greatest() << format.isSigned | format.isSigned) << shift; }
};

template <typename Float>
uint64_t storeGroup(const metate_tree_type *type, uint32_t member, const uint32_t *given,
                    uint32_t count, uint64_t word, const uint8_t *values) {
  const metate_level *levels = levelsOf(type);
  const metate_quant &own = *quantOf(type, member);
  uint64_t exponents = (uint64_t(1) << own.exponent_bits) - 1;
  auto before = int32_t(word >> own.exponent_shift & exponents);
  Number numbers[64]; // each takes a bit or more
  uint32_t in[64], all = 0;
  int32_t exponent = 0;
  for (uint32_t at = own.group;
       at < type->level_count && levels[at].parent == levels[member].parent; ++at) {
    const metate_quant &quant = *quantOf(type, at);
    if (quant.group != own.group)
      continue;
    Member<Float> here(quant);
    Number number = here.stored(word, before);
    for (uint32_t k = 0; k < count; ++k)
      if (given[k] == at)
        number = here.given(values + k * sizeof(Float));
    int32_t least = here.leastExponent(number);
    exponent = exponent > least ? exponent : least;
    numbers[all] = number;
    in[all++] = at;
  }
  auto highest = int32_t(Format<Float>(own).highest);
  exponent = exponent < highest ? exponent : highest;
  word &= ~(exponents << own.exponent_shift);
  word |= uint64_t(exponent) << own.exponent_shift;
  for (uint32_t k = 0; k < all; ++k) {
    Member<Float> here(*quantOf(type, in[k]));
    word = (word & ~here.mask()) | here.bitsAt(numbers[k], exponent);
  }
  return word;
}

} // namespace

uint64_t Packing::storeShared(uint64_t word, const uint8_t *values) const {
  const uint32_t *given = joinedCount ? joined : &member;
  uint32_t count = joinedCount ? joinedCount : 1;
  return valueBytes == 8 ? storeGroup<double>(type, member, given, count, word, values)
                         : storeGroup<float>(type, member, given, count, word, values);
}

} // namespace metate
