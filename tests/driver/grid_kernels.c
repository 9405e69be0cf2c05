/* Tasks of kernels for devices of grids, written by hand: what a compiler would emit for METATE_GRID_OBJECT, as text for CUDA where
 * clang knows that target, and with GRID_SPIRV what becomes SPIR-V. NAME_slots says to what stands for CUDA's driver (fake_cuda.cpp) how many slots the kernel has.
 * grid_module.cpp knows the arguments. */
#include "metate/abi/grid.h"

#ifdef __NVPTX__
#define TASK(name, slot_count)                                                                     \
  static inline void name##_body(const metate_slot *slots, metate_grid_frame *frame,               \
                                 uint64_t invocation, uint64_t invocations);                       \
  typedef struct name##_arguments {                                                                \
    metate_slot slots[slot_count ? slot_count : 1];                                                \
  } name##_arguments;                                                                              \
  __attribute__((device_kernel)) void name(name##_arguments arguments, metate_grid_frame *frame) { \
    uint64_t group = (uint64_t)__nvvm_read_ptx_sreg_ntid_x();                                      \
    name##_body(arguments.slots, frame,                                                            \
                (uint64_t)__nvvm_read_ptx_sreg_ctaid_x() * group +                                 \
                    (uint64_t)__nvvm_read_ptx_sreg_tid_x(),                                        \
                (uint64_t)__nvvm_read_ptx_sreg_nctaid_x() * group);                                \
  }                                                                                                \
  static inline void name##_body(const metate_slot *slots, metate_grid_frame *frame,               \
                                 uint64_t invocation, uint64_t invocations)
#elif defined(GRID_SPIRV)
uint64_t metate_grid_invocation(void);
uint64_t metate_grid_invocations(void);
#define TASK(name, slot_count)                                                                     \
  static inline void name##_body(const metate_slot *slots, metate_grid_frame *frame,               \
                                 uint64_t invocation, uint64_t invocations);                       \
  void name(const metate_slot *slots, metate_grid_frame *frame);                                   \
  void name(const metate_slot *slots, metate_grid_frame *frame) {                                  \
    name##_body(slots, frame, metate_grid_invocation(), metate_grid_invocations());                \
  }                                                                                                \
  static inline void name##_body(const metate_slot *slots, metate_grid_frame *frame,               \
                                 uint64_t invocation, uint64_t invocations)
#else
#define TASK(name, slot_count)                                                                     \
  const uint32_t name##_slots = slot_count;                                                        \
  void name(const metate_slot *slots, metate_grid_frame *frame, uint64_t invocation,               \
            uint64_t invocations);                                                                 \
  void name(const metate_slot *slots, metate_grid_frame *frame, uint64_t invocation,               \
            uint64_t invocations)
#endif
#define UNUSED (void)slots, (void)frame, (void)invocation, (void)invocations
#define EACH(i, count) (int64_t i = (int64_t)invocation; i < (count); i += (int64_t)invocations)

/* fill(x: i32[n], value: i32) */
TASK(fill, 4) {
  (void)frame;
  for
    EACH(i, slots[1].i)((int32_t *)slots[0].p)[i * slots[2].i] = (int32_t)slots[3].i;
}

/* check(x: i32[n], y: i32[n]): stops where x is negative, else y = x */
TASK(check, 6) {
  const int32_t *x = slots[0].p;
  for
    EACH(i, slots[1].i) {
      if (x[i] >= 0)
        continue;
      uint32_t ok = METATE_OK;
      const metate_host *host = (const metate_host *)(uintptr_t)frame->host;
      metate_failure *failure = host->failure;
      if (!__atomic_compare_exchange_n(&frame->status, &ok, METATE_E_ASSERT, 0, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED))
        return;
      failure->code = METATE_E_ASSERT;
      failure->text = 0;
      failure->detail = (const char *)1; /* of the device's, if it is one */
      failure->rank = 1;
      failure->index[0] = i;
    }
}
TASK(check_copy, 6) {
  if (frame->status != METATE_OK)
    return;
  for
    EACH(i, slots[1].i)((int32_t *)slots[3].p)[i] = ((const int32_t *)slots[0].p)[i];
}

