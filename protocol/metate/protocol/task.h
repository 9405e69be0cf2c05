/* The start and the end of a task. Part of tree.h, which states the rules. */
#ifndef METATE_PROTOCOL_TASK_H
#define METATE_PROTOCOL_TASK_H

#include "metate/protocol/paths.h"

/* ---- the end of a task -------------------------------------------------------------------------- */

/* Takes all tombstones out of the run of buckets around `at` (all that are not 0, to both sides):
 * the last one first, so that what follows it has none, and may move up. */
METATE_VIEW_FUNCTION void metate_view_mend_run(const metate_view *view, uint32_t level,
                                               uint32_t at) {
  METATE_BLOCK uint32_t *table = metate_view_table(view, level);
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
      uint32_t home = metate_view_home(metate_view_key_of(view, level, table[j]), count, buckets);
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
  METATE_BLOCK uint32_t *table = metate_view_table(view, level);
  uint32_t buckets = metate_view_buckets(view, level);
  uint32_t count = metate_view_level(view, level)->coordinate_count;
  __builtin_memset(table, 0, buckets * sizeof *table);
  for (uint32_t slot = 1, high = metate_view_high_water(view, level); slot <= high; ++slot) {
    const METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
    if (!record[0])
      continue;
    uint32_t at = metate_view_home(record + 2, count, buckets);
    while (table[at])
      at = (at + 1) & (buckets - 1);
    table[at] = slot;
  }
}

/* The bucket that holds this slot, by its metadata; NULL: none does. */
METATE_VIEW_FUNCTION METATE_BLOCK uint32_t *metate_view_bucket_of(const metate_view *view,
                                                                  uint32_t level, uint32_t slot) {
  METATE_BLOCK uint32_t *table = metate_view_table(view, level);
  uint32_t buckets = metate_view_buckets(view, level);
  const METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
  uint32_t count = metate_view_level(view, level)->coordinate_count;
  uint32_t at = metate_view_home(record + 2, count, buckets);
  for (uint32_t probe = 0; probe < buckets && table[at]; ++probe, at = (at + 1) & (buckets - 1))
    if (table[at] == slot)
      return &table[at];
  return NULL;
}

/* Unlinks the hash slots whose containers were given up in this task. */
METATE_VIEW_FUNCTION void metate_view_collect_orphans(const metate_view *view, uint32_t level) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  if (pool->orphans == pool->orphans_seen)
    return;
  pool->orphans_seen = pool->orphans;
  for (uint32_t slot = 1, high = metate_view_high_water(view, level); slot <= high; ++slot) {
    const METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
    uint64_t linear;
    if (!record[0])
      continue;
    const METATE_BLOCK uint8_t *container = metate_view_home_container(view, level, slot, &linear);
    if (container && *(const METATE_BLOCK uint32_t *)container == record[1])
      continue;
    /* One that is not in the table was deactivated by itself. */
    METATE_BLOCK uint32_t *bucket = metate_view_bucket_of(view, level, slot);
    if (!bucket)
      continue;
    *bucket = METATE_TOMBSTONE;
    ++pool->tombs;
    metate_view_retire(view, level, slot);
  }
}

#if METATE_DEVICE
/* A free slot into one of the magazines, all alike: workers of the tasks behind take them from there. Others may do the same at once,
 * but nobody takes one meanwhile: so an exchange is enough, and the tag needs only be another one than tasks have seen. */
METATE_VIEW_INLINE void metate_view_store(const metate_view *view, uint32_t level, uint32_t slot) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t m = slot % METATE_MAGAZINES;
  METATE_BLOCK uint64_t *head = &pool->magazines[m].head;
  uint64_t tag = (METATE_ATOMIC_LOAD(head, RELAXED) >> 32) + 1;
  uint64_t below = METATE_ATOMIC_EXCHANGE(head, tag << 32 | slot, RELAXED);
  METATE_ATOMIC_STORE(metate_view_record(view, level, slot) + 1, (uint32_t)below, RELAXED);
  if (!(METATE_ATOMIC_LOAD(&pool->loaded, RELAXED) >> m & 1))
    METATE_ATOMIC_FETCH_OR(&pool->loaded, 1u << m, RELAXED);
}

