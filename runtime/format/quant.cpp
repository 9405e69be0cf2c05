// Rows of quantised members: bits out of words and into them, and which loop converts them.
#include "format/quant.h"

#include "format/convert.h"

#include <cstring>

namespace metate {

namespace {

// A row is converted in parts that stay in the first cache.
constexpr uint64_t part = 512;

// Some bits of a word.
struct Field {
  uint32_t shift;
  uint32_t bits;

  template <typename Word> Word mask() const { return Word(~Word(0)) >> (8 * sizeof(Word) - bits); }
};

template <typename Value> Value load(const uint8_t *from) {
  Value value;
  memcpy(&value, from, sizeof value);
  return value;
}

// body(step): `step` as a constant where words or values lie side by side, so that the loop can be one over vectors.
template <uint64_t bytes, typename Body> void withStep(uint64_t step, const Body &body) {
  if (step == bytes)
    body(std::integral_constant<uint64_t, bytes>());
  else
    body(step);
}

template <typename Word, typename Raw>
void takeOut(Words words, Field field, uint64_t count, Raw *raw) {
  const Word mask = field.mask<Word>();
  withStep<sizeof(Word)>(words.step, [&](auto step) {
    for (uint64_t i = 0; i < count; ++i)
      raw[i] = Raw(Word(load<Word>(words.at + i * step) >> field.shift) & mask);
  });
}

template <typename Word, typename Raw>
void putIn(Words words, Field field, uint64_t count, const Raw *raw) {
  const Word mask = Word(field.mask<Word>() << field.shift);
  withStep<sizeof(Word)>(words.step, [&](auto step) {
    for (uint64_t i = 0; i < count; ++i) {
      uint8_t *at = words.at + i * step;
      Word word = Word((load<Word>(at) & ~mask) | (Word(Word(raw[i]) << field.shift) & mask));
      memcpy(at, &word, sizeof word);
    }
  });
}

// visit(word, first, number, done): `number` elements of a word from its element `first` on, before which `done` have been.
template <typename Visit>
void eachWord(Words words, uint32_t perWord, uint32_t wordBytes, uint64_t count,
              const Visit &visit) {
  uint8_t *at = words.at + words.first / perWord * wordBytes;
  uint32_t first = uint32_t(words.first % perWord);
  for (uint64_t done = 0; done < count; at += wordBytes, first = 0) {
    uint32_t number = perWord - first;
    number = number < count - done ? number : uint32_t(count - done);
    visit(at, first, number, done);
    done += number;
  }
}

template <typename Word, typename Raw>
void takeOutElements(Words words, Field field, uint32_t perWord, uint64_t count, Raw *raw) {
  const Word mask = field.mask<Word>();
  eachWord(words, perWord, sizeof(Word), count,
           [&](const uint8_t *at, uint32_t first, uint32_t number, uint64_t done) {
             Word word = Word(load<Word>(at) >> first * field.bits);
             for (uint32_t i = 0; i < number; ++i)
               raw[done + i] = Raw(Word(word >> i * field.bits) & mask);
           });
}

template <typename Word, typename Raw>
void putInElements(Words words, Field field, uint32_t perWord, uint64_t count, const Raw *raw) {
  const Word mask = field.mask<Word>();
  eachWord(words, perWord, sizeof(Word), count,
           [&](uint8_t *at, uint32_t first, uint32_t number, uint64_t done) {
             Word fresh = 0;
             for (uint32_t i = 0; i < number; ++i)
               fresh |= Word(Word(Word(raw[done + i]) & mask) << i * field.bits);
             Word all = Field{0, number * field.bits}.mask<Word>();
             Word word = Word((load<Word>(at) & ~Word(all << first * field.bits)) |
                              Word(fresh << first * field.bits));
             memcpy(at, &word, sizeof word);
           });
}

template <typename Word, typename Raw, bool out>
void moveBits(Words words, Field field, uint32_t perWord, uint64_t count, Raw *raw) {
  if (perWord == 1) // as the words of a bit_struct that lie side by side
    words = {words.at + words.first * sizeof(Word), sizeof(Word)};
  if constexpr (out)
    perWord > 1 ? takeOutElements<Word>(words, field, perWord, count, raw)
                : takeOut<Word>(words, field, count, raw);
  else
    perWord > 1 ? putInElements<Word>(words, field, perWord, count, raw)
                : putIn<Word>(words, field, count, raw);
}

// The bits of `count` members out of their words, or into them.
template <bool out, typename Raw>
void moveBits(Words words, Field field, uint32_t perWord, uint32_t wordBytes, uint64_t count,
              Raw *raw) {
  switch (wordBytes) {
  case 1:
    return moveBits<uint8_t, Raw, out>(words, field, perWord, count, raw);
  case 2:
    return moveBits<uint16_t, Raw, out>(words, field, perWord, count, raw);
  case 4:
    return moveBits<uint32_t, Raw, out>(words, field, perWord, count, raw);
  default:
    return moveBits<uint64_t, Raw, out>(words, field, perWord, count, raw);
  }
}

template <typename Value>
void copySteps(uint8_t *to, uint64_t toStep, const uint8_t *from, uint64_t fromStep,
               uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    memcpy(to + i * toStep, from + i * fromStep, sizeof(Value));
}

// Values between an array and the buffer where they lie side by side.
void copyValues(uint8_t *to, uint64_t toStep, const uint8_t *from, uint64_t fromStep,
                uint32_t bytes, uint64_t count) {
  if (toStep == bytes && fromStep == bytes) {
    memcpy(to, from, count * bytes);
    return;
  }
  switch (bytes) {
  case 1:
    return copySteps<uint8_t>(to, toStep, from, fromStep, count);
  case 2:
    return copySteps<uint16_t>(to, toStep, from, fromStep, count);
  case 4:
    return copySteps<uint32_t>(to, toStep, from, fromStep, count);
  default:
    return copySteps<uint64_t>(to, toStep, from, fromStep, count);
  }
}

// The words of a row from the one of value `done` on.
Words behind(Words words, uint64_t done) {
  return {words.at + done * words.step, words.step, words.first + done};
}

// Calls body(place) with the word's type.
template <typename Body> auto withWord(const uint8_t *at, uint32_t bytes, const Body &body) {
  auto *place = const_cast<uint8_t *>(at);
  switch (bytes) {
  case 1:
    return body(place);
  case 2:
    return body(reinterpret_cast<uint16_t *>(place));
  case 4:
    return body(reinterpret_cast<uint32_t *>(place));
  default:
    return body(reinterpret_cast<uint64_t *>(place));
  }
}

} // namespace

Packing::Packing(const metate_tree_type *type, uint32_t member)
    : type(type), quant(quantOf(type, member)), member(member) {
  const metate_level &place = levelsOf(type)[member], &parent = levelsOf(type)[place.parent];
  valueBytes = uint32_t(place.cell_bytes);
  perWord = parent.slot_cells;
}

// Bits are as wide as values: those of 8 bytes have 64, others 32.
template <typename Raw>
void Packing::decode(const Raw *raw, const Raw *exponents, uint64_t count, uint8_t *values) const {
  using Float = std::conditional_t<sizeof(Raw) == 8, double, float>;
  auto *floats = reinterpret_cast<Float *>(values);
  if (quant->kind == METATE_QUANT_FIXED)
    return decodeFixed(*quant, raw, count, floats);
  if (quant->kind == METATE_QUANT_FLOAT)
    return isShared() ? decodeShared(*quant, raw, exponents, count, floats)
                      : decodeFloats(*quant, raw, count, floats);
  if (valueBytes == 1)
    return decodeIntegers(*quant, raw, count, values);
  if (valueBytes == 2)
    return decodeIntegers(*quant, raw, count, reinterpret_cast<uint16_t *>(values));
  decodeIntegers(*quant, raw, count, reinterpret_cast<Raw *>(values));
}

template <typename Raw>
void Packing::encode(const uint8_t *values, uint64_t count, Raw *raw) const {
  using Float = std::conditional_t<sizeof(Raw) == 8, double, float>;
  auto *floats = reinterpret_cast<const Float *>(values);
  if (quant->kind == METATE_QUANT_FIXED && quant->bits >= 32)
    return encodeFixed<Raw, Float, std::conditional_t<sizeof(Raw) == 8, int64_t, int32_t>>(
        *quant, floats, count, raw);
  if (quant->kind == METATE_QUANT_FIXED)
    return encodeFixed<Raw, Float, int32_t>(*quant, floats, count, raw);
  if (quant->kind == METATE_QUANT_FLOAT)
    return encodeFloats(*quant, floats, count, raw);
  if (valueBytes == 1)
    return encodeIntegers(values, count, raw);
  if (valueBytes == 2)
    return encodeIntegers(reinterpret_cast<const uint16_t *>(values), count, raw);
  encodeIntegers(reinterpret_cast<const Raw *>(values), count, raw);
}

template <typename Raw>
void Packing::readRow(Words words, uint64_t count, uint8_t *values, uint64_t step) const {
  Raw raw[part], exponents[part];
  alignas(8) uint8_t buffer[part * sizeof(Raw)];
  for (uint64_t done = 0, now; done < count; done += now) {
    now = count - done < part ? count - done : part;
    Words here = behind(words, done);
    moveBits<true>(here, {quant->shift, quant->bits}, perWord, quant->word_bytes, now, raw);
    if (isShared())
      moveBits<true>(here, {quant->exponent_shift, quant->exponent_bits}, 0, quant->word_bytes, now,
                     exponents);
    decode(raw, exponents, now, buffer);
    copyValues(values + done * step, step, buffer, valueBytes, valueBytes, now);
  }
}

template <typename Raw>
void Packing::writeRow(Words words, uint64_t count, const uint8_t *values, uint64_t step) const {
  Raw raw[part];
  alignas(8) uint8_t buffer[part * sizeof(Raw)];
  for (uint64_t done = 0, now; done < count; done += now) {
    now = count - done < part ? count - done : part;
    if (step || !done) { // else they are there already
      copyValues(buffer, valueBytes, values + done * step, step, valueBytes, step ? now : 1);
      encode(buffer, step ? now : 1, raw);
      for (uint64_t i = 1; !step && i < now; ++i)
        raw[i] = raw[0];
    }
    moveBits<false>(behind(words, done), {quant->shift, quant->bits}, perWord, quant->word_bytes,
                    now, raw);
  }
}

void Packing::read(Words words, uint64_t count, uint8_t *values, uint64_t step) const {
  if (valueBytes == 8)
    readRow<uint64_t>(words, count, values, step);
  else
    readRow<uint32_t>(words, count, values, step);
}

void Packing::write(Words words, uint64_t count, const uint8_t *values, uint64_t step) const {
  if (isShared())
    return valueBytes == 8 ? writeShared<double>(words, count, values, step)
                           : writeShared<float>(words, count, values, step);
  if (valueBytes == 8)
    writeRow<uint64_t>(words, count, values, step);
  else
    writeRow<uint32_t>(words, count, values, step);
}

void Packing::fetch(const uint8_t *word, uint64_t element, uint8_t *value) const {
  withWord(word, quant->word_bytes, [&](auto *place) {
    auto copy = __atomic_load_n(place, __ATOMIC_RELAXED);
    read({reinterpret_cast<uint8_t *>(&copy), 0, element}, 1, value, valueBytes);
  });
}

// The word as it would be, in memory of our own, until nobody has changed it meanwhile.
void Packing::store(uint8_t *word, uint64_t element, const uint8_t *value) const {
  withWord(word, quant->word_bytes, [&](auto *place) {
    auto old = __atomic_load_n(place, __ATOMIC_RELAXED), fresh = old;
    do {
      fresh = old;
      write({reinterpret_cast<uint8_t *>(&fresh), 0, element}, 1, value, valueBytes);
    } while (
        !__atomic_compare_exchange_n(place, &old, fresh, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  });
}

} // namespace metate
