/* A tree block as the protocol sees it: where things are, status and topology, background. Part of
 * tree.h. */
#ifndef METATE_PROTOCOL_VIEW_H
#define METATE_PROTOCOL_VIEW_H

#include "metate/abi/kernel.h"
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
  const metate_host *host; /* whose workers walk over many slots; NULL: the calling one alone */
  uint32_t worker;         /* whose magazines slots come from */
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
  /* Without an ambient slot the offset of slot 0 may be below 0: the sum comes first. */
  offset += slot * metate_view_level(view, level)->slot_bytes;
  return view->block + offset;
}
/* {state, next, coordinate[], of a dynamic level: cells at entry} of a slot. */
METATE_VIEW_INLINE uint32_t *metate_view_record(const metate_view *view, uint32_t level,
                                                uint32_t slot) {
  uint64_t offset = view->pools ? metate_view_own(view, level)->meta
                                : metate_view_pool_of(view, level)->meta_offset;
  uint64_t bytes = metate_record_bytes(metate_view_level(view, level));
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

/* body(context, begin, end, worker) over [0, count), by the host's workers where that is worth it. What a body
 * does may be done again: it is, where the executor gives up. */
METATE_VIEW_INLINE void metate_view_parallel(const metate_view *view, int64_t count, int64_t grain,
                                             metate_task_body body, void *context) {
  const metate_host *host = view->host;
  if (!host || !host->parallel_for || count < 2 * grain ||
      host->parallel_for(host->executor_self, count, grain, host->max_workers, body, context) !=
          METATE_OK)
    body(context, 0, count, 0);
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

/* ---- background --------------------------------------------------------------------------------- */

/* Writes the background of one cell: links, masks and lengths 0, members their background. Not while
 * another worker may follow a link in it. */
METATE_VIEW_FUNCTION void metate_view_fill_cells(const metate_view *view, uint32_t level,
                                                 uint8_t *first, uint64_t count);
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
    if (child->parent != level || child->flags & METATE_LEVEL_ZERO)
      continue;
    if (child->kind == METATE_LEVEL_DENSE || child->kind == METATE_LEVEL_BITMASKED ||
        child->kind == METATE_LEVEL_PLACE)
      metate_view_fill_cells(view, i, cell + child->offset, child->cells);
  }
}

/* The same, of cells that lie together. */
METATE_VIEW_FUNCTION void metate_view_fill_cells(const metate_view *view, uint32_t level,
                                                 uint8_t *first, uint64_t count) {
  const metate_level *own = metate_view_level(view, level);
  uint64_t total = count * own->cell_bytes;
  if (own->flags & METATE_LEVEL_ZERO) {
    __builtin_memset(first, 0, total);
    return;
  }
  if (count)
    metate_view_fill_cell(view, level, first);
  /* One cell, then copies of what is filled already, doubling. */
  for (uint64_t done = own->cell_bytes, step; done < total; done += step) {
    step = done < total - done ? done : total - done;
    __builtin_memcpy(first + done, first, step);
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

#endif
