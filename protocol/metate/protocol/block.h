/* A tree's block as it begins: its size and its first bytes (abi/metate/abi/tree.h), with the capacities that memory allows. libmetate
 * lays blocks out with capacities that hosts choose (runtime/type/size.cpp); tests hold both to the same bytes. */
#ifndef METATE_PROTOCOL_BLOCK_H
#define METATE_PROTOCOL_BLOCK_H

#include "metate/protocol/tree.h"

typedef struct metate_block_pool {
  uint64_t capacity, physical, meta, slots, table, buckets;
} metate_block_pool;

METATE_VIEW_FUNCTION const metate_level *metate_block_levels(const metate_tree_type *type) {
  return (const metate_level *)(type + 1);
}

METATE_VIEW_FUNCTION uint64_t metate_block_aligned(uint64_t value) {
  return (value + METATE_BLOCK_ALIGN - 1) / METATE_BLOCK_ALIGN * METATE_BLOCK_ALIGN;
}

/* value = value * factor + addend; 0 where that leaves 63 bits. */
METATE_VIEW_FUNCTION int metate_block_grow(uint64_t *value, uint64_t factor, uint64_t addend) {
  return !__builtin_mul_overflow(*value, factor, value) &&
         !__builtin_add_overflow(*value, addend, value) && *value <= INT64_MAX;
}

/* Throughout: `workers` of them may activate cells at once, and each pool has so many slots to spare. */

/* Slots of a pool whose bytes, with all that belongs to it, are at most `budget`. */
METATE_VIEW_FUNCTION uint64_t metate_block_slots_within(const metate_level *level, uint32_t workers,
                                                        uint64_t budget) {
  uint64_t records = workers + 1ull;
  uint64_t cells = workers + (level->flags & METATE_LEVEL_AMBIENT ? 1ull : 0);
  uint64_t table = level->kind == METATE_LEVEL_HASH ? 16 : 0; /* at most, for each slot */
  uint64_t fixed = records * (metate_record_bytes(level) + table) + cells * level->slot_bytes +
                   (table ? 3 : 2) * METATE_BLOCK_ALIGN;
  return budget < fixed
             ? 0
             : (budget - fixed) / (level->slot_bytes + metate_record_bytes(level) + table);
}

/* Links of one container. */
METATE_VIEW_FUNCTION uint64_t metate_block_links(const metate_level *level) {
  return level->kind == METATE_LEVEL_DYNAMIC ? metate_view_chunks(level) : level->cells;
}

/* Slots of a pool: what its parents can link, as far as `budget` bytes for each pool allow. */
METATE_VIEW_FUNCTION uint64_t metate_block_slots(const metate_tree_type *type, uint32_t at,
                                                 uint32_t workers, uint64_t budget) {
  const metate_level *levels = metate_block_levels(type);
  uint64_t limit = UINT32_MAX - 1ull - workers;
  uint64_t within =
      budget == UINT64_MAX ? limit : metate_block_slots_within(&levels[at], workers, budget);
  uint64_t links = metate_block_links(&levels[at]);
  if (within < limit)
    limit = within;
  if (levels[at].kind == METATE_LEVEL_HASH) { /* any number: as many as anybody asks for */
    uint64_t most = METATE_DEFAULT_HASH_SLOTS - 1ull - workers;
    return most < limit ? most : limit;
  }
  for (uint32_t up = levels[at].parent; up != METATE_NONE; up = levels[up].parent) {
    int pooled = levels[up].pool != METATE_NONE;
    if (!metate_block_grow(
            &links, pooled ? metate_block_slots(type, up, workers, budget) : levels[up].cells, 0) ||
        (pooled && !metate_block_grow(&links, levels[up].slot_cells, 0)))
      return limit;
    if (pooled)
      break;
  }
  return links < limit ? links : limit;
}

/* Lays a pool of so many slots out behind `*at`; 0 where the block gets too large. */
METATE_VIEW_FUNCTION int metate_block_lay_out(const metate_level *level, uint32_t workers,
                                              uint64_t capacity, uint64_t *at,
                                              metate_block_pool *pool) {
  uint64_t ambient = level->flags & METATE_LEVEL_AMBIENT ? 1 : 0;
  pool->capacity = capacity;
  pool->physical = capacity + workers;
  pool->meta = *at;
  uint64_t records = pool->physical + 1, cells = pool->physical + ambient;
  if (!metate_block_grow(&records, metate_record_bytes(level), *at) ||
      !metate_block_grow(&records, 1, METATE_BLOCK_ALIGN))
    return 0;
  *at = metate_block_aligned(records - METATE_BLOCK_ALIGN);
  /* Without an ambient slot, slot 0 is the address before slot 1. */
  pool->slots = *at - (ambient ? 0 : level->slot_bytes);
  if (!metate_block_grow(&cells, level->slot_bytes, *at) ||
      !metate_block_grow(&cells, 1, METATE_BLOCK_ALIGN))
    return 0;
  *at = metate_block_aligned(cells - METATE_BLOCK_ALIGN);
  pool->table = pool->buckets = 0;
  if (level->kind != METATE_LEVEL_HASH)
    return 1;
  pool->table = *at;
  for (pool->buckets = 1; pool->buckets < 2 * (pool->physical + 1);)
    pool->buckets *= 2;
  *at = metate_block_aligned(*at + 4 * pool->buckets);
  return 1;
}

