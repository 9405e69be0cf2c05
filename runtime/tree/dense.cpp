// Whole members to and from dense arrays, and one value into all active cells: what callers may ask for. copies.cpp copies.
#include "support/checked.h"
#include "tree/access.h"
#include "tree/box.h"
#include "tree/copies.h"
#include "tree/staged.h"

using namespace metate;

namespace {

// Row-major strides of the dense array, after its size was compared with the caller's.
metate_status prepare(const char *function, const metate_tree *tree, Transfer &transfer) {
  const metate_type &type = *tree->type;
  METATE_TRY(checkReady(function, tree));
  Checked element = 0;
  for (uint32_t n = 0; n < transfer.count; ++n) {
    METATE_TRY(checkLevel(function, tree, transfer.levels[n], true));
    element = element + type.levels[transfer.levels[n]].cell_bytes;
  }
  uint32_t level = transfer.levels[0];
  const LevelFacts &facts = type.facts[level];
  for (uint32_t n = 0; n < transfer.count; ++n) {
    const LevelFacts &other = type.facts[transfer.levels[n]];
    const metate_level &mine = type.levels[level], &its = type.levels[transfer.levels[n]];
    bool alike = other.pathRank == facts.pathRank && mine.dtype == its.dtype &&
                 mine.cell_bytes == its.cell_bytes;
    for (uint32_t k = 0; alike && k < facts.pathRank; ++k)
      alike = other.shape[k] == facts.shape[k] && other.pathAxes[k] == facts.pathAxes[k];
    if (!alike)
      return fail(METATE_E_INVALID_ARGUMENT,
                  "%s: members '%s' and '%s': expected members of one shape and type", function,
                  type.levelName(level), type.levelName(transfer.levels[n]));
  }
  if (facts.unbounded)
    return fail(METATE_E_INVALID_ARGUMENT,
                "%s: member '%s': a hash level above has no bounds: ask for its cells", function,
                type.levelName(level));
  Checked total = element;
  for (uint32_t k = facts.pathRank; k-- > 0;) {
    transfer.stride[facts.pathAxes[k]] = total.value();
    total = total * uint64_t(facts.shape[k]);
  }
  if (!total.overflowed() && total.value() == transfer.bytes)
    return METATE_OK;
  return fail(METATE_E_INVALID_ARGUMENT, "%s: member '%s': expected %llu bytes, got %llu", function,
              type.levelName(level), show(total.value()), show(transfer.bytes));
}

// Where the host does not reach the block, and a member's cells are one piece of it in the array's order, no copy of the block is made:
// the offset of that piece.
bool isOnePiece(const metate_tree &tree, const Transfer &transfer, uint64_t *offset) {
  const metate_type &type = *tree.type;
  uint32_t level = transfer.levels[0];
  if (!tree.isElsewhere() || transfer.count > 1 || type.levels[level].quant ||
      type.facts[level].ownerPool != METATE_NONE || !type.facts[level].everyCell)
    return false;
  Box box = boxBelow(type, nestOf(type, level), 0, transfer.stride);
  uint64_t goesOn = box.cellBytes;
  for (uint32_t k = box.rank; k-- > 0; goesOn *= box.dimensions[k].extent)
    if (box.dimensions[k].inCells != goesOn || box.dimensions[k].inArray != goesOn)
      return false;
  *offset = tree.layout.rootOffset + box.offset;
  return goesOn == transfer.bytes;
}

metate_status readMembers(const char *function, const metate_tree *tree, Transfer transfer) {
  METATE_TRY(prepare(function, tree, transfer));
  uint64_t offset;
  if (isOnePiece(*tree, transfer, &offset))
    return readRegion(*tree->device, tree->memory, offset, transfer.array, transfer.bytes);
  return onHost(*tree, Use::reads,
                [&](const Block &block) { return copyToArray(block, transfer); });
}

metate_status writeMembers(const char *function, metate_tree *tree, Transfer transfer) {
  METATE_TRY(checkReady(function, tree));
  METATE_TRY(checkWritable(function, tree));
  METATE_TRY(prepare(function, tree, transfer));
  METATE_TRY(checkBooleans(function, tree, transfer.levels[0], transfer.array, transfer.bytes));
  uint64_t offset;
  if (isOnePiece(*tree, transfer, &offset)) {
    os::Lock lock(tree->device->stagedMutex); // who works on a copy of the block writes it back
    return writeRegion(*tree->device, tree->memory, offset, transfer.array, transfer.bytes);
  }
  return onHost(*tree, Use::changes,
                [&](const Block &block) { return copyToCells(block, transfer); });
}

uint8_t *bytesOf(const void *values) {
  return const_cast<uint8_t *>(
      static_cast<const uint8_t *>(values)); // of an array that is read only, written never
}

} // namespace

metate_status metate_tree_read_dense(const metate_tree *tree, uint32_t level, void *values,
                                     uint64_t bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(values);
  return readMembers(__func__, tree, {&level, 1, bytesOf(values), bytes});
}

metate_status metate_tree_write_dense(metate_tree *tree, uint32_t level, const void *values,
                                      uint64_t bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(values);
  return writeMembers(__func__, tree, {&level, 1, bytesOf(values), bytes});
}

metate_status metate_tree_read_members(const metate_tree *tree, const uint32_t *levels,
                                       uint32_t count, void *values, uint64_t bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(levels);
  METATE_REQUIRE(values);
  if (!count)
    return fail(METATE_E_INVALID_ARGUMENT, "%s: count: expected a member or more, got 0", __func__);
  return readMembers(__func__, tree, {levels, count, bytesOf(values), bytes});
}

metate_status metate_tree_write_members(metate_tree *tree, const uint32_t *levels, uint32_t count,
                                        const void *values, uint64_t bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(levels);
  METATE_REQUIRE(values);
  if (!count)
    return fail(METATE_E_INVALID_ARGUMENT, "%s: count: expected a member or more, got 0", __func__);
  return writeMembers(__func__, tree, {levels, count, bytesOf(values), bytes});
}

metate_status metate_tree_fill(metate_tree *tree, uint32_t level, const void *value,
                               uint64_t value_bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(value);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, true));
  METATE_TRY(checkValueBytes(__func__, tree, level, value_bytes));
  METATE_TRY(checkBooleans(__func__, tree, level, bytesOf(value), value_bytes));
  // Every cell takes the same bytes: no strides.
  return onHost(*tree, Use::changes, [&](const Block &block) {
    return copyToCells(block, {&level, 1, bytesOf(value), value_bytes});
  });
}
