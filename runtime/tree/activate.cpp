// Finding and activating cells, by any number of workers at once, as protocol/metate/protocol/tree.h
// says, which compiled kernels follow too.
#include "tree/tree.h"

#include <cstring>

namespace metate {

void collect(const metate_view &view) {
  metate_view_collect(&view, 0);
  metate_view_settle(&view);
}

void deactivateCell(const metate_view &view, uint32_t level, uint8_t *container, uint64_t linear,
                    const uint32_t *key) {
  metate_view_deactivate(&view, level, container, linear, key);
}

int64_t appendCell(const metate_view &view, uint32_t level, uint8_t *container,
                   const uint32_t *key) {
  return metate_view_append(&view, level, container, key);
}

uint8_t *containerOf(const metate_view &view, uint32_t level, const int64_t *along,
                     metate_view_mode mode, uint64_t *linear) {
  return metate_view_container(&view, level, along, mode, linear);
}

uint8_t *homeContainer(const metate_view &view, uint32_t level, uint32_t slot, uint64_t *linear) {
  return metate_view_home_container(&view, level, slot, linear);
}

Found find(const metate_tree &tree, uint32_t level, const int64_t *along) {
  metate_view view = tree.view();
  uint32_t broken = 0;
  view.broken = &broken;
  uint8_t *cell = metate_view_cell(&view, level, along, METATE_VIEW_FIND);
  return {cell, broken != 0};
}

metate_status activate(const metate_tree &tree, uint32_t level, const int64_t *along,
                       uint8_t **cell) {
  metate_view view = tree.view();
  uint32_t broken = 0;
  view.broken = &broken;
  *cell = metate_view_cell(&view, level, along, METATE_VIEW_ACTIVATE);
  metate_view_settle(&view);
  if (*cell)
    return METATE_OK;
  if (!broken)
    return failCapacity(tree, "");
  return fail(METATE_E_CORRUPT, "tree of type '%s': a link above level '%s' leaves its pool",
              tree.type->shown(), tree.type->levelName(level));
}

metate_status failCapacity(const metate_tree &tree, const char *who) {
  const metate_tree_header &header = tree.header();
  uint32_t number = __atomic_load_n(&header.status_level, __ATOMIC_RELAXED);
  uint64_t needed = __atomic_load_n(&header.status_needed, __ATOMIC_RELAXED);
  if (number >= tree.type->poolCount())
    return fail(METATE_E_CORRUPT, "%stree of type '%s': the block's status names no pool", who,
                tree.type->shown());
  if (needed == 0)
    return fail(METATE_E_CAPACITY, "%slevel '%s': a list is full: it has %llu cells", who,
                tree.type->levelName(tree.type->poolLevels[number]),
                show(tree.type->poolLevel(number).cells));
  return fail(METATE_E_CAPACITY,
              "%slevel '%s' needs at least %llu slots, its capacity is %u: bind the tree with a "
              "larger capacity",
              who, tree.type->levelName(tree.type->poolLevels[number]), show(needed),
              tree.pools[number].capacity);
}

} // namespace metate
