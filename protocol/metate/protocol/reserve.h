/* Counting the slots that a launch would take, by any number of workers at once: a cell once, whoever comes first. The
 * memory is drawn in abi/metate/abi/reservation.h. */
#ifndef METATE_PROTOCOL_RESERVE_H
#define METATE_PROTOCOL_RESERVE_H

#include "metate/abi/reservation.h"
#include "metate/protocol/task.h"

/* The record with these coordinates, made if there is none (*fresh = 1); NULL: no room. */
METATE_VIEW_FUNCTION metate_reserved *metate_reservation_enter(metate_reservation *counted,
                                                               uint32_t tree, uint32_t level,
                                                               const uint32_t *key, uint32_t axes,
                                                               int *fresh) {
  uint32_t mask = counted->bucket_count - 1, mine = 0;
  uint32_t *buckets = metate_reservation_buckets(counted);
  metate_reserved *records = metate_reservation_records(counted);
  uint32_t at = metate_view_home(key, axes, counted->bucket_count) + level * 0x9e3779b1u;
  *fresh = 0;
  for (uint32_t probe = 0; probe <= mask; ++probe, ++at) {
    uint32_t found = __atomic_load_n(&buckets[at & mask], __ATOMIC_ACQUIRE);
    if (!found) {
      if (!mine) {
        if (__atomic_load_n(&counted->taken, __ATOMIC_RELAXED) <= counted->record_count)
          mine = __atomic_add_fetch(&counted->taken, 1u, __ATOMIC_RELAXED);
        if (!mine || mine > counted->record_count)
          return NULL;
        metate_reserved *own = records + (mine - 1);
        own->tree = tree;
        own->level = level;
        own->count = 0;
        for (uint32_t k = 0; k < axes; ++k)
          own->key[k] = key[k];
      }
      if (__atomic_compare_exchange_n(&buckets[at & mask], &found, mine, 0, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
        *fresh = 1;
        return records + (mine - 1);
      }
    }
    metate_reserved *other = records + (found - 1);
    int same = other->tree == tree && other->level == level;
    for (uint32_t k = 0; k < axes; ++k)
      same &= other->key[k] == key[k];
    if (same)
      return other;
  }
  return NULL;
}

/* Counts a slot of the level, unless that is done: 1 where it was the first time. */
METATE_VIEW_INLINE int metate_reserve_slot(const metate_view *view, uint32_t level,
                                           const int64_t *along, metate_reservation *counted,
                                           uint32_t tree) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t key[METATE_MAX_AXES];
  int fresh = 0;
  metate_view_key(own, along, key);
  metate_reservation_enter(counted, tree, 2 * level, key, own->coordinate_count, &fresh);
  if (fresh)
    __atomic_add_fetch(&metate_reservation_missing(counted)[tree * counted->pools + own->pool],
                       (uint64_t)1, __ATOMIC_RELAXED);
  return fresh;
}

/* Counts the slots from the root down to this cell that are not there; the cell, or NULL: not active. */
METATE_VIEW_FUNCTION uint8_t *metate_reserve_cell(const metate_view *view, uint32_t level,
                                                  const int64_t *along, metate_reservation *counted,
                                                  uint32_t tree) {
  const metate_level *own = metate_view_level(view, level);
  uint64_t n = 0;
  if (own->kind == METATE_LEVEL_ROOT)
    return metate_view_container(view, level, along, METATE_VIEW_FIND, &n);
  int64_t outer[METATE_MAX_AXES];
  for (uint32_t k = 0; k < METATE_MAX_AXES; ++k)
    outer[k] = along[k];
  n = metate_view_ascend(own, outer);
  uint8_t *container = metate_reserve_cell(view, own->parent, outer, counted, tree);
  uint32_t key[METATE_MAX_AXES], slot = 0;
  if (container)
    container += own->offset;
  switch (own->kind) {
  case METATE_LEVEL_POINTER:
    slot = container ? __atomic_load_n((uint32_t *)container + n, __ATOMIC_ACQUIRE) : 0;
    break;
  case METATE_LEVEL_HASH:
    metate_view_key(own, along, key);
    slot = container ? metate_view_hash_find(view, level, container, key) : 0;
    break;
  case METATE_LEVEL_DYNAMIC: {
    uint64_t length = container ? __atomic_load_n((uint32_t *)container, __ATOMIC_ACQUIRE) : 0;
    uint64_t linked = (length + own->slot_cells - 1) / own->slot_cells;
    int64_t *at = &outer[own->axes[0]]; /* `outer` is free again: the chunk's place */
    for (uint32_t k = 0; k < METATE_MAX_AXES; ++k)
      outer[k] = along[k];
    /* The last chunk first: who finds it counted knows that the others are or will be. */
    for (uint64_t chunks = n / own->slot_cells + 1; chunks > linked; --chunks) {
      *at = (int64_t)chunks - 1;
      if (!metate_reserve_slot(view, level, outer, counted, tree))
        break;
    }
    if (n >= length)
      return NULL;
    slot =
        __atomic_load_n(metate_view_chunk_links(container) + n / own->slot_cells, __ATOMIC_ACQUIRE);
    return metate_view_in_slot(view, level, slot, n % own->slot_cells);
  }
  default: /* what is not active below a bit holds background: links that are 0 */
    return container ? container + n * own->cell_bytes : NULL;
  }
  if (!slot)
    metate_reserve_slot(view, level, along, counted, tree);
  return metate_view_in_slot(view, level, slot, 0);
}

/* Counts one more cell of a list (coordinate along it: 0). */
METATE_VIEW_FUNCTION void metate_reserve_append(const metate_view *view, uint32_t level,
                                                const int64_t *along, metate_reservation *counted,
                                                uint32_t tree) {
  const metate_level *own = metate_view_level(view, level);
  uint32_t key[METATE_MAX_AXES];
  int64_t outer[METATE_MAX_AXES];
  int fresh = 0;
  for (uint32_t k = 0; k < METATE_MAX_AXES; ++k)
    outer[k] = along[k];
  metate_view_ascend(own, outer);
  const uint8_t *list = metate_reserve_cell(view, own->parent, outer, counted, tree);
  uint64_t length =
      list ? __atomic_load_n((const uint32_t *)(list + own->offset), __ATOMIC_ACQUIRE) : 0;
  metate_view_key(own, along, key);
  metate_reserved *record =
      metate_reservation_enter(counted, tree, 2 * level + 1, key, own->coordinate_count, &fresh);
  if (!record)
    return;
  uint64_t index = length + __atomic_fetch_add(&record->count, 1u, __ATOMIC_RELAXED);
  if (index >= own->cells) {
    __atomic_store_n(&counted->full_tree, tree, __ATOMIC_RELAXED);
    __atomic_store_n(&counted->full, level + 1, __ATOMIC_RELEASE);
  } else if (index % own->slot_cells == 0) {
    __atomic_add_fetch(&metate_reservation_missing(counted)[tree * counted->pools + own->pool],
                       (uint64_t)1, __ATOMIC_RELAXED);
  }
}

#endif
