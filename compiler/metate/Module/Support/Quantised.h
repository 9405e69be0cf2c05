/* Quantised members: numbers in some bits of a word (docs/semantics.md, QV1 to QV4), for accessors that a generated header has of each.
 * This text stands in those headers as it is: C99 and C++, nothing but integers and products, no library. A `set` reads the word
 * and writes it: no other thread may write that word meanwhile. */
#ifndef METATE_QUANTISED_DEFINED
#define METATE_QUANTISED_DEFINED

#include <stdint.h>

#if defined(__GNUC__)
#define METATE_QUANT_COPY __builtin_memcpy
#else
#include <string.h>
#define METATE_QUANT_COPY memcpy
#endif

/* digits * 2^unit, the digits below 2^54; no number is 0. */
typedef struct metate_quant_number {
  uint64_t digits;
  int32_t unit;
  int32_t is_negative;
} metate_quant_number;

/* One of those that share an exponent; lowest: at exponent 0 its digits count 2^lowest. */
typedef struct metate_quant_sharer {
  uint32_t shift, bits, digits;
  int32_t lowest;
} metate_quant_sharer;

/* ---- bits of a word, which has 1, 2, 4 or 8 bytes, the lowest first ---- */

static inline uint64_t metate_quant_word(const void *at, uint32_t bytes) {
  uint64_t word = 0;
  METATE_QUANT_COPY(&word, at, bytes);
  return word;
}

static inline uint64_t metate_quant_out(uint64_t word, uint32_t shift, uint32_t bits) {
  return word >> shift & ~(uint64_t)0 >> (64 - bits);
}

static inline uint64_t metate_quant_in(uint64_t word, uint32_t shift, uint32_t bits,
                                       uint64_t value) {
  const uint64_t mask = ~(uint64_t)0 >> (64 - bits) << shift;
  return (word & ~mask) | (value << shift & mask);
}

static inline uint64_t metate_quant_get(const void *at, uint32_t bytes, uint32_t shift,
                                        uint32_t bits) {
  return metate_quant_out(metate_quant_word(at, bytes), shift, bits);
}

static inline void metate_quant_set(void *at, uint32_t bytes, uint32_t shift, uint32_t bits,
                                    uint64_t value) {
  const uint64_t word = metate_quant_in(metate_quant_word(at, bytes), shift, bits, value);
  METATE_QUANT_COPY(at, &word, bytes);
}

/* ---- integers ---- */

/* With copies of the highest of the bits above them. */
static inline int64_t metate_quant_extended(uint64_t value, uint32_t bits) {
  const uint64_t sign = (uint64_t)1 << (bits - 1);
  return (int64_t)((value ^ sign) - sign);
}

/* Bits up to the highest that is 1. */
static inline int32_t metate_quant_length(uint64_t value) {
  int32_t length = 0;
  for (int32_t step = 32; step; step /= 2)
    if (value >> step) {
      value >>= step;
      length += step;
    }
  return length + (int32_t)value;
}

/* Without its sign in units of 2^unit: the next whole number, half away from zero; 2^63 for more. */
static inline uint64_t metate_quant_rounded(metate_quant_number number, int32_t unit) {
  const int32_t up = number.unit - unit;
  if (!number.digits || up <= -64)
    return 0;
  if (up < 0)
    return (number.digits + ((uint64_t)1 << (-up - 1))) >> -up;
  return up > 62 || number.digits >> (63 - up) ? (uint64_t)1 << 63 : number.digits << up;
}

/* The next whole number in two's complement; 0 where its size is `beyond` or more. */
static inline uint64_t metate_quant_steps(metate_quant_number number, uint64_t beyond) {
  const uint64_t count = metate_quant_rounded(number, 0);
  if (count >= beyond)
    return 0;
  return number.is_negative ? 0 - count : count;
}

/* ---- floats ---- */

/* Of a float's bits: so many digits below a hidden one, the exponent above them; sign: its bit, or 0. */
static inline metate_quant_number metate_quant_of_bits(uint64_t bits, uint32_t digits, int32_t bias,
                                                       uint64_t sign) {
  const uint64_t hidden = (uint64_t)1 << digits, size = bits & ~sign;
  const int32_t exponent = (int32_t)(size >> digits);
  metate_quant_number number;
  number.digits = exponent ? (size & (hidden - 1)) | hidden : size;
  number.unit = (exponent ? exponent : 1) - bias - (int32_t)digits;
  number.is_negative = (bits & sign) != 0;
  return number;
}

