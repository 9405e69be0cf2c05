/* Checked launches: as runtime/kernel/arguments.cpp, alias.cpp and launch.cpp, by status alone; array.c does arrays. */
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

static const metate_dim_info *dims_of(const metate_core *core, uint32_t kernel) {
  const char *table = (const char *)core->descriptor + core->descriptor->dims.offset;
  return (const metate_dim_info *)(const void *)table + metate_core_kernel(core, kernel)->first_dim;
}

static metate_status pack(const metate_core *core, uint32_t kernel,
                          const metate_argument_info *info, const metate_core_argument *given,
                          metate_slot *all) {
  metate_slot *slots = all + info->first_slot;
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
    return metate_core_pack_array(info, given, dims_of(core, kernel), all);
  default:
    return pack_tree(metate_core_type(core, info->type), given, slots);
  }
}

/* Does an argument that is written share memory with another one? */
static metate_status check_alias(metate_core *core, uint32_t kernel, uint32_t count,
                                 const metate_slot *slots) {
  for (uint32_t i = 0; i < count; ++i) {
    const metate_argument_info *one = metate_core_argument_info(core, kernel, i);
    uint64_t begin, end;
    metate_core_extent_of(one, &slots[one->first_slot], &begin, &end);
    for (uint32_t j = 0; j < count; ++j) {
      const metate_argument_info *other = metate_core_argument_info(core, kernel, j);
      uint64_t from, to;
      if (i == j || !(one->access & (METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE)))
        continue;
      metate_core_extent_of(other, &slots[other->first_slot], &from, &to);
      if (begin < to && from < end &&
          !metate_core_are_interleaved(one, &slots[one->first_slot], other,
                                       &slots[other->first_slot])) {
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
    metate_status status = pack(core, kernel, argument, &arguments[k], slots);
    if (status != METATE_OK) {
      core->refused = k;
      return status;
    }
  }
  return info->flags & METATE_KERNEL_NO_ALIAS ? check_alias(core, kernel, count, slots) : METATE_OK;
}

const metate_dim_info *metate_core_dim_info(const metate_core *core, uint32_t kernel,
                                            uint32_t dim) {
  const metate_kernel_info *info = metate_core_kernel(core, kernel);
  uint32_t count = core->descriptor->dims.count;
  if (!info || dim >= count || info->first_dim >= count - dim)
    return NULL;
  const metate_dim_info *found = dims_of(core, kernel) + dim;
  return found->kernel == kernel ? found : NULL;
}

static const metate_pool_info *pools_of(const metate_core *core) {
  const char *table = (const char *)core->descriptor + core->descriptor->pools.offset;
  return (const metate_pool_info *)(const void *)table;
}

const char *metate_core_pool_memory(const metate_core *core, uint32_t kernel, uint32_t pool) {
  const metate_kernel_info *info = metate_core_kernel(core, kernel);
  metate_table table = core->descriptor->places;
  const metate_place_info *places = (const void *)((const char *)core->descriptor + table.offset);
  for (uint32_t k = 0; info && pool < info->pool_count && k < table.count; ++k)
    if (places[k].pool == info->first_pool + pool)
      return metate_core_text(core, places[k].memory);
  return "";
}

uint64_t metate_core_pool_bytes(const metate_core *core, uint32_t kernel, uint32_t pool,
                                const metate_slot *slots, uint32_t workers) {
  const metate_kernel_info *info = metate_core_kernel(core, kernel);
  if (!info || pool >= info->pool_count)
    return 0;
  return metate_pool_total(pools_of(core) + info->first_pool + pool, slots, workers ? workers : 1);
}

metate_status metate_core_launch(metate_core *core, uint32_t kernel,
                                 const metate_core_argument *arguments, uint32_t count,
                                 metate_slot *slots, void *const *pools, const metate_host *host) {
  metate_status status = metate_core_pack(core, kernel, arguments, count, slots);
  if (status != METATE_OK)
    return status;
  const metate_kernel_info *info = metate_core_kernel(core, kernel);
  const metate_pool_info *planned = pools_of(core) + info->first_pool;
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