/* A retired slot becomes free; what its own container links is retired. */
METATE_VIEW_FUNCTION void metate_view_release(const metate_view *view, uint32_t level,
                                              uint32_t slot) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  int inert = metate_view_inert(view, level);
  for (uint32_t k = 0; !inert && k < own->slot_cells; ++k)
    metate_view_clear_cell(view, level, metate_view_slot(view, level, slot) + k * own->cell_bytes,
                           0);
  METATE_ATOMIC_STORE(metate_view_record(view, level, slot), 0u, RELAXED);
  metate_view_store(view, level, slot);
  if (METATE_ATOMIC_LOAD(&pool->used, RELAXED))
    METATE_ATOMIC_ADD_FETCH(&pool->used, ~0u, RELAXED);
}
#endif

/* The pending slots of one pool become free. */
METATE_VIEW_FUNCTION void metate_view_collect_pool(const metate_view *view, uint32_t level) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t slot = METATE_ATOMIC_EXCHANGE(&pool->pending, 0u, ACQUIRE);
  uint32_t left = metate_view_physical(view, level), buckets = metate_view_buckets(view, level);
  int inert = metate_view_inert(view, level);
  int rebuild = buckets && pool->tombs >= buckets / 8;
  uint64_t head = pool->free_head;
  uint32_t first = (uint32_t)head, used = pool->used;
  while (slot && left-- && metate_view_valid(view, level, slot)) {
    METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
    uint32_t next = record[1];
    for (uint32_t k = 0; !inert && k < own->slot_cells; ++k)
      metate_view_clear_cell(view, level, metate_view_slot(view, level, slot) + k * own->cell_bytes,
                             0);
    if (buckets && !rebuild && pool->tombs)
      metate_view_mend_run(view, level,
                           metate_view_home(record + 2, own->coordinate_count, buckets));
    METATE_ATOMIC_STORE(&record[0], 0u, RELAXED);
#if METATE_DEVICE
    metate_view_store(view, level, slot);
#else
    METATE_ATOMIC_STORE(&record[1], first, RELAXED);
    first = slot;
#endif
    used -= used != 0;
    slot = next;
  }
  if (rebuild)
    metate_view_rebuild(view, level);
  pool->tombs = 0;
  METATE_ATOMIC_STORE(&pool->used, used, RELAXED);
  if (first != (uint32_t)head)
    METATE_ATOMIC_STORE(&pool->free_head, ((head >> 32) + 1) << 32 | first, RELEASE);
}

METATE_VIEW_FUNCTION void metate_view_sweep_list(const metate_view *view, uint32_t level,
                                                 METATE_BLOCK uint8_t *container) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint32_t *length = (METATE_BLOCK uint32_t *)container,
                        *links = metate_view_chunk_links(container);
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

/* Background in the inactive cells of one word of a bitmasked container, whose cells hold values alone. */
METATE_VIEW_INLINE void metate_view_sweep_word(const metate_view *view, uint32_t level,
                                               METATE_BLOCK uint8_t *container, uint64_t word) {
  const metate_level *own = metate_view_level(view, level);
  uint64_t first = 32 * word;
  uint64_t inactive = (uint32_t)~metate_view_mask(own, container)[word];
  if (own->cells - first < 32)
    inactive &= (1ull << (own->cells - first)) - 1;
  metate_view_fill_bits(view, level, container, first, inactive);
}
METATE_VIEW_INLINE void metate_view_sweep_mask(const metate_view *view, uint32_t level,
                                               METATE_BLOCK uint8_t *container) {
  for (uint32_t word = 0, words = metate_view_mask_words(metate_view_level(view, level));
       word < words; ++word)
    metate_view_sweep_word(view, level, container, word);
}

