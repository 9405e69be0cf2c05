/* Strides of a packed array, in any order and direction: what runtime/kernel/arguments.cpp asks of them, over slots. */
#ifndef METATE_MODULE_SUPPORT_STRIDES_H
#define METATE_MODULE_SUPPORT_STRIDES_H

#include "metate/Module/Support/Support.h"

/* As far from an array's first element as its dimensions lead, in elements: below it, and above. */
typedef struct span {
  int64_t below, above;
} span;

static inline uint64_t magnitude(int64_t stride) {
  return stride < 0 ? (uint64_t)0 - (uint64_t)stride : (uint64_t)stride;
}

/* Does it fit? */
static inline int span_of(uint32_t rank, const int64_t *shape, const int64_t *strides,
                          span *found) {
  int wraps = 0;
  uint64_t below = 0, above = 0;
  for (uint32_t k = 0; k < rank; ++k) {
    uint64_t reach = 0, *side = strides[k] < 0 ? &below : &above;
    wraps |= shape[k] && metate_times((uint64_t)shape[k] - 1, magnitude(strides[k]), &reach);
    wraps |= metate_plus(*side, reach, side);
  }
  wraps |= below > INT64_MAX || above > INT64_MAX;
  found->below = wraps ? 0 : -(int64_t)below;
  found->above = wraps ? 0 : (int64_t)above;
  return !wraps;
}

/* Does an element lie where addresses wrap around? */
static inline int leads_outside(uint32_t rank, const int64_t *shape, const int64_t *strides,
                                int64_t bytes, uint64_t start) {
  span found;
  int is_empty = 0;
  for (uint32_t k = 0; k < rank; ++k)
    is_empty |= shape[k] == 0;
  if (!span_of(rank, shape, strides, &found) || found.below < INT64_MIN / bytes ||
      found.above > INT64_MAX / bytes - 1)
    return 1;
  uint64_t below = (uint64_t)0 - (uint64_t)(found.below * bytes),
           above = (uint64_t)((found.above + 1) * bytes);
  return !is_empty && (start < below || above > UINTPTR_MAX - start);
}

/* Can two indices lead to one element? Iterations own the elements that they index. In the order of their strides, each dimension
 * must step over all that the smaller ones reach. */
static inline int may_repeat(uint32_t rank, const int64_t *shape, const int64_t *strides) {
  uint64_t steps[METATE_MAX_RANK], extents[METATE_MAX_RANK], reach = 0;
  uint32_t used = 0;
  for (uint32_t k = 0; k < rank; ++k) {
    if (shape[k] == 0)
      return 0;
    if (shape[k] == 1)
      continue;
    uint64_t step = magnitude(strides[k]);
    uint32_t at = used++;
    for (; at > 0 && steps[at - 1] > step; --at) {
      steps[at] = steps[at - 1];
      extents[at] = extents[at - 1];
    }
    steps[at] = step;
    extents[at] = (uint64_t)shape[k];
  }
  for (uint32_t k = 0; k < used; ++k) {
    uint64_t more;
    if (reach >= steps[k] || metate_times(extents[k] - 1, steps[k], &more) ||
        metate_plus(reach, more, &reach))
      return 1;
  }
  return 0;
}

#endif
