/* The cells of hash levels and lists, deactivation: what workers do to one cell, all of them at
 * once. Part of tree.h, which states the rules. */
#ifndef METATE_PROTOCOL_CELLS_H
#define METATE_PROTOCOL_CELLS_H

#include "metate/protocol/slots.h"

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
  const METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
  int same = METATE_ATOMIC_LOAD(&record[1], RELAXED) == any;
  for (uint32_t k = 0; k < metate_view_level(view, level)->coordinate_count; ++k)
    same &= record[2 + k] == key[k];
  return same;
}

/* The bucket that holds the slot with these coordinates, or NULL. */
METATE_VIEW_INLINE METATE_BLOCK uint32_t *
metate_view_hash_bucket(const metate_view *view, uint32_t level,
                        const METATE_BLOCK uint8_t *container, const uint32_t *key,
                        uint32_t *slot) {
  uint32_t any = METATE_ATOMIC_LOAD((const METATE_BLOCK uint32_t *)container, ACQUIRE);
  uint32_t buckets = metate_view_buckets(view, level);
  METATE_BLOCK uint32_t *table = metate_view_table(view, level);
  if (!any)
    return NULL;
  uint32_t at = metate_view_home(key, metate_view_level(view, level)->coordinate_count, buckets);
  for (uint32_t probe = 0; probe < buckets; ++probe, at = (at + 1) & (buckets - 1)) {
    *slot = METATE_ATOMIC_LOAD(&table[at], ACQUIRE);
    if (!*slot)
      return NULL;
    if (metate_view_matches(view, level, *slot, key, any))
      return &table[at];
  }
  return NULL;
}

/* The slot with these coordinates below the container; 0: inactive. */
METATE_VIEW_INLINE uint32_t metate_view_hash_find(const metate_view *view, uint32_t level,
                                                  const METATE_BLOCK uint8_t *container,
                                                  const uint32_t *key) {
  uint32_t slot = 0;
  return metate_view_hash_bucket(view, level, container, key, &slot) ? slot : 0;
}

/* The container's stamp, given now if it has none. Each is drawn once: a container that was given up
 * and made anew has another. The top bit keeps it apart from slot numbers, which `next` of a
 * deactivated slot holds. */
METATE_VIEW_INLINE uint32_t metate_view_hash_stamp(const metate_view *view, uint32_t level,
                                                   METATE_BLOCK uint8_t *container) {
  uint32_t any = METATE_ATOMIC_LOAD((METATE_BLOCK uint32_t *)container, ACQUIRE);
  if (any)
    return any;
  METATE_BLOCK uint32_t *stamps = &metate_view_pool_of(view, level)->stamps;
  uint32_t count = METATE_ATOMIC_ADD_FETCH(stamps, 1u, RELAXED), stamp = count | 0x80000000u;
  if (!count) /* over: the count keeps its top bit, so that check knows that all have been given */
    METATE_ATOMIC_FETCH_OR(stamps, 0x80000000u, RELAXED);
  return METATE_ATOMIC_COMPARE_EXCHANGE((METATE_BLOCK uint32_t *)container, &any, stamp, 0, ACQ_REL,
                                        ACQUIRE)
             ? stamp
             : any;
}

