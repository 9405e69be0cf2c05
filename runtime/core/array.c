/* Arrays of a launch: as packArray of runtime/kernel/arguments.cpp and as alias.cpp, by status alone. */
#include "core/core.h"

static int64_t stride_of(const metate_core_argument *given, uint32_t k, int64_t dense) {
  return given->strides ? given->strides[k] : dense;
}

/* Extents: what the kernel asks for, no more than memory has, and what a kernel's loop variables hold. */
static metate_status check_shape(const metate_argument_info *info,
                                 const metate_core_argument *given, int *is_empty) {
  uint64_t bytes = metate_core_dtype_bytes(info->dtype), all = bytes;
  for (uint32_t k = 0; k < info->rank; ++k) {
    int64_t extent = given->shape[k];
    if (extent < 0 || (info->fixed[k] >= 0 && extent != info->fixed[k]))
      return info->fixed[k] < 0 ? METATE_E_OUT_OF_RANGE : METATE_E_INVALID_ARGUMENT;
    if ((info->fixed[k] == -1 && extent > metate_largest_extent(info)) ||
        __builtin_mul_overflow(all, extent ? (uint64_t)extent : 1, &all) || all > INT64_MAX)
      return METATE_E_OUT_OF_RANGE;
    *is_empty |= extent == 0;
  }
  if (!given->data && !*is_empty)
    return METATE_E_NULL;
  return (uintptr_t)given->data % bytes ? METATE_E_MISALIGNED : METATE_OK;
}

/* Extents with names: within their bounds, and one for all dimensions of a name. Earlier slots are packed. */
static metate_status check_dims(const metate_argument_info *info, const metate_core_argument *given,
                                const metate_dim_info *dims, metate_slot *all) {
  for (uint32_t k = 0; k < info->rank; ++k) {
    all[info->first_slot + 1 + k].i = given->shape[k];
    if (info->fixed[k] >= -1)
      continue;
    const metate_dim_info *dim = &dims[METATE_EXTENT_OF_DIM(info->fixed[k])];
    if (!metate_dim_holds(dim, given->shape[k]) || all[dim->slot].i != given->shape[k])
      return METATE_E_INVALID_ARGUMENT;
  }
  return METATE_OK;
}

/* Of a member of an array of structs: the shape of the member before it, which is packed, elements' dimensions aside. */
static metate_status check_member(const metate_argument_info *info,
                                  const metate_core_argument *given, const metate_slot *all) {
  if (!(info->flags & METATE_ARGUMENT_MEMBER))
    return METATE_OK;
  const metate_slot *before = all + info[-1].first_slot + 1;
  for (uint32_t k = 0; k < info->rank - info->element_rank; ++k)
    if (given->shape[k] != before[k].i)
      return METATE_E_INVALID_ARGUMENT;
  return METATE_OK;
}

/* No element may lie where addresses and byte offsets wrap around. */
static int is_reachable(const metate_argument_info *info, const metate_core_argument *given,
                        int is_empty) {
  int64_t bytes = metate_core_dtype_bytes(info->dtype), below = 0, above = bytes, dense = 1;
  for (uint32_t k = info->rank; k-- > 0;) {
    int64_t reach = given->shape[k] ? given->shape[k] - 1 : 0;
    if (__builtin_mul_overflow(reach, stride_of(given, k, dense), &reach) ||
        __builtin_mul_overflow(reach, bytes, &reach))
      return 0;
    int64_t *side = reach < 0 ? &below : &above;
    if (__builtin_add_overflow(*side, reach, side))
      return 0;
    dense *= given->shape[k];
  }
  uint64_t start = (uintptr_t)given->data;
  return is_empty ||
         (start >= 0 - (uint64_t)below && (uint64_t)above <= (uint64_t)UINTPTR_MAX - start);
}

