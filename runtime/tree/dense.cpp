// Whole members to and from dense arrays, and one value into all active cells. The cells that one
// pool slot (or the root cell) holds are a box with strides, in the block as in the array: boxes are
// copied, not cells. A block that was damaged after it was bound gives METATE_E_CORRUPT.
#include "support/checked.h"
#include "tree/access.h"
#include "tree/staged.h"
#include "tree/walk.h"

#include <cstring>

using namespace metate;

namespace {

enum class Direction { ToArray, ToCells };

// One dimension of a box: how many cells, and how many bytes from one to the next.
struct Dimension {
  uint64_t extent;
  uint64_t inCells;
  uint64_t inArray;
};

// The cells of a member inside one cell of its owner, outermost dimension first, neighbours merged
// where both sides go on without a gap.
struct Box {
  uint64_t cellBytes = 0;
  uint64_t offset = 0; // of the first cell in the owner's cell
  uint32_t rank = 0;
  Dimension dimensions[maxDepth * METATE_MAX_AXES];
  uint64_t ownerStride[METATE_MAX_AXES] = {}; // array bytes per step of the owner's coordinate
  uint64_t ownerCells[METATE_MAX_AXES] = {};  // how many of those there are
};

void append(Box &box, Dimension next) {
  if (next.extent == 1)
    return;
  if (box.rank) {
    Dimension &last = box.dimensions[box.rank - 1];
    if (last.inCells == next.inCells * next.extent && last.inArray == next.inArray * next.extent) {
      last = {last.extent * next.extent, next.inCells, next.inArray};
      return;
    }
  }
  box.dimensions[box.rank++] = next;
}

// stride: array bytes per element along each axis.
Box boxOf(const metate_type &type, uint32_t level, const uint64_t *stride) {
  Nest nest = nestOf(type, level);
  Box box;
  box.cellBytes = type.levels[level].cell_bytes;
  uint64_t weight[METATE_MAX_AXES]; // elements along the axis in one cell of the level at hand
  for (uint64_t &one : weight)
    one = 1;
  for (uint32_t step = 0; step < nest.count; ++step)
    for (uint32_t k = 0; k < type.levels[nest.level[step]].axis_count; ++k)
      weight[type.levels[nest.level[step]].axes[k]] *= type.levels[nest.level[step]].extents[k];
  const LevelFacts &facts = type.facts[level];
  for (uint32_t k = 0; k < facts.pathRank; ++k) {
    uint32_t axis = facts.pathAxes[k];
    box.ownerStride[axis] = stride[axis] * weight[axis];
    box.ownerCells[axis] = uint64_t(facts.shape[k]) / weight[axis];
  }
  for (uint32_t step = 0; step < nest.count; ++step) {
    const metate_level &record = type.levels[nest.level[step]];
    box.offset += record.offset;
    uint64_t cells = record.cells;
    for (uint32_t k = 0; k < record.axis_count; ++k) {
      uint32_t axis = record.axes[k];
      cells /= record.extents[k];
      weight[axis] /= record.extents[k];
      append(box, {record.extents[k], cells * record.cell_bytes, stride[axis] * weight[axis]});
    }
  }
  return box;
}

template <Direction direction> void move(uint8_t *cells, uint8_t *array, uint64_t bytes) {
  if constexpr (direction == Direction::ToArray)
    memcpy(array, cells, bytes);
  else
    memcpy(cells, array, bytes);
}

template <Direction direction, uint64_t bytes>
void copyRow(const Dimension &row, uint8_t *cells, uint8_t *array) {
  if (direction == Direction::ToCells && row.inArray == 0) { // one value for all: kept in registers
    uint8_t value[bytes];
    memcpy(value, array, bytes);
    for (uint64_t i = 0; i < row.extent; ++i)
      memcpy(cells + i * (row.inCells == bytes ? bytes : row.inCells), value, bytes);
    return;
  }
  for (uint64_t i = 0; i < row.extent; ++i)
    move<direction>(cells + i * row.inCells, array + i * row.inArray, bytes);
}

template <Direction direction>
void copyRow(const Dimension &row, uint64_t bytes, uint8_t *cells, uint8_t *array) {
  if (row.inCells == bytes && row.inArray == bytes)
    return move<direction>(cells, array, row.extent * bytes);
  switch (bytes) { // sizes known while compiling: moves of registers, not calls
  case 4:
    return copyRow<direction, 4>(row, cells, array);
  case 8:
    return copyRow<direction, 8>(row, cells, array);
  case 12:
    return copyRow<direction, 12>(row, cells, array);
  default:
    for (uint64_t i = 0; i < row.extent; ++i)
      move<direction>(cells + i * row.inCells, array + i * row.inArray, bytes);
  }
}

template <Direction direction>
void copyRows(Dimension outer, Dimension inner, uint64_t bytes, uint8_t *cells, uint8_t *array) {
  for (uint64_t i = 0; i < outer.extent; ++i)
    copyRow<direction>(inner, bytes, cells + i * outer.inCells, array + i * outer.inArray);
}

// The last two dimensions of a transposed member, by tiles: each cache line of the array is then
// met by neighbouring rows while it is there. 1024 x 1024 f32 on one core: 6.4 ms without tiles,
// 3.2 ms with 8 x 8, 3.7 ms with 16 x 16.
template <Direction direction>
void copyTiles(Dimension outer, Dimension inner, uint64_t bytes, uint8_t *cells, uint8_t *array) {
  constexpr uint64_t tile = 8;
  uint64_t rows = outer.extent, columns = inner.extent;
  for (uint64_t i = 0; i < rows; i += tile)
    for (uint64_t j = 0; j < columns; j += tile) {
      outer.extent = rows - i < tile ? rows - i : tile;
      inner.extent = columns - j < tile ? columns - j : tile;
      copyRows<direction>(outer, inner, bytes, cells + i * outer.inCells + j * inner.inCells,
                          array + i * outer.inArray + j * inner.inArray);
    }
}

template <Direction direction>
void copyBox(const Box &box, uint32_t depth, uint8_t *cells, uint8_t *array) {
  if (box.rank == 0)
    return move<direction>(cells, array, box.cellBytes);
  const Dimension &dimension = box.dimensions[depth];
  if (depth + 1 == box.rank)
    return copyRow<direction>(dimension, box.cellBytes, cells, array);
  if (depth + 2 == box.rank) {
    const Dimension &inner = box.dimensions[depth + 1];
    auto *copy = dimension.inArray < inner.inArray ? copyTiles<direction> : copyRows<direction>;
    return copy(dimension, inner, box.cellBytes, cells, array);
  }
  for (uint64_t i = 0; i < dimension.extent; ++i)
    copyBox<direction>(box, depth + 1, cells + i * dimension.inCells,
                       array + i * dimension.inArray);
}

metate_status failOutside(const metate_type &type) {
  return fail(METATE_E_CORRUPT, "tree of type '%s': a slot lies outside the tree", type.shown());
}

// Copies between the cells of a member and an array with these strides, box by box. Inactive cells
// below a bitmasked level are copied too: they hold background.
template <Direction direction>
metate_status copyBoxes(const Block &block, uint32_t level, uint8_t *array,
                        const uint64_t *stride) {
  const metate_type &type = *block.type;
  const LevelFacts &facts = type.facts[level];
  Box box = boxOf(type, level, stride);
  bool inside = true;
  eachOwner(block, facts.ownerPool, [&](uint8_t *cell, const int64_t *along) {
    uint64_t at = 0;
    for (uint32_t k = 0; k < facts.pathRank; ++k) {
      uint32_t axis = facts.pathAxes[k];
      // A damaged block may name any coordinate; without bounds no stride is asked for.
      inside = inside && (!facts.shape[k] || uint64_t(along[axis]) < box.ownerCells[axis]);
      at += uint64_t(along[axis]) * box.ownerStride[axis];
    }
    if (inside)
      copyBox<direction>(box, 0, cell + box.offset, array + at);
    return inside;
  });
  return inside ? METATE_OK : failOutside(type);
}

// The active cells alone, one by one, take their values from the array.
metate_status copyActive(const Block &block, uint32_t level, const uint8_t *array,
                         const uint64_t *stride) {
  const LevelFacts &facts = block.type->facts[level];
  uint64_t bytes = block.type->levels[level].cell_bytes;
  bool inside = true;
  auto visit = [&](uint8_t *cell, const int64_t *along) {
    uint64_t at = 0;
    for (uint32_t k = 0; k < facts.pathRank; ++k) {
      int64_t coordinate = along[facts.pathAxes[k]];
      inside = inside && (!facts.shape[k] || (coordinate >= 0 && coordinate < facts.shape[k]));
      at += uint64_t(coordinate) * stride[facts.pathAxes[k]];
    }
    if (inside)
      memcpy(cell, array + at, bytes);
    return inside;
  };
  eachActive(block, level, visit);
  return inside ? METATE_OK : failOutside(*block.type);
}

metate_status copyToCells(const Block &block, uint32_t level, const uint8_t *array,
                          const uint64_t *stride) {
  if (block.type->facts[level].everyCell)
    return copyBoxes<Direction::ToCells>(block, level, const_cast<uint8_t *>(array), stride);
  return copyActive(block, level, array, stride);
}

// Row-major strides of the dense array, after its size was compared with the caller's.
metate_status denseStrides(const char *function, const metate_tree *tree, uint32_t level,
                           uint64_t bytes, uint64_t *stride) {
  const LevelFacts &facts = tree->type->facts[level];
  if (facts.unbounded)
    return fail(METATE_E_INVALID_ARGUMENT,
                "%s: member '%s': a hash level above has no bounds: ask for its cells", function,
                tree->type->levelName(level));
  Checked total = tree->type->levels[level].cell_bytes;
  for (uint32_t k = facts.pathRank; k-- > 0;) {
    stride[facts.pathAxes[k]] = total.value();
    total = total * uint64_t(facts.shape[k]);
  }
  if (!total.overflowed() && total.value() == bytes)
    return METATE_OK;
  return fail(METATE_E_INVALID_ARGUMENT, "%s: member '%s': expected %llu bytes, got %llu", function,
              tree->type->levelName(level), show(total.value()), show(bytes));
}

} // namespace

