// Host access to trees: one cell, all active cells, the dense array. Every level, coordinate and
// size is checked; a block that was damaged after it was bound gives METATE_E_CORRUPT, not a crash.
#include "support/checked.h"
#include "tree/walk.h"

#include <cstring>

using namespace metate;

namespace {

metate_status checkReady(const char *function, const metate_tree *tree) {
  if (tree->ready)
    return METATE_OK;
  return fail(METATE_E_INVALID_ARGUMENT, "%s: the tree was not reset: call metate_tree_reset first",
              function);
}

metate_status checkWritable(const char *function, const metate_tree *tree) {
  if (!tree->readOnly())
    return METATE_OK;
  return fail(METATE_E_INVALID_ARGUMENT, "%s: the tree is bound read-only", function);
}

metate_status checkLevel(const char *function, const metate_tree *tree, uint32_t level,
                         bool member) {
  if (level >= tree->type->levelCount())
    return fail(METATE_E_OUT_OF_RANGE, "%s: level: expected less than %u, got %u", function,
                tree->type->levelCount(), level);
  if (member && tree->type->levels[level].kind != METATE_LEVEL_PLACE)
    return fail(METATE_E_INVALID_ARGUMENT, "%s: level '%s' is no member: it has no value", function,
                tree->type->levelName(level));
  return METATE_OK;
}

metate_status locateChecked(const char *function, const metate_tree *tree, uint32_t level,
                            const int64_t *coordinates, uint32_t count, Path *path) {
  const LevelFacts &facts = tree->type->facts[level];
  if (count != facts.pathRank)
    return fail(METATE_E_INVALID_ARGUMENT, "%s: level '%s': expected %u coordinates, got %u",
                function, tree->type->levelName(level), facts.pathRank, count);
  if (count && !coordinates)
    return failNull(function, "coordinates");
  for (uint32_t k = 0; k < count; ++k)
    if (coordinates[k] < 0 || coordinates[k] >= facts.shape[k])
      return fail(METATE_E_OUT_OF_RANGE,
                  "%s: level '%s': coordinate %u: expected 0 to %lld, got %lld", function,
                  tree->type->levelName(level), k, static_cast<long long>(facts.shape[k] - 1),
                  static_cast<long long>(coordinates[k]));
  tree->type->locate(level, coordinates, path);
  return METATE_OK;
}

metate_status checkValueBytes(const char *function, const metate_tree *tree, uint32_t level,
                              uint64_t bytes) {
  uint64_t expected = tree->type->levels[level].cell_bytes;
  if (bytes == expected)
    return METATE_OK;
  return fail(METATE_E_INVALID_ARGUMENT,
              "%s: member '%s': expected a value of %llu bytes, got %llu", function,
              tree->type->levelName(level), show(expected), show(bytes));
}

metate_status checkBooleans(const char *function, const metate_tree *tree, uint32_t level,
                            const uint8_t *value) {
  const metate_level &record = tree->type->levels[level];
  for (uint64_t i = 0; record.dtype == METATE_U1 && i < record.cell_bytes; ++i)
    if (value[i] > 1)
      return fail(METATE_E_INVALID_ARGUMENT, "%s: member '%s': expected a boolean 0 or 1, got %u",
                  function, tree->type->levelName(level), value[i]);
  return METATE_OK;
}

metate_status failLink(const metate_tree *tree) {
  return fail(METATE_E_CORRUPT, "tree of type '%s': a link leaves its pool", tree->type->shown());
}

// visit(cell, along) for every active cell of a level: the pool is walked, not the links.
template <typename Visit> void eachActive(const metate_tree &tree, uint32_t level, Visit &visit) {
  const metate_type &type = *tree.type;
  uint64_t along[METATE_MAX_AXES] = {};
  uint32_t owner = type.levels[level].pool;
  Nest nest; // empty for a level with a pool: its cells are the slots
  if (owner == METATE_NONE) {
    owner = type.facts[level].ownerPool;
    nest = nestOf(type, level);
  }
  if (owner == METATE_NONE) {
    walk(type, nest, 0, tree.root(), along, visit);
    return;
  }
  const LevelFacts &facts = type.facts[type.poolLevels[owner]];
  uint32_t high = tree.highWater(owner);
  for (uint32_t slot = 1; slot <= high; ++slot) {
    const uint32_t *record = tree.record(owner, slot);
    if (!__atomic_load_n(record, __ATOMIC_ACQUIRE))
      continue;
    for (uint32_t k = 0; k < facts.pathRank; ++k)
      along[facts.pathAxes[k]] = uint64_t(int64_t(int32_t(record[1 + k])));
    if (!walk(type, nest, 0, tree.slot(owner, slot), along, visit))
      return;
  }
}

uint64_t activeCount(const metate_tree &tree, uint32_t level) {
  const metate_type &type = *tree.type;
  uint32_t owner = type.levels[level].pool;
  uint64_t cells = 1;
  if (owner == METATE_NONE) {
    owner = type.facts[level].ownerPool;
    cells = type.facts[level].fanout;
  }
  if (owner == METATE_NONE)
    return cells;
  uint64_t slots = 0;
  for (uint32_t slot = 1, high = tree.highWater(owner); slot <= high; ++slot)
    slots += __atomic_load_n(tree.record(owner, slot), __ATOMIC_ACQUIRE) != 0;
  return slots * cells;
}

} // namespace

