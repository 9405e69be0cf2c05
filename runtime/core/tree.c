/* Trees in the caller's memory: as runtime/tree/bind.cpp, by status alone. */
#include "core/core.h"
#include "metate/protocol/block.h"

uint64_t metate_core_type_bytes(const metate_tree_type *type, uint32_t workers) {
  return metate_block_bytes(type, workers ? workers : 1);
}

metate_status metate_core_tree_reset(const metate_tree_type *type, uint32_t workers, void *block,
                                     uint64_t bytes) {
  if (!type)
    return METATE_E_NULL;
  return (metate_status)metate_block_reset(type, workers ? workers : 1, block, bytes);
}

/* Constants of a pool are what they follow from, counters are possible. */
static int is_pool_sound(const metate_pool *pool, const metate_block_pool *layout) {
  return pool->capacity && pool->meta_offset == layout->meta &&
         pool->slots_offset == layout->slots && pool->physical == layout->physical &&
         pool->table_offset == layout->table && pool->table_buckets == layout->buckets &&
         pool->high_water <= pool->physical && pool->used <= pool->high_water && !pool->pending &&
         !pool->tombs && pool->orphans == pool->orphans_seen &&
         (uint32_t)pool->free_head <= pool->high_water;
}

metate_status metate_core_tree_bind(const metate_tree_type *type, const void *block,
                                    uint64_t bytes) {
  const metate_tree_header *header = block;
  if (!type || !block)
    return METATE_E_NULL;
  if ((uintptr_t)block % METATE_BLOCK_ALIGN)
    return METATE_E_MISALIGNED;
  if (bytes < sizeof *header)
    return METATE_E_TOO_SMALL;
  if (header->magic != METATE_TREE_MAGIC)
    return METATE_E_CORRUPT;
  if (header->abi_version != METATE_ABI_VERSION)
    return METATE_E_VERSION;
  if (header->type_hash[0] != type->hash[0] || header->type_hash[1] != type->hash[1])
    return METATE_E_TYPE_MISMATCH;
  if (bytes < header->bytes)
    return METATE_E_TOO_SMALL;
  uint64_t root = metate_block_root(type), at = metate_block_aligned(root + type->root_bytes);
  if (header->pool_count != type->pool_count || header->root_offset != root || at > header->bytes ||
      !header->workers || !header->epoch ||
      (header->status != METATE_OK && header->status != METATE_E_CAPACITY))
    return METATE_E_CORRUPT;
  for (uint32_t k = 0; k < type->level_count; ++k) {
    const metate_level *level = &metate_block_levels(type)[k];
    metate_block_pool layout;
    if (level->pool == METATE_NONE)
      continue;
    const metate_pool *pool = (const metate_pool *)(header + 1) + level->pool;
    if (!metate_block_lay_out(level, header->workers, pool->capacity, &at, &layout) ||
        at > header->bytes || !is_pool_sound(pool, &layout))
      return METATE_E_CORRUPT;
  }
  return at == header->bytes ? METATE_OK : METATE_E_CORRUPT;
}
