/* Whole paths, and the start and the end of a task. Part of tree.h, which states the rules. */
#ifndef METATE_PROTOCOL_TASK_H
#define METATE_PROTOCOL_TASK_H

#include "metate/protocol/cells.h"

/* ---- whole paths -------------------------------------------------------------------------------- */

METATE_VIEW_INLINE int64_t metate_view_floor_divide(int64_t value, int64_t by) {
  return value / by - (value % by < 0);
}

/* The coordinates along a pool level's path as its metadata has them. */
METATE_VIEW_INLINE void metate_view_key(const metate_level *level, const int64_t *along,
                                        uint32_t *key) {
  for (uint32_t k = 0; k < level->coordinate_count; ++k)
    key[k] = (uint32_t)along[level->path_axes[k]];
}

/* From a cell of `level` to its parent: `along` becomes the parent's coordinates, the result is the
 * cell's index in its container (0 of a hash level's). */
METATE_VIEW_INLINE uint64_t metate_view_ascend(const metate_level *level, int64_t *along) {
  uint64_t linear = 0;
  for (uint32_t k = 0; level->kind != METATE_LEVEL_HASH && k < level->axis_count; ++k) {
    int64_t extent = level->extents[k], *at = &along[level->axes[k]];
    int64_t outer = metate_view_floor_divide(*at, extent);
    linear = linear * (uint64_t)extent + (uint64_t)(*at - outer * extent);
    *at = outer;
  }
  return linear;
}

typedef enum metate_view_mode {
  METATE_VIEW_FIND,    /* what is there */
  METATE_VIEW_ACTIVATE /* activate on the way */
} metate_view_mode;

METATE_VIEW_FUNCTION uint8_t *metate_view_container(const metate_view *view, uint32_t level,
                                                    const int64_t *along, metate_view_mode mode,
                                                    uint64_t *linear);

/* A cell of the slot, or NULL for slot 0 and for a number that is not to be followed. */
METATE_VIEW_INLINE uint8_t *metate_view_in_slot(const metate_view *view, uint32_t level,
                                                uint32_t slot, uint64_t cell) {
  int valid = metate_view_valid(view, level, slot);
  if (!valid && view->broken)
    *view->broken = 1;
  if (!slot || !valid)
    return NULL;
  return metate_view_slot(view, level, slot) + cell * metate_view_level(view, level)->cell_bytes;
}

/* The cell of `level` with these coordinates (in its own units); NULL: inactive, or not to be
 * activated (the status says so), or in a damaged block. */
METATE_VIEW_FUNCTION uint8_t *metate_view_cell(const metate_view *view, uint32_t level,
                                               const int64_t *along, metate_view_mode mode) {
  const metate_level *own = metate_view_level(view, level);
  uint64_t n = 0;
  uint32_t key[METATE_MAX_AXES], slot;
  uint8_t *container = metate_view_container(view, level, along, mode, &n);
  if (!container)
    return NULL;
  metate_view_key(own, along, key);
  switch (own->kind) {
  case METATE_LEVEL_POINTER: {
    uint32_t *link = (uint32_t *)container + n;
    slot = mode == METATE_VIEW_FIND ? __atomic_load_n(link, __ATOMIC_ACQUIRE)
                                    : metate_view_claim(view, level, link, key, 0);
    return metate_view_in_slot(view, level, slot, 0);
  }
  case METATE_LEVEL_HASH:
    slot = mode == METATE_VIEW_FIND ? metate_view_hash_find(view, level, container, key)
                                    : metate_view_hash_claim(view, level, container, key, 0);
    return metate_view_in_slot(view, level, slot, 0);
  case METATE_LEVEL_DYNAMIC:
    if (mode == METATE_VIEW_ACTIVATE)
      slot = metate_view_dynamic_activate(view, level, container, n, key, 0);
    else if (n < __atomic_load_n((uint32_t *)container, __ATOMIC_ACQUIRE))
      slot = __atomic_load_n(metate_view_chunk_links(container) + n / own->slot_cells,
                             __ATOMIC_ACQUIRE);
    else
      slot = 0;
    return metate_view_in_slot(view, level, slot, n % own->slot_cells);
  case METATE_LEVEL_BITMASKED:
    if (mode == METATE_VIEW_ACTIVATE)
      metate_view_mask_activate(view, level, container, n);
    else if (!(__atomic_load_n(metate_view_mask(own, container) + n / 32, __ATOMIC_ACQUIRE) >>
                   n % 32 &
               1))
      return NULL;
    break;
  default:
    break;
  }
  return container + n * own->cell_bytes;
}

