/* The protocol of a tree block as code: how cells are found, activated and deactivated by any number
 * of workers at once, and how slots come back. libmetate and generated kernels compile this same
 * file: freestanding C11 (and C++), nothing but the compiler's builtins.
 *
 * Rules, with the memory order of each step where it is written:
 *
 *   activation  Test first. Take a slot (free list, else high_water), fill it with background, write
 *               coordinates and state, publish its number by one compare-exchange [acq_rel] of the
 *               link or bucket that was 0. Who loses gives his slot back and goes on with the
 *               winner's. Readers load links, buckets and lengths with acquire: they see what was
 *               filled. A bitmasked cell is activated by one fetch-or: it holds background already.
 *   lists       All chunks up to an index are linked before the length passes it. Lengths grow by
 *               compare-exchange.
 *   hash        A new slot's number goes into the first bucket that is 0, from its home on; a lost
 *               bucket is looked at again. Buckets never go back to 0 while tasks run, so one who
 *               reaches a 0 has seen every earlier entry of its coordinates. A slot belongs to its
 *               container's cell only where `next` is the container's stamp `any`: a cell that was
 *               given up and made anew gets another stamp, and nothing old comes back.
 *   deactivation  Unlink by exchange [acq_rel] (pointer), fetch-and (bitmasked), compare-exchange to
 *               the tombstone (hash), length and links to 0 (lists); push the slot on the pool's
 *               pending list. Slots, states and coordinates stay as they are: another worker may
 *               still read or write one. Tasks only push on pending lists, so they know no ABA.
 *   collect     When the task is over one worker takes the pending lists, pools in preorder, gives up
 *               what the slots' own containers link (later pools), sets states to 0 and puts the slots
 *               on the free lists. Nothing here need be atomic; counters are anyway.
 *   sweep       Where stores, appends or activations of the task may have met deactivations of the
 *               same cells: inactive bitmasked cells get background again, lists lose what is linked
 *               beyond their length. A store that races a deactivation of its cell may be lost.
 *
 * Free lists are stacks whose heads carry a tag that every change raises (ABA); a late pop may read
 * `next` of a slot that was taken: it is atomic for that reason alone.
 *
 * In a *checked* view (`pools` not NULL: libmetate) constants come from the host, never from the
 * block, and no slot number above the host's own `physical` is followed: a damaged block cannot
 * lead an access outside. Names: `key` is a slot's coordinates as its metadata has them; `along` has
 * one entry per axis number. */
#ifndef METATE_ABI_TREE_PROTOCOL_H
#define METATE_ABI_TREE_PROTOCOL_H

#include "metate/abi/tree.h"

#ifdef __cplusplus /* hosts: small rather than specialised */
#define METATE_VIEW_INLINE static inline __attribute__((unused))
#else
#define METATE_VIEW_INLINE static inline __attribute__((always_inline, unused))
#endif
#define METATE_VIEW_FUNCTION static __attribute__((unused))

/* One pool's constants, as a host has computed them. */
typedef struct metate_view_pool {
  uint64_t meta;  /* offset of metadata record 0 */
  uint64_t slots; /* offset of slot 0 (virtual without an ambient slot) */
  uint64_t table; /* offset of bucket 0; 0 without a table */
  uint64_t end;   /* offset behind the pool */
  uint64_t slot_bytes;
  uint32_t record_bytes; /* of metadata */
  uint32_t capacity;
  uint32_t physical;
  uint32_t buckets; /* 0 without a table */
  uint32_t ambient;
  uint32_t reserved;
} metate_view_pool;

typedef struct metate_view {
  uint8_t *block;
  const metate_tree_type *type;
  const metate_view_pool *pools; /* NULL: read them from the block */
  uint32_t *broken; /* set where a slot number of a checked view is not followed; may be NULL */
} metate_view;

/* ---- where things are --------------------------------------------------------------------------- */