/* The reverse: the nearest number, half away from zero, at most `greatest`. */
static inline uint64_t metate_quant_to_bits(metate_quant_number number, uint32_t digits,
                                            int32_t bias, uint64_t sign, uint64_t greatest) {
  int32_t exponent = metate_quant_length(number.digits) + number.unit - 1 + bias;
  uint64_t bits;
  if (number.is_negative && !sign)
    return 0;
  if (exponent < 1 || !number.digits)
    exponent = 1; /* 0 has the unit of 1, without the hidden digit */
  bits = (uint64_t)(exponent - 1) << digits;
  bits += metate_quant_rounded(number, exponent - bias - (int32_t)digits);
  if (bits > greatest)
    bits = greatest;
  return number.is_negative ? bits | sign : bits;
}

static inline metate_quant_number metate_quant_of_f32(float value) {
  const metate_quant_number none = {0, 0, 0};
  uint32_t bits;
  METATE_QUANT_COPY(&bits, &value, sizeof bits);
  if ((bits & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000))
    return none;
  return metate_quant_of_bits(bits, 23, 127, (uint64_t)1 << 31);
}

static inline metate_quant_number metate_quant_of_f64(double value) {
  const metate_quant_number none = {0, 0, 0};
  uint64_t bits;
  METATE_QUANT_COPY(&bits, &value, sizeof bits);
  if ((bits & UINT64_C(0x7fffffffffffffff)) > UINT64_C(0x7ff0000000000000))
    return none;
  return metate_quant_of_bits(bits, 52, 1023, (uint64_t)1 << 63);
}

static inline float metate_quant_power_f32(int32_t exponent) {
  const uint32_t bits = (uint32_t)(exponent + 127) << 23;
  float power;
  METATE_QUANT_COPY(&power, &bits, sizeof power);
  return power;
}

static inline double metate_quant_power_f64(int32_t exponent) {
  const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double power;
  METATE_QUANT_COPY(&power, &bits, sizeof power);
  return power;
}

/* By the power of two in halves: one alone may be no normal number. */
static inline float metate_quant_to_f32(metate_quant_number number) {
  const int32_t half = number.unit / 2;
  const float size = (float)(int64_t)number.digits * metate_quant_power_f32(half) *
                     metate_quant_power_f32(number.unit - half);
  return number.is_negative ? -size : size;
}

static inline double metate_quant_to_f64(metate_quant_number number) {
  const int32_t half = number.unit / 2;
  const double size = (double)(int64_t)number.digits * metate_quant_power_f64(half) *
                      metate_quant_power_f64(number.unit - half);
  return number.is_negative ? -size : size;
}

/* ---- floats that share an exponent ---- */

static inline metate_quant_number metate_quant_shared(uint64_t word, metate_quant_sharer own,
                                                      uint64_t exponent) {
  const uint64_t bits = metate_quant_out(word, own.shift, own.bits);
  metate_quant_number number;
  number.digits = metate_quant_out(bits, 0, own.digits);
  number.unit = (int32_t)exponent + own.lowest;
  number.is_negative = number.digits != bits;
  return number;
}

/* The least exponent at which the number rounds to its digits. */
static inline int32_t metate_quant_least_exponent(metate_quant_number number,
                                                  metate_quant_sharer own) {
  int32_t unit = number.unit + metate_quant_length(number.digits) - (int32_t)own.digits;
  if (metate_quant_rounded(number, unit) >> own.digits)
    ++unit;
  return number.digits && unit > own.lowest ? unit - own.lowest : 0;
}

/* Stores all of them anew, and of them `own` as `given`, at the least exponent that holds each; shift, bits, highest: of that. */
static inline void metate_quant_share(void *at, uint32_t bytes, uint32_t shift, uint32_t bits,
                                      int32_t highest, const metate_quant_sharer *sharers,
                                      uint32_t count, uint32_t own, metate_quant_number given) {
  const uint64_t old = metate_quant_word(at, bytes), before = metate_quant_out(old, shift, bits);
  uint64_t word = old;
  int32_t exponent = 0;
  if (given.is_negative && sharers[own].bits == sharers[own].digits)
    given.digits = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const int32_t least = metate_quant_least_exponent(
        k == own ? given : metate_quant_shared(old, sharers[k], before), sharers[k]);
    exponent = exponent > least ? exponent : least;
  }
  exponent = exponent < highest ? exponent : highest;
  word = metate_quant_in(word, shift, bits, (uint64_t)exponent);
  for (uint32_t k = 0; k < count; ++k) {
    const metate_quant_number number =
        k == own ? given : metate_quant_shared(old, sharers[k], before);
    const uint64_t most = metate_quant_out(~(uint64_t)0, 0, sharers[k].digits);
    uint64_t digits = metate_quant_rounded(number, exponent + sharers[k].lowest);
    if (digits > most)
      digits = most;
    if (number.is_negative && sharers[k].bits > sharers[k].digits)
      digits |= most + 1;
    word = metate_quant_in(word, sharers[k].shift, sharers[k].bits, digits);
  }
  METATE_QUANT_COPY(at, &word, bytes);
}

#endif
