// Rows, tiles and boxes of cells between a block and an array.
#include "tree/box.h"

#include <cstring>

namespace metate {

namespace {

void append(Dimension *dimensions, uint32_t &rank, Dimension next) {
  if (next.extent == 1)
    return;
  if (rank) {
    Dimension &last = dimensions[rank - 1];
    if (last.inCells == next.inCells * next.extent && last.inArray == next.inArray * next.extent) {
      last = {last.extent * next.extent, next.inCells, next.inArray};
      return;
    }
  }
  dimensions[rank++] = next;
}

// The array's own last dimension stands beside the cells', so that both are in one tile.
void orderDimensions(Box &box) {
  if (box.rank < 2 || box.packing)
    return;
  uint32_t last = box.rank - 1, shortest = last;
  for (uint32_t k = 0; k < box.rank; ++k)
    if (box.dimensions[k].inArray < box.dimensions[shortest].inArray)
      shortest = k;
  if (shortest == last)
    return;
  Dimension moved = box.dimensions[shortest];
  for (uint32_t k = shortest; k + 1 < last; ++k)
    box.dimensions[k] = box.dimensions[k + 1];
  box.dimensions[last - 1] = moved;
  box.transposed = true;
}

// Lines of 64 bytes that nobody reads soon: an ordinary store reads what it overwrites (64 MiB on two cores of a
// Sapphire Rapids: 38 GB/s, around the caches 50). `step`: from line to line of what is copied; 0: the same one again.
void copyLinesAround(uint8_t *to, const uint8_t *from, uint64_t lines, uint64_t step) {
#if defined(__x86_64__) && __has_builtin(__builtin_nontemporal_store)
  using Vector = long long __attribute__((vector_size(16)));
  for (; lines; --lines, to += 64, from += step) {
    Vector line[4];
    memcpy(line, from, sizeof line);
    for (uint32_t k = 0; k < 4; ++k)
      __builtin_nontemporal_store(line[k], reinterpret_cast<Vector *>(to) + k);
  }
#else
  for (; lines; --lines, to += 64, from += step)
    memcpy(to, from, 64);
#endif
}

void copyAround(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  uint64_t head = -reinterpret_cast<uintptr_t>(to) & 63, lines = (bytes - head) / 64;
  memcpy(to, from, head);
  copyLinesAround(to + head, from + head, lines, 64);
  uint64_t at = head + lines * 64;
  memcpy(to + at, from + at, bytes - at);
}

// Stores around the caches keep no order by themselves: who is told of them must find them.
void finish(const Box &box) {
  if (box.around)
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// Rows so long are worth lines around the caches.
constexpr uint64_t longRow = 4096;

template <Direction direction> void move(uint8_t *cells, uint8_t *array, uint64_t bytes) {
  if constexpr (direction == Direction::ToArray)
    memcpy(array, cells, bytes);
  else
    memcpy(cells, array, bytes);
}

// One value for cells one after the other, in lines around the caches; false where lines are no whole cells.
bool fillAround(const Dimension &row, uint64_t bytes, uint8_t *cells, const uint8_t *value) {
  if (row.extent * bytes < longRow || row.inCells != bytes || 64 % bytes ||
      reinterpret_cast<uintptr_t>(cells) % bytes)
    return false;
  uint8_t line[64];
  for (uint64_t k = 0; k < 64; k += bytes)
    memcpy(line + k, value, bytes);
  uint64_t all = row.extent * bytes;
  uint64_t head = -reinterpret_cast<uintptr_t>(cells) & 63, lines = (all - head) / 64;
  memcpy(cells, line, head);
  copyLinesAround(cells + head, line, lines, 0);
  uint64_t at = head + lines * 64;
  memcpy(cells + at, line, all - at);
  return true;
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
void copyRow(const Dimension &row, const Box &box, uint8_t *cells, uint8_t *array) {
  uint64_t bytes = box.cellBytes;
  if (box.packing)
    return copyPacked<direction>(box, row, cells, array);
  if (row.inCells == bytes && row.inArray == bytes) {
    uint64_t all = row.extent * bytes;
    if (!box.around || all < longRow)
      return move<direction>(cells, array, all);
    bool out = direction == Direction::ToArray;
    return copyAround(out ? array : cells, out ? cells : array, all);
  }
  bool isFill = direction == Direction::ToCells && row.inArray == 0;
  if (isFill && box.around && fillAround(row, bytes, cells, array))
    return;
  switch (bytes) { // sizes known while compiling: moves of registers, not calls
  case 1:
    return copyRow<direction, 1>(row, cells, array);
  case 2:
    return copyRow<direction, 2>(row, cells, array);
  case 4:
    return copyRow<direction, 4>(row, cells, array);
  case 8:
    return copyRow<direction, 8>(row, cells, array);
  case 12:
    return copyRow<direction, 12>(row, cells, array);
  case 16:
    return copyRow<direction, 16>(row, cells, array);
  default:
    for (uint64_t i = 0; i < row.extent; ++i)
      move<direction>(cells + i * row.inCells, array + i * row.inArray, bytes);
  }
}

template <Direction direction>
void copyRows(const Dimension &outer, const Dimension &inner, const Box &box, uint8_t *cells,
              uint8_t *array) {
  uint64_t bytes = inner.extent * box.cellBytes; // short rows without gaps: no call each
  if (inner.inCells == box.cellBytes && inner.inArray == box.cellBytes && !box.packing) {
    if (bytes == 16)
      return copyRow<direction, 16>(outer, cells, array);
    if (bytes == 32)
      return copyRow<direction, 32>(outer, cells, array);
    if (bytes == 64)
      return copyRow<direction, 64>(outer, cells, array);
  }
  for (uint64_t i = 0; i < outer.extent; ++i)
    copyRow<direction>(inner, box, cells + i * outer.inCells, array + i * outer.inArray);
}

// A square of lines: each is read as a whole, turned on the stack, and written as a whole. Rows at distances of many KiB
// would push one another out of the first cache, if numbers were moved one by one.
template <typename Number>
void turn(const uint8_t *from, uint64_t fromStride, uint8_t *to, uint64_t toStride) {
  constexpr uint64_t count = 64 / sizeof(Number);
  Number lines[count][count];
  for (uint64_t i = 0; i < count; ++i)
    memcpy(lines[i], from + i * fromStride, 64);
  for (uint64_t j = 0; j < count; ++j) {
    Number line[count];
    for (uint64_t i = 0; i < count; ++i)
      line[i] = lines[i][j];
    memcpy(to + j * toStride, line, 64);
  }
}

template <Direction direction, typename Number>
void turn(const Dimension &outer, const Dimension &inner, uint8_t *cells, uint8_t *array) {
  if (direction == Direction::ToArray)
    turn<Number>(cells, outer.inCells, array, inner.inArray);
  else
    turn<Number>(array, inner.inArray, cells, outer.inCells);
}

// The last two dimensions of a transposed member, by tiles of lines on both sides. Each of the array's rows may be a page of
// its own: tile rows side by side go along few of them, and meet the same ones.
template <Direction direction>
void copyTiles(const Dimension &outer, const Dimension &inner, const Box &box, uint8_t *cells,
               uint8_t *array) {
  constexpr uint64_t pages = 256;
  uint64_t bytes = box.cellBytes, tile = bytes < 16 ? 64 / bytes : 4;
  bool whole = inner.inCells == bytes && outer.inArray == bytes && (bytes == 4 || bytes == 8);
  auto copy = [&](uint64_t i, uint64_t j) {
    uint8_t *atCells = cells + i * outer.inCells + j * inner.inCells;
    uint8_t *atArray = array + i * outer.inArray + j * inner.inArray;
    Dimension rows = outer, columns = inner;
    rows.extent = outer.extent - i < tile ? outer.extent - i : tile;
    columns.extent = inner.extent - j < tile ? inner.extent - j : tile;
    if (!whole || rows.extent < tile || columns.extent < tile)
      copyRows<direction>(rows, columns, box, atCells, atArray);
    else if (bytes == 4)
      turn<direction, uint32_t>(rows, columns, atCells, atArray);
    else
      turn<direction, uint64_t>(rows, columns, atCells, atArray);
  };
  for (uint64_t first = 0; first < inner.extent; first += pages)
    for (uint64_t i = 0; i < outer.extent; i += tile)
      for (uint64_t j = first; j < inner.extent && j < first + pages; j += tile)
        copy(i, j);
}

// `dimension` is the box's number `depth`, or a part of it.
template <Direction direction>
void copyFrom(const Box &box, uint32_t depth, const Dimension &dimension, uint8_t *cells,
              uint8_t *array) {
  if (depth + 1 == box.rank)
    return copyRow<direction>(dimension, box, cells, array);
  const Dimension &next = box.dimensions[depth + 1];
  if (depth + 2 == box.rank)
    return (box.transposed ? copyTiles<direction> : copyRows<direction>)(dimension, next, box,
                                                                         cells, array);
  for (uint64_t i = 0; i < dimension.extent; ++i)
    copyFrom<direction>(box, depth + 1, next, cells + i * dimension.inCells,
                        array + i * dimension.inArray);
}

} // namespace

void weightsBelow(const metate_type &type, const Nest &nest, uint32_t step, uint64_t *weight) {
  for (uint32_t axis = 0; axis < METATE_MAX_AXES; ++axis)
    weight[axis] = 1;
  for (; step < nest.count; ++step) {
    const metate_level &record = type.levels[nest.level[step]];
    for (uint32_t k = 0; k < record.axis_count; ++k)
      weight[record.axes[k]] *= record.extents[k];
  }
}

Box boxBelow(const metate_type &type, const Nest &nest, uint32_t step, const uint64_t *stride) {
  Box box;
  uint32_t member = nest.level[nest.count - 1];
  box.cellBytes = type.levels[member].cell_bytes;
  if (type.levels[member].quant)
    box.packing = Packing(type.blob, member);
  uint64_t weight[METATE_MAX_AXES];
  weightsBelow(type, nest, step, weight);
  for (; step < nest.count; ++step) {
    const metate_level &record = type.levels[nest.level[step]];
    box.offset += record.offset;
    uint64_t cells = record.cells;
    bool array = record.kind == METATE_LEVEL_QUANT_ARRAY;
    if (array)
      box.elements.count = cells;
    for (uint32_t k = 0; k < record.axis_count; ++k) {
      uint32_t axis = record.axes[k];
      cells /= record.extents[k];
      weight[axis] /= record.extents[k];
      append(array ? box.elements.dimensions : box.dimensions, array ? box.elements.rank : box.rank,
             {record.extents[k], array ? cells : cells * record.cell_bytes,
              stride[axis] * weight[axis]});
    }
  }
  orderDimensions(box);
  return box;
}

template <Direction direction> void copyBox(const Box &box, uint8_t *cells, uint8_t *array) {
  if (box.rank == 0 && box.packing)
    return copyPacked<direction>(box, {1, 0, 0}, cells, array);
  if (box.rank == 0)
    return move<direction>(cells, array, box.cellBytes);
  copyFrom<direction>(box, 0, box.dimensions[0], cells, array);
  finish(box);
}

template <Direction direction>
void copyRun(const Box &box, const Dimension &run, uint8_t *cells, uint8_t *array) {
  if (box.rank == 0)
    return copyRow<direction>(run, box, cells, array);
  for (uint64_t i = 0; i < run.extent; ++i)
    copyBox<direction>(box, cells + i * run.inCells, array + i * run.inArray);
}

bool Box::isLike(const Box &other) const {
  bool alike = rank == other.rank && cellBytes == other.cellBytes && !packing && !other.packing;
  for (uint32_t k = 0; alike && k < rank; ++k) {
    const Dimension &mine = dimensions[k], &its = other.dimensions[k];
    alike = mine.extent == its.extent && mine.inCells == its.inCells && mine.inArray == its.inArray;
  }
  return alike;
}

Pieces piecesOf(const Box &box) {
  constexpr uint64_t few = 1 << 14;
  Pieces pieces;
  pieces.bytes = box.cellBytes * box.elements.count;
  for (uint32_t k = 0; k < box.rank; ++k)
    pieces.bytes *= box.dimensions[k].extent;
  uint32_t most = box.transposed ? box.rank - 1 : box.rank; // a tile is in one piece
  while (pieces.dimensions < most && (pieces.bytes > few || !pieces.dimensions)) {
    uint64_t extent = box.dimensions[pieces.dimensions++].extent;
    pieces.count *= extent;
    pieces.bytes /= extent;
  }
  if (box.packing.isArray() && pieces.bytes > few) { // no word is in two pieces
    uint64_t perWord = box.packing.elementsPerWord(), words = few / (perWord * box.cellBytes);
    pieces.elements = words * perWord;
    pieces.parts = (box.elements.count + pieces.elements - 1) / pieces.elements;
    pieces.count *= pieces.parts;
    pieces.bytes = pieces.elements * box.cellBytes;
  }
  return pieces;
}

template <Direction direction>
void copyPieces(const Box &box, const Pieces &pieces, uint64_t begin, uint64_t end, uint8_t *cells,
                uint8_t *array) {
  if (pieces.elements)
    return copyParts<direction>(box, pieces, begin, end, cells, array);
  if (pieces.dimensions == 0)
    return copyBox<direction>(box, cells, array);
  uint32_t last = pieces.dimensions - 1;
  while (begin < end) { // runs along the last dimension that is counted
    uint64_t rest = begin, inCells = 0, inArray = 0, first = 0;
    for (uint32_t k = pieces.dimensions; k-- > 0; rest /= box.dimensions[k].extent) {
      uint64_t at = rest % box.dimensions[k].extent;
      first = k == last ? at : first;
      inCells += at * box.dimensions[k].inCells;
      inArray += at * box.dimensions[k].inArray;
    }
    Dimension run = box.dimensions[last];
    run.extent = run.extent - first < end - begin ? run.extent - first : end - begin;
    copyFrom<direction>(box, last, run, cells + inCells, array + inArray);
    begin += run.extent;
  }
  finish(box);
}

template void copyBox<Direction::ToArray>(const Box &, uint8_t *, uint8_t *);
template void copyBox<Direction::ToCells>(const Box &, uint8_t *, uint8_t *);
template void copyRun<Direction::ToCells>(const Box &, const Dimension &, uint8_t *, uint8_t *);
template void copyPieces<Direction::ToArray>(const Box &, const Pieces &, uint64_t, uint64_t,
                                             uint8_t *, uint8_t *);
template void copyPieces<Direction::ToCells>(const Box &, const Pieces &, uint64_t, uint64_t,
                                             uint8_t *, uint8_t *);

} // namespace metate