/* Background in what is inactive of one bitmasked container: values as runs, and what may hold more cell by cell. */
METATE_VIEW_INLINE void metate_view_sweep_cells(const metate_view *view, uint32_t level,
                                                METATE_BLOCK uint8_t *container) {
  const metate_level *own = metate_view_level(view, level);
  if (metate_view_inert(view, level)) {
    metate_view_sweep_mask(view, level, container);
    return;
  }
  for (uint64_t n = 0; n < own->cells; ++n)
    if (!(metate_view_mask(own, container)[n / 32] >> n % 32 & 1))
      metate_view_clear_cell(view, level, container + n * own->cell_bytes, 1);
}

/* Background in inactive bitmasked cells, nothing beyond the length of lists: in one cell, as far
 * as no pool lies between. Outer levels come first: what is inactive there has been cleared. */
METATE_VIEW_FUNCTION void metate_view_sweep_cell(const metate_view *view, uint32_t level,
                                                 METATE_BLOCK uint8_t *cell) {
  for (uint32_t i = level + 1, next, end = metate_view_subtree_end(view, level); i < end;
       i = next) {
    const metate_level *inner = metate_view_level(view, i);
    int whole = inner->pool != METATE_NONE || metate_view_inert(view, i);
    next = whole ? metate_view_subtree_end(view, i) : i + 1;
    if (inner->kind != METATE_LEVEL_DYNAMIC && inner->kind != METATE_LEVEL_BITMASKED)
      continue;
    for (uint64_t n = 0, count = metate_view_inline_count(view, level, i); n < count; ++n) {
      METATE_BLOCK uint8_t *container = metate_view_inline_container(view, level, i, cell, n, 1);
      if (container && inner->kind == METATE_LEVEL_DYNAMIC)
        metate_view_sweep_list(view, i, container);
      else if (container)
        metate_view_sweep_cells(view, i, container);
    }
  }
}

/* Where a launch or a host call ends: a CPU's magazines are empty, a topology that changed gets another number. */
METATE_VIEW_FUNCTION void metate_view_settle(const metate_view *view) {
  METATE_BLOCK metate_tree_header *header = metate_view_header(view);
#if !METATE_DEVICE
  for (uint32_t number = 0; number < view->type->pool_count; ++number) {
    uint32_t level = metate_view_level_of_pool(view, number);
    if (metate_view_pool_of(view, level)->loaded)
      metate_view_unload(view, level);
  }
#endif
  if (!METATE_ATOMIC_LOAD(&header->changed, RELAXED))
    return;
  if (METATE_ATOMIC_EXCHANGE(&header->changed, 0u, RELAXED))
    METATE_ATOMIC_ADD_FETCH(&header->topology, (uint64_t)1, RELAXED);
}

/* What is a task of its own, over the slots of a pool, a host may give to its workers: so many slots, of hundreds of
 * nanoseconds each, are worth one. */
#define METATE_VIEW_GRAIN 256

#if METATE_DEVICE
/* One of several workers that share the slots of a pool, or what lies in the root cell, out among them. */
typedef struct metate_share {
  uint32_t own, workers;
} metate_share;

/* What the root cell holds of a level is as many pieces as workers can have: chunks of lists, words of masks, cells that hold more than
 * values. */
METATE_VIEW_INLINE uint64_t metate_view_pieces(const metate_view *view, uint32_t level) {
  const metate_level *own = metate_view_level(view, level);
  if (own->kind == METATE_LEVEL_DYNAMIC)
    return metate_view_chunks(own);
  return metate_view_inert(view, level) ? metate_view_mask_words(own) : own->cells;
}