static uint64_t magnitude(int64_t stride) {
  return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* Could two indices lead to one element? In the order of their strides, each dimension steps over all that the smaller ones reach. */
static int may_meet_itself(const metate_argument_info *info, const metate_core_argument *given) {
  uint64_t steps[METATE_MAX_RANK], extents[METATE_MAX_RANK], reach = 0, more;
  uint32_t rank = 0;
  for (uint32_t k = 0; k < info->rank; ++k) {
    if (given->shape[k] == 1)
      continue;
    uint64_t step = magnitude(given->strides[k]);
    uint32_t at = rank++;
    for (; at > 0 && steps[at - 1] > step; --at)
      steps[at] = steps[at - 1], extents[at] = extents[at - 1];
    steps[at] = step, extents[at] = (uint64_t)given->shape[k];
  }
  for (uint32_t k = 0; k < rank; ++k) {
    if (reach >= steps[k])
      return 1;
    if (__builtin_mul_overflow(extents[k] - 1, steps[k], &more) ||
        __builtin_add_overflow(reach, more, &reach))
      reach = UINT64_MAX;
  }
  return 0;
}

metate_status metate_core_pack_array(const metate_argument_info *info,
                                     const metate_core_argument *given, const metate_dim_info *dims,
                                     metate_slot *all) {
  metate_slot *slots = all + info->first_slot;
  int is_empty = 0;
  if (given->rank != info->rank)
    return METATE_E_TYPE_MISMATCH;
  if (info->rank && !given->shape)
    return METATE_E_NULL;
  metate_status status = check_shape(info, given, &is_empty);
  if (status == METATE_OK)
    status = check_member(info, given, all);
  if (status == METATE_OK)
    status = check_dims(info, given, dims, all);
  if (status != METATE_OK)
    return status;
  if (!is_reachable(info, given, is_empty))
    return METATE_E_OUT_OF_RANGE;
  int64_t dense = 1;
  for (uint32_t k = info->rank; k-- > 0;) {
    int64_t stride = stride_of(given, k, dense);
    /* A dimension of extent 1 is never stepped along. */
    if ((info->flags & METATE_ARGUMENT_CONTIGUOUS) && stride != dense && given->shape[k] > 1)
      return METATE_E_INVALID_ARGUMENT;
    slots[1 + k].i = given->shape[k];
    slots[1 + info->rank + k].i = stride;
    dense *= given->shape[k];
  }
  slots[0].u = (uintptr_t)given->data;
  return (info->access & METATE_ACCESS_WRITE) && given->strides && !is_empty &&
                 may_meet_itself(info, given)
             ? METATE_E_ALIAS
             : METATE_OK;
}

/* ---- do two arguments overlap? ---- */

void metate_core_extent_of(const metate_argument_info *info, const metate_slot *slots,
                           uint64_t *begin, uint64_t *end) {
  int64_t below = 0, above = 1, bytes = metate_core_dtype_bytes(info->dtype);
  *begin = *end = 0;
  if (info->kind == METATE_ARGUMENT_TREE) {
    *begin = slots[0].u;
    *end = *begin + ((const metate_tree_header *)(uintptr_t)slots[0].u)->bytes;
  }
  if (info->kind != METATE_ARGUMENT_NDARRAY)
    return;
  for (uint32_t k = 0; k < info->rank; ++k) {
    if (!slots[1 + k].i)
      return;
    int64_t reach = (slots[1 + k].i - 1) * slots[1 + info->rank + k].i;
    reach < 0 ? (below += reach) : (above += reach);
  }
  *begin = slots[0].u + (uint64_t)(below * bytes);
  *end = slots[0].u + (uint64_t)(above * bytes);
}

/* An array as one run of bytes in each period of memory, [*first, *end) of it: 0 where a run leaves its period. */
static int is_run(const metate_argument_info *info, const metate_slot *slots, uint64_t start,
                  uint64_t period, uint64_t *first, uint64_t *end) {
  uint64_t bytes = metate_core_dtype_bytes(info->dtype), more;
  *first = start % period;
  *end = *first + bytes;
  for (uint32_t k = 0; k < info->rank; ++k) {
    uint64_t step = magnitude(slots[1 + info->rank + k].i) * bytes;
    if (slots[1 + k].i > 1 && step % period != 0 &&
        (__builtin_mul_overflow(slots[1 + k].u - 1, step, &more) ||
         __builtin_add_overflow(*end, more, end)))
      return 0;
  }
  return *end <= period;
}

int metate_core_are_interleaved(const metate_argument_info *one, const metate_slot *slots,
                                const metate_argument_info *other, const metate_slot *others) {
  uint64_t begin, other_begin, end, first[2], last[2];
  if (one->kind != METATE_ARGUMENT_NDARRAY || other->kind != METATE_ARGUMENT_NDARRAY)
    return 0;
  metate_core_extent_of(one, slots, &begin, &end);
  metate_core_extent_of(other, others, &other_begin, &end);
  uint64_t lowest = begin < other_begin ? begin : other_begin;
  for (uint32_t of = 0; of < 2; ++of) { /* any stride of either may be the period of both */
    const metate_argument_info *info = of ? other : one;
    const metate_slot *own = of ? others : slots;
    for (uint32_t k = 0; k < info->rank; ++k) {
      uint64_t period = magnitude(own[1 + info->rank + k].i) * metate_core_dtype_bytes(info->dtype);
      if (own[1 + k].i > 1 && period &&
          is_run(one, slots, begin - lowest, period, &first[0], &last[0]) &&
          is_run(other, others, other_begin - lowest, period, &first[1], &last[1]) &&
          (last[0] <= first[1] || last[1] <= first[0]))
        return 1;
    }
  }
  return 0;
}