metate_status metate_tree_is_active(const metate_tree *tree, uint32_t level,
                                    const int64_t *coordinates, uint32_t count, uint32_t *active) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(active);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, false));
  Path path;
  METATE_TRY(locateChecked(__func__, tree, level, coordinates, count, &path));
  Found found = find(*tree, path);
  if (found.corrupt)
    return failLink(tree);
  *active = found.cell != nullptr;
  return METATE_OK;
}

metate_status metate_tree_activate(metate_tree *tree, uint32_t level, const int64_t *coordinates,
                                   uint32_t count) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, false));
  Path path;
  METATE_TRY(locateChecked(__func__, tree, level, coordinates, count, &path));
  uint8_t *cell;
  return activate(*tree, path, &cell);
}

metate_status metate_tree_read(const metate_tree *tree, uint32_t level, const int64_t *coordinates,
                               uint32_t count, void *value, uint64_t value_bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(value);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, true));
  METATE_TRY(checkValueBytes(__func__, tree, level, value_bytes));
  Path path;
  METATE_TRY(locateChecked(__func__, tree, level, coordinates, count, &path));
  Found found = find(*tree, path);
  if (found.corrupt)
    return failLink(tree);
  memcpy(value, found.cell ? found.cell : tree->type->background(level), value_bytes);
  return METATE_OK;
}

metate_status metate_tree_write(metate_tree *tree, uint32_t level, const int64_t *coordinates,
                                uint32_t count, const void *value, uint64_t value_bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(value);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, true));
  METATE_TRY(checkValueBytes(__func__, tree, level, value_bytes));
  METATE_TRY(checkBooleans(__func__, tree, level, static_cast<const uint8_t *>(value)));
  Path path;
  METATE_TRY(locateChecked(__func__, tree, level, coordinates, count, &path));
  uint8_t *cell;
  METATE_TRY(activate(*tree, path, &cell));
  memcpy(cell, value, value_bytes);
  return METATE_OK;
}

metate_status metate_tree_cells(const metate_tree *tree, uint32_t level, uint64_t capacity,
                                int64_t *coordinates, void *values, uint64_t *count) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(count);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, values != nullptr));
  const LevelFacts &facts = tree->type->facts[level];
  uint64_t bytes = tree->type->levels[level].cell_bytes;
  uint64_t filled = 0;
  auto *to = static_cast<uint8_t *>(values);
  auto visit = [&](const uint8_t *cell, const uint64_t *along) {
    if (filled == capacity)
      return false;
    for (uint32_t k = 0; coordinates && k < facts.pathRank; ++k)
      coordinates[filled * facts.pathRank + k] = int64_t(along[facts.pathAxes[k]]);
    if (to)
      memcpy(to + filled * bytes, cell, bytes);
    ++filled;
    return true;
  };
  if (capacity && (coordinates || values))
    eachActive(*tree, level, visit);
  *count = activeCount(*tree, level);
  return METATE_OK;
}

metate_status metate_tree_read_dense(const metate_tree *tree, uint32_t level, void *values,
                                     uint64_t bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(values);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, true));
  const LevelFacts &facts = tree->type->facts[level];
  uint64_t cellBytes = tree->type->levels[level].cell_bytes;
  Checked total = cellBytes;
  for (uint32_t k = 0; k < facts.pathRank; ++k)
    total = total * uint64_t(facts.shape[k]);
  if (total.overflowed() || total.value() != bytes)
    return fail(METATE_E_INVALID_ARGUMENT,
                "metate_tree_read_dense: member '%s': expected %llu bytes, got %llu",
                tree->type->levelName(level), show(total.value()), show(bytes));
  auto *to = static_cast<uint8_t *>(values);
  for (uint64_t at = 0; at < bytes && facts.ownerPool != METATE_NONE; at += cellBytes)
    memcpy(to + at, tree->type->background(level), cellBytes);
  bool inside = true;
  auto visit = [&](const uint8_t *cell, const uint64_t *along) {
    uint64_t index = 0;
    for (uint32_t k = 0; k < facts.pathRank; ++k) {
      // A damaged block may name any coordinate.
      inside = inside && along[facts.pathAxes[k]] < uint64_t(facts.shape[k]);
      index = index * uint64_t(facts.shape[k]) + along[facts.pathAxes[k]];
    }
    if (inside)
      memcpy(to + index * cellBytes, cell, cellBytes);
    return inside;
  };
  eachActive(*tree, level, visit);
  return inside ? METATE_OK
                : fail(METATE_E_CORRUPT, "tree of type '%s': a slot lies outside the tree",
                       tree->type->shown());
}
