/* What is CUDA's own of a grid: the numbers of an invocation, and how a warp combines its partial results. */
#include "metate/protocol/machine.h"

uint64_t metate_grid_invocation(void) {
  return (uint64_t)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}

uint64_t metate_grid_invocations(void) {
  return (uint64_t)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}

/* Begins when all invocations of the workgroup are here. */
__attribute__((always_inline, convergent)) uint32_t metate_grid_phase(uint32_t phase) {
  if (phase)
    __syncthreads();
  return 1;
}

/* The number of the invocation at a distance, of `share` that are side by side and all here. */
__attribute__((always_inline, convergent)) uint32_t metate_grid_across_i32(uint32_t value,
                                                                           uint32_t distance,
                                                                           uint32_t share) {
  uint32_t first = __nvvm_read_ptx_sreg_laneid() & ~(share - 1);
  uint32_t mask = share == 32 ? ~0u : ((1u << share) - 1) << first;
  return (uint32_t)__nvvm_shfl_sync_bfly_i32(mask, (int32_t)value, (int32_t)distance, 31);
}
__attribute__((always_inline, convergent)) uint64_t metate_grid_across_i64(uint64_t value,
                                                                           uint32_t distance,
                                                                           uint32_t share) {
  uint64_t low = metate_grid_across_i32((uint32_t)value, distance, share);
  return low | (uint64_t)metate_grid_across_i32((uint32_t)(value >> 32), distance, share) << 32;
}

/* The value of the invocation that is `distance` further in the warp. */
#define METATE_WORDS(type) (sizeof(type) / 4)
#define METATE_FURTHER(type, value, distance)                                                      \
  __extension__({                                                                                  \
    int32_t words[METATE_WORDS(type)];                                                             \
    type moved;                                                                                    \
    __builtin_memcpy(words, &value, sizeof moved);                                                 \
    for (uint32_t w = 0; w < METATE_WORDS(type); ++w)                                              \
      words[w] = __nvvm_shfl_sync_down_i32(~0u, words[w], distance, 31);                           \
    __builtin_memcpy(&moved, words, sizeof moved);                                                 \
    moved;                                                                                         \
  })

/* Are all invocations of the warp here, with the same place? Being here together is not enough: some may have come from another call,
 * with another place, while others were on their way. */
static __attribute__((always_inline, convergent)) int are_together(const void *at) {
  if (__nvvm_activemask() != ~0u)
    return 0;
  uint64_t own = (uint64_t)at;
  uint64_t low = (uint32_t)__nvvm_shfl_sync_idx_i32(~0u, (int32_t)own, 0, 31);
  uint64_t high = (uint32_t)__nvvm_shfl_sync_idx_i32(~0u, (int32_t)(own >> 32), 0, 31);
  return __nvvm_vote_all_sync(~0u, own == (low | high << 32));
}

#define METATE_IS_ADD(name) (#name[sizeof "metate_grid_reduce_" - 1] == 'a')
#define METATE_REDUCE(name, type, word, combined)                                                  \
  __attribute__((noinline, convergent)) void name(void *at, type value) {                          \
    int together = are_together(at);                                                               \
    if (together)                                                                                  \
      for (uint32_t distance = 16; distance; distance /= 2) {                                      \
        type old = METATE_FURTHER(type, value, distance);                                          \
        value = combined;                                                                          \
      }                                                                                            \
    if (!together || __nvvm_read_ptx_sreg_laneid() == 0) {                                         \
      if (METATE_IS_ADD(name))                                                                     \
        __scoped_atomic_fetch_add((METATE_BLOCK type *)at, value, __ATOMIC_RELAXED,                \
                                  __MEMORY_SCOPE_DEVICE);                                          \
      else                                                                                         \
        METATE_COMBINE_AT(type, word, at, value, combined);                                        \
    }                                                                                              \
    if (together)                                                                                  \
      __nvvm_bar_warp_sync(~0u);                                                                   \
  }
#include "metate/Target/Grid/Support/Reduce.h"
