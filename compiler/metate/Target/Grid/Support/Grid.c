/* What a task's function of a grid calls beside the tree protocol: bitcode inside of the compiler. `metate_grid_invocation` and
 * `metate_grid_invocations` are each family's own. Must not call anything but itself: there is no library below. */
#include "metate/abi/grid.h"
#include "metate/protocol/machine.h"

#define SHARED __attribute__((noinline))

/* The first status that is not zero wins; later tasks of the launch see it. Nearly all invocations bring none. */
SHARED void metate_grid_status(void *at, int32_t status) {
  METATE_BLOCK metate_grid_frame *frame = (METATE_BLOCK metate_grid_frame *)at;
  uint32_t expected = METATE_OK;
  if (status == METATE_OK)
    return;
  METATE_ATOMIC_COMPARE_EXCHANGE(&frame->status, &expected, (uint32_t)status, 0, RELAXED, RELAXED);
}

/* `host`: the frame's own. `values`: 64 bits of each value. */
SHARED void metate_grid_put(void *host, uint32_t statement, uint32_t count,
                            const uint64_t *values) {
  METATE_BLOCK metate_grid_frame *frame =
      (METATE_BLOCK metate_grid_frame *)((uintptr_t)host - offsetof(metate_grid_frame, own));
  /* Read anew for each statement: else where nobody listens leads around all that follow, and each stands inside of the last one. */
  uint64_t address = *(volatile METATE_BLOCK uint64_t *)&frame->ring;
  METATE_BLOCK metate_grid_ring *ring = (METATE_BLOCK metate_grid_ring *)(uintptr_t)address;
  if (!address)
    return;
  uint32_t need = 2 + 2 * count;
  uint32_t at = METATE_ATOMIC_FETCH_ADD(&ring->taken, need, RELAXED);
  if (at > ring->words || need > ring->words - at)
    return;
  METATE_BLOCK uint32_t *data = (METATE_BLOCK uint32_t *)(ring + 1);
  data[at] = statement;
  data[at + 1] = count;
  for (uint32_t k = 0; k < count; ++k) {
    data[at + 2 + 2 * k] = (uint32_t)values[k];
    data[at + 3 + 2 * k] = (uint32_t)(values[k] >> 32);
  }
}

/* Combines a partial result with a place. How invocations side by side do that together is the family's. */
#ifndef __NVPTX__
#define METATE_REDUCE(name, type, word, combined)                                                  \
  SHARED void name(void *at, type value) { METATE_COMBINE_AT(type, word, at, value, combined); }
#include "metate/Target/Grid/Support/Reduce.h"
#endif

/* The remainder of a / b, with the sign of a, exact: C's fmod. Numbers are fraction * 2^exponent, the highest bit of the fraction set. */
#define METATE_FMOD(name, real, word, bits, digits)                                                \
  SHARED real name(real a, real b) {                                                               \
    const word sign = (word)1 << (bits - 1), one = (word)1 << digits;                              \
    const word infinite = ~sign & ~(one - 1);                                                      \
    word x, y;                                                                                     \
    __builtin_memcpy(&x, &a, sizeof x);                                                            \
    __builtin_memcpy(&y, &b, sizeof y);                                                            \
    word negative = x & sign;                                                                      \
    x &= ~sign;                                                                                    \
    y &= ~sign;                                                                                    \
    if (y == 0 || x >= infinite || y > infinite)                                                   \
      return (a * b) / (a * b);                                                                    \
    if (x < y)                                                                                     \
      return a;                                                                                    \
    int ex = (int)(x >> digits), ey = (int)(y >> digits);                                          \
    x = ex ? (x & (one - 1)) | one : x;                                                            \
    y = ey ? (y & (one - 1)) | one : y;                                                            \
    ex += !ex;                                                                                     \
    ey += !ey;                                                                                     \
    for (; x < one; --ex)                                                                          \
      x <<= 1;                                                                                     \
    for (; y < one; --ey)                                                                          \
      y <<= 1;                                                                                     \
    for (; ex > ey; --ex) {                                                                        \
      x -= x >= y ? y : 0;                                                                         \
      x <<= 1;                                                                                     \
    }                                                                                              \
    x -= x >= y ? y : 0;                                                                           \
    for (; x && x < one; --ex)                                                                     \
      x <<= 1;                                                                                     \
    for (; x && ex < 1; ++ex)                                                                      \
      x >>= 1;                                                                                     \
    word rest = (x < one ? x : (x & (one - 1)) | (word)ex << digits) | negative;                   \
    real result;                                                                                   \
    __builtin_memcpy(&result, &rest, sizeof result);                                               \
    return result;                                                                                 \
  }
METATE_FMOD(metate_grid_fmod_f32, float, uint32_t, 32, 23)
METATE_FMOD(metate_grid_fmod_f64, double, uint64_t, 64, 52)
