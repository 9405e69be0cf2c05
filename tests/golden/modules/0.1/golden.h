/* Kernels of the module 'golden', compiled by metate 0.1.0 (LLVM 22.1.8). Generated: do not edit.
 *
 * The object that was made with this header needs libm's functions (-lm) and memcpy and memset, nothing else.
 * Functions return 0, or a metate_status (metate/abi/base.h): 5 too small, 6 misaligned, 8 a
 * tree's pool is exhausted, 14 a failed assertion. They may be called from any number of threads.
 *
 * pools: NULL, or of a kernel that plans memory an address for each of its pools, which are
 * listed with it; what they hold need not be kept from one call to the next.
 * host: NULL (serial and silent), or the hooks of metate/abi/kernel.h: executor, prints,
 * where a failure is recorded. Arguments are not checked here: the packed entries and
 * libmetate's launch check them. What is written must not overlap other arguments unless a
 * kernel says that it may. */
#ifndef METATE_MODULE_GOLDEN_H
#define METATE_MODULE_GOLDEN_H

#include <stdint.h>

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
#ifdef __cplusplus
extern "C" {
#endif

struct metate_host;
union metate_slot;

#ifndef METATE_STATIC_MODULE_DEFINED
#define METATE_STATIC_MODULE_DEFINED
/* A linked module, for libmetate: metate_module_open_static(device, m.descriptor, m.bytes,
 * m.entries, m.entry_count, &module). */
struct metate_static_module {
  const void *descriptor;
  uint64_t bytes;
  int32_t (*const *entries)(const union metate_slot *slots, void *const *pools,
                            const struct metate_host *host);
  uint32_t entry_count;
  uint32_t reserved;
};
#endif
extern const struct metate_static_module golden_module;

/* Tree type 'levels': !metate.tree<#metate.pointer<"ij", [4, 4], [#metate.bitmasked<"ij", [4, 4], [#metate.place<"a" : f32>, #metate.place<"v" : vector<3xf32>>]>]>, #metate.hash<"k", [#metate.dense<"k", [8], [#metate.place<"h" : i64, background = -5 : i64>]>]>, #metate.dynamic<"l", [1000], [#metate.place<"d" : ui16>], chunk = 16>>
 * A block of it, with many slots for cells that have no bounds: so many bytes, aligned to 64. */
#define golden_levels_BYTES UINT64_C(352340480)
#define golden_levels_ALIGN 64
/* Makes `bytes` bytes of memory a fresh tree: all background, nothing active. Fewer bytes hold fewer
 * active cells. */
int32_t golden_levels_reset(void *block, uint64_t bytes);

/* Tree type 'words': !metate.tree<#metate.dense<"i", [64], [#metate.bit_struct<32, [#metate.place<"q" : !metate.quant_int<7, true, i32>>, #metate.place<"f" : !metate.quant_fixed<13, true, 2.500000e-01, f32>>]>]>, #metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<4, false, ui32>>], word = 32>>
 * A block of it, aligned to 64. */
#define golden_words_BYTES UINT64_C(448)
#define golden_words_ALIGN 64
/* Makes `bytes` bytes of memory a fresh tree: all background. */
int32_t golden_words_reset(void *block, uint64_t bytes);
/* Member 'q' (i32 in 7 bits; i < 64). */
static inline int32_t golden_words_q_get(const void *block, int64_t i) {
  const unsigned char *at = (const unsigned char *)block + 128 + i * 4;
  return (int32_t)metate_quant_extended(metate_quant_get(at, 4, 0, 7), 7);
}
static inline void golden_words_q_set(void *block, int64_t i, int32_t value) {
  unsigned char *at = (unsigned char *)block + 128 + i * 4;
  metate_quant_set(at, 4, 0, 7, (uint64_t)value);
}
/* Member 'f' (f32 in 13 bits, in steps of 0.25; i < 64). */
static inline float golden_words_f_get(const void *block, int64_t i) {
  const unsigned char *at = (const unsigned char *)block + 128 + i * 4;
  return (float)metate_quant_extended(metate_quant_get(at, 4, 7, 13), 13) * 0.25f;
}
static inline void golden_words_f_set(void *block, int64_t i, float value) {
  unsigned char *at = (unsigned char *)block + 128 + i * 4;
  metate_quant_set(at, 4, 7, 13, metate_quant_steps(metate_quant_of_f32(value * 4.0f),
      UINT64_C(0x80000000)));
}
/* Member 'b' (u32 in 4 bits without sign; j < 64). */
static inline uint32_t golden_words_b_get(const void *block, int64_t j) {
  const int64_t element = j;
  const unsigned char *at = (const unsigned char *)block + 384 + element / 8 * 4;
  return (uint32_t)metate_quant_get(at, 4, (uint32_t)(element % 8) * 4, 4);
}
static inline void golden_words_b_set(void *block, int64_t j, uint32_t value) {
  const int64_t element = j;
  unsigned char *at = (unsigned char *)block + 384 + element / 8 * 4;
  metate_quant_set(at, 4, (uint32_t)(element % 8) * 4, 4, (uint64_t)value);
}

/* Kernel 'scalars', golden_modules.py:40.
 *   Each argument as a number.
 *   a: u1, 0 or 1
 *   b: i8
 *   c: u16
 *   d: i64
 *   e: f16, as its 16 bits
 *   v: f32 vector of 3 elements
 *   m: f64 matrix of 2 x 2, row after row
 *   out: f64 array [out_shape0], row-major without gaps; written
 * Signature 0x61357378d1d3ec1d. */
int32_t golden_scalars(uint8_t a, int8_t b, uint16_t c, int64_t d, uint16_t e, const float v[3],
            const double m[4], double *out, int64_t out_shape0, void *const *pools,
            const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_scalars(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'norms', golden_modules.py:48.
 *   x: f32 array [n, 3], row-major without gaps; read
 *   y: f32 array [n], row-major without gaps; written
 * Signature 0xf4222ebc56f8cba5. */
int32_t golden_norms(const float *x, int64_t n, float *y, void *const *pools,
            const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_norms(void *self, const void *arguments, int32_t count,
            void *result);
/* n: what 'norms' takes as an extent; it returns 2 for any other. */
#define golden_norms_n_MIN 1
#define golden_norms_n_MAX 4096
#define golden_norms_n_MULTIPLE 1

/* Kernel 'total', golden_modules.py:54.
 *   x: f64 array [x_shape0, x_shape1], row-major without gaps; read
 *   result: one f64; the result
 * Signature 0x759f757d1b5ce319. */
int32_t golden_total(const double *x, int64_t x_shape0, int64_t x_shape1, double *result,
            void *const *pools, const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_total(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'shift', golden_modules.py:62.
 *   points: f32 array [points_shape0, 3], row-major without gaps; read and written
 *   by: f32 vector of 3 elements
 * Signature 0x211d6d03c62c0857. */
int32_t golden_shift(float *points, int64_t points_shape0, const float by[3], void *const *pools,
            const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_shift(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'paint', golden_modules.py:68.
 *   t: block of a tree 'levels' (golden_levels_BYTES bytes); written, cells are activated
 * Signature 0x61d20612528d41cd. */
int32_t golden_paint(void *t, void *const *pools, const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_paint(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'weigh', golden_modules.py:80.
 *   t: block of a tree 'levels' (golden_levels_BYTES bytes); read
 *   out: i64 array [out_shape0], row-major without gaps; read and written
 * Signature 0x0ef68f62971109c9. */
int32_t golden_weigh(void *t, int64_t *out, int64_t out_shape0, void *const *pools,
            const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_weigh(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'pack', golden_modules.py:91.
 *   t: block of a tree 'words' (golden_words_BYTES bytes); written
 * Signature 0x02a608e5762dd807. */
int32_t golden_pack(void *t, void *const *pools, const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_pack(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'unpack', golden_modules.py:99.
 *   t: block of a tree 'words' (golden_words_BYTES bytes); read
 *   q: i32 array [q_shape0], row-major without gaps; written
 *   f: f32 array [f_shape0], row-major without gaps; written
 *   b: i32 array [b_shape0], row-major without gaps; written
 * Signature 0xf9bfbad574e3d445. */
int32_t golden_unpack(void *t, int32_t *q, int64_t q_shape0, float *f, int64_t f_shape0, int32_t *b,
            int64_t b_shape0, void *const *pools, const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_unpack(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'checked', golden_modules.py:107.
 *   x: f32 array [x_shape0], row-major without gaps; read
 * Signature 0x9294486722067ea7. */
int32_t golden_checked(const float *x, int64_t x_shape0, void *const *pools,
            const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_checked(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'said', golden_modules.py:113.
 *   k: i32
 * Signature 0x2ce56fdc91612c34. */
int32_t golden_said(int32_t k, void *const *pools, const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_said(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'energy', golden_modules.py:118.
 *   x: f32 array [x_shape0], row-major without gaps; read
 *   out: f32 array [out_shape0], row-major without gaps; read and written
 * Signature 0x0a289dcfadf493df. */
int32_t golden_energy(const float *x, int64_t x_shape0, float *out, int64_t out_shape0,
            void *const *pools, const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_energy(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'energy_grad', golden_modules.py:118. The derivative of 'energy' in reverse mode.
 *   x: f32 array [x_shape0], row-major without gaps; read
 *   out: f32 array [out_shape0], row-major without gaps; not accessed
 *   x_grad: f32 array [x_grad_shape0], from one to the next x_grad_stride0 elements of f32; read and written
 *   out_grad: f32 array [out_grad_shape0], from one to the next out_grad_stride0 elements of f32; read
 * Signature 0xb153a4f0d036fe26. */
int32_t golden_energy_grad(const float *x, int64_t x_shape0, const float *out, int64_t out_shape0,
            float *x_grad, int64_t x_grad_shape0, int64_t x_grad_stride0, const float *out_grad,
            int64_t out_grad_shape0, int64_t out_grad_stride0, void *const *pools,
            const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_energy_grad(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'energy_fwd', golden_modules.py:118. The derivative of 'energy' in forward mode.
 *   x: f32 array [x_shape0], row-major without gaps; read
 *   out: f32 array [out_shape0], row-major without gaps; read and written
 *   x_dual: f32 array [x_dual_shape0], from one to the next x_dual_stride0 elements of f32; read
 *   out_dual: f32 array [out_dual_shape0], from one to the next out_dual_stride0 elements of f32; read and written
 * Signature 0x660a13940ec16b1f. */
int32_t golden_energy_fwd(const float *x, int64_t x_shape0, float *out, int64_t out_shape0,
            const float *x_dual, int64_t x_dual_shape0, int64_t x_dual_stride0, float *out_dual,
            int64_t out_dual_shape0, int64_t out_dual_stride0, void *const *pools,
            const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_energy_fwd(void *self, const void *arguments, int32_t count,
            void *result);

/* Kernel 'binomial', golden_modules.py:123.
 *   upper: i32
 *   lower: i32
 *   result: one i64; the result
 * Signature 0xf9107d762f61d949. */
int32_t golden_binomial(int32_t upper, int32_t lower, int64_t *result, void *const *pools,
            const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked. */
int32_t __tvm_ffi_golden_binomial(void *self, const void *arguments, int32_t count,
            void *result);

/* Graph 'powers', golden_modules.py:151.
 *   x: f32 array [n], row-major without gaps; read
 *   y: f32 array [n], row-major without gaps; written
 * Signature 0x80678ce05c025eb9. */
int32_t golden_powers(const float *x, int64_t n, float *y, void *const *pools,
            const struct metate_host *host);
/* The same by tvm-ffi's calling convention (TVMFFISafeCallType), arguments checked; its pools, arrays of
 * u8, are its last arguments. */
int32_t __tvm_ffi_golden_powers(void *self, const void *arguments, int32_t count,
            void *result);
/* n: what 'powers' takes as an extent; it returns 2 for any other. */
#define golden_powers_n_MIN 1
#define golden_powers_n_MAX 4096
#define golden_powers_n_MULTIPLE 1

/* Memory that 'powers' plans: pools[k] is the address of pool k. */
#define golden_powers_POOLS 1
/* pool 0, 'intermediates' */
#define golden_powers_intermediates_BYTES ((UINT64_C(32768) + UINT64_C(0) + UINT64_C(64) - 1) / UINT64_C(64) * UINT64_C(64))
#define golden_powers_intermediates_ALIGN 64
#define golden_powers_intermediates_MEMORY "sram"
#define golden_powers_intermediates_BYTES_MAX UINT64_C(32768)

/* A kernel run by steps, by the names of its arguments, by the same convention. What is kept between
 * the calls lies in `memory`, an array of u8 that is aligned to 8 bytes: bytes(kernel) says how
 * many, open(memory, kernel), set_input(memory, name, value), run(memory),
 * get_output(memory, name), close(memory). */
int32_t __tvm_ffi_golden_session_bytes(void *self, const void *arguments, int32_t count,
            void *result);
int32_t __tvm_ffi_golden_session_open(void *self, const void *arguments, int32_t count,
            void *result);
int32_t __tvm_ffi_golden_session_set_input(void *self, const void *arguments, int32_t count,
            void *result);
int32_t __tvm_ffi_golden_session_run(void *self, const void *arguments, int32_t count,
            void *result);
int32_t __tvm_ffi_golden_session_get_output(void *self, const void *arguments, int32_t count,
            void *result);
int32_t __tvm_ffi_golden_session_close(void *self, const void *arguments, int32_t count,
            void *result);

#ifdef __cplusplus
}
#endif

#endif