/* As metate_view_sweep_list, in two steps, of one chunk: a length ends before a chunk that is not there; then what is beyond goes. */
METATE_VIEW_INLINE void metate_view_sweep_chunk(const metate_view *view, uint32_t level,
                                                METATE_BLOCK uint8_t *container, uint32_t chunk,
                                                int step) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint32_t *length = (METATE_BLOCK uint32_t *)container,
                        *link = metate_view_chunk_links(container) + chunk;
  uint32_t begin = chunk * own->slot_cells, known = METATE_ATOMIC_LOAD(length, RELAXED);
  int isThere = *link && metate_view_valid(view, level, *link);
  if (step == 0) {
    if (!isThere && known > begin)
      metate_view_shorten(length, begin);
    return;
  }
  if (known <= begin) {
    metate_view_unlink(view, level, link);
    return;
  }
  for (uint32_t n = known - begin; isThere && n < own->slot_cells; ++n)
    metate_view_clear_cell(view, level, metate_view_slot(view, level, *link) + n * own->cell_bytes,
                           1);
}

/* As metate_view_sweep_cell, of one level that lies in the root cell, and of a worker's share; of a dynamic level `step` 0, then 1. */
METATE_VIEW_FUNCTION void metate_view_sweep_root_share(const metate_view *view, uint32_t level,
                                                       int step, metate_share share) {
  const metate_level *own = metate_view_level(view, level);
  int isInert = metate_view_inert(view, level);
  uint64_t each = metate_view_pieces(view, level);
  uint64_t all = each * metate_view_inline_count(view, 0, level);
  for (uint64_t n = share.own; n < all; n += share.workers) {
    METATE_BLOCK uint8_t *container =
        metate_view_inline_container(view, 0, level, metate_view_root(view), n / each, 1);
    uint64_t k = n % each;
    if (!container)
      continue;
    if (own->kind == METATE_LEVEL_DYNAMIC)
      metate_view_sweep_chunk(view, level, container, (uint32_t)k, step);
    else if (isInert)
      metate_view_sweep_word(view, level, container, k);
    else if (!(metate_view_mask(own, container)[k / 32] >> k % 32 & 1))
      metate_view_clear_cell(view, level, container + k * own->cell_bytes, 1);
  }
}
#endif

/* As metate_view_sweep_cell, of the slots (begin, end]. */
METATE_VIEW_FUNCTION void metate_view_sweep_slots(const metate_view *view, uint32_t level,
                                                  uint32_t begin, uint32_t end) {
  const metate_level *own = metate_view_level(view, level);
  for (uint32_t slot = begin + 1; slot <= end; ++slot)
    for (uint32_t k = 0; metate_view_record(view, level, slot)[0] && k < own->slot_cells; ++k)
      metate_view_sweep_cell(view, level,
                             metate_view_slot(view, level, slot) + k * own->cell_bytes);
}

#if METATE_DEVICE
/* Of a pool of no hash level, by all workers, each its share of the slots: retired ones become free, others are swept. */
METATE_VIEW_FUNCTION void metate_view_collect_share(const metate_view *view, uint32_t level,
                                                    int sweep, metate_share share) {
  uint32_t high = metate_view_high_water(view, level);
  int sweeps = sweep && !metate_view_inert(view, level);
  if (!sweeps && !METATE_ATOMIC_LOAD(&metate_view_pool_of(view, level)->pending, RELAXED))
    return;
  for (uint64_t n = (uint64_t)share.own + 1; n <= high; n += share.workers) {
    uint32_t slot = (uint32_t)n;
    const METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
    if (record[0] && METATE_ATOMIC_LOAD(&record[1], RELAXED) == METATE_RETIRED)
      metate_view_release(view, level, slot);
    else if (sweeps)
      metate_view_sweep_slots(view, level, slot - 1, slot);
  }
}

/* Of a hash level's pool, behind metate_view_collect_level. */
METATE_VIEW_FUNCTION void metate_view_sweep_share(const metate_view *view, uint32_t level,
                                                  metate_share share) {
  uint32_t high = metate_view_high_water(view, level);
  for (uint64_t n = (uint64_t)share.own + 1; n <= high; n += share.workers)
    metate_view_sweep_slots(view, level, (uint32_t)n - 1, (uint32_t)n);
}

#endif

