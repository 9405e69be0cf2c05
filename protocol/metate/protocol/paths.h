/* Whole paths, from the root down to a cell. Part of tree.h, which states the rules. */
#ifndef METATE_PROTOCOL_PATHS_H
#define METATE_PROTOCOL_PATHS_H

#include "metate/protocol/cells.h"

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

/* A cell of the slot, or NULL for slot 0 and for a number that is not to be followed. */
METATE_VIEW_INLINE METATE_BLOCK uint8_t *
metate_view_in_slot(const metate_view *view, uint32_t level, uint32_t slot, uint64_t cell) {
  int valid = metate_view_valid(view, level, slot);
  if (!valid && view->broken)
    *view->broken = 1;
  if (!slot || !valid)
    return NULL;
  return metate_view_slot(view, level, slot) + cell * metate_view_level(view, level)->cell_bytes;
}

/* Most levels on a path; no verified type has more. */
#define METATE_VIEW_DEPTH 32

/* The way from the root to a level: the levels below the root, and which cell of each one's container lies on it. */
typedef struct metate_view_path {
  uint32_t count;
  uint32_t levels[METATE_VIEW_DEPTH];
  uint64_t linear[METATE_VIEW_DEPTH];
  int64_t along
      [METATE_MAX_AXES]; /* of the cell that was reached, in its own units: at first the root's */
} metate_view_path;

METATE_VIEW_INLINE void metate_view_find_path(const metate_view *view, uint32_t level,
                                              const int64_t *along, metate_view_path *path) {
  path->count = 0;
  for (uint32_t at = level; at; at = metate_view_level(view, at)->parent)
    ++path->count;
  for (uint32_t k = 0; k < METATE_MAX_AXES; ++k)
    path->along[k] = along[k];
  uint32_t at = level;
  for (uint32_t step = path->count; step-- > 0; at = metate_view_level(view, at)->parent) {
    path->levels[step] = at;
    path->linear[step] = metate_view_ascend(metate_view_level(view, at), path->along);
  }
}

/* One level down: the coordinates of its cell. */
METATE_VIEW_INLINE void metate_view_descend(const metate_view *view, metate_view_path *path,
                                            uint32_t step) {
  const metate_level *own = metate_view_level(view, path->levels[step]);
  uint64_t rest = path->linear[step];
  for (uint32_t k = own->kind == METATE_LEVEL_HASH ? 0 : own->axis_count; k-- > 0;) {
    uint64_t extent = own->extents[k], outer = rest / extent;
    int64_t *at = &path->along[own->axes[k]];
    *at = *at * (int64_t)extent + (int64_t)(rest - outer * extent);
    rest = outer;
  }
}

/* The cell with this index and key in its container, of a quant_array the word that holds it; NULL: inactive, or not to be
 * activated (the status says so), or in a damaged block. */
METATE_VIEW_INLINE METATE_BLOCK uint8_t *
metate_view_cell_in(const metate_view *view, uint32_t level, METATE_BLOCK uint8_t *container,
                    uint64_t n, const uint32_t *key, metate_view_mode mode) {
  const metate_level *own = metate_view_level(view, level);
  METATE_BLOCK uint32_t *words = (METATE_BLOCK uint32_t *)container;
  uint32_t slot = 0;
  switch (own->kind) {
  case METATE_LEVEL_POINTER:
    slot = mode == METATE_VIEW_FIND ? METATE_ATOMIC_LOAD(words + n, ACQUIRE)
                                    : metate_view_claim(view, level, words + n, key, 0);
    return metate_view_in_slot(view, level, slot, 0);
  case METATE_LEVEL_HASH:
    slot = mode == METATE_VIEW_FIND ? metate_view_hash_find(view, level, container, key)
                                    : metate_view_hash_claim(view, level, container, key, 0);
    return metate_view_in_slot(view, level, slot, 0);
  case METATE_LEVEL_DYNAMIC:
    if (mode == METATE_VIEW_ACTIVATE)
      slot = metate_view_dynamic_activate(view, level, container, n, key, 0);
    else if (n < METATE_ATOMIC_LOAD(words, ACQUIRE))
      slot = METATE_ATOMIC_LOAD(metate_view_chunk_links(container) + n / own->slot_cells, ACQUIRE);
    return metate_view_in_slot(view, level, slot, n % own->slot_cells);
  case METATE_LEVEL_BITMASKED:
    if (mode == METATE_VIEW_ACTIVATE)
      metate_view_mask_activate(view, level, container, n);
    else if (!(METATE_ATOMIC_LOAD(metate_view_mask(own, container) + n / 32, ACQUIRE) >> n % 32 &
               1))
      return NULL;
    break;
  default:
    break;
  }
  return container + metate_view_cell_offset(own, n);
}

METATE_VIEW_INLINE METATE_BLOCK uint8_t *metate_view_root(const metate_view *view) {
  uint64_t tables =
      sizeof(metate_tree_header) + (uint64_t)view->type->pool_count * sizeof(metate_pool);
  return view->block + (tables + METATE_BLOCK_ALIGN - 1) / METATE_BLOCK_ALIGN * METATE_BLOCK_ALIGN;
}

/* The cell that the first `steps` levels of a path lead to; NULL as above. */
METATE_VIEW_INLINE METATE_BLOCK uint8_t *metate_view_follow(const metate_view *view,
                                                            metate_view_path *path, uint32_t steps,
                                                            metate_view_mode mode) {
  METATE_BLOCK uint8_t *cell = metate_view_root(view);
  for (uint32_t step = 0; step < steps && cell; ++step) {
    uint32_t level = path->levels[step], key[METATE_MAX_AXES];
    const metate_level *own = metate_view_level(view, level);
    metate_view_descend(view, path, step);
    metate_view_key(own, path->along, key);
    cell = metate_view_cell_in(view, level, cell + own->offset, path->linear[step], key, mode);
  }
  return cell;
}

/* The cell of `level` with these coordinates (in its own units); NULL: inactive, or not to be
 * activated (the status says so), or in a damaged block. */
METATE_VIEW_FUNCTION METATE_BLOCK uint8_t *metate_view_cell(const metate_view *view, uint32_t level,
                                                            const int64_t *along,
                                                            metate_view_mode mode) {
  metate_view_path path;
  metate_view_find_path(view, level, along, &path);
  return metate_view_follow(view, &path, path.count, mode);
}

/* The container of that cell and its index there. The root's cell is its container. */
METATE_VIEW_FUNCTION METATE_BLOCK uint8_t *
metate_view_container(const metate_view *view, uint32_t level, const int64_t *along,
                      metate_view_mode mode, uint64_t *linear) {
  metate_view_path path;
  metate_view_find_path(view, level, along, &path);
  uint32_t last = path.count ? path.count - 1 : 0;
  *linear = path.count ? path.linear[last] : 0;
  METATE_BLOCK uint8_t *cell = metate_view_follow(view, &path, last, mode);
  return cell ? cell + metate_view_level(view, level)->offset : NULL;
}

/* The container of `level` (a pool's) that one of its active slots belongs to; NULL: gone. */
METATE_VIEW_FUNCTION METATE_BLOCK uint8_t *metate_view_home_container(const metate_view *view,
                                                                      uint32_t level, uint32_t slot,
                                                                      uint64_t *linear) {
  const metate_level *own = metate_view_level(view, level);
  const METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
  int64_t along[METATE_MAX_AXES] = {0};
  for (uint32_t k = 0; k < own->coordinate_count; ++k)
    along[own->path_axes[k]] = (int32_t)record[2 + k];
  return metate_view_container(view, level, along, METATE_VIEW_FIND, linear);
}

#endif
