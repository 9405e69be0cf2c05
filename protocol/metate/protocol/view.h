/* A tree block as the protocol sees it: where things are, status and topology, background. Part of
 * tree.h. */
#ifndef METATE_PROTOCOL_VIEW_H
#define METATE_PROTOCOL_VIEW_H

#include "metate/abi/tree.h"
#include "metate/protocol/machine.h"

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
  METATE_BLOCK uint8_t *block;
  const metate_tree_type *type;
  const metate_view_pool *pools; /* NULL: read them from the block */
  uint32_t *broken; /* set where a slot number of a checked view is not followed; may be NULL */
  uint32_t worker;  /* whose magazines slots come from */
} metate_view;

/* ---- where things are --------------------------------------------------------------------------- */

METATE_VIEW_INLINE const metate_level *metate_view_level(const metate_view *view, uint32_t level) {
  return (const metate_level *)(view->type + 1) + level;
}
METATE_VIEW_INLINE METATE_BLOCK metate_tree_header *metate_view_header(const metate_view *view) {
  return (METATE_BLOCK metate_tree_header *)view->block;
}
/* The record of a level's pool in the block. */
METATE_VIEW_INLINE METATE_BLOCK metate_pool *metate_view_pool_of(const metate_view *view,
                                                                 uint32_t level) {
  return (METATE_BLOCK metate_pool *)(view->block + sizeof(metate_tree_header)) +
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
METATE_VIEW_INLINE METATE_BLOCK uint32_t *metate_view_table(const metate_view *view,
                                                            uint32_t level) {
  uint64_t offset = view->pools ? metate_view_own(view, level)->table
                                : metate_view_pool_of(view, level)->table_offset;
  return (METATE_BLOCK uint32_t *)(view->block + offset);
}
METATE_VIEW_INLINE METATE_BLOCK uint8_t *metate_view_slot(const metate_view *view, uint32_t level,
                                                          uint32_t slot) {
  uint64_t offset = view->pools ? metate_view_own(view, level)->slots
                                : metate_view_pool_of(view, level)->slots_offset;
  /* Without an ambient slot the offset of slot 0 may be below 0: the sum comes first. */
  offset += slot * metate_view_level(view, level)->slot_bytes;
  return view->block + offset;
}
/* {state, next, coordinate[], of a dynamic level: cells at entry} of a slot. */
METATE_VIEW_INLINE METATE_BLOCK uint32_t *metate_view_record(const metate_view *view,
                                                             uint32_t level, uint32_t slot) {
  uint64_t offset = view->pools ? metate_view_own(view, level)->meta
                                : metate_view_pool_of(view, level)->meta_offset;
  uint64_t bytes = metate_record_bytes(metate_view_level(view, level));
  return (METATE_BLOCK uint32_t *)(view->block + offset + slot * bytes);
}
/* The coordinates of a slot, as its metadata has them. */
METATE_VIEW_INLINE const uint32_t *metate_view_key_of(const metate_view *view, uint32_t level,
                                                      uint32_t slot) {
  return (const uint32_t *)(metate_view_record(view, level, slot) + 2);
}
/* May this number of a slot be followed? */
METATE_VIEW_INLINE int metate_view_valid(const metate_view *view, uint32_t level, uint32_t slot) {
  return !view->pools || slot <= metate_view_own(view, level)->physical;
}
/* Slots that may have been handed out; bounded whatever the block says. */
METATE_VIEW_INLINE uint32_t metate_view_high_water(const metate_view *view, uint32_t level) {
  uint32_t high = METATE_ATOMIC_LOAD(&metate_view_pool_of(view, level)->high_water, RELAXED);
  uint32_t most = metate_view_physical(view, level);
  return high < most ? high : most;
}
METATE_VIEW_INLINE uint32_t metate_view_mask_words(const metate_level *level) {
  return (uint32_t)((level->cells + 31) / 32);
}
METATE_VIEW_INLINE uint32_t metate_view_chunks(const metate_level *level) {
  return (uint32_t)((level->cells + level->slot_cells - 1) / level->slot_cells);
}
METATE_VIEW_INLINE METATE_BLOCK uint32_t *metate_view_mask(const metate_level *level,
                                                           METATE_BLOCK uint8_t *container) {
  return (METATE_BLOCK uint32_t *)(container + level->mask);
}
METATE_VIEW_INLINE METATE_BLOCK uint32_t *metate_view_chunk_links(METATE_BLOCK uint8_t *container) {
  return (METATE_BLOCK uint32_t *)container + 2;
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
    if (kind != METATE_LEVEL_DENSE && kind != METATE_LEVEL_PLACE &&
        kind != METATE_LEVEL_BIT_STRUCT && kind != METATE_LEVEL_QUANT_ARRAY)
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
  METATE_BLOCK metate_tree_header *header = metate_view_header(view);
  uint32_t pool = metate_view_level(view, level)->pool, expected = METATE_OK;
  if (METATE_ATOMIC_COMPARE_EXCHANGE(&header->status, &expected, (uint32_t)METATE_E_CAPACITY, 0,
                                     RELAXED, RELAXED))
    METATE_ATOMIC_STORE(&header->status_level, pool, RELAXED);
  if (METATE_ATOMIC_LOAD(&header->status_level, RELAXED) != pool)
    return; /* needed counts for the pool that status_level names */
  uint64_t known = METATE_ATOMIC_LOAD(&header->status_needed, RELAXED);
  while (known < needed && !METATE_ATOMIC_COMPARE_EXCHANGE(&header->status_needed, &known, needed,
                                                           1, RELAXED, RELAXED)) {
  }
}

/* Notes that the set of active cells changes. Test first: the line stays shared. */
METATE_VIEW_INLINE void metate_view_change(const metate_view *view) {
  METATE_BLOCK uint32_t *changed = &metate_view_header(view)->changed;
  if (!METATE_ATOMIC_LOAD(changed, RELAXED))
    METATE_ATOMIC_STORE(changed, 1u, RELAXED);
}

/* ---- inside one cell ---------------------------------------------------------------------------- */

/* Bytes from a container whose cells lie in it to cell n; of a quant_array to the word that holds it. */
METATE_VIEW_INLINE uint64_t metate_view_cell_offset(const metate_level *level, uint64_t n) {
  if (level->kind == METATE_LEVEL_QUANT_ARRAY)
    n /= level->slot_cells;
  return n * level->cell_bytes;
}

/* Does the container of `inner`, a level below `level`, lie in the very cell, with no pool between? */
METATE_VIEW_INLINE int metate_view_is_inline(const metate_view *view, uint32_t level,
                                             uint32_t inner) {
  for (uint32_t at = metate_view_level(view, inner)->parent; at != level;
       at = metate_view_level(view, at)->parent)
    if (metate_view_level(view, at)->pool != METATE_NONE)
      return 0;
  return 1;
}

/* How many containers of `inner`, which is inline, a cell of `level` has. */
METATE_VIEW_INLINE uint64_t metate_view_inline_count(const metate_view *view, uint32_t level,
                                                     uint32_t inner) {
  uint64_t count = 1;
  for (uint32_t at = metate_view_level(view, inner)->parent; at != level;
       at = metate_view_level(view, at)->parent)
    count *= metate_view_level(view, at)->cells;
  return count;
}

/* The nth of these containers, row-major from the outermost level on. With `active`: NULL where a mask between says
 * that the cell it lies in is not active. */
METATE_VIEW_INLINE METATE_BLOCK uint8_t *
metate_view_inline_container(const metate_view *view, uint32_t level, uint32_t inner,
                             METATE_BLOCK uint8_t *cell, uint64_t n, int active) {
  uint64_t containers = metate_view_inline_count(view, level, inner);
  for (uint32_t at = level, next = inner;; at = next, next = inner) {
    while (metate_view_level(view, next)->parent != at)
      next = metate_view_level(view, next)->parent;
    const metate_level *own = metate_view_level(view, next);
    METATE_BLOCK uint8_t *container = cell + own->offset;
    if (next == inner)
      return container;
    containers /= own->cells;
    uint64_t k = n / containers;
    n -= k * containers;
    if (active && own->kind == METATE_LEVEL_BITMASKED &&
        !(metate_view_mask(own, container)[k / 32] >> k % 32 & 1))
      return NULL;
    cell = container + metate_view_cell_offset(own, k);
  }
}

/* ---- background --------------------------------------------------------------------------------- */

/* `count` cells of so many bytes take what the first one holds: copies of what is filled already, doubling. */
METATE_VIEW_INLINE void metate_view_repeat(METATE_BLOCK uint8_t *first, uint64_t bytes,
                                           uint64_t count) {
  for (uint64_t done = bytes, total = count * bytes, step; done < total; done += step) {
    step = done < total - done ? done : total - done;
    __builtin_memcpy(first + done, first, step);
  }
}

/* Writes the background of one cell: links, masks and lengths 0, members and words their background. Not while
 * another worker may follow a link in it. Inner levels come first: then each is filled in the first cell around it, and
 * repeated with it. */
METATE_VIEW_FUNCTION void metate_view_fill_cell(const metate_view *view, uint32_t level,
                                                METATE_BLOCK uint8_t *cell) {
  const metate_level *own = metate_view_level(view, level);
  if (own->background) {
    __builtin_memcpy(cell, (const uint8_t *)view->type + own->background, own->cell_bytes);
    return;
  }
  __builtin_memset(cell, 0, own->cell_bytes);
  if (own->flags & METATE_LEVEL_ZERO)
    return;
  for (uint32_t i = metate_view_subtree_end(view, level) - 1; i > level; --i) {
    const metate_level *inner = metate_view_level(view, i);
    if (inner->flags & METATE_LEVEL_ZERO || inner->pool != METATE_NONE || inner->quant ||
        !metate_view_is_inline(view, level, i))
      continue;
    METATE_BLOCK uint8_t *container = metate_view_inline_container(view, level, i, cell, 0, 0);
    if (inner->background)
      __builtin_memcpy(container, (const uint8_t *)view->type + inner->background,
                       inner->cell_bytes);
    metate_view_repeat(container, inner->cell_bytes, metate_level_pieces(inner));
  }
}

/* The same, of cells that lie together; of a quant_array, of words. */
METATE_VIEW_FUNCTION void metate_view_fill_cells(const metate_view *view, uint32_t level,
                                                 METATE_BLOCK uint8_t *first, uint64_t count) {
  const metate_level *own = metate_view_level(view, level);
  if (own->flags & METATE_LEVEL_ZERO) {
    __builtin_memset(first, 0, count * own->cell_bytes);
    return;
  }
  if (count)
    metate_view_fill_cell(view, level, first);
  metate_view_repeat(first, own->cell_bytes, count);
}

#ifdef __NVPTX__
#define METATE_SHUFFLE(mask, value, lane)                                                          \
  ((uint32_t)__nvvm_shfl_sync_idx_i32(mask, (int32_t)(value), lane, 31))

/* `bytes` of zeros, or of what stands at `from`, by one of `count` workers, so that words side by side are written at once. */
#define METATE_WRITE_SHARE(type, to, from, begin, end, own, count)                                 \
  for (uint64_t k = (begin) / sizeof(type) + (own); k < (end) / sizeof(type); k += (count))        \
  ((METATE_BLOCK type *)(to))[k] = (from) ? ((METATE_BLOCK type *)(from))[k] : (type){0}
typedef uint32_t metate_view_wide __attribute__((vector_size(16)));

/* The invocations of a warp that come here together write one range after the other, each a part of it. One that is alone writes words,
 * where a memset or memcpy of unknown length would write bytes. */
static __attribute__((noinline, convergent, unused)) int
metate_view_write_together(METATE_BLOCK uint8_t *to, const METATE_BLOCK uint8_t *from,
                           uint64_t bytes) {
  uint32_t mask = __nvvm_activemask(), count = (uint32_t)__builtin_popcount(mask);
  uint32_t rank = (uint32_t)__builtin_popcount(mask & __nvvm_read_ptx_sreg_lanemask_lt());
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    uint32_t lane = (uint32_t)__builtin_ctz(rest);
    uint64_t at = METATE_SHUFFLE(mask, (uint64_t)to, lane) |
                  (uint64_t)METATE_SHUFFLE(mask, (uint64_t)to >> 32, lane) << 32;
    uint64_t source = METATE_SHUFFLE(mask, (uint64_t)from, lane) |
                      (uint64_t)METATE_SHUFFLE(mask, (uint64_t)from >> 32, lane) << 32;
    uint64_t size =
        METATE_SHUFFLE(mask, bytes, lane) | (uint64_t)METATE_SHUFFLE(mask, bytes >> 32, lane) << 32;
    uint64_t wide = ((at | source) & 15) ? 0 : size / 16 * 16;
    uint64_t words = ((at | source) & 3) ? wide : size / 4 * 4;
    METATE_WRITE_SHARE(metate_view_wide, at, source, 0, wide, rank, count);
    METATE_WRITE_SHARE(uint32_t, at, source, wide, words, rank, count);
    METATE_WRITE_SHARE(uint8_t, at, source, words, size, rank, count);
  }
  __nvvm_bar_warp_sync(mask);
  return 1;
}
#else
#define metate_view_write_together(to, from, bytes) 0
#endif

METATE_VIEW_INLINE void metate_view_fill_slot(const metate_view *view, uint32_t level,
                                              uint32_t slot) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint8_t *to = metate_view_slot(view, level, slot);
  int isCopied = !(own->flags & METATE_LEVEL_ZERO) && own->flags & METATE_LEVEL_AMBIENT;
  if (own->flags & (METATE_LEVEL_ZERO | METATE_LEVEL_AMBIENT) &&
      metate_view_write_together(to, isCopied ? metate_view_slot(view, level, 0) : NULL,
                                 own->slot_bytes))
    return;
  if (own->flags & METATE_LEVEL_ZERO)
    __builtin_memset(to, 0, own->slot_bytes);
  else if (isCopied)
    __builtin_memcpy(to, metate_view_slot(view, level, 0), own->slot_bytes);
  else
    metate_view_fill_cells(view, level, to, own->slot_cells);
}

#endif