metate_status metate_tree_read_dense(const metate_tree *tree, uint32_t level, void *values,
                                     uint64_t bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(values);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, true));
  uint64_t stride[METATE_MAX_AXES] = {};
  METATE_TRY(denseStrides(__func__, tree, level, bytes, stride));
  const LevelFacts &facts = tree->type->facts[level];
  auto *to = static_cast<uint8_t *>(values);
  uint64_t cellBytes = tree->type->levels[level].cell_bytes;
  if (facts.ownerPool != METATE_NONE && facts.zeroBackground)
    memset(to, 0, bytes);
  else if (facts.ownerPool != METATE_NONE)
    for (uint64_t at = 0; at < bytes; at += cellBytes)
      memcpy(to + at, tree->type->background(level), cellBytes);
  return onHost(*tree, Use::reads, [&](const Block &block) {
    return copyBoxes<Direction::ToArray>(block, level, to, stride);
  });
}

metate_status metate_tree_write_dense(metate_tree *tree, uint32_t level, const void *values,
                                      uint64_t bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(values);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, true));
  uint64_t stride[METATE_MAX_AXES] = {};
  METATE_TRY(denseStrides(__func__, tree, level, bytes, stride));
  auto *from = static_cast<const uint8_t *>(values);
  METATE_TRY(checkBooleans(__func__, tree, level, from, bytes));
  return onHost(*tree, Use::changes,
                [&](const Block &block) { return copyToCells(block, level, from, stride); });
}

metate_status metate_tree_fill(metate_tree *tree, uint32_t level, const void *value,
                               uint64_t value_bytes) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(value);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkLevel(__func__, tree, level, true));
  METATE_TRY(checkValueBytes(__func__, tree, level, value_bytes));
  auto *from = static_cast<const uint8_t *>(value);
  METATE_TRY(checkBooleans(__func__, tree, level, from, value_bytes));
  uint64_t stride[METATE_MAX_AXES] = {}; // every cell takes the same bytes
  return onHost(*tree, Use::changes,
                [&](const Block &block) { return copyToCells(block, level, from, stride); });
}
