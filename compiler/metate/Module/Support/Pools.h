/* A packed call's pools: arrays of bytes behind its arguments, for the one worker that such calls have. */
#ifndef METATE_MODULE_SUPPORT_POOLS_H
#define METATE_MODULE_SUPPORT_POOLS_H

#include "metate/Module/Support/Alias.h"
#include "metate/Module/Support/Call.h"

static void put_pool(text *to, const call *at, uint32_t index) {
  put_kernel(to, at);
  put(to, " pool '");
  put(to, string_of(at, at->pools[index].name));
  put(to, "': ");
}

static int32_t fail_pool(const call *at, uint32_t index, const char *before, uint64_t number,
                         const char *after) {
  text message = {.used = 0};
  put_pool(&message, at, index);
  put(&message, before);
  put_unsigned(&message, number);
  put(&message, after);
  return raise_error("ValueError", &message);
}

static int32_t pack_pool(const call *at, uint32_t index, const metate_ffi_any *value,
                         extent *taken) {
  const metate_pool_info *pool = &at->pools[index];
  const metate_dl_tensor *tensor = tensor_in(value);
  uint64_t wanted = metate_pool_total(pool, at->slots, 1);
  if (!tensor || tensor->ndim != 1 || tensor->code != METATE_DL_UINT || tensor->bits != 8 ||
      tensor->lanes != 1 || tensor->device_type != METATE_DL_CPU ||
      (tensor->strides && tensor->strides[0] != 1 && tensor->shape[0] > 1)) {
    text message = {.used = 0};
    put_pool(&message, at, index);
    put(&message,
        "expected a 1-dimensional array of u8 without gaps in the memory of the CPU, got ");
    put_got(&message, value);
    return raise_error("TypeError", &message);
  }
  uint64_t bytes = tensor->shape[0] < 0 ? 0 : (uint64_t)tensor->shape[0];
  if (bytes < wanted || (wanted && !tensor->data))
    return fail_pool(at, index, "expected at least ", wanted, " bytes");
  if ((uintptr_t)start_of(tensor) % pool->align)
    return fail_pool(at, index, "expected an address aligned to ", pool->align, " bytes");
  taken[index].begin = (uintptr_t)start_of(tensor);
  taken[index].end = taken[index].begin + bytes;
  return 0;
}

/* Does the pool share a byte with an argument or with a pool before it? */
static int32_t check_pool(const call *at, uint32_t index, const extent *taken) {
  const extent own = taken[index];
  for (uint32_t k = 0; k < at->kernel->argument_count; ++k) {
    extent other = extent_of(&at->infos[k], &at->slots[at->infos[k].first_slot]);
    if (own.begin < other.end && other.begin < own.end)
      return fail_pool(at, index, "it overlaps argument ", k, ": pass memory of its own");
  }
  for (uint32_t k = 0; k < index; ++k)
    if (own.begin < taken[k].end && taken[k].begin < own.end)
      return fail_pool(at, index, "it overlaps pool ", k, ": pass memory of its own");
  return 0;
}

/* `values` has one for each pool; `taken` and `places` have room for them. */
static int32_t pack_pools(const call *at, const metate_ffi_any *values, extent *taken,
                          void **places) {
  for (uint32_t k = 0; k < at->kernel->pool_count; ++k) {
    if (pack_pool(at, k, &values[k], taken) || check_pool(at, k, taken))
      return -1;
    places[k] = (void *)(uintptr_t)taken[k].begin;
  }
  return 0;
}

#endif