/* Nothing is pending any more: the last step, by one worker. Where nothing of a pool is linked its slots are as if they had never been
 * handed out: a device's workers take those by an addition each, and a free list's top by one exchange after the other. */
METATE_VIEW_FUNCTION void metate_view_collect_end(const metate_view *view) {
  for (uint32_t number = 0; number < view->type->pool_count; ++number) {
    METATE_BLOCK metate_pool *pool =
        metate_view_pool_of(view, metate_view_level_of_pool(view, number));
    METATE_ATOMIC_STORE(&pool->pending, 0u, RELAXED);
    if (METATE_ATOMIC_LOAD(&pool->used, RELAXED))
      continue;
    metate_view_forget_magazines(pool);
    if (pool->peak < pool->high_water)
      pool->peak = pool->high_water;
    METATE_ATOMIC_STORE(&pool->free_head, ((pool->free_head >> 32) + 1) << 32, RELAXED);
    METATE_ATOMIC_STORE(&pool->high_water, 0u, RELAXED);
  }
}

/* The end of a task that deactivated cells, in steps: the root cell, then each pool in preorder, whose slots up to the
 * number that it yields are to be swept before the next one. By one worker, when nobody else works on the tree; on a device
 * metate_view_collect_share stands for the step of a pool that is no hash level's. */
METATE_VIEW_INLINE void metate_view_collect_root(const metate_view *view, int sweep) {
  if (sweep)
    metate_view_sweep_cell(view, 0, metate_view_root(view));
}
METATE_VIEW_FUNCTION uint32_t metate_view_collect_level(const metate_view *view, uint32_t level,
                                                        int sweep) {
  if (metate_view_level(view, level)->kind == METATE_LEVEL_HASH)
    metate_view_collect_orphans(view, level);
  if (METATE_ATOMIC_LOAD(&metate_view_pool_of(view, level)->pending, RELAXED))
    metate_view_collect_pool(view, level);
  return sweep && !metate_view_inert(view, level) ? metate_view_high_water(view, level) : 0;
}

/* All steps, by this worker alone. */
METATE_VIEW_FUNCTION void metate_view_collect(const metate_view *view, int sweep) {
  metate_view_collect_root(view, sweep);
  for (uint32_t number = 0; number < view->type->pool_count; ++number) {
    uint32_t level = metate_view_level_of_pool(view, number);
#if METATE_DEVICE
    if (!metate_view_buckets(view, level)) {
      metate_share all = {0, 1};
      metate_view_collect_share(view, level, sweep, all);
      continue;
    }
#endif
    metate_view_sweep_slots(view, level, 0, metate_view_collect_level(view, level, sweep));
  }
  metate_view_collect_end(view);
}

/* ---- the start of a task ------------------------------------------------------------------------ */

METATE_VIEW_INLINE void metate_view_snapshot_chunk(const metate_view *view, uint32_t level,
                                                   uint32_t length, uint32_t link, uint32_t chunk) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t left = length - chunk * own->slot_cells;
  if (link && metate_view_valid(view, level, link))
    metate_view_record(view, level, link)[2 + own->coordinate_count] =
        left < own->slot_cells ? left : own->slot_cells;
}

/* The length to the entry length; and to each chunk, which a task may find when its link is gone, how
 * many of its cells are below the length. */
METATE_VIEW_FUNCTION void metate_view_snapshot_list(const metate_view *view, uint32_t level,
                                                    METATE_BLOCK uint8_t *container) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t length = ((METATE_BLOCK uint32_t *)container)[0],
           *links = metate_view_chunk_links(container);
  ((METATE_BLOCK uint32_t *)container)[1] = length;
  for (uint32_t k = 0; k < metate_view_chunks(own) && k * own->slot_cells < length; ++k)
    metate_view_snapshot_chunk(view, level, length, links[k], k);
}

