/* Error texts of bounded length, put together piece by piece, without the C library. */
#ifndef METATE_MODULE_SUPPORT_TEXT_H
#define METATE_MODULE_SUPPORT_TEXT_H

#include <stdint.h>

typedef struct text {
  char bytes[640];
  uint32_t used;
} text;

static inline void put(text *to, const char *piece) {
  while (*piece && to->used + 1 < sizeof to->bytes)
    to->bytes[to->used++] = *piece++;
  to->bytes[to->used] = 0;
}

static inline void put_unsigned(text *to, uint64_t value) {
  char digits[21];
  char *first = digits + sizeof digits - 1;
  *first = 0;
  do
    *--first = (char)('0' + value % 10);
  while (value /= 10);
  put(to, first);
}

static inline void put_signed(text *to, int64_t value) {
  if (value < 0)
    put(to, "-");
  put_unsigned(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* To six digits after the point: enough for a message. */
static inline void put_float(text *to, double value) {
  int32_t exponent = 0;
  put(to, value < 0 ? "-" : "");
  value = value < 0 ? -value : value;
  if (value != value || value > 1.7976931348623157e308) {
    put(to, value != value ? "nan" : "inf");
    return;
  }
  if (value > 0 && (value < 1e-3 || value >= 1e9)) {
    for (; value >= 10; ++exponent)
      value /= 10;
    for (; value < 1; --exponent)
      value *= 10;
  }
  uint64_t millionths = (uint64_t)(value * 1e6 + 0.5), rest = millionths % 1000000;
  put_unsigned(to, millionths / 1000000);
  put(to, ".");
  do {
    put_unsigned(to, rest / 100000);
    rest = rest % 100000 * 10;
  } while (rest);
  if (exponent) {
    put(to, "e");
    put_signed(to, exponent);
  }
}

#endif