/* As metate_view_claim, of a hash level's cell. */
METATE_VIEW_INLINE uint32_t metate_view_hash_claim(const metate_view *view, uint32_t level,
                                                   METATE_BLOCK uint8_t *container,
                                                   const uint32_t *key, int strict) {
  uint32_t buckets = metate_view_buckets(view, level), mine = 0;
  METATE_BLOCK uint32_t *table = metate_view_table(view, level);
  uint32_t any = metate_view_hash_stamp(view, level, container);
  uint32_t at = metate_view_home(key, metate_view_level(view, level)->coordinate_count, buckets);
  for (uint32_t probe = 0; probe < buckets; ++probe, at = (at + 1) & (buckets - 1)) {
    uint32_t found = METATE_ATOMIC_LOAD(&table[at], ACQUIRE);
    if (!found) {
      if (!mine) {
        mine = metate_view_take(view, level);
        if (!mine)
          break;
        metate_view_prepare(view, level, mine, key, any);
      }
      if (METATE_ATOMIC_COMPARE_EXCHANGE(&table[at], &found, mine, 0, ACQ_REL, ACQUIRE))
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
                                                    METATE_BLOCK uint8_t *container, uint32_t chunk,
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
                                                         METATE_BLOCK uint8_t *container,
                                                         uint64_t index, const uint32_t *key,
                                                         int strict) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint32_t *length = (METATE_BLOCK uint32_t *)container;
  uint32_t slot = 0, reached = 0, beyond = 0;
  uint32_t chunk = (uint32_t)(index / own->slot_cells);
  uint32_t known = METATE_ATOMIC_LOAD(length, ACQUIRE);
  if (index < known) {
    slot = METATE_ATOMIC_LOAD(metate_view_chunk_links(container) + chunk, ACQUIRE);
    if (slot)
      return slot;
  }
  uint32_t next = known / own->slot_cells < chunk ? known / own->slot_cells : chunk;
#if METATE_DEVICE /* the length may be ahead of chunks */
  while (next && !METATE_ATOMIC_LOAD(metate_view_chunk_links(container) + next - 1, ACQUIRE))
    --next;
#endif
  for (; next <= chunk; ++next) {
    int there = METATE_ATOMIC_LOAD(metate_view_chunk_links(container) + next, RELAXED) != 0;
    slot = metate_view_chunk_claim(view, level, container, next, key);
    if (!slot)
      break;
    beyond |= !there && METATE_ATOMIC_LOAD(&metate_view_pool_of(view, level)->used, RELAXED) >
                            metate_view_capacity(view, level);
  }
  reached = slot ? (uint32_t)index + 1 : next * own->slot_cells;
  while (known < reached) {
    if (!METATE_ATOMIC_COMPARE_EXCHANGE(length, &known, reached, 1, ACQ_REL, ACQUIRE))
      continue;
    metate_view_change(view);
    break;
  }
  return strict && beyond ? 0 : slot;
}

#if METATE_DEVICE
/* The length to `limit` where it is beyond that; what a task that gives up the list has made of it meanwhile stays. */
METATE_VIEW_FUNCTION void metate_view_shorten(METATE_BLOCK uint32_t *length, uint32_t limit) {
  uint32_t known = METATE_ATOMIC_LOAD(length, RELAXED);
  while (known > limit &&
         !METATE_ATOMIC_COMPARE_EXCHANGE(length, &known, limit, 1, RELAXED, RELAXED)) {
  }
}

/* Is no worker left without a slot who needs one now? Where the pool has one for each chunk of all lists and none was given up in this
 * task, or more to spare than all workers can take, of whom each holds one at most. */
METATE_VIEW_INLINE int metate_view_is_roomy(const metate_view *view, uint32_t level) {
  uint64_t lists = 1, capacity = metate_view_capacity(view, level);
  uint32_t above = metate_view_level(view, level)->parent;
  for (; above && metate_view_level(view, above)->pool == METATE_NONE;
       above = metate_view_level(view, above)->parent)
    lists *= metate_view_level(view, above)->cells;
  if (!above && lists * metate_view_chunks(metate_view_level(view, level)) <= capacity &&
      !METATE_ATOMIC_LOAD(&metate_view_pool_of(view, level)->pending, RELAXED))
    return 1;
  uint64_t used = METATE_ATOMIC_LOAD(&metate_view_pool_of(view, level)->used, RELAXED);
  return used + (metate_view_physical(view, level) - capacity) < capacity;
}

/* The length before one was added to it. Invocations of a warp that are here together add for all that are at one list at once. */
#ifdef __NVPTX__
static __attribute__((noinline, convergent,
                      unused)) uint32_t metate_view_lengthen(METATE_BLOCK uint32_t *length) {
  uint32_t mask = __nvvm_activemask(), leader = (uint32_t)__builtin_ctz(mask);
  uint64_t own = (uint64_t)length;
  uint64_t first =
      METATE_SHUFFLE(mask, own, leader) | (uint64_t)METATE_SHUFFLE(mask, own >> 32, leader) << 32;
  uint32_t same = (uint32_t)__nvvm_vote_ballot_sync(mask, own == first);
  if (own != first)
    return METATE_ATOMIC_FETCH_ADD(length, 1u, RELAXED);
  uint32_t before = 0, count = (uint32_t)__builtin_popcount(same);
  uint32_t rank = (uint32_t)__builtin_popcount(same & __nvvm_read_ptx_sreg_lanemask_lt());
  if (!rank)
    before = METATE_ATOMIC_FETCH_ADD(length, count, RELAXED);
  return METATE_SHUFFLE(same, before, leader) + rank;
}
#else
METATE_VIEW_INLINE uint32_t metate_view_lengthen(METATE_BLOCK uint32_t *length) {
  return METATE_ATOMIC_FETCH_ADD(length, 1u, RELAXED);
}
#endif

/* How often a worker looks whether another one has claimed a chunk before it does so itself: a chunk of many bytes takes longer to fill. */
METATE_VIEW_INLINE uint32_t metate_view_claim_turns(const metate_level *own) {
  return 128 + (uint32_t)(own->slot_bytes >> 12);
}

/* metate_view_append where the pool is roomy: thousands of workers meet at one length, so each adds to it at once, and looks afterwards
 * whether its chunk is there. So in such a task a length may be ahead of chunks, which who reads them tests; a chunk that cannot
 * be had after all, since others took slots by the thousand meanwhile, is the host's to mend (runtime/kernel/failure.cpp).
 * Who was given a chunk's first cell claims it. The others wait for that: else all would take a slot and fill it for one that is
 * linked. Nobody waits for ever, since the first one's chunk may have been given up again. */
METATE_VIEW_INLINE int64_t metate_view_append_at_once(const metate_view *view, uint32_t level,
                                                      METATE_BLOCK uint8_t *container,
                                                      const uint32_t *key) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint32_t *length = (METATE_BLOCK uint32_t *)container;
  uint32_t index = (uint32_t)own->cells;
  if (METATE_ATOMIC_LOAD(length, RELAXED) < own->cells)
    index = metate_view_lengthen(length);
  if (index >= own->cells) {
    metate_view_report(view, level, 0);
    metate_view_shorten(length, (uint32_t)own->cells);
    return -1;
  }
  uint32_t chunk = index / own->slot_cells, there = 0;
  METATE_BLOCK uint32_t *link = metate_view_chunk_links(container) + chunk;
  if (index % own->slot_cells == 0)
    there = metate_view_chunk_claim(view, level, container, chunk, key);
  for (uint32_t turn = 0; !there && turn < metate_view_claim_turns(own); ++turn) {
    there = METATE_ATOMIC_LOAD(link, ACQUIRE);
    if (!there)
      metate_view_pause(1u << (turn < 6 ? turn : 6));
  }
  if (!there && !metate_view_chunk_claim(view, level, container, chunk, key))
    return -1;
  metate_view_change(view);
  return index;
}
#endif

