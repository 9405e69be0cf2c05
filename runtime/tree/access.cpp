// Host access to trees: one cell, and all active cells; dense arrays are in dense.cpp. Every level,
// coordinate and size is checked; a block that was damaged after it was bound gives
// METATE_E_CORRUPT, not a crash.
#include "tree/access.h"
#include "tree/staged.h"
#include "tree/value.h"
#include "tree/walk.h"

#include <cstring>

using namespace metate;

namespace metate {

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

metate_status checkIdle(const char *function, const metate_tree *tree) {
  uint32_t running = tree->uses.count();
  if (running)
    return fail(METATE_E_BUSY, "%s: %u launches are running on the tree: wait for them", function,
                running);
  return METATE_OK;
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
                            const uint8_t *values, uint64_t bytes) {
  for (uint64_t i = 0; tree->type->levels[level].dtype == METATE_U1 && i < bytes; ++i)
    if (values[i] > 1)
      return fail(METATE_E_INVALID_ARGUMENT, "%s: member '%s': expected a boolean 0 or 1, got %u",
                  function, tree->type->levelName(level), values[i]);
  return METATE_OK;
}

} // namespace metate

namespace metate {

metate_status checkCoordinates(const char *function, const metate_tree *tree, uint32_t level,
                               const int64_t *coordinates, uint32_t count, int64_t *along) {
  const LevelFacts &facts = tree->type->facts[level];
  if (count != facts.pathRank)
    return fail(METATE_E_INVALID_ARGUMENT, "%s: level '%s': expected %u coordinates, got %u",
                function, tree->type->levelName(level), facts.pathRank, count);
  if (count && !coordinates)
    return failNull(function, "coordinates");
  memset(along, 0, METATE_MAX_AXES * sizeof *along);
  for (uint32_t k = 0; k < count; ++k) {
    bool bounded = facts.shape[k] != 0;
    int64_t low = bounded ? 0 : INT32_MIN, high = bounded ? facts.shape[k] - 1 : INT32_MAX;
    if (coordinates[k] < low || coordinates[k] > high)
      return fail(METATE_E_OUT_OF_RANGE,
                  "%s: level '%s': coordinate %u: expected %lld to %lld, got %lld", function,
                  tree->type->levelName(level), k, static_cast<long long>(low),
                  static_cast<long long>(high), static_cast<long long>(coordinates[k]));
    along[facts.pathAxes[k]] = coordinates[k];
  }
  return METATE_OK;
}

metate_status failLink(const metate_type &type) {
  return fail(METATE_E_CORRUPT, "tree of type '%s': a link leaves its pool", type.shown());
}

} // namespace metate

static uint64_t activeCount(const Block &block, uint32_t level) {
  const metate_type &type = *block.type;
  const LevelFacts &facts = type.facts[level];
  uint64_t count = 0;
  bool slots = type.levels[level].pool != METATE_NONE;
  uint32_t owner = slots ? type.levels[level].pool : facts.ownerPool;
  if (slots ? type.levels[level].kind == METATE_LEVEL_DYNAMIC : !facts.everyCell) {
    auto visit = [&](const uint8_t *, const int64_t *) { return ++count != 0; };
    eachActive(block, level, visit);
    return count;
  }
  if (owner == METATE_NONE)
    return facts.cellsPerOwner;
  for (uint32_t slot = 1, high = block.highWater(owner); slot <= high; ++slot)
    count += __atomic_load_n(block.record(owner, slot), __ATOMIC_ACQUIRE) != 0;
  return slots ? count : count * facts.cellsPerOwner;
}

metate_status metate_tree_is_active(const metate_tree *tree, uint32_t level,
                                    const int64_t *coordinates, uint32_t count, uint32_t *active) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(active);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, false));
  int64_t along[METATE_MAX_AXES];
  METATE_TRY(checkCoordinates(__func__, tree, level, coordinates, count, along));
  return onHost(*tree, Use::reads, [&](const Block &block) {
    Found found = find(block, level, along);
    if (found.corrupt)
      return failLink(*block.type);
    *active = found.cell != nullptr;
    return METATE_OK;
  });
}

metate_status metate_tree_activate(metate_tree *tree, uint32_t level, const int64_t *coordinates,
                                   uint32_t count) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, false));
  int64_t along[METATE_MAX_AXES];
  METATE_TRY(checkCoordinates(__func__, tree, level, coordinates, count, along));
  return onHost(*tree, Use::changes, [&](const Block &block) {
    uint8_t *cell;
    return activate(block, level, along, &cell);
  });
}

metate_status metate_tree_read(const metate_tree *tree, uint32_t level, const int64_t *coordinates,
                               uint32_t count, void *value, uint64_t value_bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(value);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, true));
  METATE_TRY(checkValueBytes(__func__, tree, level, value_bytes));
  int64_t along[METATE_MAX_AXES];
  METATE_TRY(checkCoordinates(__func__, tree, level, coordinates, count, along));
  return onCell(*tree, level, along, Use::reads, [&](const Block &block) {
    Found found = find(block, level, along);
    if (found.corrupt)
      return failLink(*block.type);
    if (found.cell)
      Value(*block.type, level).read(found.cell, along, value);
    else
      memcpy(value, block.type->background(level), value_bytes);
    return METATE_OK;
  });
}

metate_status metate_tree_write(metate_tree *tree, uint32_t level, const int64_t *coordinates,
                                uint32_t count, const void *value, uint64_t value_bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(value);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, true));
  METATE_TRY(checkValueBytes(__func__, tree, level, value_bytes));
  METATE_TRY(
      checkBooleans(__func__, tree, level, static_cast<const uint8_t *>(value), value_bytes));
  int64_t along[METATE_MAX_AXES];
  METATE_TRY(checkCoordinates(__func__, tree, level, coordinates, count, along));
  return onCell(*tree, level, along, Use::changes, [&](const Block &block) {
    uint8_t *cell;
    METATE_TRY(activate(block, level, along, &cell));
    Value(*block.type, level).write(cell, along, value);
    return METATE_OK;
  });
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
  Value value(*tree->type, level);
  auto visit = [&](const uint8_t *cell, const int64_t *along) {
    if (filled == capacity)
      return false;
    for (uint32_t k = 0; coordinates && k < facts.pathRank; ++k)
      coordinates[filled * facts.pathRank + k] = along[facts.pathAxes[k]];
    if (to)
      value.read(cell, along, to + filled * bytes);
    ++filled;
    return true;
  };
  return onHost(*tree, Use::reads, [&](const Block &block) {
    if (capacity && (coordinates || values))
      eachActive(block, level, visit);
    *count = activeCount(block, level);
    return METATE_OK;
  });
}
