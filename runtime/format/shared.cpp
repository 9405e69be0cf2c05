// Members that share an exponent (docs/semantics.md, QV4): a store of one stores all of them, at the least exponent at which each
// rounds to its digits. In whole numbers: nothing is rounded twice.
#include "format/convert.h"
#include "format/quant.h"

#include <cstring>

namespace metate {

namespace {

// digits * 2^unit
struct Number {
  uint64_t digits;
  int32_t unit;
  bool isNegative;
};

// Digits without the lowest `count` of them, half away from zero.
uint64_t without(uint64_t digits, int32_t count) {
  return count > 63 ? 0 : (digits + (uint64_t(1) << (count - 1))) >> count;
}

// How one member of a group is stored.
template <typename Float> struct Member {
  uint32_t digits = 0;
  uint32_t shift = 0;
  bool isSigned = false;
  int32_t lowest = 0;           // what its lowest digit counts at exponent 0
  uint32_t given = METATE_NONE; // which one of the new values is its own

  void set(const metate_quant &quant) {
    Format<Float> format(quant);
    digits = format.digits;
    shift = quant.shift;
    isSigned = format.isSigned;
    lowest = 1 - int32_t(format.bias + digits);
  }
  uint64_t greatest() const { return (uint64_t(1) << digits) - 1; }
  uint64_t mask() const { return (greatest() << isSigned | isSigned) << shift; }

  Number stored(uint64_t word, int32_t exponent) const {
    uint64_t bits = word >> shift;
    return {bits & greatest(), lowest + exponent, isSigned && bits >> digits & 1};
  }

  Number taken(const uint8_t *value) const {
    using Bits = typename Ieee<Float>::Bits;
    constexpr uint32_t own = Ieee<Float>::digits;
    constexpr Bits infinity = ~Bits(0) << own << 1 >> 1;
    Bits bits;
    memcpy(&bits, value, sizeof bits);
    Bits size = bits << 1 >> 1;
    bool isNegative = size != bits;
    if (size > infinity || (isNegative && !isSigned))
      return {};
    if (size == infinity)
      return {1, 1 << 14, isNegative};
    auto exponent = int32_t(size >> own);
    uint64_t hidden = exponent ? uint64_t(1) << own : 0;
    return {hidden | (size & ((Bits(1) << own) - 1)),
            (exponent ? exponent : 1) - int32_t(Ieee<Float>::bias + own), isNegative};
  }

  // The least exponent at which the number rounds to its digits; it may be larger than there is one.
  int32_t leastExponent(const Number &number) const {
    if (!number.digits)
      return 0;
    int32_t dropped = 64 - __builtin_clzll(number.digits) - int32_t(digits);
    if (dropped > 0 && without(number.digits, dropped) > greatest())
      ++dropped;
    int32_t exponent = dropped + number.unit - lowest;
    return exponent > 0 ? exponent : 0;
  }

  uint64_t bitsAt(const Number &number, int32_t exponent) const {
    int32_t dropped = lowest + exponent - number.unit;
    uint64_t rounded = number.digits;
    if (dropped > 0)
      rounded = without(rounded, dropped);
    else if (rounded)
      rounded = -dropped >= __builtin_clzll(rounded) ? greatest() : rounded << -dropped;
    rounded = rounded < greatest() ? rounded : greatest();
    return (rounded | uint64_t(number.isNegative) << digits) << shift;
  }
};

// All that share an exponent, and which of them get new values.
template <typename Float> struct Group {
  static constexpr uint32_t most =
      63; // each takes a bit or more of a word, and so does the exponent
  Member<Float> members[most];
  uint32_t count = 0;
  uint32_t shift; // of the exponent
  uint64_t exponents;
  int32_t highest;

  Group(const metate_tree_type *type, uint32_t member, const uint32_t *levels, uint32_t given) {
    const metate_level *records = levelsOf(type);
    const metate_quant &own = *quantOf(type, member);
    shift = own.exponent_shift;
    exponents = (uint64_t(1) << own.exponent_bits) - 1;
    highest = int32_t(Format<Float>(own).highest);
    for (uint32_t at = own.group;
         at < type->level_count && records[at].parent == records[member].parent; ++at) {
      if (quantOf(type, at)->group != own.group)
        continue;
      members[count].set(*quantOf(type, at));
      for (uint32_t k = 0; k < given; ++k)
        if (levels[k] == at)
          members[count].given = k;
      ++count;
    }
  }

  __attribute__((noinline)) uint64_t store(uint64_t word, const uint8_t *values) const {
    auto before = int32_t(word >> shift & exponents);
    Number numbers[most];
    int32_t exponent = 0;
    for (uint32_t k = 0; k < count; ++k) {
      const Member<Float> &member = members[k];
      numbers[k] = member.given == METATE_NONE
                       ? member.stored(word, before)
                       : member.taken(values + member.given * sizeof(Float));
      int32_t least = member.leastExponent(numbers[k]);
      exponent = exponent > least ? exponent : least;
    }
    exponent = exponent < highest ? exponent : highest;
    word = (word & ~(exponents << shift)) | uint64_t(exponent) << shift;
    for (uint32_t k = 0; k < count; ++k)
      word = (word & ~members[k].mask()) | members[k].bitsAt(numbers[k], exponent);
    return word;
  }

  template <typename Word>
  void storeRow(Words words, uint64_t values, const uint8_t *from, uint64_t step) const {
    for (uint64_t i = 0; i < values; ++i) {
      Word word;
      memcpy(&word, words.at + i * words.step, sizeof word);
      word = Word(store(word, from + i * step));
      memcpy(words.at + i * words.step, &word, sizeof word);
    }
  }
};

} // namespace

template <typename Float>
void Packing::writeShared(Words words, uint64_t count, const uint8_t *values, uint64_t step) const {
  Group<Float> group(type, member, joinedCount ? joined : &member, joinedCount ? joinedCount : 1);
  switch (quant->word_bytes) {
  case 1:
    return group.template storeRow<uint8_t>(words, count, values, step);
  case 2:
    return group.template storeRow<uint16_t>(words, count, values, step);
  case 4:
    return group.template storeRow<uint32_t>(words, count, values, step);
  default:
    return group.template storeRow<uint64_t>(words, count, values, step);
  }
}

template void Packing::writeShared<float>(Words, uint64_t, const uint8_t *, uint64_t) const;
template void Packing::writeShared<double>(Words, uint64_t, const uint8_t *, uint64_t) const;

} // namespace metate
