// Finding and activating cells, by any number of workers at once, as protocol/metate/protocol/tree.h
// says, which compiled kernels follow too.
#include "tree/tree.h"

#include <cstring>

namespace metate {

void collect(const metate_view &view) {
  metate_view_collect(&view, 0);
  metate_view_settle(&view);
}

// Of the lists that lie in one cell of their owner.
static void cutListsIn(const metate_view &view, uint32_t owner, uint32_t level, uint8_t *cell) {
  uint64_t count = metate_view_inline_count(&view, owner, level);
  for (uint64_t n = 0; n < count; ++n)
    if (uint8_t *list = metate_view_inline_container(&view, owner, level, cell, n, 1))
      metate_view_sweep_list(&view, level, list);
}

void cutLists(const metate_view &view) {
  for (uint32_t level = 1; level < view.type->level_count; ++level) {
    if (metate_view_level(&view, level)->kind != METATE_LEVEL_DYNAMIC)
      continue;
    uint32_t owner = metate_view_owner(&view, level);
    if (!owner)
      cutListsIn(view, 0, level, metate_view_root(&view));
    const metate_level *own = metate_view_level(&view, owner);
    uint32_t high = owner ? metate_view_high_water(&view, owner) : 0;
    for (uint32_t slot = 1; slot <= high; ++slot)
      for (uint32_t k = 0; metate_view_record(&view, owner, slot)[0] && k < own->slot_cells; ++k)
        cutListsIn(view, owner, level, metate_view_slot(&view, owner, slot) + k * own->cell_bytes);
  }
  metate_view_change(&view);
  collect(view);
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

Found find(const Block &block, uint32_t level, const int64_t *along) {
  metate_view view = block.view();
  uint32_t broken = 0;
  view.broken = &broken;
  uint8_t *cell = metate_view_cell(&view, level, along, METATE_VIEW_FIND);
  return {cell, broken != 0};
}

metate_status activate(const Block &block, uint32_t level, const int64_t *along, uint8_t **cell) {
  metate_view view = block.view();
  uint32_t broken = 0;
  view.broken = &broken;
  *cell = metate_view_cell(&view, level, along, METATE_VIEW_ACTIVATE);
  metate_view_settle(&view);
  if (*cell)
    return METATE_OK;
  if (!broken)
    return failCapacity(block, "");
  return fail(METATE_E_CORRUPT, "tree of type '%s': a link above level '%s' leaves its pool",
              block.type->shown(), block.type->levelName(level));
}

metate_status failCapacity(const metate_type &type, const PoolLayout *pools, uint32_t number,
                           uint64_t needed, const char *who) {
  if (number >= type.poolCount())
    return fail(METATE_E_CORRUPT, "%stree of type '%s': the block's status names no pool", who,
                type.shown());
  if (needed == 0)
    return fail(METATE_E_CAPACITY, "%slevel '%s': a list is full: it has %llu cells", who,
                type.levelName(type.poolLevels[number]), show(type.poolLevel(number).cells));
  return fail(METATE_E_CAPACITY,
              "%slevel '%s' needs at least %llu slots, its capacity is %u: bind the tree with a "
              "larger capacity",
              who, type.levelName(type.poolLevels[number]), show(needed), pools[number].capacity);
}

metate_status failCapacity(const Block &block, const char *who) {
  const metate_tree_header &header = block.header();
  return failCapacity(*block.type, block.pools,
                      __atomic_load_n(&header.status_level, __ATOMIC_RELAXED),
                      __atomic_load_n(&header.status_needed, __ATOMIC_RELAXED), who);
}

} // namespace metate
