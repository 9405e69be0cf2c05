/* What code generators call on WebAssembly, which has no libraries: products of 128 bits, and functions of libm that are exact. The
 * others (fma, fmaf) a module imports from its embedder. */
#ifndef METATE_MODULE_SUPPORT_LIBRARY_H
#define METATE_MODULE_SUPPORT_LIBRARY_H

#include <stdint.h>

#define METATE_LIBRARY __attribute__((weak, visibility("hidden")))

METATE_LIBRARY __int128 __multi3(__int128 a, __int128 b);
METATE_LIBRARY __int128 __multi3(__int128 a, __int128 b) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  uint64_t low = (x & UINT32_MAX) * (y & UINT32_MAX);
  uint64_t first = (x >> 32) * (y & UINT32_MAX) + (low >> 32);
  uint64_t second = (x & UINT32_MAX) * (y >> 32) + (first & UINT32_MAX);
  uint64_t high = (x >> 32) * (y >> 32) + (first >> 32) + (second >> 32);
  high += (uint64_t)((unsigned __int128)a >> 64) * y + x * (uint64_t)((unsigned __int128)b >> 64);
  return (__int128)((unsigned __int128)high << 64 | (second << 32 | (low & UINT32_MAX)));
}

/* Half away from zero: what is cut off is exact. */
#define METATE_LIBRARY_ROUND(type, name, trunc, fabs, copysign)                                    \
  METATE_LIBRARY type name(type x);                                                                \
  METATE_LIBRARY type name(type x) {                                                               \
    type whole = trunc(x);                                                                         \
    return fabs(x - whole) >= (type)0.5 ? whole + copysign((type)1, x) : whole;                    \
  }
METATE_LIBRARY_ROUND(double, round, __builtin_trunc, __builtin_fabs, __builtin_copysign)
METATE_LIBRARY_ROUND(float, roundf, __builtin_truncf, __builtin_fabsf, __builtin_copysignf)

/* Of a NaN and a number the number. */
#define METATE_LIBRARY_EXTREME(type, name, before)                                                 \
  METATE_LIBRARY type name(type x, type y);                                                        \
  METATE_LIBRARY type name(type x, type y) { return x != x || y before x ? y : x; }
METATE_LIBRARY_EXTREME(double, fmax, >)
METATE_LIBRARY_EXTREME(float, fmaxf, >)
METATE_LIBRARY_EXTREME(double, fmin, <)
METATE_LIBRARY_EXTREME(float, fminf, <)

/* The exact remainder: multiples of y by powers of two are taken off, which is exact while both have one exponent or y's is less. */
#define METATE_LIBRARY_REMAINDER(type, name, fabs, copysign)                                       \
  METATE_LIBRARY type name(type x, type y);                                                        \
  METATE_LIBRARY type name(type x, type y) {                                                       \
    type rest = fabs(x), by = fabs(y);                                                             \
    if (!(rest - rest == 0) || y != y || by == 0) /* of an infinity, a NaN, or by zero */          \
      return (x - x) / (y - y);                                                                    \
    while (rest >= by) {                                                                           \
      type step = by;                                                                              \
      while (step <= rest - step)                                                                  \
        step += step;                                                                              \
      rest -= step;                                                                                \
    }                                                                                              \
    return copysign(rest, x);                                                                      \
  }
METATE_LIBRARY_REMAINDER(double, fmod, __builtin_fabs, __builtin_copysign)
METATE_LIBRARY_REMAINDER(float, fmodf, __builtin_fabsf, __builtin_copysignf)

#endif
