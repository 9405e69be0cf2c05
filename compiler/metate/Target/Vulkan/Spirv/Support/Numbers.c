/* Arithmetic that Vulkan does not promise: division and square roots of f32 may be off by 2.5 and more units in the last place, f64
 * by as much, remainders are worse, and what is rounded to 16 bits may be rounded in any direction. Here the machine's own
 * instruction is an estimate, and integers make the result exact: rounded to nearest, ties to even, subnormal numbers included.
 * Nothing depends on a fused multiplication, which Vulkan does not promise either.
 *
 * Relied on: conversions between integers and floats that are exact are so, an estimate is within 6 units in the last place.
 * Not kept: which NaN it is.
 *
 * Compiled with -fapprox-func, so that the compiler can tell the estimates (`afn`) from what it has to replace by calls of this. */
#include <stdint.h>

/* Tests make it worse. */
#ifndef ESTIMATE
#define ESTIMATE(value) (value)
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t bits_of_f32(float value) { return __builtin_bit_cast(uint32_t, value); }
INLINE float f32_of_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
INLINE uint64_t bits_of_f64(double value) { return __builtin_bit_cast(uint64_t, value); }
INLINE double f64_of_bits(uint64_t bits) { return __builtin_bit_cast(double, bits); }
INLINE int zeros_f32(uint32_t value) { return __builtin_clz(value); }
INLINE int zeros_f64(uint64_t value) { return __builtin_clzll(value); }