/* The container of that cell and its index there. The root's cell is its container. */
METATE_VIEW_FUNCTION uint8_t *metate_view_container(const metate_view *view, uint32_t level,
                                                    const int64_t *along, metate_view_mode mode,
                                                    uint64_t *linear) {
  const metate_level *own = metate_view_level(view, level);
  *linear = 0;
  if (own->kind == METATE_LEVEL_ROOT) {
    uint64_t tables =
        sizeof(metate_tree_header) + (uint64_t)view->type->pool_count * sizeof(metate_pool);
    return view->block +
           (tables + METATE_BLOCK_ALIGN - 1) / METATE_BLOCK_ALIGN * METATE_BLOCK_ALIGN;
  }
  int64_t outer[METATE_MAX_AXES];
  for (uint32_t k = 0; k < METATE_MAX_AXES; ++k)
    outer[k] = along[k];
  *linear = metate_view_ascend(own, outer);
  uint8_t *cell = metate_view_cell(view, own->parent, outer, mode);
  return cell ? cell + own->offset : NULL;
}

/* The container of `level` (a pool's) that one of its active slots belongs to; NULL: gone. */
METATE_VIEW_FUNCTION uint8_t *metate_view_home_container(const metate_view *view, uint32_t level,
                                                         uint32_t slot, uint64_t *linear) {
  const metate_level *own = metate_view_level(view, level);
  const uint32_t *record = metate_view_record(view, level, slot);
  int64_t along[METATE_MAX_AXES] = {0};
  for (uint32_t k = 0; k < own->coordinate_count; ++k)
    along[own->path_axes[k]] = (int32_t)record[2 + k];
  return metate_view_container(view, level, along, METATE_VIEW_FIND, linear);
}

/* ---- the end of a task -------------------------------------------------------------------------- */

/* Takes all tombstones out of the run of buckets around `at` (all that are not 0, to both sides):
 * the last one first, so that what follows it has none, and may move up. */
METATE_VIEW_FUNCTION void metate_view_mend_run(const metate_view *view, uint32_t level,
                                               uint32_t at) {
  uint32_t *table = metate_view_table(view, level);
  uint32_t buckets = metate_view_buckets(view, level), mask = buckets - 1;
  uint32_t count = metate_view_level(view, level)->coordinate_count;
  uint32_t end = at, left = buckets;
  while (table[end] && left) {
    end = (end + 1) & mask;
    --left;
  }
  if (!left)
    return; /* no bucket is 0: a damaged table */
  for (uint32_t i = (end - 1) & mask; table[i]; i = (i - 1) & mask) {
    if (table[i] != METATE_TOMBSTONE)
      continue;
    uint32_t hole = i;
    for (uint32_t j = (i + 1) & mask; table[j]; j = (j + 1) & mask) {
      if (!metate_view_valid(view, level, table[j]))
        continue;
      uint32_t home =
          metate_view_home(metate_view_record(view, level, table[j]) + 2, count, buckets);
      /* It may move up to the hole where its home is not between the hole and it. */
      if (((j - home) & mask) >= ((j - hole) & mask)) {
        table[hole] = table[j];
        hole = j;
      }
    }
    table[hole] = 0;
  }
}

/* All active slots into an empty table. */
METATE_VIEW_FUNCTION void metate_view_rebuild(const metate_view *view, uint32_t level) {
  uint32_t *table = metate_view_table(view, level);
  uint32_t buckets = metate_view_buckets(view, level);
  uint32_t count = metate_view_level(view, level)->coordinate_count;
  __builtin_memset(table, 0, buckets * sizeof *table);
  for (uint32_t slot = 1, high = metate_view_high_water(view, level); slot <= high; ++slot) {
    const uint32_t *record = metate_view_record(view, level, slot);
    if (!record[0])
      continue;
    uint32_t at = metate_view_home(record + 2, count, buckets);
    while (table[at])
      at = (at + 1) & (buckets - 1);
    table[at] = slot;
  }
}

