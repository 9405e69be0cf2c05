/* Scalar types: names, sizes, and values between tvm-ffi's 64-bit numbers and a kernel's slots.
 * Conversions of half-sized floats are written out: no support library is there to call. */
#ifndef METATE_MODULE_SUPPORT_NUMBERS_H
#define METATE_MODULE_SUPPORT_NUMBERS_H

#include "metate/Module/Support/Support.h"

typedef struct number_type {
  const char *name;
  uint8_t code, bits; /* DLPack's */
} number_type;

/* By metate_dtype. */
static inline const number_type *number_of(uint32_t dtype) {
  static const number_type types[] = {{"?", 0, 0},
#define METATE_DTYPE(NAME, code, name, bits, KIND, type)                                           \
  {#name, METATE_DL_##KIND, (bits + 7) / 8 * 8},
                                      METATE_DTYPES(METATE_DTYPE)
#undef METATE_DTYPE
  };
  return &types[dtype <= METATE_DTYPE_LAST ? dtype : 0];
}

static inline int is_float(uint32_t dtype) { return dtype >= METATE_F16; }

/* The value in `bytes` bytes of memory as a slot holds it. */
static inline uint64_t slot_from_memory(uint32_t dtype, const void *from) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, from, number_of(dtype)->bits / 8u);
  switch (dtype) {
  case METATE_U1:
    return bits != 0;
  case METATE_I8:
    return (uint64_t)(int64_t)(int8_t)bits;
  case METATE_I16:
    return (uint64_t)(int64_t)(int16_t)bits;
  case METATE_I32:
    return (uint64_t)(int64_t)(int32_t)bits;
  default:
    return bits;
  }
}

/* A double rounded to nearest even, as the bits of a format with `fraction` fraction bits and an
 * exponent of the given bias. */
static inline uint16_t round_to(double value, uint32_t fraction, int32_t bias) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 63 << 15);
  uint64_t infinity = (uint64_t)(2 * bias + 1) << fraction;
  int32_t exponent = (int32_t)(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((1ull << 52) - 1);
  if (exponent == 0x7ff)
    return (uint16_t)(sign | infinity | (mantissa ? 1ull << (fraction - 1) : 0));
  if (!exponent)
    return sign; /* zero; a double's subnormals are far below either format's */
  exponent += bias - 1023;
  mantissa |= 1ull << 52;
  uint32_t shift = 52 - fraction;
  if (exponent <= 0) { /* subnormal */
    shift += (uint32_t)(1 - exponent);
    exponent = 0;
    if (shift > 54)
      return sign;
  } else {
    mantissa -= 1ull << 52;
  }
  uint64_t kept = mantissa >> shift, rest = mantissa & ((1ull << shift) - 1);
  uint64_t half = 1ull << (shift - 1);
  uint64_t result = ((uint64_t)exponent << fraction) + kept;
  result += rest > half || (rest == half && (kept & 1)); /* a carry goes into the exponent */
  return (uint16_t)(sign | (result < infinity ? result : infinity));
}

static inline double widen(uint16_t bits, uint32_t fraction, int32_t bias) {
  double sign = bits >> 15 ? -1.0 : 1.0;
  int32_t exponent = (bits & 0x7fff) >> fraction;
  uint64_t mantissa = bits & ((1u << fraction) - 1);
  uint64_t wide;
  double value;
  if (exponent == 0) { /* subnormals are exact multiples of the smallest one */
    wide = (uint64_t)(1023 + 1 - bias - (int32_t)fraction) << 52;
    __builtin_memcpy(&value, &wide, sizeof value);
    return sign * (double)mantissa * value;
  }
  wide = mantissa << (52 - fraction);
  wide |= (exponent == 2 * bias + 1 ? 0x7ffull : (uint64_t)(exponent - bias + 1023)) << 52;
  __builtin_memcpy(&value, &wide, sizeof value);
  return sign * value;
}

static inline uint64_t slot_from_double(uint32_t dtype, double value) {
  uint64_t bits = 0;
  float single = (float)value;
  switch (dtype) {
  case METATE_F16:
    return round_to(value, 10, 15);
  case METATE_BF16:
    return round_to(value, 7, 127);
  case METATE_F32:
    __builtin_memcpy(&bits, &single, sizeof single);
    return bits;
  default:
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
  }
}

/* Of a float's slot. */
static inline double double_from_slot(uint32_t dtype, uint64_t bits) {
  float single;
  double value;
  switch (dtype) {
  case METATE_F16:
    return widen((uint16_t)bits, 10, 15);
  case METATE_BF16:
    return widen((uint16_t)bits, 7, 127);
  case METATE_F32:
    __builtin_memcpy(&single, &bits, sizeof single);
    return single;
  default:
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }
}

/* Does a 64-bit signed value fit the integer type? */
static inline int fits(uint32_t dtype, int64_t value) {
  uint32_t bits = number_of(dtype)->bits;
  if (dtype == METATE_I64)
    return 1;
  if (dtype == METATE_U64)
    return value >= 0;
  if (number_of(dtype)->code == METATE_DL_UINT)
    return value >= 0 && value < (int64_t)1 << bits;
  return value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1);
}

#endif
