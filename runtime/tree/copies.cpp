// Boxes, rows and slots of members to and from arrays, shared out among workers.
#include "tree/copies.h"

#include "device/chunks.h"
#include "tree/rows.h"

#include <cstring>

namespace metate {

namespace {

// So much is worth a worker, and beyond that much the caches would not keep it.
constexpr uint64_t chunkBytes = 1 << 17, aroundBytes = 1 << 26;

int64_t grainOf(uint64_t bytes) { return bytes < chunkBytes ? int64_t(chunkBytes / bytes) : 1; }

metate_status failOutside(const metate_type &type) {
  return fail(METATE_E_CORRUPT, "tree of type '%s': a slot lies outside the tree", type.shown());
}

// Where the cells of an owner, or of a level below it, begin in the array.
struct Places {
  uint32_t rank = 0;
  uint8_t axes[METATE_MAX_AXES];
  uint64_t stride[METATE_MAX_AXES];
  uint64_t limit[METATE_MAX_AXES]; // 0: no bounds

  Places(const metate_type &type, const Nest &nest, uint32_t step, uint32_t level,
         const uint64_t *elementStride) {
    uint64_t weight[METATE_MAX_AXES];
    weightsBelow(type, nest, step, weight);
    const LevelFacts &facts = type.facts[level];
    rank = facts.pathRank;
    for (uint32_t k = 0; k < rank; ++k) {
      axes[k] = facts.pathAxes[k];
      stride[k] = elementStride[axes[k]] * weight[axes[k]];
      limit[k] = uint64_t(facts.shape[k]) / weight[axes[k]];
    }
  }
  // False: outside. A damaged block may name any coordinate; without bounds no stride is asked for.
  bool find(const int64_t *along, uint64_t *at) const {
    *at = 0;
    bool inside = true;
    for (uint32_t k = 0; k < rank; ++k) {
      inside = inside && (!limit[k] || uint64_t(along[axes[k]]) < limit[k]);
      *at += uint64_t(along[axes[k]]) * stride[k];
    }
    return inside;
  }
};

// work(cell, along) for every active cell of a pool, by several workers. False as soon as one says so.
template <typename Work>
bool eachShared(const Block &block, uint32_t pool, uint64_t bytes, Work work) {
  bool inside = true;
  inChunks(*block.type->device, block.highWater(pool),
           grainOf(bytes * block.type->poolLevel(pool).slot_cells),
           [&](int64_t begin, int64_t end) {
             if (!eachSlot(block, pool, uint32_t(begin) + 1, uint32_t(end) + 1, work))
               __atomic_store_n(&inside, false, __ATOMIC_RELAXED);
           });
  return inside;
}

// Members whose cells are copied at once: one, or some that share an exponent and stand one after the other in the transfer.
struct Together {
  const uint32_t *levels;
  uint32_t count = 1;

