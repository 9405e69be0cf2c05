/* Do two packed arguments overlap? As runtime/kernel/alias.cpp answers it, over slots. Nothing wraps, which Packed.c has checked. */
#ifndef METATE_MODULE_SUPPORT_ALIAS_H
#define METATE_MODULE_SUPPORT_ALIAS_H

#include "metate/Module/Support/Numbers.h"
#include "metate/Module/Support/Strides.h"
#include "metate/Module/Support/Support.h"

typedef struct extent {
  uint64_t begin, end; /* equal: no byte */
} extent;

static inline extent extent_of(const metate_argument_info *info, const metate_slot *own) {
  extent result = {0, 0};
  if (info->kind == METATE_ARGUMENT_TREE) {
    result.begin = own[0].u;
    result.end = own[0].u + ((const metate_tree_header *)own[0].p)->bytes;
  } else if (info->kind == METATE_ARGUMENT_NDARRAY) {
    span reach;
    for (uint32_t k = 0; k < info->rank; ++k)
      if (own[1 + k].u == 0)
        return result;
    span_of(info->rank, &own[1].i, &own[1 + info->rank].i, &reach);
    int64_t bytes = number_of(info->dtype)->bits / 8;
    result.begin = own[0].u + (uint64_t)(reach.below * bytes);
    result.end = own[0].u + (uint64_t)((reach.above + 1) * bytes);
  }
  return result;
}

/* Bytes from one element to the next along a dimension, either way. */
static inline uint64_t step_of(const metate_argument_info *info, const metate_slot *own,
                               uint32_t k) {
  return magnitude(own[1 + info->rank + k].i) * (number_of(info->dtype)->bits / 8u);
}

/* Bytes that an array has in each period of memory; 0 where they leave their period. */
static inline uint64_t run_in(const metate_argument_info *info, const metate_slot *own,
                              uint64_t period, uint64_t at) {
  uint64_t bytes = number_of(info->dtype)->bits / 8u, run = bytes;
  for (uint32_t k = 0; k < info->rank; ++k) {
    uint64_t step = step_of(info, own, k), reach;
    if (own[1 + k].u < 2 || step % period == 0)
      continue;
    if (metate_times(own[1 + k].u - 1, step, &reach) || metate_plus(run, reach, &run))
      return 0;
  }
  return run <= period - at ? run : 0;
}

/* Do they lie between each other's elements, as the members of an array of structs do? */
static inline int are_interleaved(const metate_argument_info *one, const metate_slot *own,
                                  const metate_argument_info *other, const metate_slot *others) {
  if (one->kind != METATE_ARGUMENT_NDARRAY || other->kind != METATE_ARGUMENT_NDARRAY)
    return 0;
  uint64_t begin = extent_of(one, own).begin, beside = extent_of(other, others).begin;
  uint64_t lowest = begin < beside ? begin : beside;
  for (int turn = 0; turn < 2; ++turn) {
    const metate_argument_info *info = turn ? other : one;
    const metate_slot *slots = turn ? others : own;
    for (uint32_t k = 0; k < info->rank; ++k) {
      uint64_t period = step_of(info, slots, k);
      if (slots[1 + k].u < 2 || period == 0)
        continue;
      uint64_t first = (begin - lowest) % period, second = (beside - lowest) % period;
      uint64_t run = run_in(one, own, period, first), next = run_in(other, others, period, second);
      if (run && next && (first + run <= second || second + next <= first))
        return 1;
    }
  }
  return 0;
}

static inline int do_overlap(const metate_argument_info *one, const metate_slot *own,
                             const metate_argument_info *other, const metate_slot *others) {
  extent a = extent_of(one, own), b = extent_of(other, others);
  return a.begin < b.end && b.begin < a.end && !are_interleaved(one, own, other, others);
}

#endif