/* A new last cell of the list: its index, or -1 where the list or the pool is full. */
METATE_VIEW_INLINE int64_t metate_view_append(const metate_view *view, uint32_t level,
                                              METATE_BLOCK uint8_t *container,
                                              const uint32_t *key) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint32_t *length = (METATE_BLOCK uint32_t *)container;
#if METATE_DEVICE
  if (metate_view_is_roomy(view, level))
    return metate_view_append_at_once(view, level, container, key);
#endif
  uint32_t known = METATE_ATOMIC_LOAD(length, ACQUIRE);
  for (uint32_t turns = 8;; turns = turns < 64 ? 2 * turns : turns) {
    if (known >= own->cells) {
      metate_view_report(view, level, 0);
      return -1;
    }
    /* The chunk before the length: what is below a length is always there. */
    uint32_t chunk = known / own->slot_cells;
    if (!METATE_ATOMIC_LOAD(metate_view_chunk_links(container) + chunk, ACQUIRE) &&
        !metate_view_chunk_claim(view, level, container, chunk, key))
      return -1;
    if (METATE_ATOMIC_COMPARE_EXCHANGE(length, &known, known + 1, 1, ACQ_REL, ACQUIRE)) {
      metate_view_change(view);
      return known;
    }
    /* Another worker is at the same list: while he has its line to himself he appends many times. */
    metate_view_pause(turns);
    known = METATE_ATOMIC_LOAD(length, ACQUIRE);
  }
}

