/* Slots in the order of their coordinates. Part of tree.h, which states the rules.
 *
 * The order is Z-order (Morton): whoever of two slots has the smaller coordinate along the axis where
 * they differ in the highest bit comes first; of several such axes the first one counts. Coordinates
 * are signed and of any number, of unbounded axes too. Chunks of lists: the lists in that order, by
 * their other coordinates, and the chunks of one list one after the other.
 *
 * In place, with no memory of its own: `next` of a slot that nothing links as free means nothing (of a
 * hash level it is its container's stamp, which is looked up again), so the metadata records are
 * sorted with the old slot numbers in it, and the slots follow along the permutation. */
#ifndef METATE_PROTOCOL_SORT_H
#define METATE_PROTOCOL_SORT_H

#include "metate/protocol/task.h"

/* Which coordinate decides between two slots, by the differing bits of each; any if none differs. */
METATE_VIEW_INLINE uint32_t metate_view_deciding(const metate_level *own,
                                                 const uint32_t *difference) {
  uint32_t list = own->kind == METATE_LEVEL_DYNAMIC ? metate_view_axis_position(own) : METATE_NONE;
  uint32_t best = list, most = 0;
  for (uint32_t k = 0; k < own->coordinate_count; ++k)
    if (k != list && most < difference[k] && most < (most ^ difference[k])) {
      best = k;
      most = difference[k];
    }
  return best == METATE_NONE ? 0 : best;
}

/* Does the slot with the one key come before that with the other? */
METATE_VIEW_INLINE int metate_view_precedes(const metate_level *own, const uint32_t *key,
                                            const uint32_t *other) {
  uint32_t difference[METATE_MAX_AXES];
  for (uint32_t k = 0; k < own->coordinate_count; ++k)
    difference[k] = key[k] ^ other[k];
  uint32_t k = metate_view_deciding(own, difference);
  return (int32_t)key[k] < (int32_t)other[k];
}

/* Are all slots that were handed out active, and in order? */
METATE_VIEW_FUNCTION int metate_view_in_order(const metate_view *view, uint32_t level) {
  const metate_level *own = metate_view_level(view, level);
  for (uint32_t slot = 1, high = metate_view_high_water(view, level); slot <= high; ++slot) {
    const METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
    if (!record[0] || (slot > 1 && !metate_view_precedes(
                                       own, metate_view_key_of(view, level, slot - 1), record + 2)))
      return 0;
  }
  return 1;
}

METATE_VIEW_INLINE void metate_view_swap(METATE_BLOCK uint8_t *left, METATE_BLOCK uint8_t *right,
                                         uint64_t bytes) {
  uint8_t part[256]; /* of what moves: what was moved last is still in the cache */
  for (uint64_t step; bytes; left += step, right += step, bytes -= step) {
    step = bytes < sizeof part ? bytes : sizeof part;
    __builtin_memcpy(part, left, step);
    __builtin_memcpy(left, right, step);
    __builtin_memcpy(right, part, step);
  }
}

METATE_VIEW_INLINE void metate_view_swap_records(const metate_view *view, uint32_t level,
                                                 uint32_t left, uint32_t right) {
  METATE_BLOCK uint32_t *a = metate_view_record(view, level, left),
                        *b = metate_view_record(view, level, right);
  for (uint32_t k = 0, count = metate_record_bytes(metate_view_level(view, level)) / 4; k < count;
       ++k) {
    uint32_t word = a[k];
    a[k] = b[k];
    b[k] = word;
  }
}

/* Every record's `next` becomes its slot's number; those of active slots come first. How many they are. */
METATE_VIEW_FUNCTION uint32_t metate_view_gather(const metate_view *view, uint32_t level) {
  uint32_t active = 0;
  for (uint32_t slot = 1, high = metate_view_high_water(view, level); slot <= high; ++slot) {
    METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
    record[1] = slot;
    if (record[0] && ++active != slot)
      metate_view_swap_records(view, level, active, slot);
  }
  return active;
}