METATE_VIEW_FUNCTION uint64_t metate_block_root(const metate_tree_type *type) {
  return metate_block_aligned(sizeof(metate_tree_header) +
                              (uint64_t)type->pool_count * sizeof(metate_pool));
}

/* Bytes of a block; 0: too large. *least: slots of its smallest pool. */
METATE_VIEW_FUNCTION uint64_t metate_block_bytes_with(const metate_tree_type *type,
                                                      uint32_t workers, uint64_t budget,
                                                      uint64_t *least) {
  uint64_t at = metate_block_aligned(metate_block_root(type) + type->root_bytes);
  *least = UINT64_MAX;
  for (uint32_t i = 0; i < type->level_count; ++i) {
    metate_block_pool pool;
    if (metate_block_levels(type)[i].pool == METATE_NONE)
      continue;
    if (!metate_block_lay_out(&metate_block_levels(type)[i], workers,
                              metate_block_slots(type, i, workers, budget), &at, &pool))
      return 0;
    if (pool.capacity < *least)
      *least = pool.capacity;
  }
  return at;
}

METATE_VIEW_FUNCTION uint64_t metate_block_bytes(const metate_tree_type *type, uint32_t workers) {
  uint64_t least;
  return metate_block_bytes_with(type, workers, UINT64_MAX, &least);
}

/* The most bytes for each pool with which the block fits into `bytes`; UINT64_MAX where it fits with
 * all the slots that it can ever link, 0 where not every pool gets one. */
METATE_VIEW_FUNCTION uint64_t metate_block_budget(const metate_tree_type *type, uint32_t workers,
                                                  uint64_t bytes) {
  uint64_t least, natural = metate_block_bytes(type, workers), low = 0, high = bytes;
  if (natural && natural <= bytes)
    return UINT64_MAX;
  while (low < high) {
    uint64_t middle = low + (high - low + 1) / 2,
             total = metate_block_bytes_with(type, workers, middle, &least);
    if (total && total <= bytes)
      low = middle;
    else
      high = middle - 1;
  }
  return metate_block_bytes_with(type, workers, low, &least) <= bytes && least > 0 &&
                 type->pool_count
             ? low
             : 0;
}

METATE_VIEW_FUNCTION void metate_block_zero(uint8_t *bytes, uint64_t count) {
  __builtin_memset(bytes, 0, count);
}

METATE_VIEW_FUNCTION int32_t metate_block_reset(const metate_tree_type *type, uint32_t workers,
                                                void *block, uint64_t bytes) {
  uint64_t root = metate_block_root(type), least;
  uint8_t *base = block;
  if (!block)
    return METATE_E_NULL;
  if ((uintptr_t)block % METATE_BLOCK_ALIGN)
    return METATE_E_MISALIGNED;
  uint64_t budget = metate_block_budget(type, workers, bytes);
  if (!budget)
    return METATE_E_TOO_SMALL;
  metate_tree_header *header = block;
  metate_view view = {base, type, NULL, NULL, 0};
  metate_block_zero(base, root + type->root_bytes);
  header->abi_version = METATE_ABI_VERSION;
  header->pool_count = type->pool_count;
  header->type_hash[0] = type->hash[0];
  header->type_hash[1] = type->hash[1];
  header->bytes = metate_block_bytes_with(type, workers, budget, &least);
  header->root_offset = root;
  header->workers = workers;
  header->epoch = 1;
  header->status_level = METATE_NONE;
  header->resets = 1;
  header->topology = 1;
  uint64_t at = metate_block_aligned(root + type->root_bytes);
  for (uint32_t i = 0; i < type->level_count; ++i) {
    const metate_level *level = &metate_block_levels(type)[i];
    metate_block_pool layout;
    if (level->pool == METATE_NONE ||
        !metate_block_lay_out(&metate_block_levels(type)[i], workers,
                              metate_block_slots(type, i, workers, budget), &at, &layout))
      continue;
    metate_pool *pool = (metate_pool *)(header + 1) + level->pool;
    pool->meta_offset = layout.meta;
    pool->slots_offset = layout.slots;
    pool->capacity = (uint32_t)layout.capacity;
    pool->physical = (uint32_t)layout.physical;
    pool->table_offset = layout.table;
    pool->table_buckets = (uint32_t)layout.buckets;
    metate_block_zero(base + layout.meta, (layout.physical + 1) * metate_record_bytes(level));
    metate_block_zero(base + layout.table, layout.table ? 4 * layout.buckets : 0);
    if (!(level->flags & METATE_LEVEL_AMBIENT))
      continue;
    metate_block_zero(base + layout.slots, level->slot_bytes);
    for (uint32_t k = 0; k < level->slot_cells && !(level->flags & METATE_LEVEL_ZERO); ++k)
      metate_view_fill_cell(&view, i, base + layout.slots + k * level->cell_bytes);
  }
  metate_view_fill_cell(&view, 0, base + root);
  METATE_ATOMIC_STORE(&header->magic, METATE_TREE_MAGIC, RELEASE);
  return METATE_OK;
}

METATE_VIEW_FUNCTION void metate_block_clear_status(void *block) {
  metate_tree_header *header = block;
  METATE_ATOMIC_STORE(&header->status_needed, (uint64_t)0, RELAXED);
  METATE_ATOMIC_STORE(&header->status_level, METATE_NONE, RELAXED);
  METATE_ATOMIC_STORE(&header->status, (uint32_t)METATE_OK, RELAXED);
}

#endif
