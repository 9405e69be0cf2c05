// Visiting every cell of a level inside one cell of a level above it, when no pool lies between.
// Addresses and coordinates only: what is done with a cell is the visitor's.
#ifndef METATE_RUNTIME_TREE_WALK_H
#define METATE_RUNTIME_TREE_WALK_H

#include "tree/tree.h"

namespace metate {

// The levels below the target's owner (a pool's slot or the root cell), down to the target. Only
// the target may be a pointer level: then its links are what is visited.
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

// visit(address, along) for each cell; `along` is the cell's own coordinate per axis. Stops and
// returns false as soon as a visit does.
template <typename Visit>
bool walk(const metate_type &type, const Nest &nest, uint32_t step, uint8_t *cell,
          const uint64_t *along, Visit &visit) {
  if (step == nest.count)
    return visit(cell, along);
  const metate_level &level = type.levels[nest.level[step]];
  uint64_t stride = level.kind == METATE_LEVEL_POINTER ? 4 : level.cell_bytes;
  uint64_t inside[METATE_MAX_AXES];
  __builtin_memcpy(inside, along, sizeof inside);
  uint32_t counter[METATE_MAX_AXES] = {};
  for (uint32_t k = 0; k < level.axis_count; ++k)
    inside[level.axes[k]] *= level.extents[k];
  for (uint64_t index = 0; index < level.cells; ++index) {
    if (!walk(type, nest, step + 1, cell + level.offset + index * stride, inside, visit))
      return false;
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

// visit(cell, along) for the root cell (owner METATE_NONE), or for every active slot of a pool, with
// the slot's coordinates as the block has them. Stops as soon as a visit returns false.
template <typename Visit>
void eachOwner(const metate_tree &tree, uint32_t owner, const Visit &visit) {
  uint64_t along[METATE_MAX_AXES] = {};
  if (owner == METATE_NONE) {
    visit(tree.root(), along);
    return;
  }
  const LevelFacts &facts = tree.type->facts[tree.type->poolLevels[owner]];
  uint32_t high = tree.highWater(owner);
  for (uint32_t slot = 1; slot <= high; ++slot) {
    const uint32_t *record = tree.record(owner, slot);
    if (!__atomic_load_n(record, __ATOMIC_ACQUIRE))
      continue;
    for (uint32_t k = 0; k < facts.pathRank; ++k)
      along[facts.pathAxes[k]] = uint64_t(int64_t(int32_t(record[1 + k])));
    if (!visit(tree.slot(owner, slot), along))
      return;
  }
}

} // namespace metate

#endif