/* The same by a worker that no other is beside: nobody else changes the length. */
METATE_VIEW_INLINE int64_t metate_view_append_alone(const metate_view *view, uint32_t level,
                                                    METATE_BLOCK uint8_t *container,
                                                    const uint32_t *key) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint32_t *length = (METATE_BLOCK uint32_t *)container;
  uint32_t known = METATE_ATOMIC_LOAD(length, RELAXED);
  if (known >= own->cells) {
    metate_view_report(view, level, 0);
    return -1;
  }
  uint32_t chunk = known / own->slot_cells;
  if (!METATE_ATOMIC_LOAD(metate_view_chunk_links(container) + chunk, RELAXED) &&
      !metate_view_chunk_claim(view, level, container, chunk, key))
    return -1;
  METATE_ATOMIC_STORE(length, known + 1, RELAXED);
  metate_view_change(view);
  return known;
}

/* `count` new last cells of the list, side by side: the first one's index, and above 32 bits how many there are, fewer
 * where the list or the pool is full. */
METATE_VIEW_INLINE int64_t metate_view_append_run(const metate_view *view, uint32_t level,
                                                  METATE_BLOCK uint8_t *container, uint32_t count,
                                                  const uint32_t *key) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint32_t *length = (METATE_BLOCK uint32_t *)container;
  uint32_t known = METATE_ATOMIC_LOAD(length, ACQUIRE);
  for (uint32_t turns = 8;; turns = turns < 64 ? 2 * turns : turns) {
    uint64_t end = (uint64_t)known + count;
    if (end > own->cells) {
      metate_view_report(view, level, 0);
      end = own->cells;
    }
    /* The chunks before the length, as far as there are slots. */
    uint64_t reached = known;
    for (uint32_t chunk = known / own->slot_cells; reached < end; ++chunk) {
      if (!METATE_ATOMIC_LOAD(metate_view_chunk_links(container) + chunk, ACQUIRE) &&
          !metate_view_chunk_claim(view, level, container, chunk, key))
        break;
      reached = (chunk + 1ull) * own->slot_cells;
    }
    if (reached > end)
      reached = end;
    if (reached <= known)
      return 0;
    if (METATE_ATOMIC_COMPARE_EXCHANGE(length, &known, (uint32_t)reached, 1, ACQ_REL, ACQUIRE)) {
      metate_view_change(view);
      return (int64_t)((reached - known) << 32 | known);
    }
    metate_view_pause(turns);
    known = METATE_ATOMIC_LOAD(length, ACQUIRE);
  }
}

/* ---- deactivation ------------------------------------------------------------------------------- */

METATE_VIEW_INLINE void metate_view_unlink(const metate_view *view, uint32_t level,
                                           METATE_BLOCK uint32_t *link) {
  if (!METATE_ATOMIC_LOAD(link, RELAXED))
    return;
  uint32_t slot = METATE_ATOMIC_EXCHANGE(link, 0u, ACQ_REL);
  if (slot)
    metate_view_retire(view, level, slot);
}

/* `isSwept`: what comes with other chunks at once is swept behind the task, since the list stays. */
METATE_VIEW_FUNCTION void metate_view_clear_list(const metate_view *view, uint32_t level,
                                                 METATE_BLOCK uint8_t *container, int isSwept) {
  const metate_level *own = metate_view_level(view, level);
  /* The length first: nobody reads a link that is being taken away. */
  uint32_t length = METATE_ATOMIC_LOAD((METATE_BLOCK uint32_t *)container, RELAXED);
  if (length) {
    length = METATE_ATOMIC_EXCHANGE((METATE_BLOCK uint32_t *)container, 0u, ACQ_REL);
    if (length)
      metate_view_change(view);
  }
  METATE_BLOCK uint32_t *links = metate_view_chunk_links(container);
  (void)isSwept;
  for (uint32_t k = 0, chunks = metate_view_chunks(own); k < chunks; ++k) {
#if METATE_DEVICE /* chunks that are there are the first ones */
    if (isSwept && (uint64_t)k * own->slot_cells >= length &&
        !METATE_ATOMIC_LOAD(links + k, RELAXED))
      break;
#endif
    metate_view_unlink(view, level, links + k);
  }
}

