/* Checked launches: as runtime/kernel/arguments.cpp, alias.cpp and launch.cpp, by status alone. Strides fall from dimension to
 * dimension here, each beyond what the later ones reach. */
#include "core/core.h"
#include "metate/protocol/block.h"

/* A scalar as its slot holds it (abi/metate/abi/kernel.h). */
static uint64_t extended(uint32_t dtype, uint64_t bits) {
  switch (dtype) {
  case METATE_U1:
    return (bits & 0xff) != 0;
  case METATE_I8:
    return (uint64_t)(int64_t)(int8_t)bits;
  case METATE_I16:
    return (uint64_t)(int64_t)(int16_t)bits;
  case METATE_I32:
    return (uint64_t)(int64_t)(int32_t)bits;
  default: {
    uint32_t bytes = metate_core_dtype_bytes(dtype);
    return bytes < 8 ? bits & ((1ull << 8 * bytes) - 1) : bits;
  }
  }
}

static metate_status pack_vector(const metate_argument_info *info,
                                 const metate_core_argument *given, metate_slot *slots) {
  uint32_t bytes = metate_core_dtype_bytes(info->dtype);
  if (!given->data)
    return METATE_E_NULL;
  for (uint32_t k = 0; k < info->slot_count; ++k) {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, (const char *)given->data + (uint64_t)k * bytes, bytes);
    slots[k].u = extended(info->dtype, bits);
  }
  return METATE_OK;
}

static metate_status pack_array(const metate_argument_info *info, const metate_core_argument *given,
                                metate_slot *slots) {
  uint64_t bytes = metate_core_dtype_bytes(info->dtype), all = bytes, last = 0;
  int is_empty = 0;
  if (given->rank != info->rank)
    return METATE_E_TYPE_MISMATCH;
  if (info->rank && !given->shape)
    return METATE_E_NULL;
  int64_t dense = 1, reach = 1;
  for (uint32_t k = info->rank; k-- > 0;) {
    int64_t extent = given->shape[k], stride = given->strides ? given->strides[k] : dense, step;
    if (info->fixed[k] >= 0 && extent != info->fixed[k])
      return METATE_E_INVALID_ARGUMENT;
    if (extent < 0 || (info->fixed[k] == -1 && extent > metate_largest_extent(info)) ||
        __builtin_mul_overflow(all, extent ? (uint64_t)extent : 1, &all) || all > INT64_MAX)
      return METATE_E_OUT_OF_RANGE;
    is_empty |= extent == 0;
    if ((info->flags & METATE_ARGUMENT_CONTIGUOUS) && stride != dense && extent > 1)
      return METATE_E_INVALID_ARGUMENT;
    if (given->strides && extent > 1) {
      if (stride < reach || __builtin_mul_overflow(extent - 1, stride, &step) ||
          __builtin_add_overflow(reach, step, &reach))
        return stride < reach ? METATE_E_ALIAS : METATE_E_OUT_OF_RANGE;
    }
    last += extent ? (uint64_t)(extent - 1) * (uint64_t)stride : 0;
    slots[1 + k].i = extent;
    slots[1 + info->rank + k].i = stride;
    dense *= extent;
  }
  if (!given->data && !is_empty)
    return METATE_E_NULL;
  if ((uintptr_t)given->data % bytes)
    return METATE_E_MISALIGNED;
  if (!is_empty &&
      (last >= UINTPTR_MAX / bytes || last * bytes > UINTPTR_MAX - (uintptr_t)given->data))
    return METATE_E_OUT_OF_RANGE;
  slots[0].u = (uintptr_t)given->data;
  return METATE_OK;
}

static metate_status pack_tree(const metate_tree_type *type, const metate_core_argument *given,
                               metate_slot *slots) {
  const metate_tree_header *header = given->data;
  if (!header)
    return METATE_E_NULL;
  if ((uintptr_t)header % METATE_BLOCK_ALIGN)
    return METATE_E_MISALIGNED;
  if (header->magic != METATE_TREE_MAGIC || header->abi_version != METATE_ABI_VERSION)
    return METATE_E_INVALID_ARGUMENT;
  if (header->type_hash[0] != type->hash[0] || header->type_hash[1] != type->hash[1])
    return METATE_E_TYPE_MISMATCH;
  slots[0].u = (uintptr_t)header;
  return METATE_OK;
}

static metate_status pack(const metate_core *core, const metate_argument_info *info,
                          const metate_core_argument *given, metate_slot *slots) {
  if (given->kind != info->kind ||
      (info->kind != METATE_ARGUMENT_TREE && given->dtype != info->dtype))
    return METATE_E_TYPE_MISMATCH;
  switch (info->kind) {
  case METATE_ARGUMENT_SCALAR:
    slots[0].u = extended(info->dtype, given->bits);
    return METATE_OK;
  case METATE_ARGUMENT_VECTOR:
    return pack_vector(info, given, slots);
  case METATE_ARGUMENT_NDARRAY:
    return pack_array(info, given, slots);
  default:
    return pack_tree(metate_core_type(core, info->type), given, slots);
  }
}