/* The bucket that holds this slot, by its metadata; NULL: none does. */
METATE_VIEW_FUNCTION uint32_t *metate_view_bucket_of(const metate_view *view, uint32_t level,
                                                     uint32_t slot) {
  uint32_t *table = metate_view_table(view, level), buckets = metate_view_buckets(view, level);
  const uint32_t *record = metate_view_record(view, level, slot);
  uint32_t count = metate_view_level(view, level)->coordinate_count;
  uint32_t at = metate_view_home(record + 2, count, buckets);
  for (uint32_t probe = 0; probe < buckets && table[at]; ++probe, at = (at + 1) & (buckets - 1))
    if (table[at] == slot)
      return &table[at];
  return NULL;
}

/* Unlinks the hash slots whose containers were given up in this task. */
METATE_VIEW_FUNCTION void metate_view_collect_orphans(const metate_view *view, uint32_t level) {
  metate_pool *pool = metate_view_pool_of(view, level);
  if (pool->orphans == pool->orphans_seen)
    return;
  pool->orphans_seen = pool->orphans;
  for (uint32_t slot = 1, high = metate_view_high_water(view, level); slot <= high; ++slot) {
    const uint32_t *record = metate_view_record(view, level, slot);
    uint64_t linear;
    if (!record[0])
      continue;
    const uint8_t *container = metate_view_home_container(view, level, slot, &linear);
    if (container && *(const uint32_t *)container == record[1])
      continue;
    /* One that is not in the table was deactivated by itself. */
    uint32_t *bucket = metate_view_bucket_of(view, level, slot);
    if (!bucket)
      continue;
    *bucket = METATE_TOMBSTONE;
    ++pool->tombs;
    metate_view_retire(view, level, slot);
  }
}

/* The pending slots of one pool become free. */
METATE_VIEW_FUNCTION void metate_view_collect_pool(const metate_view *view, uint32_t level) {
  const metate_level *own = metate_view_level(view, level);
  metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t slot = __atomic_exchange_n(&pool->pending, 0u, __ATOMIC_ACQUIRE);
  uint32_t left = metate_view_physical(view, level), buckets = metate_view_buckets(view, level);
  int inert = metate_view_inert(view, level);
  int rebuild = buckets && pool->tombs >= buckets / 8;
  uint64_t head = pool->free_head;
  uint32_t first = (uint32_t)head, used = pool->used;
  while (slot && left-- && metate_view_valid(view, level, slot)) {
    uint32_t *record = metate_view_record(view, level, slot), next = record[1];
    for (uint32_t k = 0; !inert && k < own->slot_cells; ++k)
      metate_view_clear_cell(view, level, metate_view_slot(view, level, slot) + k * own->cell_bytes,
                             0);
    if (buckets && !rebuild && pool->tombs)
      metate_view_mend_run(view, level,
                           metate_view_home(record + 2, own->coordinate_count, buckets));
    __atomic_store_n(&record[0], 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&record[1], first, __ATOMIC_RELAXED);
    first = slot;
    used -= used != 0;
    slot = next;
  }
  if (rebuild)
    metate_view_rebuild(view, level);
  pool->tombs = 0;
  __atomic_store_n(&pool->used, used, __ATOMIC_RELAXED);
  if (first != (uint32_t)head)
    __atomic_store_n(&pool->free_head, ((head >> 32) + 1) << 32 | first, __ATOMIC_RELEASE);
}

METATE_VIEW_FUNCTION void metate_view_sweep_list(const metate_view *view, uint32_t level,
                                                 uint8_t *container) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t *length = (uint32_t *)container, *links = metate_view_chunk_links(container);
  uint32_t chunks = metate_view_chunks(own), there = 0;
  while (there < chunks && links[there] && metate_view_valid(view, level, links[there]))
    ++there;
  if (*length > (uint64_t)there * own->slot_cells)
    *length = there * own->slot_cells;
  uint32_t needed = (*length + own->slot_cells - 1) / own->slot_cells;
  for (uint32_t k = needed; k < chunks; ++k)
    metate_view_unlink(view, level, links + k);
  for (uint32_t n = *length; n < needed * own->slot_cells; ++n)
    metate_view_clear_cell(view, level,
                           metate_view_slot(view, level, links[n / own->slot_cells]) +
                               n % own->slot_cells * own->cell_bytes,
                           1);
}