/* All hash cells below a container are given up: the stamp goes, collect finds the slots. */
METATE_VIEW_INLINE void metate_view_clear_hash(const metate_view *view, uint32_t level,
                                               METATE_BLOCK uint8_t *container) {
  if (!METATE_ATOMIC_LOAD((METATE_BLOCK uint32_t *)container, RELAXED))
    return;
  METATE_ATOMIC_ADD_FETCH(&metate_view_pool_of(view, level)->orphans, 1u, RELAXED);
  METATE_ATOMIC_EXCHANGE((METATE_BLOCK uint32_t *)container, 0u, ACQ_REL);
  metate_view_change(view);
}

/* Gives up what is active in one container of a level that is inline in a cell that goes. */
METATE_VIEW_INLINE void metate_view_clear_container(const metate_view *view, uint32_t level,
                                                    METATE_BLOCK uint8_t *container) {
  const metate_level *own = metate_view_level(view, level);
  switch (own->kind) {
  case METATE_LEVEL_POINTER:
    for (uint64_t n = 0; n < own->cells; ++n)
      metate_view_unlink(view, level, (METATE_BLOCK uint32_t *)container + n);
    break;
  case METATE_LEVEL_DYNAMIC:
    metate_view_clear_list(view, level, container, 0);
    break;
  case METATE_LEVEL_HASH:
    metate_view_clear_hash(view, level, container);
    break;
  case METATE_LEVEL_BITMASKED:
    for (uint32_t k = 0, words = metate_view_mask_words(own); k < words; ++k)
      METATE_ATOMIC_STORE(metate_view_mask(own, container) + k, 0u, RELAXED);
    break;
  default:
    break;
  }
}

/* Gives up what is active inside one cell; with `fill` its members read as background afterwards. Level by level: the
 * containers of each, in the cell and in the cells inside of it. */
METATE_VIEW_FUNCTION void metate_view_clear_cell(const metate_view *view, uint32_t level,
                                                 METATE_BLOCK uint8_t *cell, int fill) {
  for (uint32_t i = level + 1, next, end = metate_view_subtree_end(view, level); i < end;
       i = next) {
    const metate_level *inner = metate_view_level(view, i);
    int values = inner->pool == METATE_NONE && metate_view_inert(view, i);
    /* What a pool holds is collected with its slots, and values are filled as wholes. */
    next = values || inner->pool != METATE_NONE ? metate_view_subtree_end(view, i) : i + 1;
    if (values && !fill && inner->kind != METATE_LEVEL_BITMASKED)
      continue;
    for (uint64_t n = 0, count = metate_view_inline_count(view, level, i); n < count; ++n) {
      METATE_BLOCK uint8_t *container = metate_view_inline_container(view, level, i, cell, n, 0);
      metate_view_clear_container(view, i, container);
      if (values && fill)
        metate_view_fill_cells(view, i, container, metate_level_pieces(inner));
    }
  }
}

METATE_VIEW_INLINE void metate_view_hash_deactivate(const metate_view *view, uint32_t level,
                                                    const METATE_BLOCK uint8_t *container,
                                                    const uint32_t *key) {
  uint32_t slot = 0;
  METATE_BLOCK uint32_t *bucket = metate_view_hash_bucket(view, level, container, key, &slot);
  if (!bucket ||
      !METATE_ATOMIC_COMPARE_EXCHANGE(bucket, &slot, METATE_TOMBSTONE, 0, ACQ_REL, RELAXED))
    return;
  METATE_ATOMIC_ADD_FETCH(&metate_view_pool_of(view, level)->tombs, 1u, RELAXED);
  metate_view_retire(view, level, slot);
}