/* Bytes that an argument may touch: [begin, end), of packed slots. */
static void extent_of(const metate_argument_info *info, const metate_slot *slots, uint64_t *begin,
                      uint64_t *end) {
  uint64_t last = 0;
  *begin = *end = 0;
  if (info->kind == METATE_ARGUMENT_TREE) {
    *begin = slots[0].u;
    *end = *begin + ((const metate_tree_header *)(uintptr_t)slots[0].u)->bytes;
  } else if (info->kind == METATE_ARGUMENT_NDARRAY) {
    for (uint32_t k = 0; k < info->rank; ++k) {
      if (!slots[1 + k].u)
        return;
      last += (slots[1 + k].u - 1) * slots[1 + info->rank + k].u;
    }
    *begin = slots[0].u;
    *end = *begin + (last + 1) * metate_core_dtype_bytes(info->dtype);
  }
}

/* Does an argument that is written share memory with another one? */
static metate_status check_alias(metate_core *core, uint32_t kernel, uint32_t count,
                                 const metate_slot *slots) {
  for (uint32_t i = 0; i < count; ++i) {
    const metate_argument_info *one = metate_core_argument_info(core, kernel, i);
    uint64_t begin, end;
    extent_of(one, &slots[one->first_slot], &begin, &end);
    for (uint32_t j = 0; j < count; ++j) {
      const metate_argument_info *other = metate_core_argument_info(core, kernel, j);
      uint64_t from, to;
      if (i == j || !(one->access & (METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE)))
        continue;
      extent_of(other, &slots[other->first_slot], &from, &to);
      if (begin < to && from < end) {
        core->refused = i;
        return METATE_E_ALIAS;
      }
    }
  }
  return METATE_OK;
}

metate_status metate_core_pack(metate_core *core, uint32_t kernel,
                               const metate_core_argument *arguments, uint32_t count,
                               metate_slot *slots) {
  const metate_kernel_info *info = metate_core_kernel(core, kernel);
  core->refused = METATE_NONE;
  if (!info)
    return METATE_E_NOT_FOUND;
  if (count != info->argument_count)
    return METATE_E_INVALID_ARGUMENT;
  if ((count && !arguments) || (info->slot_count && !slots))
    return METATE_E_NULL;
  for (uint32_t k = 0; k < count; ++k) {
    const metate_argument_info *argument = metate_core_argument_info(core, kernel, k);
    metate_status status = pack(core, argument, &arguments[k], &slots[argument->first_slot]);
    if (status != METATE_OK) {
      core->refused = k;
      return status;
    }
  }
  return info->flags & METATE_KERNEL_NO_ALIAS ? check_alias(core, kernel, count, slots) : METATE_OK;
}

uint64_t metate_core_pool_bytes(const metate_core *core, uint32_t kernel, uint32_t pool,
                                const metate_slot *slots, uint32_t workers) {
  const metate_kernel_info *info = metate_core_kernel(core, kernel);
  const char *table = (const char *)core->descriptor + core->descriptor->pools.offset;
  if (!info || pool >= info->pool_count)
    return 0;
  return metate_pool_total((const metate_pool_info *)(const void *)table + info->first_pool + pool,
                           slots, workers ? workers : 1);
}

metate_status metate_core_launch(metate_core *core, uint32_t kernel,
                                 const metate_core_argument *arguments, uint32_t count,
                                 metate_slot *slots, void *const *pools, const metate_host *host) {
  metate_status status = metate_core_pack(core, kernel, arguments, count, slots);
  if (status != METATE_OK)
    return status;
  const metate_kernel_info *info = metate_core_kernel(core, kernel);
  const char *table = (const char *)core->descriptor + core->descriptor->pools.offset;
  const metate_pool_info *planned =
      (const metate_pool_info *)(const void *)table + info->first_pool;
  for (uint32_t k = 0; k < info->pool_count; ++k) {
    if (!pools || !pools[k])
      return METATE_E_NULL;
    if ((uintptr_t)pools[k] % planned[k].align)
      return METATE_E_MISALIGNED;
  }
  for (uint32_t k = 0; k < count; ++k)
    if (metate_core_argument_info(core, kernel, k)->access & METATE_ACCESS_ACTIVATE)
      metate_block_clear_status(arguments[k].data);
  return (metate_status)core->entries[kernel](slots, pools, host);
}
