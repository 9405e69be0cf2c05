/* The tree protocol (abi/metate/abi/tree_protocol.h) as generated code calls it: bitcode inside of the compiler, of which
 * each payload gets what it calls. `type` is the type's blob in the payload's constants and `level` a constant, so that
 * after inlining nothing of the blob is read at run time. Must not call anything but itself: there is no library below. */
#include "metate/abi/tree_protocol.h"
#include "metate/abi/tree_reserve.h"

#define CONSTANT_LEVEL                                                                             \
  __attribute__((always_inline)) /* in a function of its own for each type and level */

static metate_view view_of(uint8_t *block, const metate_tree_type *type) {
  metate_view view = {block, type, NULL, NULL, NULL, 0};
  return view;
}
static metate_view view_by(uint8_t *block, const metate_tree_type *type, uint32_t worker) {
  metate_view view = {block, type, NULL, NULL, NULL, worker};
  return view;
}

/* The coordinates of a cell as metadata has them. */
static void key_of(const metate_view *view, uint32_t level, const int64_t *coordinates,
                   uint32_t *key) {
  for (uint32_t k = 0; k < metate_view_level(view, level)->coordinate_count; ++k)
    key[k] = (uint32_t)coordinates[k];
}

/* The slot of a pointer level's link, claimed; 0: exhausted. */
CONSTANT_LEVEL uint32_t metate_rt_claim(uint8_t *block, const metate_tree_type *type,
                                        uint32_t level, uint64_t link, const int64_t *coordinates,
                                        uint32_t strict, uint32_t worker) {
  metate_view view = view_by(block, type, worker);
  uint32_t key[METATE_MAX_AXES];
  key_of(&view, level, coordinates, key);
  return metate_view_claim(&view, level, (uint32_t *)(block + link), key, (int)strict);
}

/* The slot of a hash level's cell; 0: inactive. */
CONSTANT_LEVEL uint32_t metate_rt_hash_find(uint8_t *block, const metate_tree_type *type,
                                            uint32_t level, uint64_t container,
                                            const int64_t *coordinates) {
  metate_view view = view_of(block, type);
  uint32_t key[METATE_MAX_AXES];
  key_of(&view, level, coordinates, key);
  return metate_view_hash_find(&view, level, block + container, key);
}

CONSTANT_LEVEL uint32_t metate_rt_hash_claim(uint8_t *block, const metate_tree_type *type,
                                             uint32_t level, uint64_t container,
                                             const int64_t *coordinates, uint32_t strict,
                                             uint32_t worker) {
  metate_view view = view_by(block, type, worker);
  uint32_t key[METATE_MAX_AXES];
  key_of(&view, level, coordinates, key);
  return metate_view_hash_claim(&view, level, block + container, key, (int)strict);
}

/* The slot of the chunk with cell `index`, which is active from then on, with all cells before it. */
CONSTANT_LEVEL uint32_t metate_rt_dynamic_activate(uint8_t *block, const metate_tree_type *type,
                                                   uint32_t level, uint64_t container,
                                                   uint64_t index, const int64_t *coordinates,
                                                   uint32_t strict, uint32_t worker) {
  metate_view view = view_by(block, type, worker);
  uint32_t key[METATE_MAX_AXES];
  key_of(&view, level, coordinates, key);
  return metate_view_dynamic_activate(&view, level, block + container, index, key, (int)strict);
}

/* The index of a new last cell; -1: full. The coordinate along the list's axis is ignored. */
CONSTANT_LEVEL int64_t metate_rt_append(uint8_t *block, const metate_tree_type *type,
                                        uint32_t level, uint64_t container,
                                        const int64_t *coordinates, uint32_t worker) {
  metate_view view = view_by(block, type, worker);
  uint32_t key[METATE_MAX_AXES];
  key_of(&view, level, coordinates, key);
  return metate_view_append(&view, level, block + container, key);
}

CONSTANT_LEVEL void metate_rt_deactivate(uint8_t *block, const metate_tree_type *type,
                                         uint32_t level, uint64_t container, uint64_t linear,
                                         const int64_t *coordinates) {
  metate_view view = view_of(block, type);
  uint32_t key[METATE_MAX_AXES];
  key_of(&view, level, coordinates, key);
  metate_view_deactivate(&view, level, block + container, linear, key);
}

/* Empties a list. */
CONSTANT_LEVEL void metate_rt_clear_list(uint8_t *block, const metate_tree_type *type,
                                         uint32_t level, uint64_t container,
                                         const int64_t *coordinates) {
  metate_view view = view_of(block, type);
  (void)coordinates;
  metate_view_clear_list(&view, level, block + container);
}

void metate_rt_snapshot(uint8_t *block, const metate_tree_type *type, uint32_t level,
                        const metate_host *host) {
  metate_view view = view_of(block, type);
  view.host = host;
  metate_view_snapshot(&view, level);
}

void metate_rt_collect(uint8_t *block, const metate_tree_type *type, uint32_t sweep,
                       const metate_host *host) {
  metate_view view = view_of(block, type);
  view.host = host;
  metate_view_collect(&view, (int)sweep);
}

/* Slots in the order of their coordinates, before a task of a deterministic kernel walks them. */
void metate_rt_sort(uint8_t *block, const metate_tree_type *type, uint32_t level) {
  metate_view view = view_of(block, type);
  (void)level;
  metate_view_sort(&view);
}

/* The end of a kernel that may have changed the set of active cells; `level` is 0, the whole tree. */
void metate_rt_settle(uint8_t *block, const metate_tree_type *type, uint32_t level) {
  metate_view view = view_of(block, type);
  (void)level;
  metate_view_settle(&view);
}

/* Counts the slots that activating the cell, or (`append`) appending to its list, would take. Of all
 * levels and types one function: counting is rare. */
void metate_rt_reserve(uint8_t *block, const metate_tree_type *type, uint32_t level,
                       uint64_t reservation, uint64_t argument, const int64_t *coordinates,
                       uint32_t append) {
  metate_view view = view_of(block, type);
  metate_reservation *counted = (metate_reservation *)(uintptr_t)reservation;
  const metate_level *own = metate_view_level(&view, level);
  uint32_t tree = metate_reservation_same(counted)[argument];
  int64_t along[METATE_MAX_AXES] = {0};
  if (tree == METATE_NONE)
    return;
  for (uint32_t k = 0; k < own->coordinate_count; ++k)
    along[own->path_axes[k]] = coordinates[k];
  if (append)
    metate_reserve_append(&view, level, along, counted, tree);
  else
    metate_reserve_cell(&view, level, along, counted, tree);
}
