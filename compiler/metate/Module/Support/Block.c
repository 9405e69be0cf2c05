/* Tree blocks without libmetate: their size and their first bytes (abi/metate/abi/tree.h), with the
 * capacities that memory allows. Chosen capacities, checks and access by coordinates are
 * libmetate's; tests hold both to the same bytes. */
#include "metate/Module/Support/Support.h"
#include "metate/protocol/tree.h"

typedef struct pool_layout {
  uint64_t capacity, physical, meta, slots, table, buckets;
} pool_layout;

static const metate_level *levels_of(const metate_tree_type *type) {
  return (const metate_level *)(type + 1);
}

static uint64_t aligned(uint64_t value) {
  return (value + METATE_BLOCK_ALIGN - 1) / METATE_BLOCK_ALIGN * METATE_BLOCK_ALIGN;
}

/* value = value * factor + addend; 0 where that leaves 63 bits. */
static int grow(uint64_t *value, uint64_t factor, uint64_t addend) {
  return !__builtin_mul_overflow(*value, factor, value) &&
         !__builtin_add_overflow(*value, addend, value) && *value <= INT64_MAX;
}

static uint64_t record_bytes(const metate_level *level) { return metate_record_bytes(level); }

/* Slots of a pool whose bytes, with all that belongs to it, are at most `budget`. */
static uint64_t slots_within(const metate_level *level, uint64_t budget) {
  uint64_t records = METATE_DEFAULT_WORKERS + 1ull;
  uint64_t cells = METATE_DEFAULT_WORKERS + (level->flags & METATE_LEVEL_AMBIENT ? 1ull : 0);
  uint64_t table = level->kind == METATE_LEVEL_HASH ? 16 : 0; /* at most, for each slot */
  uint64_t fixed = records * (record_bytes(level) + table) + cells * level->slot_bytes +
                   (table ? 3 : 2) * METATE_BLOCK_ALIGN;
  return budget < fixed ? 0 : (budget - fixed) / (level->slot_bytes + record_bytes(level) + table);
}

/* Links of one container. */
static uint64_t links_of(const metate_level *level) {
  return level->kind == METATE_LEVEL_DYNAMIC ? metate_view_chunks(level) : level->cells;
}

/* Slots of a pool: what its parents can link, as far as `budget` bytes for each pool allow. */
static uint64_t slots_of(const metate_tree_type *type, uint32_t at, uint64_t budget) {
  const metate_level *levels = levels_of(type);
  uint64_t limit = UINT32_MAX - 1ull - METATE_DEFAULT_WORKERS;
  uint64_t within = budget == UINT64_MAX ? limit : slots_within(&levels[at], budget);
  uint64_t links = links_of(&levels[at]);
  if (within < limit)
    limit = within;
  if (levels[at].kind == METATE_LEVEL_HASH) { /* any number: as many as anybody asks for */
    uint64_t most = METATE_DEFAULT_HASH_SLOTS - 1ull - METATE_DEFAULT_WORKERS;
    return most < limit ? most : limit;
  }
  for (uint32_t up = levels[at].parent; up != METATE_NONE; up = levels[up].parent) {
    int pooled = levels[up].pool != METATE_NONE;
    if (!grow(&links, pooled ? slots_of(type, up, budget) : levels[up].cells, 0) ||
        (pooled && !grow(&links, levels[up].slot_cells, 0)))
      return limit;
    if (pooled)
      break;
  }
  return links < limit ? links : limit;
}

/* Lays the pool of level `index` out behind `*at`; 0 where the block gets too large. */
static int lay_out(const metate_tree_type *type, uint32_t index, uint64_t budget, uint64_t *at,
                   pool_layout *pool) {
  const metate_level *level = &levels_of(type)[index];
  uint64_t ambient = level->flags & METATE_LEVEL_AMBIENT ? 1 : 0;
  pool->capacity = slots_of(type, index, budget);
  pool->physical = pool->capacity + METATE_DEFAULT_WORKERS;
  pool->meta = *at;
  uint64_t records = pool->physical + 1, cells = pool->physical + ambient;
  if (!grow(&records, record_bytes(level), *at) || !grow(&records, 1, METATE_BLOCK_ALIGN))
    return 0;
  *at = aligned(records - METATE_BLOCK_ALIGN);
  /* Without an ambient slot, slot 0 is the address before slot 1. */
  pool->slots = *at - (ambient ? 0 : level->slot_bytes);
  if (!grow(&cells, level->slot_bytes, *at) || !grow(&cells, 1, METATE_BLOCK_ALIGN))
    return 0;
  *at = aligned(cells - METATE_BLOCK_ALIGN);
  pool->table = pool->buckets = 0;
  if (level->kind != METATE_LEVEL_HASH)
    return 1;
  pool->table = *at;
  for (pool->buckets = 1; pool->buckets < 2 * (pool->physical + 1);)
    pool->buckets *= 2;
  *at = aligned(*at + 4 * pool->buckets);
  return 1;
}