/* For T of f32 and f64: FLOAT, its bits WORD and INT, MANTISSA bits that are stored, and the exponent's BIAS. */
#define FUNCTIONS(T, FLOAT, WORD, INT, MANTISSA, BIAS)                                                                                 \
                                                                                                                                       \
  enum { infinite_##T = 2 * BIAS + 1 }; /* the exponent of what is no finite number */                                                 \
                                                                                                                                       \
  /* Of a finite number above zero: its mantissa with the leading one, and the exponent, which a subnormal one's is as if there      \
   * were no limit. */ \
  INLINE WORD mantissa_##T(WORD bits, int *exponent) {                                                                                 \
    WORD leading = (WORD)1 << MANTISSA, stored = bits & (leading - 1);                                                                 \
    int given = (int)(bits >> MANTISSA);                                                                                               \
    int shift = zeros_##T(bits | 1) - ((int)sizeof(WORD) * 8 - 1 - MANTISSA);                                                          \
    *exponent = given ? given : 1 - shift;                                                                                             \
    return given ? stored | leading : stored << (shift & (MANTISSA + 1 < 32 ? 31 : 63));                                               \
  }                                                                                                                                    \
                                                                                                                                       \
  /* The bits of `wide` * 2^(exponent - BIAS - MANTISSA - 1), rounded. `wide` has MANTISSA + 2 bits; `rest`: there is more below. */   \
  INLINE WORD round_##T(WORD wide, int exponent, int rest) {                                                                           \
    int shift = exponent < 1 ? 1 - exponent : 0;                                                                                       \
    shift = shift < MANTISSA + 3 ? shift : MANTISSA + 3;                                                                               \
    rest |= (wide & (((WORD)1 << shift) - 1)) != 0;                                                                                    \
    wide >>= shift;                                                                                                                    \
    WORD half = wide >> 1, up = wide & 1 & ((WORD)rest | half);                                                                        \
    WORD base = exponent < 1 ? 0 : (WORD)(exponent - 1) << MANTISSA;                                                                   \
    WORD most = (WORD)infinite_##T << MANTISSA, rounded = base + half + up;                                                            \
    return exponent >= infinite_##T || rounded > most ? most : rounded;                                                                \
  }                                                                                                                                    \
                                                                                                                                       \
  FLOAT metate_number_divide_##T(FLOAT dividend, FLOAT divisor) {                                                                      \
    WORD a = bits_of_##T(dividend), b = bits_of_##T(divisor);                                                                          \
    WORD most = (WORD)infinite_##T << MANTISSA, top = (WORD)1 << (sizeof(WORD) * 8 - 1);                                               \
    WORD sign = (a ^ b) & top;                                                                                                         \
    a &= ~top;                                                                                                                         \
    b &= ~top;                                                                                                                         \
    if (a - 1 >= most - 1 || b - 1 >= most - 1) { /* zero, infinite or no number */                                                    \
      int none = a > most || b > most || (a == b && (a == 0 || a == most));                                                            \
      WORD zero = a == most || b == 0 ? most : 0;                                                                                      \
      return T##_of_bits(none ? most | most >> 1 : sign | zero);                                                                       \
    }                                                                                                                                  \
    int above, below;                                                                                                                  \
    WORD m = mantissa_##T(a, &above), n = mantissa_##T(b, &below);                                                                     \
    int less = m < n, exponent = above - below + BIAS - less;                                                                          \
    m <<= less; /* n <= m < 2 * n */                                                                                                   \
    FLOAT inverse = ESTIMATE((FLOAT)1 / (FLOAT)(INT)n);                                                                                \
    WORD q = (WORD)(INT)((FLOAT)(INT)m * inverse * (FLOAT)((WORD)1 << (MANTISSA + 1)));                                                \
    INT rest = (INT)((m << (MANTISSA + 1)) - q * n);                                                                                   \
    INT more = (INT)((FLOAT)rest * inverse);                                                                                           \
    q += (WORD)more;                                                                                                                   \
    rest -= (INT)((WORD)more * n);                                                                                                     \
    int low = rest < 0;                                                                                                                \
    q -= (WORD)low;                                                                                                                    \
    rest += low ? (INT)n : 0;                                                                                                          \
    int high = rest >= (INT)n;                                                                                                         \
    q += (WORD)high;                                                                                                                   \
    rest -= high ? (INT)n : 0;                                                                                                         \
    return T##_of_bits(sign | round_##T(q, exponent, rest != 0));                                                                      \
  }                                                                                                                                    \
                                                                                                                                       \
  FLOAT metate_number_sqrt_##T(FLOAT number) {                                                                                         \
    WORD bits = bits_of_##T(number), most = (WORD)infinite_##T << MANTISSA;                                                            \
    WORD top = (WORD)1 << (sizeof(WORD) * 8 - 1);                                                                                      \
    if (bits - 1 >= most - 1) /* zero, infinite, negative or no number */                                                              \
      return bits == 0 || bits == top || bits == most ? number : T##_of_bits(most | most >> 1);                                        \
    int exponent;                                                                                                                      \
    WORD m = mantissa_##T(bits, &exponent);                                                                                            \
    int odd = (exponent - BIAS) & 1;                                                                                                   \
    m <<= odd;                                                                                                                         \
    FLOAT unit = (FLOAT)1 / (FLOAT)((WORD)1 << MANTISSA),                                                                              \
          scaled = (FLOAT)(INT)m * unit; /* 1 <= scaled < 4 */                                                                         \
    FLOAT estimate = ESTIMATE(SQRT_##T(scaled));                                                                                       \
    WORD s = (WORD)(INT)(estimate * (FLOAT)((WORD)1 << (MANTISSA + 1)));                                                               \
    INT rest = (INT)((m << (MANTISSA + 2)) - s * s);                                                                                   \
    s += (WORD)(INT)((FLOAT)rest / (FLOAT)(INT)(2 * s)) - (rest < 0); /* one off at most */                                            \
    rest = (INT)((m << (MANTISSA + 2)) - s * s);                                                                                       \
    s -= (WORD)(rest < 0);                                                                                                             \
    rest = (INT)((m << (MANTISSA + 2)) - s * s);                                                                                       \
    s += (WORD)(rest > (INT)(2 * s));                                                                                                  \
    rest = (INT)((m << (MANTISSA + 2)) - s * s);                                                                                       \
    return T##_of_bits(round_##T(s, (exponent - odd - BIAS) / 2 + BIAS, rest != 0));                                                   \
  }                                                                                                                                    \
                                                                                                                                       \
  /* With the dividend's sign, as fmod. */                                                                                             \
  FLOAT metate_number_remainder_##T(FLOAT dividend, FLOAT divisor) {                                                                   \
    WORD a = bits_of_##T(dividend), b = bits_of_##T(divisor);                                                                          \
    WORD most = (WORD)infinite_##T << MANTISSA, top = (WORD)1 << (sizeof(WORD) * 8 - 1);                                               \
    WORD sign = a & top;                                                                                                               \
    a &= ~top;                                                                                                                         \
    b &= ~top;                                                                                                                         \
    if (a >= most || b > most || b == 0)                                                                                               \
      return T##_of_bits(most | most >> 1);                                                                                            \
    if (a < b)                                                                                                                         \
      return dividend;                                                                                                                 \
    int above, below;                                                                                                                  \
    uint64_t m = mantissa_##T(a, &above), n = mantissa_##T(b, &below);                                                                 \
    m %= n;                                                                                                                            \
    for (int left = above - below; left > 0 && m;) {                                                                                   \
      int step = left < 63 - MANTISSA ? left : 63 - MANTISSA;                                                                          \
      m = (m << step) % n;                                                                                                             \
      left -= step;                                                                                                                    \
    }                                                                                                                                  \
    if (m == 0)                                                                                                                        \
      return T##_of_bits(sign);                                                                                                        \
    int shift = zeros_f64(m) - (63 - MANTISSA);                                                                                        \
    return T##_of_bits(sign | round_##T((WORD)m << (shift + 1), below - shift, 0));                                                    \
  }