/* Copies the live mask or length of `target` to the entry's, in one cell of a level above it: no pool lies between. */
METATE_VIEW_FUNCTION void metate_view_snapshot_cell(const metate_view *view, uint32_t target,
                                                    uint32_t level, METATE_BLOCK uint8_t *cell) {
  const metate_level *own = metate_view_level(view, target);
  for (uint64_t n = 0, count = metate_view_inline_count(view, level, target); n < count; ++n) {
    METATE_BLOCK uint8_t *container = metate_view_inline_container(view, level, target, cell, n, 0);
    if (own->kind == METATE_LEVEL_BITMASKED) {
      uint32_t words = metate_view_mask_words(own);
      METATE_BLOCK uint32_t *mask = metate_view_mask(own, container);
      __builtin_memcpy(mask + words, mask, words * sizeof *mask);
    } else if (own->kind == METATE_LEVEL_DYNAMIC) {
      metate_view_snapshot_list(view, target, container);
    }
  }
}

/* Before a task that changes the topology it walks: entry masks and lengths of all containers of a bitmasked or dynamic
 * level. They lie in slots of the level that this yields, or in the root cell (0). */
METATE_VIEW_FUNCTION uint32_t metate_view_owner(const metate_view *view, uint32_t level) {
  uint32_t owner = metate_view_level(view, level)->parent;
  while (owner && metate_view_level(view, owner)->pool == METATE_NONE)
    owner = metate_view_level(view, owner)->parent;
  return owner;
}

/* Of the containers in the slots (begin, end] of their owner. */
METATE_VIEW_FUNCTION void metate_view_snapshot_slots(const metate_view *view, uint32_t target,
                                                     uint32_t owner, uint32_t begin, uint32_t end) {
  const metate_level *own = metate_view_level(view, owner);
  for (uint32_t slot = begin + 1; slot <= end; ++slot)
    for (uint32_t k = 0; metate_view_record(view, owner, slot)[0] && k < own->slot_cells; ++k)
      metate_view_snapshot_cell(view, target, owner,
                                metate_view_slot(view, owner, slot) + k * own->cell_bytes);
}

#if METATE_DEVICE
/* A worker's share of them. */
METATE_VIEW_FUNCTION void metate_view_snapshot_share(const metate_view *view, uint32_t target,
                                                     metate_share share) {
  const metate_level *own = metate_view_level(view, target);
  uint32_t owner = metate_view_owner(view, target);
  uint32_t high = owner ? metate_view_high_water(view, owner) : 0;
  uint64_t each =
      own->kind == METATE_LEVEL_DYNAMIC ? metate_view_chunks(own) : metate_view_mask_words(own);
  uint64_t all = owner ? 0 : each * metate_view_inline_count(view, 0, target);
  for (uint64_t n = share.own; n < all; n += share.workers) {
    METATE_BLOCK uint32_t *words = (METATE_BLOCK uint32_t *)metate_view_inline_container(
        view, 0, target, metate_view_root(view), n / each, 0);
    uint32_t k = (uint32_t)(n % each);
    if (own->kind != METATE_LEVEL_DYNAMIC) {
      METATE_BLOCK uint32_t *mask = metate_view_mask(own, (METATE_BLOCK uint8_t *)words);
      mask[each + k] = mask[k];
      continue;
    }
    if (k == 0)
      words[1] = words[0];
    if ((uint64_t)k * own->slot_cells < words[0])
      metate_view_snapshot_chunk(view, target, words[0],
                                 metate_view_chunk_links((METATE_BLOCK uint8_t *)words)[k], k);
  }
  for (uint64_t n = (uint64_t)share.own + 1; n <= high; n += share.workers)
    metate_view_snapshot_slots(view, target, owner, (uint32_t)n - 1, (uint32_t)n);
}
#endif

/* All of them, by this worker alone. */
METATE_VIEW_FUNCTION void metate_view_snapshot(const metate_view *view, uint32_t target) {
  uint32_t owner = metate_view_owner(view, target);
  if (owner)
    metate_view_snapshot_slots(view, target, owner, 0, metate_view_high_water(view, owner));
  else
    metate_view_snapshot_cell(view, target, 0, metate_view_root(view));
}

#endif
