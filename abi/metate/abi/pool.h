/* Memory that kernels plan: what a launch needs besides its arguments, for what one task leaves for another, for tiles
 * of workers, for checkpoints. It is the caller's, or comes from the device's allocator; kernels allocate nothing. */
#ifndef METATE_ABI_POOL_H
#define METATE_ABI_POOL_H

#include "metate/abi/kernel.h"
#include "metate/abi/module.h"

typedef enum metate_pool_kind {
  METATE_POOL_LAUNCH = 1, /* one for the launch */
  METATE_POOL_WORKER = 2  /* one for each worker, at multiples of its size rounded up to `align` */
} metate_pool_kind;

enum { METATE_POOL_FACTORS = 4 };

/* A kernel's pools stand together in the descriptor: either they are of all variants, or those of variant 0 stand before those of
 * variant 1, and so on. What a pool holds when a launch begins is not defined. Its size in bytes is
 *   bytes + scale * (the product of the integers in the slots `factors`; a negative one counts as 0)
 * so that it may grow with an array's extents; the slots are those of integer scalars and of extents. */
typedef struct metate_pool_info {
  uint32_t name;    /* string: what it is for; a kernel's pools have a name each */
  uint32_t kind;    /* metate_pool_kind */
  uint32_t variant; /* whose code plans it; METATE_NONE: that of every one */
  uint32_t align;   /* a power of two */
  uint64_t bytes;
  uint64_t scale;                        /* 0: the size is fixed */
  uint32_t factors[METATE_POOL_FACTORS]; /* numbers of slots; METATE_NONE behind the last */
} metate_pool_info;
METATE_STATIC_ASSERT(sizeof(metate_pool_info) == 48, "metate_pool_info is 48 bytes");

/* The memory that a pool is to lie in, by a name that the program gave and its host knows. Pools without one lie where the host
 * likes. In the order of the pools, each at most once. */
typedef struct metate_place_info {
  uint32_t pool;   /* into `pools` */
  uint32_t memory; /* string */
} metate_place_info;
METATE_STATIC_ASSERT(sizeof(metate_place_info) == 8, "metate_place_info is 8 bytes");

/* Sum and product; nonzero where 64 bits do not hold them. */
static inline int metate_plus(uint64_t a, uint64_t b, uint64_t *sum) {
  *sum = a + b;
  return *sum < a;
}
static inline int metate_times(uint64_t a, uint64_t b, uint64_t *product) {
#if defined(__GNUC__) || defined(__clang__)
  return __builtin_mul_overflow(a, b, product);
#else
  *product = a * b;
  return a != 0 && *product / a != b;
#endif
}

/* The size of one pool (of one worker's) for these arguments, rounded up to its alignment; UINT64_MAX: more than there is. */
static inline uint64_t metate_pool_bytes(const metate_pool_info *pool, const metate_slot *slots) {
  uint64_t bytes = pool->scale;
  for (uint32_t k = 0; k < METATE_POOL_FACTORS && pool->factors[k] != METATE_NONE; ++k) {
    int64_t factor = slots[pool->factors[k]].i;
    if (metate_times(bytes, factor > 0 ? (uint64_t)factor : 0, &bytes))
      return UINT64_MAX;
  }
  if (metate_plus(bytes, pool->bytes, &bytes) ||
      metate_plus(bytes, (uint64_t)pool->align - 1, &bytes) || bytes > INT64_MAX)
    return UINT64_MAX;
  return bytes & ~((uint64_t)pool->align - 1);
}

/* Of all workers together, of a worker's pool; else as metate_pool_bytes. */
static inline uint64_t metate_pool_total(const metate_pool_info *pool, const metate_slot *slots,
                                         uint32_t workers) {
  uint64_t bytes = metate_pool_bytes(pool, slots);
  if (pool->kind == METATE_POOL_WORKER && metate_times(bytes, workers, &bytes))
    return UINT64_MAX;
  return bytes;
}

/* The slots with which a kernel's pools are largest: extents as large as they may be, INT64_MAX where nothing bounds an integer.
 * `slots` has room for the kernel's; `dims` are the module's. */
static inline void metate_largest_slots(const metate_kernel_info *kernel,
                                        const metate_argument_info *arguments,
                                        const metate_dim_info *dims, metate_slot *slots) {
  for (uint32_t i = 0; i < kernel->slot_count; ++i)
    slots[i].i = INT64_MAX;
  for (uint32_t i = 0; i < kernel->argument_count; ++i)
    for (uint32_t k = 0; k < arguments[i].rank; ++k) {
      int64_t fixed = arguments[i].fixed[k];
      if (fixed < -1) {
        int64_t max = dims[kernel->first_dim + METATE_EXTENT_OF_DIM(fixed)].max;
        fixed = max == INT32_MAX ? -1 : max;
      }
      if (fixed >= 0)
        slots[arguments[i].first_slot + 1 + k].i = fixed;
    }
}

#endif