  Box joined(Box box) const {
    if (count > 1)
      box.packing.join(levels, count);
    return box;
  }
};

// One member between its cells and the array, box by box. Inactive cells below a bitmasked level are copied too: they
// hold background.
template <Direction direction>
metate_status copyBoxes(const Block &block, const Together &members, const Transfer &transfer,
                        uint8_t *array) {
  const metate_type &type = *block.type;
  uint32_t level = members.levels[0], owner = type.facts[level].ownerPool;
  Nest nest = nestOf(type, level);
  Box box = members.joined(boxBelow(type, nest, 0, transfer.stride));
  Pieces pieces = piecesOf(box);
  // A new array's pages have just been zeroed, in the cache. A value for all cells is small, the cells are not.
  box.around = direction == Direction::ToCells &&
               (transfer.bytes >= aroundBytes || pieces.count * pieces.bytes >= aroundBytes);
  auto shared = [&](uint8_t *cell, uint8_t *to) {
    inChunks(*type.device, int64_t(pieces.count), grainOf(pieces.bytes),
             [&](int64_t begin, int64_t end) {
               copyPieces<direction>(box, pieces, uint64_t(begin), uint64_t(end), cell + box.offset,
                                     to);
             });
  };
  if (owner == METATE_NONE) {
    shared(block.root(), array);
    return METATE_OK;
  }
  Places places(type, nest, 0, level, transfer.stride);
  bool large = pieces.count * pieces.bytes >= 8 * chunkBytes; // of few slots each is shared out
  auto work = [&](uint8_t *cell, const int64_t *along) {
    uint64_t at;
    if (!places.find(along, &at))
      return false;
    if (large)
      shared(cell, array + at);
    else
      copyBox<direction>(box, cell + box.offset, array + at);
    return true;
  };
  bool inside = large ? eachSlot(block, owner, 1, block.highWater(owner) + 1, work)
                      : eachShared(block, owner, pieces.count * pieces.bytes, work);
  return inside ? METATE_OK : failOutside(type);
}

// Several members whose cells lie alike in the root cell, some KiB of each at a time: the array's lines are met by all of
// them while they are in the cache. False where they do not lie so.
template <Direction direction> bool copyTogether(const Block &block, const Transfer &transfer) {
  const metate_type &type = *block.type;
  constexpr uint32_t most = 16;
  constexpr uint64_t few = 1 << 13;
  uint64_t offset[most];
  if (transfer.count > most)
    return false;
  Box box = boxBelow(type, nestOf(type, transfer.levels[0]), 0, transfer.stride);
  for (uint32_t n = 0; n < transfer.count; ++n) {
    Box other = boxBelow(type, nestOf(type, transfer.levels[n]), 0, transfer.stride);
    if (type.facts[transfer.levels[n]].ownerPool != METATE_NONE || !other.isLike(box))
      return false;
    offset[n] = other.offset;
  }
  Pieces pieces = piecesOf(box);
  int64_t step = pieces.bytes < few ? int64_t(few / pieces.bytes) : 1;
  inChunks(*type.device, int64_t(pieces.count), grainOf(pieces.bytes * transfer.count),
           [&](int64_t begin, int64_t end) {
             for (; begin < end; begin += step)
               for (uint32_t n = 0; n < transfer.count; ++n)
                 copyPieces<direction>(box, pieces, uint64_t(begin),
                                       uint64_t(end - begin < step ? end : begin + step),
                                       block.root() + offset[n],
                                       transfer.array + n * box.cellBytes);
           });
  return true;
}

// The active cells alone take their values from the array.
metate_status copyActive(const Block &block, const Together &members, const Transfer &transfer,
                         uint8_t *array) {
  const metate_type &type = *block.type;
  uint32_t member = members.levels[0], owner = type.facts[member].ownerPool;
  Nest nest = nestOf(type, member), above;
  uint32_t step = nest.count;
  while (step && type.levels[nest.level[step - 1]].kind != METATE_LEVEL_BITMASKED)
    --step;
  if (step-- == 0) // of a list that is not full: its slots are walked by their active cells
    return copyBoxes<Direction::ToCells>(block, members, transfer, array);
  above = nest;
  above.count = step;
  Rows rows(type, nest, step, transfer.stride);
  rows.cell = members.joined(rows.cell);
  rows.whole = members.joined(rows.whole);
  Places places(type, nest, step, member, transfer.stride);
  auto copy = [&](uint8_t *cell, const int64_t *along) {
    uint64_t at;
    if (!places.find(along, &at))
      return false;
    rows.copy(cell + rows.level->offset, array + at);
    return true;
  };
  if (owner != METATE_NONE) {
    bool inside = eachShared(block, owner, type.facts[member].cellsPerOwner * rows.cell.cellBytes,
                             [&](uint8_t *cell, const int64_t *along) {
                               return walk(type, above, 0, cell, along, copy);
                             });
    return inside ? METATE_OK : failOutside(type);
  }
  int64_t along[METATE_MAX_AXES] = {};
  uint64_t all = type.facts[member].cellsPerOwner * rows.cell.cellBytes;
  uint64_t parts = step ? type.levels[nest.level[0]].cells : rows.rows();
  inChunks(*type.device, int64_t(parts), grainOf(all / parts), [&](int64_t begin, int64_t end) {
    if (step)
      walkCells(type, above, 0, uint64_t(begin), uint64_t(end), block.root(), along, copy);
    else
      for (; begin < end; ++begin)
        rows.copyRow(block.root() + rows.level->offset, uint64_t(begin), array);
  });
  return METATE_OK;
}

// Do the slots of a pool hold all cells of a member? Of lists some slots are full and others not.
bool isEverywhere(const Block &block, uint32_t level) {
  const LevelFacts &facts = block.type->facts[level];
  uint64_t cells = block.pool(facts.ownerPool).used, all = 1;
  if (block.type->poolLevel(facts.ownerPool).kind == METATE_LEVEL_DYNAMIC) {
    cells = 0;
    eachOwner(block, facts.ownerPool, [&](uint8_t *, const int64_t *) { return ++cells != 0; });
  }
  for (uint32_t k = 0; k < facts.pathRank; ++k)
    all *= uint64_t(facts.shape[k]);
  uint64_t each = facts.cellsPerOwner / block.type->poolLevel(facts.ownerPool).slot_cells;
  return cells * each == all;
}

// What no slot holds reads as background: all of the array, before slots are copied.
void readBackground(const Block &block, uint32_t level, const Transfer &transfer, uint8_t *array) {
  const metate_type &type = *block.type;
  if (type.facts[level].ownerPool == METATE_NONE || isEverywhere(block, level))
    return;
  uint64_t bytes = type.levels[level].cell_bytes, element = 0;
  for (uint32_t n = 0; n < transfer.count; ++n)
    element += type.levels[transfer.levels[n]].cell_bytes;
  const void *value = type.background(level);
  bool zero = type.facts[level].zeroBackground && bytes == element;
  inChunks(*type.device, int64_t(transfer.bytes / element), grainOf(element),
           [&](int64_t begin, int64_t end) {
             uint8_t *to = array + uint64_t(begin) * element;
             if (zero)
               memset(to, 0, uint64_t(end - begin) * element);
             else
               for (; begin < end; ++begin, to += element)
                 memcpy(to, value, bytes);
           });
}

// How many members from number `n` on share an exponent: 1 where it shares none.
uint32_t sharersFrom(const metate_type &type, const Transfer &transfer, uint32_t n) {
  const metate_quant *first = quantOf(type.blob, transfer.levels[n]);
  uint32_t count = 1;
  while (first && first->group != METATE_NONE && n + count < transfer.count) {
    const metate_quant *next = quantOf(type.blob, transfer.levels[n + count]);
    if (!next || next->group != first->group)
      break;
    ++count;
  }
  return count;
}

} // namespace

metate_status copyToCells(const Block &block, const Transfer &transfer) {
  bool every = true;
  for (uint32_t n = 0; n < transfer.count; ++n)
    every = every && block.type->facts[transfer.levels[n]].everyCell;
  if (every && transfer.count > 1 && copyTogether<Direction::ToCells>(block, transfer))
    return METATE_OK;
  uint8_t *array = transfer.array;
  for (uint32_t n = 0; n < transfer.count;) {
    uint32_t level = transfer.levels[n];
    Together members{transfer.levels + n, sharersFrom(*block.type, transfer, n)};
    METATE_TRY(block.type->facts[level].everyCell
                   ? copyBoxes<Direction::ToCells>(block, members, transfer, array)
                   : copyActive(block, members, transfer, array));
    array += members.count * block.type->levels[level].cell_bytes;
    n += members.count;
  }
  return METATE_OK;
}

metate_status copyToArray(const Block &block, const Transfer &transfer) {
  if (transfer.count > 1 && copyTogether<Direction::ToArray>(block, transfer))
    return METATE_OK;
  uint8_t *array = transfer.array;
  for (uint32_t n = 0; n < transfer.count; ++n) {
    uint32_t level = transfer.levels[n];
    readBackground(block, level, transfer, array);
    METATE_TRY(copyBoxes<Direction::ToArray>(block, {transfer.levels + n}, transfer, array));
    array += block.type->levels[level].cell_bytes;
  }
  return METATE_OK;
}

} // namespace metate