#define SQRT_f32 __builtin_sqrtf
#define SQRT_f64 __builtin_sqrt
FUNCTIONS(f32, float, uint32_t, int32_t, 23, 127)
FUNCTIONS(f64, double, uint64_t, int64_t, 52, 1023)

/* Whole numbers: `add` is what makes those round up that shall, of a number with `fraction` bits behind the point; below 1 all but those
 * from `one` on are 0. */
INLINE double whole_f64(double value, uint64_t one, uint64_t (*add)(uint64_t, int)) {
  uint64_t bits = bits_of_f64(value), sign = bits & (uint64_t)1 << 63, magnitude = bits ^ sign;
  int fraction = 1023 + 52 - (int)(magnitude >> 52);
  if (fraction <= 0) /* whole, infinite or no number */
    return value;
  if (fraction > 52)
    return f64_of_bits(sign | (magnitude >= one ? (uint64_t)1023 << 52 : 0));
  uint64_t unit = (uint64_t)1 << fraction;
  return f64_of_bits(sign | ((magnitude + add(magnitude, fraction)) & ~(unit - 1)));
}
INLINE uint64_t add_nothing(uint64_t magnitude, int fraction) {
  (void)magnitude;
  (void)fraction;
  return 0;
}
INLINE uint64_t add_half(uint64_t magnitude, int fraction) {
  (void)magnitude;
  return (uint64_t)1 << (fraction - 1);
}
/* The lowest bit of 1 itself is the exponent's, which is odd. */
INLINE uint64_t add_half_if_odd(uint64_t magnitude, int fraction) {
  return ((uint64_t)1 << (fraction - 1)) - 1 + (magnitude >> fraction & 1);
}
double metate_number_trunc_f64(double value) {
  return whole_f64(value, (uint64_t)1023 << 52, add_nothing);
}
double metate_number_round_f64(double value) {
  return whole_f64(value, (uint64_t)1022 << 52, add_half);
}
double metate_number_roundeven_f64(double value) {
  return whole_f64(value, ((uint64_t)1022 << 52) + 1, add_half_if_odd);
}

/* The bits of an f16; the machine's smallest subnormal one is 2^-24. */
uint16_t metate_number_f16_of_f32(float value) {
  uint32_t bits = bits_of_f32(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  uint32_t shift = 126 - (magnitude >> 23); /* of a mantissa, until its unit is 2^-24 */
  shift = shift < 31 ? shift : 31;
  uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000, below = ((uint32_t)1 << shift) - 1;
  uint32_t small = (mantissa + (below >> 1) + (mantissa >> shift & 1)) >> shift;
  uint32_t finite = magnitude < 0x38800000 ? small : normal;
  uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
  return (uint16_t)(sign | (magnitude >= 0x477ff000 ? special : finite));
}

/* The bits of a bf16. */
uint16_t metate_number_bf16_of_f32(float value) {
  uint32_t bits = bits_of_f32(value), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

/* Rounded to odd, which keeps what a second rounding needs to know (Boldo and Melquiond, 2008). In whichever direction the machine
 * rounds. */
INLINE float odd_of_f64(double value) {
  float near = (float)value;
  double back = near;
  uint32_t bits = bits_of_f32(near);
  uint32_t down = (bits_of_f64(back) & INT64_MAX) > (bits_of_f64(value) & INT64_MAX);
  return back == value || value != value ? near : f32_of_bits((bits - down) | 1);
}
uint16_t metate_number_f16_of_f64(double value) {
  return metate_number_f16_of_f32(odd_of_f64(value));
}
uint16_t metate_number_bf16_of_f64(double value) {
  return metate_number_bf16_of_f32(odd_of_f64(value));
}