/* Background in the inactive cells of a bitmasked container whose cells hold values alone. */
METATE_VIEW_INLINE void metate_view_sweep_mask(const metate_view *view, uint32_t level,
                                               uint8_t *container) {
  const metate_level *own = metate_view_level(view, level);
  const uint32_t *mask = metate_view_mask(own, container);
  for (uint64_t first = 0; first < own->cells; first += 32) {
    uint64_t inactive = (uint32_t)~mask[first / 32];
    if (own->cells - first < 32)
      inactive &= (1ull << (own->cells - first)) - 1;
    metate_view_fill_bits(view, level, container, first, inactive);
  }
}

/* Background in inactive bitmasked cells, nothing beyond the length of lists: in one cell, as far
 * as no pool lies between. */
METATE_VIEW_FUNCTION void metate_view_sweep_cell(const metate_view *view, uint32_t level,
                                                 uint8_t *cell) {
  for (uint32_t i = level + 1, end = metate_view_subtree_end(view, level); i < end; ++i) {
    const metate_level *child = metate_view_level(view, i);
    uint8_t *container = cell + child->offset;
    if (child->parent != level)
      continue;
    if (child->kind == METATE_LEVEL_DYNAMIC)
      metate_view_sweep_list(view, i, container);
    if (child->kind != METATE_LEVEL_BITMASKED && child->kind != METATE_LEVEL_DENSE)
      continue;
    if (metate_view_inert(view, i)) {
      if (child->kind == METATE_LEVEL_BITMASKED)
        metate_view_sweep_mask(view, i, container);
      continue;
    }
    for (uint64_t n = 0; n < child->cells; ++n) {
      uint8_t *inner = container + n * child->cell_bytes;
      if (child->kind == METATE_LEVEL_DENSE ||
          metate_view_mask(child, container)[n / 32] >> n % 32 & 1)
        metate_view_sweep_cell(view, i, inner);
      else
        metate_view_clear_cell(view, i, inner, 1);
    }
  }
}

/* Where a launch or a host call ends: magazines are empty, a topology that changed gets another number. */
METATE_VIEW_FUNCTION void metate_view_settle(const metate_view *view) {
  metate_tree_header *header = metate_view_header(view);
  for (uint32_t number = 0; number < view->type->pool_count; ++number) {
    uint32_t level = metate_view_level_of_pool(view, number);
    if (metate_view_pool_of(view, level)->loaded)
      metate_view_unload(view, level);
  }
  if (!__atomic_load_n(&header->changed, __ATOMIC_RELAXED))
    return;
  if (__atomic_exchange_n(&header->changed, 0u, __ATOMIC_RELAXED))
    __atomic_add_fetch(&header->topology, (uint64_t)1, __ATOMIC_RELAXED);
}

/* A task over the slots of a pool. */
typedef struct metate_view_walk {
  const metate_view *view;
  uint32_t level;
  uint32_t target; /* of a snapshot */
} metate_view_walk;
#define METATE_VIEW_GRAIN 256 /* slots, of hundreds of nanoseconds each */

METATE_VIEW_FUNCTION int32_t metate_view_sweep_slots(void *context, int64_t begin, int64_t end,
                                                     uint32_t worker) {
  const metate_view_walk *walk = (const metate_view_walk *)context;
  const metate_level *own = metate_view_level(walk->view, walk->level);
  (void)worker;
  for (uint32_t slot = (uint32_t)begin + 1; slot <= end; ++slot)
    for (uint32_t k = 0;
         metate_view_record(walk->view, walk->level, slot)[0] && k < own->slot_cells; ++k)
      metate_view_sweep_cell(walk->view, walk->level,
                             metate_view_slot(walk->view, walk->level, slot) + k * own->cell_bytes);
  return METATE_OK;
}

/* The end of a task that deactivated cells: see above. By one worker, with the host's others, when
 * nobody else works on the tree. */
