// Visiting every cell of a level inside one cell of a level above it, when no pool lies between.
// Addresses and coordinates only: what is done with a cell is the visitor's.
#ifndef METATE_RUNTIME_TREE_WALK_H
#define METATE_RUNTIME_TREE_WALK_H

#include "tree/tree.h"

namespace metate {

// The levels below the target's owner (a pool's slot or the root cell), down to the target; all
// of them keep their cells inline.
struct Nest {
  uint32_t count = 0;
  uint32_t level[maxDepth];
};

inline Nest nestOf(const metate_type &type, uint32_t target) {
  Nest nest;
  uint32_t owner = type.facts[target].ownerPool;
  uint32_t stop = owner == METATE_NONE ? 0 : type.poolLevels[owner];
  uint32_t depth = 0;
  for (uint32_t at = target; at != stop; at = type.levels[at].parent)
    ++depth;
  nest.count = depth;
  for (uint32_t at = target; at != stop; at = type.levels[at].parent)
    nest.level[--depth] = at;
  return nest;
}

// The same without the target: down to the cells that hold its containers.
inline Nest nestAbove(const metate_type &type, uint32_t target) {
  Nest nest = nestOf(type, target);
  --nest.count;
  return nest;
}

inline bool maskBit(const metate_level &level, const uint8_t *container, uint64_t cell) {
  const auto *words = reinterpret_cast<const uint32_t *>(container + level.mask);
  return __atomic_load_n(&words[cell / 32], __ATOMIC_ACQUIRE) >> cell % 32 & 1;
}

// visit(address, along) for each active cell in those of the step's level with numbers [begin, end);
// `along` is the cell's own coordinate per axis; the address of a quantised member's is its word's. Stops and
// returns false as soon as a visit does. Inactive bitmasked cells are passed by.
template <typename Visit>
bool walkCells(const metate_type &type, const Nest &nest, uint32_t step, uint64_t begin,
               uint64_t end, uint8_t *cell, const int64_t *along, Visit &visit) {
  const metate_level &level = type.levels[nest.level[step]];
  uint8_t *container = cell + level.offset;
  bool masked = level.kind == METATE_LEVEL_BITMASKED;
  int64_t inside[METATE_MAX_AXES];
  __builtin_memcpy(inside, along, sizeof inside);
  uint32_t counter[METATE_MAX_AXES] = {};
  uint64_t rest = begin;
  for (uint32_t k = level.axis_count; k-- > 0; rest /= level.extents[k]) {
    counter[k] = uint32_t(rest % level.extents[k]);
    inside[level.axes[k]] = inside[level.axes[k]] * level.extents[k] + counter[k];
  }
  for (uint64_t index = begin; index < end; ++index) {
    if (!masked || maskBit(level, container, index)) {
      uint8_t *at = container + metate_view_cell_offset(&level, index);
      bool last = step + 1 == nest.count;
      if (last ? !visit(at, inside)
               : !walkCells(type, nest, step + 1, 0, type.levels[nest.level[step + 1]].cells, at,
                            inside, visit))
        return false;
    }
    // Row-major odometer over the level's axes.
    for (uint32_t k = level.axis_count; k-- > 0;) {
      ++inside[level.axes[k]];
      if (++counter[k] < level.extents[k])
        break;
      inside[level.axes[k]] -= level.extents[k];
      counter[k] = 0;
    }
  }
  return true;
}

// The same for all cells of the levels from `step` on; of none the cell itself is visited.
template <typename Visit>
bool walk(const metate_type &type, const Nest &nest, uint32_t step, uint8_t *cell,
          const int64_t *along, Visit &visit) {
  if (step == nest.count)
    return visit(cell, along);
  return walkCells(type, nest, step, 0, type.levels[nest.level[step]].cells, cell, along, visit);
}

// The slot's coordinates, as the block has them, by axis number; the axes of other levels stay.
inline void slotCoordinates(const Block &block, uint32_t pool, uint32_t slot, int64_t *along) {
  const metate_level &level = block.type->poolLevel(pool);
  const uint32_t *record = block.record(pool, slot);
  for (uint32_t k = 0; k < level.coordinate_count; ++k)
    along[level.path_axes[k]] = int32_t(record[2 + k]);
}

// Active cells of a list's slot: of the last chunk as many as the length says.
inline uint32_t cellsInSlot(const Block &block, uint32_t pool, uint32_t slot) {
  const metate_level &level = block.type->poolLevel(pool);
  if (level.kind != METATE_LEVEL_DYNAMIC)
    return 1;
  metate_view view = block.view();
  uint64_t first = 0;
  const uint8_t *list = homeContainer(view, block.type->poolLevels[pool], slot, &first);
  uint32_t length =
      list ? __atomic_load_n(reinterpret_cast<const uint32_t *>(list), __ATOMIC_ACQUIRE) : 0;
  if (length <= first || first % level.slot_cells)
    return 0;
  uint64_t left = length - first, here = level.cells - first;
  left = left < here ? left : here;
  return uint32_t(left < level.slot_cells ? left : level.slot_cells);
}

// visit(cell, along) for every active cell in one slot.
template <typename Visit>
bool eachInSlot(const Block &block, uint32_t pool, uint32_t slot, const Visit &visit) {
  const metate_level &level = block.type->poolLevel(pool);
  int64_t along[METATE_MAX_AXES] = {};
  slotCoordinates(block, pool, slot, along);
  uint8_t *cell = block.slot(pool, slot);
  for (uint32_t k = 0, count = cellsInSlot(block, pool, slot); k < count; ++k) {
    if (!visit(cell, along))
      return false;
    cell += level.cell_bytes;
    ++along[level.axes[0]];
  }
  return true;
}

// visit(cell, along) for every active cell in the slots [begin, end) of a pool. Stops and returns
// false as soon as a visit does.
template <typename Visit>
bool eachSlot(const Block &block, uint32_t owner, uint32_t begin, uint32_t end,
              const Visit &visit) {
  for (uint32_t slot = begin; slot < end; ++slot)
    if (__atomic_load_n(block.record(owner, slot), __ATOMIC_ACQUIRE))
      if (!eachInSlot(block, owner, slot, visit))
        return false;
  return true;
}

// visit(cell, along) for the root cell (owner METATE_NONE), or for every active cell of a pool.
// Stops as soon as a visit returns false.
template <typename Visit> void eachOwner(const Block &block, uint32_t owner, const Visit &visit) {
  int64_t along[METATE_MAX_AXES] = {};
  if (owner == METATE_NONE)
    visit(block.root(), along);
  else
    eachSlot(block, owner, 1, block.highWater(owner) + 1, visit);
}

// visit(cell, along) for every active cell of a level: the pool is walked, not the links.
template <typename Visit> void eachActive(const Block &block, uint32_t level, Visit &visit) {
  const metate_type &type = *block.type;
  uint32_t owner = type.levels[level].pool;
  Nest nest; // empty for a level with a pool: its cells are in the slots
  if (owner == METATE_NONE) {
    owner = type.facts[level].ownerPool;
    nest = nestOf(type, level);
  }
  eachOwner(block, owner, [&](uint8_t *cell, const int64_t *along) {
    return walk(type, nest, 0, cell, along, visit);
  });
}

} // namespace metate

#endif
