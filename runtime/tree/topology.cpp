// Host calls that take cells away, and lists: the protocol's deactivation (protocol/metate/protocol/tree.h), with the
// collection that ends a task after each of them. No launch may be running on the tree.
#include "device/chunks.h"
#include "tree/access.h"
#include "tree/staged.h"
#include "tree/walk.h"

#include <cstring>

using namespace metate;

namespace {

metate_status checkChange(const char *function, const metate_tree *tree, uint32_t level) {
  METATE_TRY(checkReady(function, tree));
  METATE_TRY(checkWritable(function, tree));
  METATE_TRY(checkLevel(function, tree, level, false));
  return checkIdle(function, tree);
}

// Coordinates of the cell that holds a list: all axes but the list's own.
metate_status checkList(const char *function, const metate_tree *tree, uint32_t level,
                        const int64_t *coordinates, uint32_t count, int64_t *along) {
  METATE_TRY(checkLevel(function, tree, level, false));
  const metate_level &own = tree->type->levels[level];
  if (own.kind != METATE_LEVEL_DYNAMIC)
    return fail(METATE_E_INVALID_ARGUMENT, "%s: level '%s' is no list: expected a dynamic level",
                function, tree->type->levelName(level));
  const LevelFacts &facts = tree->type->facts[level];
  if (count + 1 != facts.pathRank)
    return fail(METATE_E_INVALID_ARGUMENT,
                "%s: level '%s': expected %u coordinates (of the cell that holds the list), got %u",
                function, tree->type->levelName(level), facts.pathRank - 1, count);
  if (count && !coordinates)
    return failNull(function, "coordinates");
  int64_t all[METATE_MAX_AXES] = {};
  for (uint32_t k = 0, given = 0; k < facts.pathRank; ++k)
    if (facts.pathAxes[k] != own.axes[0])
      all[k] = coordinates[given++];
  return checkCoordinates(function, tree, level, all, facts.pathRank, along);
}

bool hasActivity(const metate_level &level) {
  return level.pool != METATE_NONE || level.kind == METATE_LEVEL_BITMASKED;
}

// So many slots are worth a worker.
constexpr int64_t slotGrain = 1 << 15;

// No bucket of a hash level's table stays, so that runs of them go as wholes.
void clearTable(const Block &block, const metate_view &view, uint32_t level) {
  uint32_t pool = block.type->levels[level].pool, mask = block.pools[pool].buckets - 1;
  uint32_t *table = metate_view_table(&view, level);
  uint32_t count = block.type->levels[level].coordinate_count, high = block.highWater(pool);
  if (high > mask / 16)
    return inChunks(*block.type->device, mask + int64_t(1), slotGrain,
                    [&](int64_t begin, int64_t end) {
                      memset(table + begin, 0, uint64_t(end - begin) * sizeof *table);
                    });
  for (uint32_t slot = 1; slot <= high; ++slot) {
    const uint32_t *record = block.record(pool, slot);
    if (!record[0])
      continue;
    uint32_t home = metate_view_home(record + 2, count, mask + 1);
    for (uint32_t at = home; table[at]; at = (at + 1) & mask)
      table[at] = 0;
    for (uint32_t at = (home - 1) & mask; table[at]; at = (at - 1) & mask)
      table[at] = 0;
  }
}

// All slots that were ever handed out are free, the lowest first.
void freeSlots(const Block &block, const metate_view &view, uint32_t number) {
  uint32_t level = block.type->poolLevels[number];
  if (block.type->levels[level].kind == METATE_LEVEL_HASH)
    clearTable(block, view, level);
  metate_pool &pool = block.pool(number);
  uint32_t high = block.highWater(number);
  inChunks(*block.type->device, high, slotGrain, [&](int64_t begin, int64_t end) {
    for (uint32_t slot = uint32_t(begin) + 1; slot <= end; ++slot) {
      uint32_t *record = block.record(number, slot);
      record[0] = 0;
      record[1] = slot < high ? slot + 1 : 0;
    }
  });
  if (pool.used)
    metate_view_change(&view);
  pool.free_head = ((pool.free_head >> 32) + 1) << 32 | (high != 0);
  metate_view_forget_magazines(&pool);
  pool.used = pool.pending = pool.tombs = 0;
  pool.orphans_seen = pool.orphans;
}

// Every container of a level with a pool is as in a fresh block.
void clearContainers(const Block &block, uint32_t level) {
  const metate_type &type = *block.type;
  const metate_level &own = type.levels[level];
  uint64_t bytes = own.cells * sizeof(uint32_t); // links
  if (own.kind == METATE_LEVEL_HASH)
    bytes = sizeof(uint32_t);
  if (own.kind == METATE_LEVEL_DYNAMIC)
    bytes = (2ull + metate_view_chunks(&own)) * sizeof(uint32_t);
  Nest nest = nestAbove(type, level);
  auto visit = [&](uint8_t *cell, const int64_t *) {
    inChunks(*block.type->device, int64_t(bytes), slotGrain * 8, [&](int64_t begin, int64_t end) {
      memset(cell + own.offset + begin, 0, uint64_t(end - begin));
    });
    return true;
  };
  eachOwner(block, type.facts[level].ownerPool, [&](uint8_t *cell, const int64_t *along) {
    return walk(type, nest, 0, cell, along, visit);
  });
}

// Every cell of a level with a pool goes, and so does all that is below it: pools as wholes.
void clearPool(const Block &block, const metate_view &view, uint32_t level) {
  clearContainers(block, level);
  for (uint32_t i = level, end = metate_view_subtree_end(&view, level); i < end; ++i)
    if (block.type->levels[i].pool != METATE_NONE)
      freeSlots(block, view, block.type->levels[i].pool);
}

void clearMasked(const Block &block, const metate_view &view, uint32_t level) {
  const metate_type &type = *block.type;
  const metate_level &own = type.levels[level];
  Nest nest = nestAbove(type, level);
  auto visit = [&](uint8_t *cell, const int64_t *) {
    for (uint64_t n = 0; n < own.cells; ++n)
      deactivateCell(view, level, cell + own.offset, n, nullptr);
    return true;
  };
  eachOwner(block, type.facts[level].ownerPool, [&](uint8_t *cell, const int64_t *along) {
    return walk(type, nest, 0, cell, along, visit);
  });
}

// The level's own cells or, where it has no activity, those of the levels next below.
void clearAll(const Block &block, const metate_view &view, uint32_t level) {
  const metate_level *levels = block.type->levels;
  if (levels[level].pool != METATE_NONE)
    return clearPool(block, view, level);
  if (levels[level].kind == METATE_LEVEL_BITMASKED)
    return clearMasked(block, view, level);
  for (uint32_t i = level + 1; i < block.type->levelCount() && levels[i].parent >= level; ++i)
    if (levels[i].parent == level)
      clearAll(block, view, i);
}

} // namespace

