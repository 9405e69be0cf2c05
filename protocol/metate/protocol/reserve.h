/* Counting the slots that a launch would take, by any number of workers at once: a cell once, whoever comes first. The
 * memory is drawn in abi/metate/abi/reservation.h. */
#ifndef METATE_PROTOCOL_RESERVE_H
#define METATE_PROTOCOL_RESERVE_H

#include "metate/abi/reservation.h"
#include "metate/protocol/paths.h"

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
    uint32_t found = METATE_ATOMIC_LOAD(&buckets[at & mask], ACQUIRE);
    if (!found) {
      if (!mine) {
        if (METATE_ATOMIC_LOAD(&counted->taken, RELAXED) <= counted->record_count)
          mine = METATE_ATOMIC_ADD_FETCH(&counted->taken, 1u, RELAXED);
        if (!mine || mine > counted->record_count)
          return NULL;
        metate_reserved *own = records + (mine - 1);
        own->tree = tree;
        own->level = level;
        own->count = 0;
        for (uint32_t k = 0; k < axes; ++k)
          own->key[k] = key[k];
      }
      if (METATE_ATOMIC_COMPARE_EXCHANGE(&buckets[at & mask], &found, mine, 0, ACQ_REL, ACQUIRE)) {
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
    METATE_ATOMIC_ADD_FETCH(&metate_reservation_missing(counted)[tree * counted->pools + own->pool],
                            (uint64_t)1, RELAXED);
  return fresh;
}

/* The cell with this index in a list, counted with all chunks up to it. `along` is the cell's. */
METATE_VIEW_INLINE METATE_BLOCK uint8_t *
metate_reserve_in_list(const metate_view *view, uint32_t level, METATE_BLOCK uint8_t *list,
                       uint64_t n, const int64_t *along, metate_reservation *counted,
                       uint32_t tree) {
  const metate_level *own = metate_view_level(view, level);
  uint64_t length = list ? METATE_ATOMIC_LOAD((METATE_BLOCK uint32_t *)list, ACQUIRE) : 0;
  uint64_t linked = (length + own->slot_cells - 1) / own->slot_cells;
  int64_t chunk[METATE_MAX_AXES];
  for (uint32_t k = 0; k < METATE_MAX_AXES; ++k)
    chunk[k] = along[k];
  /* The last chunk first: who finds it counted knows that the others are or will be. */
  for (uint64_t chunks = n / own->slot_cells + 1; chunks > linked; --chunks) {
    chunk[own->axes[0]] = (int64_t)chunks - 1;
    if (!metate_reserve_slot(view, level, chunk, counted, tree))
      break;
  }
  if (n >= length)
    return NULL;
  uint32_t slot = METATE_ATOMIC_LOAD(metate_view_chunk_links(list) + n / own->slot_cells, ACQUIRE);
  return metate_view_in_slot(view, level, slot, n % own->slot_cells);
}

/* The cell that the next step of a path leads to from a container (NULL: of a cell that is not active), counted if it is not
 * there. */
METATE_VIEW_INLINE METATE_BLOCK uint8_t *
metate_reserve_step(const metate_view *view, const metate_view_path *path, uint32_t step,
                    METATE_BLOCK uint8_t *container, metate_reservation *counted, uint32_t tree) {
  uint32_t level = path->levels[step], key[METATE_MAX_AXES], slot = 0;
  const metate_level *own = metate_view_level(view, level);
  uint64_t n = path->linear[step];
  switch (own->kind) {
  case METATE_LEVEL_POINTER:
    slot = container ? METATE_ATOMIC_LOAD((METATE_BLOCK uint32_t *)container + n, ACQUIRE) : 0;
    break;
  case METATE_LEVEL_HASH:
    metate_view_key(own, path->along, key);
    slot = container ? metate_view_hash_find(view, level, container, key) : 0;
    break;
  case METATE_LEVEL_DYNAMIC:
    return metate_reserve_in_list(view, level, container, n, path->along, counted, tree);
  default: /* what is not active below a bit holds background: links that are 0 */
    return container ? container + metate_view_cell_offset(own, n) : NULL;
  }
  if (!slot)
    metate_reserve_slot(view, level, path->along, counted, tree);
  return metate_view_in_slot(view, level, slot, 0);
}

/* Counts the slots from the root down to this cell that are not there; the cell, or NULL: not active. */
METATE_VIEW_FUNCTION METATE_BLOCK uint8_t *metate_reserve_cell(const metate_view *view,
                                                               uint32_t level, const int64_t *along,
                                                               metate_reservation *counted,
                                                               uint32_t tree) {
  metate_view_path path;
  metate_view_find_path(view, level, along, &path);
  METATE_BLOCK uint8_t *cell = metate_view_root(view);
  for (uint32_t step = 0; step < path.count; ++step) {
    METATE_BLOCK uint8_t *container =
        cell ? cell + metate_view_level(view, path.levels[step])->offset : NULL;
    metate_view_descend(view, &path, step);
    cell = metate_reserve_step(view, &path, step, container, counted, tree);
  }
  return cell;
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
  const METATE_BLOCK uint8_t *list = metate_reserve_cell(view, own->parent, outer, counted, tree);
  uint64_t length =
      list ? METATE_ATOMIC_LOAD((const METATE_BLOCK uint32_t *)(list + own->offset), ACQUIRE) : 0;
  metate_view_key(own, along, key);
  metate_reserved *record =
      metate_reservation_enter(counted, tree, 2 * level + 1, key, own->coordinate_count, &fresh);
  if (!record)
    return;
  uint64_t index = length + METATE_ATOMIC_FETCH_ADD(&record->count, 1u, RELAXED);
  if (index >= own->cells) {
    METATE_ATOMIC_STORE(&counted->full_tree, tree, RELAXED);
    METATE_ATOMIC_STORE(&counted->full, level + 1, RELEASE);
  } else if (index % own->slot_cells == 0) {
    METATE_ATOMIC_ADD_FETCH(&metate_reservation_missing(counted)[tree * counted->pools + own->pool],
                            (uint64_t)1, RELAXED);
  }
}

#endif