static void say_values(metate_grid_frame *frame, uint32_t statement, uint32_t count,
                       const uint64_t *values) {
  metate_grid_ring *ring = (metate_grid_ring *)(uintptr_t)frame->ring;
  if (!ring)
    return;
  uint32_t at = __atomic_fetch_add(&ring->taken, 2 + 2 * count, __ATOMIC_RELAXED);
  if (at + 2 + 2 * count > ring->words)
    return;
  uint32_t *data = (uint32_t *)(ring + 1);
  data[at] = statement;
  data[at + 1] = count;
  for (uint32_t i = 0; i < count; ++i) {
    data[at + 2 + 2 * i] = (uint32_t)values[i];
    data[at + 3 + 2 * i] = (uint32_t)(values[i] >> 32);
  }
}

/* say(x: i32[n]): prints each one, then how many there are */
TASK(say, 3) {
  for
    EACH(i, slots[1].i) {
      const uint64_t values[] = {(uint64_t)i, (uint64_t)(int64_t)((const int32_t *)slots[0].p)[i]};
      say_values(frame, 0, 2, values);
    }
  say_values(frame, 1, 1, &slots[1].u);
}

/* flood(count: i32): prints more than fits */
TASK(flood, 1) {
  UNUSED;
  for (int64_t i = 0; i < slots[0].i; ++i)
    say_values(frame, 1, 1, (const uint64_t *)&i);
}

/* total(x: i32[n], out: i64[1]): one task leaves a value for the next */
TASK(total, 6) {
  UNUSED;
  int64_t sum = 0;
  for (int64_t i = 0; i < slots[1].i; ++i)
    sum += ((const int32_t *)slots[0].p)[i];
  *(int64_t *)((char *)frame + METATE_GRID_VALUES) = sum;
}
TASK(total_put, 6) {
  UNUSED;
  *(int64_t *)slots[3].p = *(const int64_t *)((const char *)frame + METATE_GRID_VALUES);
}

/* pooled(out: u64[2]): what it has written to its pools */
TASK(pooled, 3) {
  UNUSED;
  uint64_t **pools = (uint64_t **)(uintptr_t)frame->pools;
  for (uint64_t i = 0; i < 2; ++i)
    pools[i][0] = 40 + i;
  for (uint64_t i = 0; i < 2; ++i)
    ((uint64_t *)slots[0].p)[i] = pools[i][0];
}

/* count(out: u64[2]): invocations, and how many there are of them */
TASK(count, 3) {
  (void)frame, (void)invocation;
  uint64_t *out = slots[0].p;
  __atomic_fetch_add(&out[0], 1, __ATOMIC_RELAXED);
  __atomic_store_n(&out[1], invocations, __ATOMIC_RELAXED);
}

/* stop(word: u64): the host's word is raised while the kernel runs, which then asks */
TASK(stop, 1) {
  UNUSED;
  __atomic_store_n((uint32_t *)slots[0].p, 1u, __ATOMIC_RELAXED);
}
TASK(stop_ask, 1) {
  UNUSED;
  const metate_host *host = (const metate_host *)(uintptr_t)frame->host;
  if (host->interrupt && __atomic_load_n(host->interrupt, __ATOMIC_RELAXED))
    frame->status = METATE_E_INTERRUPTED;
}

/* look(out: u64[n]): what stands in a table */
static const uint64_t table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 1ull << 40};
TASK(look, 3) {
  (void)frame;
  for
    EACH(i, slots[1].i)((uint64_t *)slots[0].p)[i] = table[i * 7 % 16];
}

/* crash(): what stands for CUDA's driver knows the name */
TASK(crash, 0) { UNUSED; }