// A cell of a level with activity goes, if it is there; of a dynamic level the whole list.
static metate_status clearOne(const Block &block, uint32_t level, const int64_t *along) {
  metate_view view = block.view();
  uint32_t broken = 0, key[METATE_MAX_AXES];
  uint64_t linear = 0;
  view.broken = &broken;
  uint8_t *container = containerOf(view, level, along, METATE_VIEW_FIND, &linear);
  if (broken)
    return failLink(*block.type);
  if (!container)
    return METATE_OK;
  metate_view_key(&block.type->levels[level], along, key);
  deactivateCell(view, level, container, linear, key);
  collect(view); // what was unlinked goes back to its pools at once
  return METATE_OK;
}

metate_status metate_tree_deactivate(metate_tree *tree, uint32_t level, const int64_t *coordinates,
                                     uint32_t count) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkChange(__func__, tree, level));
  const metate_level *levels = tree->type->levels;
  int64_t along[METATE_MAX_AXES];
  if (levels[level].kind == METATE_LEVEL_DYNAMIC) {
    METATE_TRY(checkList(__func__, tree, level, coordinates, count, along));
  } else {
    METATE_TRY(checkCoordinates(__func__, tree, level, coordinates, count, along));
    uint32_t named = level;
    while (level && !hasActivity(levels[level])) {
      metate_view_ascend(&levels[level], along);
      level = levels[level].parent;
    }
    if (level == 0 || levels[level].kind == METATE_LEVEL_DYNAMIC)
      return fail(METATE_E_INVALID_ARGUMENT,
                  level ? "%s: level '%s': its cells are a list's: deactivate the whole list"
                        : "%s: level '%s': its cells are always active",
                  __func__, tree->type->levelName(named));
  }
  return onHost(*tree, Use::changes,
                [&](const Block &block) { return clearOne(block, level, along); });
}

metate_status metate_tree_deactivate_all(metate_tree *tree, uint32_t level) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkChange(__func__, tree, level));
  if (tree->type->levels[level].kind == METATE_LEVEL_PLACE)
    return fail(METATE_E_INVALID_ARGUMENT, "%s: '%s' is a member: expected a level", __func__,
                tree->type->levelName(level));
  return onHost(*tree, Use::changes, [&](const Block &block) {
    metate_view view = block.view();
    clearAll(block, view, level);
    collect(view); // what was unlinked goes back to its pools at once
    return METATE_OK;
  });
}

metate_status metate_tree_append(metate_tree *tree, uint32_t level, const int64_t *coordinates,
                                 uint32_t count, uint64_t *index) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(index);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  int64_t along[METATE_MAX_AXES];
  METATE_TRY(checkList(__func__, tree, level, coordinates, count, along));
  return onHost(*tree, Use::changes, [&](const Block &block) {
    metate_view view = block.view();
    uint32_t broken = 0, key[METATE_MAX_AXES];
    uint64_t linear = 0;
    view.broken = &broken;
    uint8_t *container = containerOf(view, level, along, METATE_VIEW_ACTIVATE, &linear);
    metate_view_key(&block.type->levels[level], along, key);
    int64_t got = container ? appendCell(view, level, container, key) : -1;
    metate_view_settle(&view);
    if (got < 0)
      return broken ? failLink(*block.type) : failCapacity(block, "");
    *index = uint64_t(got);
    return METATE_OK;
  });
}

metate_status metate_tree_length(const metate_tree *tree, uint32_t level,
                                 const int64_t *coordinates, uint32_t count, uint64_t *length) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(length);
  METATE_TRY(checkReady(__func__, tree));
  int64_t along[METATE_MAX_AXES];
  METATE_TRY(checkList(__func__, tree, level, coordinates, count, along));
  return onHost(*tree, Use::reads, [&](const Block &block) {
    metate_view view = block.view();
    uint32_t broken = 0;
    uint64_t linear = 0;
    view.broken = &broken;
    const uint8_t *list = containerOf(view, level, along, METATE_VIEW_FIND, &linear);
    if (broken)
      return failLink(*block.type);
    uint64_t there =
        list ? __atomic_load_n(reinterpret_cast<const uint32_t *>(list), __ATOMIC_ACQUIRE) : 0;
    uint64_t most = block.type->levels[level].cells;
    *length = there < most ? there : most; // a damaged block says any number
    return METATE_OK;
  });
}
