// Finding and activating cells, by any number of workers at once. This is the runtime's copy of the
// protocol that compiled kernels follow too: abi/metate/abi/tree.h numbers its steps.
#include "tree/tree.h"

#include <cstring>

namespace metate {

namespace {

// Step 2: a slot of the pool, or 0. The free list is a stack whose head carries a tag that every
// change raises, so that a head seen before is never taken for the present one (ABA).
uint32_t takeSlot(const metate_tree &tree, uint32_t number) {
  metate_pool &pool = tree.pool(number);
  uint64_t head = __atomic_load_n(&pool.free_head, __ATOMIC_ACQUIRE);
  while (uint32_t slot = uint32_t(head)) {
    if (slot > tree.pools[number].physical)
      return 0; // a damaged list: as good as an empty one
    // May read a slot that another worker has just taken: then the exchange fails.
    uint32_t next = __atomic_load_n(tree.record(number, slot) + 1, __ATOMIC_RELAXED);
    uint64_t popped = ((head >> 32) + 1) << 32 | next;
    if (__atomic_compare_exchange_n(&pool.free_head, &head, popped, true, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return slot;
  }
  uint32_t high = __atomic_load_n(&pool.high_water, __ATOMIC_RELAXED);
  while (high < tree.pools[number].physical)
    if (__atomic_compare_exchange_n(&pool.high_water, &high, high + 1, true, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      return high + 1;
  return 0;
}

// Step 4, lost: the slot goes back.
void giveBack(const metate_tree &tree, uint32_t number, uint32_t slot) {
  metate_pool &pool = tree.pool(number);
  uint32_t *record = tree.record(number, slot);
  __atomic_store_n(&record[0], 0u, __ATOMIC_RELAXED);
  uint64_t head = __atomic_load_n(&pool.free_head, __ATOMIC_RELAXED);
  uint64_t pushed;
  do {
    __atomic_store_n(&record[1], uint32_t(head), __ATOMIC_RELAXED);
    pushed = ((head >> 32) + 1) << 32 | slot;
  } while (!__atomic_compare_exchange_n(&pool.free_head, &head, pushed, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
}

void setSticky(const metate_tree &tree, uint32_t number, uint64_t needed) {
  metate_tree_header &header = tree.header();
  uint32_t expected = METATE_OK;
  if (__atomic_compare_exchange_n(&header.status, &expected, uint32_t(METATE_E_CAPACITY), false,
                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    __atomic_store_n(&header.status_level, number, __ATOMIC_RELAXED);
  if (__atomic_load_n(&header.status_level, __ATOMIC_RELAXED) != number)
    return; // needed counts for the pool that status_level names
  uint64_t known = __atomic_load_n(&header.status_needed, __ATOMIC_RELAXED);
  while (known < needed && !__atomic_compare_exchange_n(&header.status_needed, &known, needed, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

// Step 3. Relaxed atomic stores where a late pop of the free list may still look.
void prepare(const metate_tree &tree, uint32_t level, uint32_t slot, const int64_t *first) {
  const metate_type &type = *tree.type;
  uint32_t number = type.levels[level].pool;
  const PoolLayout &pool = tree.pools[number];
  if (pool.ambient)
    memcpy(tree.slot(number, slot), tree.slot(number, 0), pool.cellBytes);
  else
    fillCell(type, level, tree.slot(number, slot));
  uint32_t *record = tree.record(number, slot);
  for (uint32_t k = 0; k < type.levels[level].coordinate_count; ++k)
    __atomic_store_n(&record[1 + k], uint32_t(first[k]), __ATOMIC_RELAXED);
  __atomic_store_n(&record[0], tree.header().epoch, __ATOMIC_RELAXED);
}

// Steps 1 to 4 for one link. *slot is the linked slot, the winner's if this worker lost.
metate_status activateLink(const metate_tree &tree, uint32_t level, uint32_t *link,
                           const int64_t *first, uint32_t *slot) {
  uint32_t number = tree.type->levels[level].pool;
  uint32_t linked = __atomic_load_n(link, __ATOMIC_ACQUIRE);
  if (!linked) {
    uint32_t mine = takeSlot(tree, number);
    if (!mine) {
      uint64_t used = __atomic_load_n(&tree.pool(number).used, __ATOMIC_RELAXED);
      uint64_t least = tree.pools[number].capacity + 1ull;
      setSticky(tree, number, used > least ? used : least);
      return METATE_E_CAPACITY;
    }
    prepare(tree, level, mine, first);
    if (__atomic_compare_exchange_n(link, &linked, mine, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      linked = mine;
      uint64_t used = __atomic_add_fetch(&tree.pool(number).used, 1u, __ATOMIC_RELAXED);
      if (used > tree.pools[number].capacity)
        setSticky(tree, number, used); // kept: it sits in a slack slot
    } else {
      giveBack(tree, number, mine);
    }
  }
  *slot = linked;
  return METATE_OK;
}

bool validSlot(const metate_tree &tree, uint32_t number, uint32_t slot) {
  return slot <= tree.pools[number].physical;
}

uint8_t *linkAt(const metate_type &type, uint8_t *cell, uint32_t level, uint64_t index) {
  return cell + type.levels[level].offset + index * 4;
}

} // namespace

Found find(const metate_tree &tree, const Path &path) {
  const metate_type &type = *tree.type;
  Found found;
  uint8_t *cell = tree.root();
  for (uint32_t step = 0; step < path.count; ++step) {
    uint32_t level = path.level[step];
    const metate_level &record = type.levels[level];
    if (record.kind != METATE_LEVEL_POINTER) {
      cell += record.offset + path.index[step] * record.cell_bytes;
      continue;
    }
    auto *link = reinterpret_cast<uint32_t *>(linkAt(type, cell, level, path.index[step]));
    uint32_t slot = __atomic_load_n(link, __ATOMIC_ACQUIRE);
    if (!slot)
      return found;
    if (!validSlot(tree, record.pool, slot)) {
      found.corrupt = true;
      return found;
    }
    cell = tree.slot(record.pool, slot);
  }
  found.cell = cell;
  return found;
}

metate_status activate(const metate_tree &tree, const Path &path, uint8_t **cell) {
  const metate_type &type = *tree.type;
  // The cell's coordinate along each axis, as it grows on the way down.
  uint64_t along[METATE_MAX_AXES] = {};
  uint8_t *at = tree.root();
  for (uint32_t step = 0; step < path.count; ++step) {
    uint32_t number = path.level[step];
    const metate_level &record = type.levels[number];
    uint64_t rest = path.index[step];
    for (uint32_t k = record.axis_count; k-- > 0; rest /= record.extents[k]) {
      uint64_t &coordinate = along[record.axes[k]];
      coordinate = coordinate * record.extents[k] + rest % record.extents[k];
    }
    if (record.kind != METATE_LEVEL_POINTER) {
      at += record.offset + path.index[step] * record.cell_bytes;
      continue;
    }
    int64_t first[METATE_MAX_AXES];
    const LevelFacts &facts = type.facts[number];
    for (uint32_t k = 0; k < facts.pathRank; ++k)
      first[k] = int64_t(along[facts.pathAxes[k]]);
    uint32_t slot = 0;
    auto *link = reinterpret_cast<uint32_t *>(linkAt(type, at, number, path.index[step]));
    if (activateLink(tree, number, link, first, &slot) != METATE_OK)
      return failCapacity(tree, "");
    if (!validSlot(tree, record.pool, slot))
      return fail(METATE_E_CORRUPT, "tree of type '%s': a link of level '%s' leaves its pool",
                  type.shown(), type.levelName(number));
    at = tree.slot(record.pool, slot);
  }
  *cell = at;
  return METATE_OK;
}

metate_status failCapacity(const metate_tree &tree, const char *who) {
  const metate_tree_header &header = tree.header();
  uint32_t number = __atomic_load_n(&header.status_level, __ATOMIC_RELAXED);
  uint64_t needed = __atomic_load_n(&header.status_needed, __ATOMIC_RELAXED);
  if (number >= tree.type->poolCount())
    return fail(METATE_E_CORRUPT, "%stree of type '%s': the block's status names no pool", who,
                tree.type->shown());
  return fail(METATE_E_CAPACITY,
              "%slevel '%s' needs at least %llu slots, its capacity is %u: bind the tree with a "
              "larger capacity",
              who, tree.type->levelName(tree.type->poolLevels[number]), show(needed),
              tree.pools[number].capacity);
}

} // namespace metate