/* A few records. */
METATE_VIEW_FUNCTION void metate_view_sort_few(const metate_view *view, uint32_t level,
                                               uint32_t first, uint32_t last) {
  const metate_level *own = metate_view_level(view, level);
  for (uint32_t slot = first + 1; slot <= last; ++slot)
    for (uint32_t at = slot;
         at > first && metate_view_precedes(own, metate_view_key_of(view, level, at),
                                            metate_view_key_of(view, level, at - 1));
         --at)
      metate_view_swap_records(view, level, at, at - 1);
}

/* The records of [first, last] in two parts, by the highest bit of the order in which any two of them
 * differ: the first record of the second part; first: all are equal. */
METATE_VIEW_FUNCTION uint32_t metate_view_part(const metate_view *view, uint32_t level,
                                               uint32_t first, uint32_t last) {
  const metate_level *own = metate_view_level(view, level);
  const uint32_t *key = metate_view_key_of(view, level, first);
  uint32_t difference[METATE_MAX_AXES] = {0};
  for (uint32_t slot = first + 1; slot <= last; ++slot) {
    const uint32_t *other = metate_view_key_of(view, level, slot);
    for (uint32_t k = 0; k < own->coordinate_count; ++k)
      difference[k] |= key[k] ^ other[k];
  }
  uint32_t deciding = metate_view_deciding(own, difference);
  if (!difference[deciding])
    return first;
  uint32_t shift = 31 - (uint32_t)__builtin_clz(difference[deciding]);
  uint32_t flip = shift == 31; /* negative numbers come first */
  uint32_t low = first, high = last + 1;
  while (low < high) {
    uint32_t word = metate_view_record(view, level, low)[2 + deciding];
    if ((word >> shift & 1) == flip)
      ++low;
    else
      metate_view_swap_records(view, level, low, --high);
  }
  return low;
}

/* The records 1 to `last` in order. Each bit of the order parts a range at most once: no more than
 * 32 turns for each coordinate over all records. */
METATE_VIEW_FUNCTION void metate_view_sort_records(const metate_view *view, uint32_t level,
                                                   uint32_t last) {
  struct {
    uint32_t first, last;
  } waiting[33]; /* the larger part of each range waits: the others halve */
  uint32_t count = 0, first = 1;
  for (;;) {
    while (last > first && last - first >= 12) {
      uint32_t middle = metate_view_part(view, level, first, last);
      if (middle == first)
        first = last; /* equal: a damaged block */
      else if (middle - first > last + 1 - middle) {
        waiting[count].first = first;
        waiting[count++].last = middle - 1;
        first = middle;
      } else {
        waiting[count].first = middle;
        waiting[count++].last = last;
        last = middle - 1;
      }
    }
    if (last > first)
      metate_view_sort_few(view, level, first, last);
    if (!count)
      return;
    first = waiting[--count].first;
    last = waiting[count].last;
  }
}

/* Slot k takes what the slot has whose number `next` of record k says, for the first `active` ones.
 * Nonzero: at least one was another. */
METATE_VIEW_FUNCTION int metate_view_move_slots(const metate_view *view, uint32_t level,
                                                uint32_t active) {
  uint64_t bytes = metate_view_level(view, level)->slot_bytes;
  int moved = 0;
  /* From each slot that was free on, to one that becomes free: records behind have the numbers. */
  for (uint32_t at = active + 1, high = metate_view_high_water(view, level); at <= high; ++at)
    for (uint32_t hole = metate_view_record(view, level, at)[1]; hole <= active; moved = 1) {
      METATE_BLOCK uint32_t *from = metate_view_record(view, level, hole) + 1;
      uint32_t source = *from;
      __builtin_memcpy(metate_view_slot(view, level, hole), metate_view_slot(view, level, source),
                       bytes);
      *from = hole;
      hole = source;
    }
  /* What is left are cycles: what the first one had travels along, and is the last one's. */
  for (uint32_t first = 1; first <= active; ++first)
    for (uint32_t at = first;;) {
      METATE_BLOCK uint32_t *from = metate_view_record(view, level, at) + 1;
      uint32_t source = *from;
      *from = at;
      if (source == first || source == at)
        break;
      metate_view_swap(metate_view_slot(view, level, at), metate_view_slot(view, level, source),
                       bytes);
      at = source;
      moved = 1;
    }
  return moved;
}