/* The mask bit goes first: who tests it meanwhile reads a cell that is background soon. */
METATE_VIEW_INLINE void metate_view_mask_deactivate(const metate_view *view, uint32_t level,
                                                    METATE_BLOCK uint8_t *container,
                                                    uint64_t linear) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint32_t *word = metate_view_mask(own, container) + linear / 32;
  uint32_t bit = 1u << linear % 32;
  if (!(METATE_ATOMIC_LOAD(word, RELAXED) & bit) ||
      !(METATE_ATOMIC_FETCH_AND(word, ~bit, ACQ_REL) & bit))
    return;
  metate_view_change(view);
  metate_view_clear_cell(view, level, container + linear * own->cell_bytes, 1);
}

/* Runs of ones in a word of a mask: the background in their cells, which hold values alone. `first` is the cell of bit 0. */
METATE_VIEW_INLINE void metate_view_fill_bits(const metate_view *view, uint32_t level,
                                              METATE_BLOCK uint8_t *container, uint64_t first,
                                              uint64_t bits) {
  uint64_t bytes = metate_view_level(view, level)->cell_bytes;
  if (bits == 0xffffffffu) { /* so many that compilers know how many */
    metate_view_fill_cells(view, level, container + first * bytes, 32);
    return;
  }
  while (bits) {
    uint32_t from = (uint32_t)__builtin_ctzll(bits);
    uint32_t count = (uint32_t)__builtin_ctzll(~(bits >> from));
    metate_view_fill_cells(view, level, container + (first + from) * bytes, count);
    bits &= ~(((1ull << count) - 1) << from);
  }
}

/* As metate_view_mask_deactivate, of several cells: those of `bits` in each of the words [begin, end) of the mask. Of a
 * level without pools below. */
METATE_VIEW_INLINE void metate_view_mask_deactivate_bits(const metate_view *view, uint32_t level,
                                                         METATE_BLOCK uint8_t *container,
                                                         uint64_t begin, uint64_t end,
                                                         uint32_t bits) {
  METATE_BLOCK uint32_t *mask = metate_view_mask(metate_view_level(view, level), container);
  for (uint64_t word = begin; word < end; ++word) {
    uint32_t active = METATE_ATOMIC_LOAD(mask + word, RELAXED) & bits;
    if (active)
      active &= METATE_ATOMIC_FETCH_AND(mask + word, ~bits, ACQ_REL);
    if (!active)
      continue;
    metate_view_change(view);
    metate_view_fill_bits(view, level, container, 32 * word, active);
  }
}

METATE_VIEW_INLINE void metate_view_mask_activate(const metate_view *view, uint32_t level,
                                                  METATE_BLOCK uint8_t *container,
                                                  uint64_t linear) {
  METATE_BLOCK uint32_t *word =
      metate_view_mask(metate_view_level(view, level), container) + linear / 32;
  uint32_t bit = 1u << linear % 32;
  if (METATE_ATOMIC_LOAD(word, ACQUIRE) & bit)
    return;
  METATE_ATOMIC_FETCH_OR(word, bit, ACQ_REL);
  metate_view_change(view);
}

/* Deactivates one cell of any level with activity; of a dynamic level the whole list. `linear` is the
 * cell's index in the container, `key` its coordinates (hash). */
METATE_VIEW_INLINE void metate_view_deactivate(const metate_view *view, uint32_t level,
                                               METATE_BLOCK uint8_t *container, uint64_t linear,
                                               const uint32_t *key) {
  switch (metate_view_level(view, level)->kind) {
  case METATE_LEVEL_POINTER:
    metate_view_unlink(view, level, (METATE_BLOCK uint32_t *)container + linear);
    break;
  case METATE_LEVEL_BITMASKED:
    metate_view_mask_deactivate(view, level, container, linear);
    break;
  case METATE_LEVEL_DYNAMIC:
    metate_view_clear_list(view, level, container, 1);
    break;
  case METATE_LEVEL_HASH:
    metate_view_hash_deactivate(view, level, container, key);
    break;
  default:
    break;
  }
}

#endif