METATE_VIEW_INLINE const metate_level *metate_view_level(const metate_view *view, uint32_t level) {
  return (const metate_level *)(view->type + 1) + level;
}
METATE_VIEW_INLINE metate_tree_header *metate_view_header(const metate_view *view) {
  return (metate_tree_header *)view->block;
}
/* The record of a level's pool in the block. */
METATE_VIEW_INLINE metate_pool *metate_view_pool_of(const metate_view *view, uint32_t level) {
  return (metate_pool *)(view->block + sizeof(metate_tree_header)) +
         metate_view_level(view, level)->pool;
}
METATE_VIEW_INLINE const metate_view_pool *metate_view_own(const metate_view *view,
                                                           uint32_t level) {
  return view->pools + metate_view_level(view, level)->pool;
}
METATE_VIEW_INLINE uint32_t metate_view_physical(const metate_view *view, uint32_t level) {
  return view->pools ? metate_view_own(view, level)->physical
                     : metate_view_pool_of(view, level)->physical;
}
METATE_VIEW_INLINE uint32_t metate_view_capacity(const metate_view *view, uint32_t level) {
  return view->pools ? metate_view_own(view, level)->capacity
                     : metate_view_pool_of(view, level)->capacity;
}
METATE_VIEW_INLINE uint32_t metate_view_buckets(const metate_view *view, uint32_t level) {
  return view->pools ? metate_view_own(view, level)->buckets
                     : metate_view_pool_of(view, level)->table_buckets;
}
METATE_VIEW_INLINE uint32_t *metate_view_table(const metate_view *view, uint32_t level) {
  uint64_t offset = view->pools ? metate_view_own(view, level)->table
                                : metate_view_pool_of(view, level)->table_offset;
  return (uint32_t *)(view->block + offset);
}
METATE_VIEW_INLINE uint8_t *metate_view_slot(const metate_view *view, uint32_t level,
                                             uint32_t slot) {
  uint64_t offset = view->pools ? metate_view_own(view, level)->slots
                                : metate_view_pool_of(view, level)->slots_offset;
  return view->block + offset + slot * metate_view_level(view, level)->slot_bytes;
}
/* {state, next, coordinate[]} of a slot. */
METATE_VIEW_INLINE uint32_t *metate_view_record(const metate_view *view, uint32_t level,
                                                uint32_t slot) {
  uint64_t offset = view->pools ? metate_view_own(view, level)->meta
                                : metate_view_pool_of(view, level)->meta_offset;
  uint64_t bytes = 4 * (2 + (uint64_t)metate_view_level(view, level)->coordinate_count);
  return (uint32_t *)(view->block + offset + slot * bytes);
}
/* May this number of a slot be followed? */
METATE_VIEW_INLINE int metate_view_valid(const metate_view *view, uint32_t level, uint32_t slot) {
  return !view->pools || slot <= metate_view_own(view, level)->physical;
}
/* Slots that may have been handed out; bounded whatever the block says. */
METATE_VIEW_INLINE uint32_t metate_view_high_water(const metate_view *view, uint32_t level) {
  uint32_t high = __atomic_load_n(&metate_view_pool_of(view, level)->high_water, __ATOMIC_RELAXED);
  uint32_t most = metate_view_physical(view, level);
  return high < most ? high : most;
}
METATE_VIEW_INLINE uint32_t metate_view_mask_words(const metate_level *level) {
  return (uint32_t)((level->cells + 31) / 32);
}
METATE_VIEW_INLINE uint32_t metate_view_chunks(const metate_level *level) {
  return (uint32_t)((level->cells + level->slot_cells - 1) / level->slot_cells);
}
METATE_VIEW_INLINE uint32_t *metate_view_mask(const metate_level *level, uint8_t *container) {
  return (uint32_t *)(container + level->mask);
}
METATE_VIEW_INLINE uint32_t *metate_view_chunk_links(uint8_t *container) {
  return (uint32_t *)container + 2;
}
/* The last record of the subtree of `level`, plus one. */
METATE_VIEW_INLINE uint32_t metate_view_subtree_end(const metate_view *view, uint32_t level) {
  uint32_t end = level + 1;
  while (end < view->type->level_count && metate_view_level(view, end)->parent >= level)
    ++end;
  return end;
}
/* Has a cell of this level no links, masks or lengths in it? */
METATE_VIEW_INLINE int metate_view_inert(const metate_view *view, uint32_t level) {
  for (uint32_t i = level + 1, end = metate_view_subtree_end(view, level); i < end; ++i) {
    uint32_t kind = metate_view_level(view, i)->kind;
    if (kind != METATE_LEVEL_DENSE && kind != METATE_LEVEL_PLACE)
      return 0;
  }
  return 1;
}
METATE_VIEW_INLINE uint32_t metate_view_level_of_pool(const metate_view *view, uint32_t pool) {
  uint32_t level = 0;
  while (metate_view_level(view, level)->pool != pool)
    ++level;
  return level;
}