METATE_VIEW_FUNCTION void metate_view_collect(const metate_view *view, int sweep) {
  int64_t origin[METATE_MAX_AXES] = {0};
  if (sweep)
    metate_view_sweep_cell(view, 0, metate_view_cell(view, 0, origin, METATE_VIEW_FIND));
  for (uint32_t number = 0; number < view->type->pool_count; ++number) {
    uint32_t level = metate_view_level_of_pool(view, number);
    const metate_level *own = metate_view_level(view, level);
    if (own->kind == METATE_LEVEL_HASH)
      metate_view_collect_orphans(view, level);
    if (__atomic_load_n(&metate_view_pool_of(view, level)->pending, __ATOMIC_RELAXED))
      metate_view_collect_pool(view, level);
    if (!sweep || metate_view_inert(view, level))
      continue;
    metate_view_walk walk = {view, level, 0};
    metate_view_parallel(view, metate_view_high_water(view, level), METATE_VIEW_GRAIN,
                         metate_view_sweep_slots, &walk);
  }
}

/* ---- the start of a task ------------------------------------------------------------------------ */

/* The length to the entry length; and to each chunk, which a task may find when its link is gone, how
 * many of its cells are below the length. */
METATE_VIEW_FUNCTION void metate_view_snapshot_list(const metate_view *view, uint32_t level,
                                                    uint8_t *container) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t length = ((uint32_t *)container)[0], *links = metate_view_chunk_links(container);
  ((uint32_t *)container)[1] = length;
  for (uint32_t k = 0; k < metate_view_chunks(own) && k * own->slot_cells < length; ++k) {
    uint32_t left = length - k * own->slot_cells;
    if (links[k] && metate_view_valid(view, level, links[k]))
      metate_view_record(view, level, links[k])[2 + own->coordinate_count] =
          left < own->slot_cells ? left : own->slot_cells;
  }
}

/* Copies the live mask or length of `target` to the entry's, in one cell of a level above it, as far
 * as no pool lies between. */
METATE_VIEW_FUNCTION void metate_view_snapshot_cell(const metate_view *view, uint32_t target,
                                                    uint32_t level, uint8_t *cell) {
  /* The child of `level` that leads to the target. */
  uint32_t next = target;
  while (metate_view_level(view, next)->parent != level)
    next = metate_view_level(view, next)->parent;
  const metate_level *child = metate_view_level(view, next);
  uint8_t *container = cell + child->offset;
  if (next != target) {
    for (uint64_t n = 0; n < child->cells; ++n)
      metate_view_snapshot_cell(view, target, next, container + n * child->cell_bytes);
  } else if (child->kind == METATE_LEVEL_BITMASKED) {
    uint32_t words = metate_view_mask_words(child), *mask = metate_view_mask(child, container);
    __builtin_memcpy(mask + words, mask, words * sizeof *mask);
  } else if (child->kind == METATE_LEVEL_DYNAMIC) {
    metate_view_snapshot_list(view, target, container);
  }
}

METATE_VIEW_FUNCTION int32_t metate_view_snapshot_slots(void *context, int64_t begin, int64_t end,
                                                        uint32_t worker) {
  const metate_view_walk *walk = (const metate_view_walk *)context;
  const metate_level *own = metate_view_level(walk->view, walk->level);
  (void)worker;
  for (uint32_t slot = (uint32_t)begin + 1; slot <= end; ++slot)
    for (uint32_t k = 0;
         metate_view_record(walk->view, walk->level, slot)[0] && k < own->slot_cells; ++k)
      metate_view_snapshot_cell(walk->view, walk->target, walk->level,
                                metate_view_slot(walk->view, walk->level, slot) +
                                    k * own->cell_bytes);
  return METATE_OK;
}

/* Before a task that changes the topology it walks: entry masks and lengths of all containers of a
 * bitmasked or dynamic level. By one worker, with the host's others. */
METATE_VIEW_FUNCTION void metate_view_snapshot(const metate_view *view, uint32_t target) {
  int64_t origin[METATE_MAX_AXES] = {0};
  uint32_t owner = metate_view_level(view, target)->parent;
  while (owner && metate_view_level(view, owner)->pool == METATE_NONE)
    owner = metate_view_level(view, owner)->parent;
  if (!owner) {
    metate_view_snapshot_cell(view, target, 0, metate_view_cell(view, 0, origin, METATE_VIEW_FIND));
    return;
  }
  metate_view_walk walk = {view, owner, target};
  metate_view_parallel(view, metate_view_high_water(view, owner), METATE_VIEW_GRAIN,
                       metate_view_snapshot_slots, &walk);
}

#endif