static uint64_t root_offset(const metate_tree_type *type) {
  return aligned(sizeof(metate_tree_header) + (uint64_t)type->pool_count * sizeof(metate_pool));
}

/* Bytes of a block; 0: too large. *least: slots of its smallest pool. */
static uint64_t bytes_with(const metate_tree_type *type, uint64_t budget, uint64_t *least) {
  uint64_t at = aligned(root_offset(type) + type->root_bytes);
  *least = UINT64_MAX;
  for (uint32_t i = 0; i < type->level_count; ++i) {
    pool_layout pool;
    if (levels_of(type)[i].pool == METATE_NONE)
      continue;
    if (!lay_out(type, i, budget, &at, &pool))
      return 0;
    if (pool.capacity < *least)
      *least = pool.capacity;
  }
  return at;
}

uint64_t metate_support_block_bytes(const metate_tree_type *type) {
  uint64_t least;
  return bytes_with(type, UINT64_MAX, &least);
}

/* The most bytes for each pool with which the block fits into `bytes`; UINT64_MAX where it fits with
 * all the slots that it can ever link, 0 where not every pool gets one. */
static uint64_t budget_for(const metate_tree_type *type, uint64_t bytes) {
  uint64_t least, natural = metate_support_block_bytes(type), low = 0, high = bytes;
  if (natural && natural <= bytes)
    return UINT64_MAX;
  while (low < high) {
    uint64_t middle = low + (high - low + 1) / 2, total = bytes_with(type, middle, &least);
    if (total && total <= bytes)
      low = middle;
    else
      high = middle - 1;
  }
  return bytes_with(type, low, &least) <= bytes && least > 0 && type->pool_count ? low : 0;
}

static void zero(uint8_t *bytes, uint64_t count) { __builtin_memset(bytes, 0, count); }

int32_t metate_support_block_reset(const metate_tree_type *type, void *block, uint64_t bytes) {
  uint64_t root = root_offset(type), least;
  uint8_t *base = block;
  if (!block)
    return METATE_E_NULL;
  if ((uintptr_t)block % METATE_BLOCK_ALIGN)
    return METATE_E_MISALIGNED;
  uint64_t budget = budget_for(type, bytes);
  if (!budget)
    return METATE_E_TOO_SMALL;
  metate_tree_header *header = block;
  metate_view view = {base, type, NULL, NULL, 0};
  zero(base, root + type->root_bytes);
  header->abi_version = METATE_ABI_VERSION;
  header->pool_count = type->pool_count;
  header->type_hash[0] = type->hash[0];
  header->type_hash[1] = type->hash[1];
  header->bytes = bytes_with(type, budget, &least);
  header->root_offset = root;
  header->workers = METATE_DEFAULT_WORKERS;
  header->epoch = 1;
  header->status_level = METATE_NONE;
  header->resets = 1;
  header->topology = 1;
  uint64_t at = aligned(root + type->root_bytes);
  for (uint32_t i = 0; i < type->level_count; ++i) {
    const metate_level *level = &levels_of(type)[i];
    pool_layout layout;
    if (level->pool == METATE_NONE || !lay_out(type, i, budget, &at, &layout))
      continue;
    metate_pool *pool = (metate_pool *)(header + 1) + level->pool;
    pool->meta_offset = layout.meta;
    pool->slots_offset = layout.slots;
    pool->capacity = (uint32_t)layout.capacity;
    pool->physical = (uint32_t)layout.physical;
    pool->table_offset = layout.table;
    pool->table_buckets = (uint32_t)layout.buckets;
    zero(base + layout.meta, (layout.physical + 1) * record_bytes(level));
    zero(base + layout.table, layout.table ? 4 * layout.buckets : 0);
    if (!(level->flags & METATE_LEVEL_AMBIENT))
      continue;
    zero(base + layout.slots, level->slot_bytes);
    for (uint32_t k = 0; k < level->slot_cells && !(level->flags & METATE_LEVEL_ZERO); ++k)
      metate_view_fill_cell(&view, i, base + layout.slots + k * level->cell_bytes);
  }
  metate_view_fill_cell(&view, 0, base + root);
  __atomic_store_n(&header->magic, METATE_TREE_MAGIC, __ATOMIC_RELEASE);
  return METATE_OK;
}

void metate_support_clear_status(void *block) {
  metate_tree_header *header = block;
  __atomic_store_n(&header->status_needed, (uint64_t)0, __ATOMIC_RELAXED);
  __atomic_store_n(&header->status_level, METATE_NONE, __ATOMIC_RELAXED);
  __atomic_store_n(&header->status, (uint32_t)METATE_OK, __ATOMIC_RELAXED);
}