/* ---- status and topology ------------------------------------------------------------------------ */

/* Sets the sticky status; needed = 0: a list is at its largest length. */
METATE_VIEW_FUNCTION void metate_view_report(const metate_view *view, uint32_t level,
                                             uint64_t needed) {
  metate_tree_header *header = metate_view_header(view);
  uint32_t pool = metate_view_level(view, level)->pool, expected = METATE_OK;
  if (__atomic_compare_exchange_n(&header->status, &expected, (uint32_t)METATE_E_CAPACITY, 0,
                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    __atomic_store_n(&header->status_level, pool, __ATOMIC_RELAXED);
  if (__atomic_load_n(&header->status_level, __ATOMIC_RELAXED) != pool)
    return; /* needed counts for the pool that status_level names */
  uint64_t known = __atomic_load_n(&header->status_needed, __ATOMIC_RELAXED);
  while (known < needed && !__atomic_compare_exchange_n(&header->status_needed, &known, needed, 1,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

/* Notes that the set of active cells changes. Test first: the line stays shared. */
METATE_VIEW_INLINE void metate_view_change(const metate_view *view) {
  uint32_t *changed = &metate_view_header(view)->changed;
  if (!__atomic_load_n(changed, __ATOMIC_RELAXED))
    __atomic_store_n(changed, 1u, __ATOMIC_RELAXED);
}

/* Where a launch or a host call ends: a topology that changed gets another number. */
METATE_VIEW_INLINE void metate_view_settle(const metate_view *view) {
  metate_tree_header *header = metate_view_header(view);
  if (!__atomic_load_n(&header->changed, __ATOMIC_RELAXED))
    return;
  if (__atomic_exchange_n(&header->changed, 0u, __ATOMIC_RELAXED))
    __atomic_add_fetch(&header->topology, (uint64_t)1, __ATOMIC_RELAXED);
}

/* ---- background --------------------------------------------------------------------------------- */

/* Writes the background of one cell: links, masks and lengths 0, members their background. Not while
 * another worker may follow a link in it. */
METATE_VIEW_FUNCTION void metate_view_fill_cell(const metate_view *view, uint32_t level,
                                                uint8_t *cell) {
  const metate_level *own = metate_view_level(view, level);
  if (own->kind == METATE_LEVEL_PLACE) {
    __builtin_memcpy(cell, (const uint8_t *)view->type + own->background, own->cell_bytes);
    return;
  }
  __builtin_memset(cell, 0, own->cell_bytes);
  if (own->flags & METATE_LEVEL_ZERO)
    return;
  for (uint32_t i = level + 1, end = metate_view_subtree_end(view, level); i < end; ++i) {
    const metate_level *child = metate_view_level(view, i);
    uint8_t *first = cell + child->offset;
    if (child->parent != level || child->flags & METATE_LEVEL_ZERO)
      continue;
    if (child->kind != METATE_LEVEL_DENSE && child->kind != METATE_LEVEL_BITMASKED &&
        child->kind != METATE_LEVEL_PLACE)
      continue;
    metate_view_fill_cell(view, i, first);
    /* One cell, then copies of what is filled already, doubling. */
    uint64_t total = child->cells * child->cell_bytes;
    for (uint64_t done = child->cell_bytes, step; done < total; done += step) {
      step = done < total - done ? done : total - done;
      __builtin_memcpy(first + done, first, step);
    }
  }
}

METATE_VIEW_INLINE void metate_view_fill_slot(const metate_view *view, uint32_t level,
                                              uint32_t slot) {
  const metate_level *own = metate_view_level(view, level);
  uint8_t *to = metate_view_slot(view, level, slot);
  if (own->flags & METATE_LEVEL_ZERO) {
    __builtin_memset(to, 0, own->slot_bytes);
  } else if (own->flags & METATE_LEVEL_AMBIENT) {
    __builtin_memcpy(to, metate_view_slot(view, level, 0), own->slot_bytes);
  } else {
    for (uint32_t k = 0; k < own->slot_cells; ++k)
      metate_view_fill_cell(view, level, to + k * own->cell_bytes);
  }
}

/* ---- slots -------------------------------------------------------------------------------------- */

/* A slot of the pool that nobody else has, or 0. */
METATE_VIEW_FUNCTION uint32_t metate_view_take(const metate_view *view, uint32_t level) {
  metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t physical = metate_view_physical(view, level);
  uint64_t head = __atomic_load_n(&pool->free_head, __ATOMIC_ACQUIRE);
  while ((uint32_t)head) {
    uint32_t slot = (uint32_t)head;
    if (slot > physical)
      return 0; /* a damaged list: as good as an empty one */
    /* May read a slot that another worker has just taken: then the exchange fails. */
    uint32_t next = __atomic_load_n(metate_view_record(view, level, slot) + 1, __ATOMIC_RELAXED);
    uint64_t popped = ((head >> 32) + 1) << 32 | next;
    if (__atomic_compare_exchange_n(&pool->free_head, &head, popped, 1, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return slot;
  }
  uint32_t high = __atomic_load_n(&pool->high_water, __ATOMIC_RELAXED);
  while (high < physical)
    if (__atomic_compare_exchange_n(&pool->high_water, &high, high + 1, 1, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return high + 1;
  return 0;
}

/* A slot that was taken and never linked goes back. */
METATE_VIEW_FUNCTION void metate_view_give_back(const metate_view *view, uint32_t level,
                                                uint32_t slot) {
  metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t *record = metate_view_record(view, level, slot);
  __atomic_store_n(&record[0], 0u, __ATOMIC_RELAXED);
  uint64_t head = __atomic_load_n(&pool->free_head, __ATOMIC_RELAXED), pushed;
  do {
    __atomic_store_n(&record[1], (uint32_t)head, __ATOMIC_RELAXED);
    pushed = ((head >> 32) + 1) << 32 | slot;
  } while (!__atomic_compare_exchange_n(&pool->free_head, &head, pushed, 1, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
}

/* Fills a slot that was taken. The state last: a loop over the pool may look at it [release]. */
METATE_VIEW_INLINE void metate_view_prepare(const metate_view *view, uint32_t level, uint32_t slot,
                                            const uint32_t *key, uint32_t next) {
  uint32_t *record = metate_view_record(view, level, slot);
  metate_view_fill_slot(view, level, slot);
  __atomic_store_n(&record[1], next, __ATOMIC_RELAXED);
  for (uint32_t k = 0; k < metate_view_level(view, level)->coordinate_count; ++k)
    record[2 + k] = key[k];
  __atomic_store_n(&record[0], metate_view_header(view)->epoch, __ATOMIC_RELEASE);
}

/* Counts a slot that was linked: 1, or 0 where it is beyond the capacity (it is kept: it sits in a
 * slack slot). */
METATE_VIEW_INLINE int metate_view_count(const metate_view *view, uint32_t level) {
  metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t used = __atomic_add_fetch(&pool->used, 1u, __ATOMIC_RELAXED);
  metate_view_change(view);
  if (used <= metate_view_capacity(view, level))
    return 1;
  metate_view_report(view, level, used);
  return 0;
}

METATE_VIEW_FUNCTION void metate_view_exhausted(const metate_view *view, uint32_t level) {
  uint64_t used = __atomic_load_n(&metate_view_pool_of(view, level)->used, __ATOMIC_RELAXED);
  uint64_t least = metate_view_capacity(view, level) + 1ull;
  metate_view_report(view, level, used > least ? used : least);
}

/* The slot of a link, claimed if it is 0; 0 where the pool is exhausted and, with `strict`, where the
 * slot is beyond the capacity. */
METATE_VIEW_INLINE uint32_t metate_view_claim(const metate_view *view, uint32_t level,
                                              uint32_t *link, const uint32_t *key, int strict) {
  uint32_t linked = __atomic_load_n(link, __ATOMIC_ACQUIRE);
  if (linked)
    return linked;
  uint32_t slot = metate_view_take(view, level);
  if (!slot) {
    linked = __atomic_load_n(link, __ATOMIC_ACQUIRE); /* another may have linked it meanwhile */
    if (!linked)
      metate_view_exhausted(view, level);
    return linked;
  }
  metate_view_prepare(view, level, slot, key, 0);
  if (!__atomic_compare_exchange_n(link, &linked, slot, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    metate_view_give_back(view, level, slot);
    return linked;
  }
  return metate_view_count(view, level) || !strict ? slot : 0;
}

/* A slot that nothing links any more waits for the end of the task. */
METATE_VIEW_FUNCTION void metate_view_retire(const metate_view *view, uint32_t level,
                                             uint32_t slot) {
  metate_pool *pool = metate_view_pool_of(view, level);
  if (!metate_view_valid(view, level, slot))
    return;
  uint32_t *record = metate_view_record(view, level, slot);
  uint32_t head = __atomic_load_n(&pool->pending, __ATOMIC_RELAXED);
  do {
    __atomic_store_n(&record[1], head, __ATOMIC_RELAXED);
  } while (!__atomic_compare_exchange_n(&pool->pending, &head, slot, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
  metate_view_change(view);
}

/* ---- hash --------------------------------------------------------------------------------------- */

/* The bucket where the search for these coordinates begins. Neighbours share a cache line of buckets:
 * the lowest bits of their coordinates choose among up to 16, the others are mixed. */
METATE_VIEW_INLINE uint32_t metate_view_home(const uint32_t *key, uint32_t count,
                                             uint32_t buckets) {
  uint32_t bits = count == 1 ? 4 : count == 2 ? 2 : count <= 4 ? 1 : 0, low = 0;
  uint64_t mixed = 0;
  for (uint32_t k = 0; k < count; ++k) {
    low = low << bits | (key[k] & ((1u << bits) - 1));
    mixed = (mixed ^ (key[k] >> bits)) * 0x9e3779b97f4a7c15ull;
    mixed ^= mixed >> 32;
  }
  return ((uint32_t)mixed << bits * count | low) & (buckets - 1);
}

METATE_VIEW_INLINE int metate_view_matches(const metate_view *view, uint32_t level, uint32_t slot,
                                           const uint32_t *key, uint32_t any) {
  if (slot == METATE_TOMBSTONE || !metate_view_valid(view, level, slot))
    return 0;
  const uint32_t *record = metate_view_record(view, level, slot);
  int same = __atomic_load_n(&record[1], __ATOMIC_RELAXED) == any;
  for (uint32_t k = 0; k < metate_view_level(view, level)->coordinate_count; ++k)
    same &= record[2 + k] == key[k];
  return same;
}

/* The bucket that holds the slot with these coordinates, or NULL. */
METATE_VIEW_INLINE uint32_t *metate_view_hash_bucket(const metate_view *view, uint32_t level,
                                                     const uint8_t *container, const uint32_t *key,
                                                     uint32_t *slot) {
  uint32_t any = __atomic_load_n((const uint32_t *)container, __ATOMIC_ACQUIRE);
  uint32_t buckets = metate_view_buckets(view, level);
  uint32_t *table = metate_view_table(view, level);
  if (!any)
    return NULL;
  uint32_t at = metate_view_home(key, metate_view_level(view, level)->coordinate_count, buckets);
  for (uint32_t probe = 0; probe < buckets; ++probe, at = (at + 1) & (buckets - 1)) {
    *slot = __atomic_load_n(&table[at], __ATOMIC_ACQUIRE);
    if (!*slot)
      return NULL;
    if (metate_view_matches(view, level, *slot, key, any))
      return &table[at];
  }
  return NULL;
}

/* The slot with these coordinates below the container; 0: inactive. */
METATE_VIEW_INLINE uint32_t metate_view_hash_find(const metate_view *view, uint32_t level,
                                                  const uint8_t *container, const uint32_t *key) {
  uint32_t slot = 0;
  return metate_view_hash_bucket(view, level, container, key, &slot) ? slot : 0;
}

/* The container's stamp, given now if it has none. Each is drawn once: a container that was given up
 * and made anew has another. The top bit keeps it apart from slot numbers, which `next` of a
 * deactivated slot holds. */
METATE_VIEW_INLINE uint32_t metate_view_hash_stamp(const metate_view *view, uint32_t level,
                                                   uint8_t *container) {
  uint32_t any = __atomic_load_n((uint32_t *)container, __ATOMIC_ACQUIRE);
  if (any)
    return any;
  uint32_t *stamps = &metate_view_pool_of(view, level)->stamps;
  uint32_t stamp = __atomic_add_fetch(stamps, 1u, __ATOMIC_RELAXED) | 0x80000000u;
  return __atomic_compare_exchange_n((uint32_t *)container, &any, stamp, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)
             ? stamp
             : any;
}

/* As metate_view_claim, of a hash level's cell. */
METATE_VIEW_INLINE uint32_t metate_view_hash_claim(const metate_view *view, uint32_t level,
                                                   uint8_t *container, const uint32_t *key,
                                                   int strict) {
  uint32_t buckets = metate_view_buckets(view, level), mine = 0;
  uint32_t *table = metate_view_table(view, level);
  uint32_t any = metate_view_hash_stamp(view, level, container);
  uint32_t at = metate_view_home(key, metate_view_level(view, level)->coordinate_count, buckets);
  for (uint32_t probe = 0; probe < buckets; ++probe, at = (at + 1) & (buckets - 1)) {
    uint32_t found = __atomic_load_n(&table[at], __ATOMIC_ACQUIRE);
    if (!found) {
      if (!mine) {
        mine = metate_view_take(view, level);
        if (!mine)
          break;
        metate_view_prepare(view, level, mine, key, any);
      }
      if (__atomic_compare_exchange_n(&table[at], &found, mine, 0, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE))
        return metate_view_count(view, level) || !strict ? mine : 0;
    }
    if (metate_view_matches(view, level, found, key, any)) {
      if (mine)
        metate_view_give_back(view, level, mine);
      return found;
    }
  }
  if (mine)
    metate_view_give_back(view, level, mine);
  uint32_t found = metate_view_hash_find(view, level, container, key);
  if (!found)
    metate_view_exhausted(view, level);
  return found;
}

/* ---- lists -------------------------------------------------------------------------------------- */

/* Which of a slot's coordinates runs along the level's (first) axis. */
METATE_VIEW_INLINE uint32_t metate_view_axis_position(const metate_level *level) {
  uint32_t position = 0;
  while (position + 1 < level->coordinate_count && level->path_axes[position] != level->axes[0])
    ++position;
  return position;
}

/* The slot of a list's chunk, claimed if need be. */
METATE_VIEW_INLINE uint32_t metate_view_chunk_claim(const metate_view *view, uint32_t level,
                                                    uint8_t *container, uint32_t chunk,
                                                    const uint32_t *key) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t first[METATE_MAX_AXES];
  for (uint32_t k = 0; k < own->coordinate_count; ++k)
    first[k] = key[k];
  first[metate_view_axis_position(own)] = chunk * own->slot_cells;
  return metate_view_claim(view, level, metate_view_chunk_links(container) + chunk, first, 0);
}

/* Activates cell `index` and all before it; the slot of its chunk, 0: exhausted. Then the list ends
 * with the last chunk that there was. */
METATE_VIEW_INLINE uint32_t metate_view_dynamic_activate(const metate_view *view, uint32_t level,
                                                         uint8_t *container, uint64_t index,
                                                         const uint32_t *key, int strict) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t *length = (uint32_t *)container, slot = 0, reached = 0, beyond = 0;
  uint32_t chunk = (uint32_t)(index / own->slot_cells);
  uint32_t known = __atomic_load_n(length, __ATOMIC_ACQUIRE);
  if (index < known) {
    slot = __atomic_load_n(metate_view_chunk_links(container) + chunk, __ATOMIC_ACQUIRE);
    if (slot)
      return slot;
  }
  uint32_t next = known / own->slot_cells < chunk ? known / own->slot_cells : chunk;
  for (; next <= chunk; ++next) {
    int there = __atomic_load_n(metate_view_chunk_links(container) + next, __ATOMIC_RELAXED) != 0;
    slot = metate_view_chunk_claim(view, level, container, next, key);
    if (!slot)
      break;
    beyond |= !there && __atomic_load_n(&metate_view_pool_of(view, level)->used, __ATOMIC_RELAXED) >
                            metate_view_capacity(view, level);
  }
  reached = slot ? (uint32_t)index + 1 : next * own->slot_cells;
  while (known < reached) {
    if (!__atomic_compare_exchange_n(length, &known, reached, 1, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
      continue;
    metate_view_change(view);
    break;
  }
  return strict && beyond ? 0 : slot;
}

/* A new last cell of the list: its index, or -1 where the list or the pool is full. */
METATE_VIEW_INLINE int64_t metate_view_append(const metate_view *view, uint32_t level,
                                              uint8_t *container, const uint32_t *key) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t *length = (uint32_t *)container;
  uint32_t known = __atomic_load_n(length, __ATOMIC_ACQUIRE);
  for (;;) {
    if (known >= own->cells) {
      metate_view_report(view, level, 0);
      return -1;
    }
    /* The chunk before the length: what is below a length is always there. */
    if (!metate_view_chunk_claim(view, level, container, known / own->slot_cells, key))
      return -1;
    if (__atomic_compare_exchange_n(length, &known, known + 1, 1, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      metate_view_change(view);
      return known;
    }
  }
}

/* ---- deactivation ------------------------------------------------------------------------------- */

METATE_VIEW_INLINE void metate_view_unlink(const metate_view *view, uint32_t level,
                                           uint32_t *link) {
  if (!__atomic_load_n(link, __ATOMIC_RELAXED))
    return;
  uint32_t slot = __atomic_exchange_n(link, 0u, __ATOMIC_ACQ_REL);
  if (slot)
    metate_view_retire(view, level, slot);
}

METATE_VIEW_FUNCTION void metate_view_clear_list(const metate_view *view, uint32_t level,
                                                 uint8_t *container) {
  const metate_level *own = metate_view_level(view, level);
  /* The length first: nobody reads a link that is being taken away. */
  if (__atomic_load_n((uint32_t *)container, __ATOMIC_RELAXED) &&
      __atomic_exchange_n((uint32_t *)container, 0u, __ATOMIC_ACQ_REL))
    metate_view_change(view);
  for (uint32_t k = 0, chunks = metate_view_chunks(own); k < chunks; ++k)
    metate_view_unlink(view, level, metate_view_chunk_links(container) + k);
}

/* All hash cells below a container are given up: the stamp goes, collect finds the slots. */
METATE_VIEW_INLINE void metate_view_clear_hash(const metate_view *view, uint32_t level,
                                               uint8_t *container) {
  if (!__atomic_load_n((uint32_t *)container, __ATOMIC_RELAXED))
    return;
  __atomic_add_fetch(&metate_view_pool_of(view, level)->orphans, 1u, __ATOMIC_RELAXED);
  __atomic_exchange_n((uint32_t *)container, 0u, __ATOMIC_ACQ_REL);
  metate_view_change(view);
}

/* Gives up what is active inside one cell; with `fill` its members read as background afterwards. */
METATE_VIEW_FUNCTION void metate_view_clear_cell(const metate_view *view, uint32_t level,
                                                 uint8_t *cell, int fill) {
  for (uint32_t i = level + 1, end = metate_view_subtree_end(view, level); i < end; ++i) {
    const metate_level *child = metate_view_level(view, i);
    uint8_t *container = cell + child->offset;
    if (child->parent != level)
      continue;
    switch (child->kind) {
    case METATE_LEVEL_PLACE:
      if (fill)
        metate_view_fill_cell(view, i, container);
      break;
    case METATE_LEVEL_POINTER:
      for (uint64_t n = 0; n < child->cells; ++n)
        metate_view_unlink(view, i, (uint32_t *)container + n);
      break;
    case METATE_LEVEL_DYNAMIC:
      metate_view_clear_list(view, i, container);
      break;
    case METATE_LEVEL_HASH:
      metate_view_clear_hash(view, i, container);
      break;
    default: /* dense, bitmasked */
      if (child->kind == METATE_LEVEL_BITMASKED)
        for (uint32_t k = 0, words = metate_view_mask_words(child); k < words; ++k)
          __atomic_store_n(metate_view_mask(child, container) + k, 0u, __ATOMIC_RELAXED);
      if (fill || !metate_view_inert(view, i))
        for (uint64_t n = 0; n < child->cells; ++n)
          metate_view_clear_cell(view, i, container + n * child->cell_bytes, fill);
    }
  }
}

METATE_VIEW_INLINE void metate_view_hash_deactivate(const metate_view *view, uint32_t level,
                                                    const uint8_t *container, const uint32_t *key) {
  uint32_t slot = 0;
  uint32_t *bucket = metate_view_hash_bucket(view, level, container, key, &slot);
  if (!bucket || !__atomic_compare_exchange_n(bucket, &slot, METATE_TOMBSTONE, 0, __ATOMIC_ACQ_REL,
                                              __ATOMIC_RELAXED))
    return;
  __atomic_add_fetch(&metate_view_pool_of(view, level)->tombs, 1u, __ATOMIC_RELAXED);
  metate_view_retire(view, level, slot);
}

/* The mask bit goes first: who tests it meanwhile reads a cell that is background soon. */
METATE_VIEW_INLINE void metate_view_mask_deactivate(const metate_view *view, uint32_t level,
                                                    uint8_t *container, uint64_t linear) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t *word = metate_view_mask(own, container) + linear / 32;
  uint32_t bit = 1u << linear % 32;
  if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit) ||
      !(__atomic_fetch_and(word, ~bit, __ATOMIC_ACQ_REL) & bit))
    return;
  metate_view_change(view);
  metate_view_clear_cell(view, level, container + linear * own->cell_bytes, 1);
}

METATE_VIEW_INLINE void metate_view_mask_activate(const metate_view *view, uint32_t level,
                                                  uint8_t *container, uint64_t linear) {
  uint32_t *word = metate_view_mask(metate_view_level(view, level), container) + linear / 32;
  uint32_t bit = 1u << linear % 32;
  if (__atomic_load_n(word, __ATOMIC_ACQUIRE) & bit)
    return;
  __atomic_fetch_or(word, bit, __ATOMIC_ACQ_REL);
  metate_view_change(view);
}

/* Deactivates one cell of any level with activity; of a dynamic level the whole list. `linear` is the
 * cell's index in the container, `key` its coordinates (hash). */
METATE_VIEW_INLINE void metate_view_deactivate(const metate_view *view, uint32_t level,
                                               uint8_t *container, uint64_t linear,
                                               const uint32_t *key) {
  switch (metate_view_level(view, level)->kind) {
  case METATE_LEVEL_POINTER:
    metate_view_unlink(view, level, (uint32_t *)container + linear);
    break;
  case METATE_LEVEL_BITMASKED:
    metate_view_mask_deactivate(view, level, container, linear);
    break;
  case METATE_LEVEL_DYNAMIC:
    metate_view_clear_list(view, level, container);
    break;
  case METATE_LEVEL_HASH:
    metate_view_hash_deactivate(view, level, container, key);
    break;
  default:
    break;
  }
}

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
    if (child->kind != METATE_LEVEL_BITMASKED &&
        (child->kind != METATE_LEVEL_DENSE || metate_view_inert(view, i)))
      continue;
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

/* The end of a task that deactivated cells: see above. By one worker, when no other works on the tree. */
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
    for (uint32_t slot = 1, high = metate_view_high_water(view, level); slot <= high; ++slot)
      for (uint32_t k = 0; metate_view_record(view, level, slot)[0] && k < own->slot_cells; ++k)
        metate_view_sweep_cell(view, level,
                               metate_view_slot(view, level, slot) + k * own->cell_bytes);
  }
}

/* ---- the start of a task ------------------------------------------------------------------------ */

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
    ((uint32_t *)container)[1] = ((uint32_t *)container)[0];
  }
}

/* Before a task that changes the topology it walks: entry masks and lengths of all containers of a
 * bitmasked or dynamic level. By one worker. */
METATE_VIEW_FUNCTION void metate_view_snapshot(const metate_view *view, uint32_t target) {
  int64_t origin[METATE_MAX_AXES] = {0};
  uint32_t owner = metate_view_level(view, target)->parent;
  while (owner && metate_view_level(view, owner)->pool == METATE_NONE)
    owner = metate_view_level(view, owner)->parent;
  if (!owner) {
    metate_view_snapshot_cell(view, target, 0, metate_view_cell(view, 0, origin, METATE_VIEW_FIND));
    return;
  }
  const metate_level *own = metate_view_level(view, owner);
  for (uint32_t slot = 1, high = metate_view_high_water(view, owner); slot <= high; ++slot)
    for (uint32_t k = 0; metate_view_record(view, owner, slot)[0] && k < own->slot_cells; ++k)
      metate_view_snapshot_cell(view, target, owner,
                                metate_view_slot(view, owner, slot) + k * own->cell_bytes);
}

#endif