/* Links and tables lead to the slots with their new numbers. Levels above have been sorted. */
METATE_VIEW_FUNCTION __attribute__((noinline)) void
metate_view_relink(const metate_view *view, uint32_t level, uint32_t active) {
  const metate_level *own = metate_view_level(view, level);
  for (uint32_t slot = 1; slot <= active; ++slot) {
    uint64_t linear = 0;
    METATE_BLOCK uint32_t *words =
        (METATE_BLOCK uint32_t *)metate_view_home_container(view, level, slot, &linear);
    if (!words)
      continue; /* a damaged block */
    if (own->kind == METATE_LEVEL_HASH)
      metate_view_record(view, level, slot)[1] = *words;
    else if (own->kind == METATE_LEVEL_DYNAMIC)
      metate_view_chunk_links((METATE_BLOCK uint8_t *)words)[linear / own->slot_cells] = slot;
    else
      words[linear] = slot;
  }
  if (own->kind == METATE_LEVEL_HASH)
    metate_view_rebuild(view, level);
}

/* One pool, after those before it. Nonzero: a slot has another number. */
METATE_VIEW_FUNCTION int metate_view_sort_pool(const metate_view *view, uint32_t level) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t high = metate_view_high_water(view, level), active = metate_view_gather(view, level);
  uint64_t bytes = metate_record_bytes(metate_view_level(view, level));
  metate_view_sort_records(view, level, active);
  int moved = metate_view_move_slots(view, level, active);
  if (moved || metate_view_level(view, level)->kind == METATE_LEVEL_HASH)
    metate_view_relink(view, level, active);
  __builtin_memset(metate_view_record(view, level, active + 1), 0, (high - active) * bytes);
  METATE_ATOMIC_STORE(&pool->high_water, active, RELAXED);
  METATE_ATOMIC_STORE(&pool->free_head, ((pool->free_head >> 32) + 1) << 32, RELAXED);
  metate_view_forget_magazines(pool);
  return moved;
}

METATE_VIEW_INLINE int metate_view_is_sorted(const metate_view *view) {
  const METATE_BLOCK metate_tree_header *header = metate_view_header(view);
  return !METATE_ATOMIC_LOAD(&header->changed, RELAXED) &&
         header->sorted == METATE_ATOMIC_LOAD(&header->topology, RELAXED);
}

/* Notes that all pools are in order, and have as many slots as are in use; `moved`: slots have other numbers than before. */
METATE_VIEW_INLINE void metate_view_note_sorted(const metate_view *view, int moved) {
  METATE_BLOCK metate_tree_header *header = metate_view_header(view);
  if (moved)
    metate_view_change(view);
  for (uint32_t number = 0; number < view->type->pool_count; ++number)
    metate_view_pool_of(view, metate_view_level_of_pool(view, number))->peak = 0;
  metate_view_settle(view);
  header->sorted = METATE_ATOMIC_LOAD(&header->topology, RELAXED);
}

/* Puts the slots of all pools in order where the set of active cells has changed since they were. By
 * one worker, when no other works on the tree and nothing is pending. */
METATE_VIEW_FUNCTION void metate_view_sort(const metate_view *view) {
  if (metate_view_is_sorted(view))
    return;
  int moved = 0;
  for (uint32_t number = 0; number < view->type->pool_count; ++number) {
    uint32_t level = metate_view_level_of_pool(view, number);
    if (!metate_view_in_order(view, level))
      moved |= metate_view_sort_pool(view, level);
  }
  metate_view_note_sorted(view, moved);
}

#endif
