// Is a block from outside sound? Every constant is recomputed, every link must lead into its pool,
// no slot has two parents, free lists are free of cycles, metadata says what the links say, tables
// find every slot at its place, no two containers of a hash level have one stamp, and what is not
// active is background. Nothing is written, and nothing outside the given bytes is read. The device's
// allocator gives a bit for each slot in use and four bytes for each stamp.
#include "support/checked.h"
#include "tree/staged.h"
#include "tree/walk.h"

#include <algorithm>
#include <cstring>

namespace metate {

namespace {

struct Bits {
  uint64_t *words;
  bool test(uint32_t bit) const { return words[bit / 64] >> (bit % 64) & 1; }
  void set(uint32_t bit) { words[bit / 64] |= uint64_t(1) << (bit % 64); }
};

class Checker {
public:
  explicit Checker(const Block &block)
      : type(*block.type), block(block), storage(*block.type->device), offsets(*block.type->device),
        pattern(*block.type->device) {}

  metate_status run() {
    const metate_tree_header &header = block.header();
    if (header.epoch == 0 || (header.status != METATE_OK && header.status != METATE_E_CAPACITY) ||
        (header.status != METATE_OK && header.status_level >= type.poolCount()))
      return corrupt("its epoch or status is impossible");
    if (header.sorted > header.topology)
      return corrupt("its slots were put in order later than it has changed");
    METATE_TRY(allocate());
    for (uint32_t number = 0; number < type.poolCount(); ++number) {
      METATE_TRY(checkLinks(number)); // a level's parents come first: their slots are known
      METATE_TRY(checkStates(number));
      METATE_TRY(checkFreeList(number));
      METATE_TRY(checkAmbient(number));
      if (!header.changed && header.sorted == header.topology && !isInOrder(block, number))
        return corrupt(number, "its slots are not in order, as it says");
    }
    for (uint32_t level = 0; level < type.levelCount(); ++level) {
      if (type.levels[level].kind == METATE_LEVEL_BITMASKED)
        METATE_TRY(checkMasks(level));
      if (type.levels[level].dtype == METATE_U1)
        METATE_TRY(checkBooleans(level));
    }
    return METATE_OK;
  }

private:
  const metate_type &type;
  const Block &block;
  Array<uint64_t> storage;
  Array<uint64_t> offsets; // of each pool's bits in storage
  Array<uint8_t> pattern;

  metate_status corrupt(const char *what) {
    return fail(METATE_E_CORRUPT, "block of type '%s': %s", type.shown(), what);
  }
  metate_status corrupt(uint32_t number, const char *what) {
    return fail(METATE_E_CORRUPT, "block of type '%s': level '%s': %s", type.shown(),
                type.levelName(type.poolLevels[number]), what);
  }
  Bits bits(uint32_t number) { return {storage.data() + offsets[number]}; }

  metate_status allocate() {
    METATE_TRY(offsets.allocate(type.poolCount()));
    uint64_t words = 0, largest = 1;
    for (uint32_t number = 0; number < type.poolCount(); ++number) {
      const metate_pool &pool = block.pool(number);
      if (pool.high_water > block.pools[number].physical || pool.used > pool.high_water)
        return corrupt(number, "its counters are larger than the pool");
      if (pool.pending || pool.tombs || pool.orphans != pool.orphans_seen)
        return corrupt(number, "cells that were deactivated have not been collected");
      offsets[number] = words;
      words += pool.high_water / 64 + 1;
      if (block.pools[number].ambient && block.pools[number].slot_bytes > largest)
        largest = block.pools[number].slot_bytes;
    }
    METATE_TRY(storage.allocate(words));
    return pattern.allocate(largest);
  }

  // visit(cell, along) for the root cell or every active cell in the linked slots of a pool.
  template <typename Visit> bool eachOwner(uint32_t owner, const Visit &visit) {
    int64_t along[METATE_MAX_AXES] = {};
    if (owner == METATE_NONE)
      return visit(block.root(), along);
    for (uint32_t slot = 1; slot <= block.pool(owner).high_water; ++slot)
      if (bits(owner).test(slot) && !eachInSlot(block, owner, slot, visit))
        return false;
    return true;
  }

  // visit(container, along) for every container of a level in an active cell.
  template <typename Visit> bool eachContainer(uint32_t level, const Visit &visit) {
    Nest nest = nestAbove(type, level);
    uint64_t offset = type.levels[level].offset;
    auto inner = [&](uint8_t *cell, const int64_t *along) { return visit(cell + offset, along); };
    return eachOwner(type.facts[level].ownerPool, [&](uint8_t *cell, const int64_t *along) {
      return walk(type, nest, 0, cell, along, inner);
    });
  }

  metate_status checkLinks(uint32_t number) {
    uint32_t linked = 0;
    const char *problem = nullptr;
    if (type.poolLevel(number).kind == METATE_LEVEL_HASH) {
      METATE_TRY(checkStamps(number));
      problem = tableProblem(number, linked);
    } else {
      eachContainer(type.poolLevels[number], [&](uint8_t *container, const int64_t *along) {
        problem = type.poolLevel(number).kind == METATE_LEVEL_DYNAMIC
                      ? listProblem(number, container, along, linked)
                      : linksProblem(number, container, along, linked);
        return !problem;
      });
    }
    if (problem)
      return corrupt(number, problem);
    if (linked != block.pool(number).used)
      return corrupt(number, "it has another number of links than it says");
    return METATE_OK;
  }

  // One link that is not 0; `along` are the coordinates of the slot's first cell.
  const char *linkProblem(uint32_t number, uint32_t slot, const int64_t *along, uint32_t &linked) {
    Bits seen = bits(number);
    if (slot > block.pool(number).high_water)
      return "a link leaves the pool";
    if (seen.test(slot))
      return "a slot has two parents";
    seen.set(slot);
    ++linked;
    int64_t own[METATE_MAX_AXES];
    memcpy(own, along, sizeof own);
    slotCoordinates(block, number, slot, own);
    return memcmp(own, along, sizeof own) ? "a slot's coordinates are not its link's" : nullptr;
  }

  const char *linksProblem(uint32_t number, const uint8_t *container, const int64_t *along,
                           uint32_t &linked) {
    const metate_level &level = type.poolLevel(number);
    const auto *links = reinterpret_cast<const uint32_t *>(container);
    for (uint64_t n = 0; n < level.cells; ++n) {
      if (!links[n])
        continue;
      int64_t own[METATE_MAX_AXES];
      memcpy(own, along, sizeof own);
      uint64_t rest = n;
      for (uint32_t k = level.axis_count; k-- > 0; rest /= level.extents[k])
        own[level.axes[k]] =
            own[level.axes[k]] * level.extents[k] + int64_t(rest % level.extents[k]);
      if (const char *problem = linkProblem(number, links[n], own, linked))
        return problem;
    }
    return nullptr;
  }

  const char *listProblem(uint32_t number, const uint8_t *container, const int64_t *along,
                          uint32_t &linked) {
    const metate_level &level = type.poolLevel(number);
    const auto *words = reinterpret_cast<const uint32_t *>(container);
    uint64_t length = words[0], chunks = metate_level_chunks(&level);
    if (length > level.cells)
      return "a list is longer than it can be";
    int64_t own[METATE_MAX_AXES];
    memcpy(own, along, sizeof own);
    for (uint64_t k = 0; k < chunks; ++k) {
      uint32_t slot = words[2 + k];
      uint64_t first = k * level.slot_cells;
      if ((slot != 0) != (first < length))
        return slot ? "a chunk is linked beyond its list's length"
                    : "a list has not all its chunks";
      if (!slot)
        continue;
      own[level.axes[0]] = int64_t(first);
      if (const char *problem = linkProblem(number, slot, own, linked))
        return problem;
      uint64_t there = length - first < level.slot_cells ? length - first : level.slot_cells;
      for (uint64_t n = there; n < level.slot_cells; ++n)
        if (!isBackground(type.poolLevels[number], block.slot(number, slot) + n * level.cell_bytes))
          return "a cell beyond its list's length is not background";
    }
    return nullptr;
  }

  // visit(stamp) for each container of a hash level that has one.
  template <typename Visit> bool eachStamp(uint32_t number, const Visit &visit) {
    return eachContainer(type.poolLevels[number], [&](const uint8_t *container, const int64_t *) {
      uint32_t any;
      memcpy(&any, container, sizeof any);
      return !any || visit(any);
    });
  }

  // A stamp that was not given yet might be given again, and none was given twice (before the count
  // of them has gone around).
  metate_status checkStamps(uint32_t number) {
    uint32_t given = block.pool(number).stamps, count = 0, next = 0;
    bool known = eachStamp(number, [&](uint32_t any) {
      ++count;
      return any >> 31 && (given >> 31 || (any & INT32_MAX) <= given);
    });
    if (!known)
      return corrupt(number, "a container's stamp was never given");
    if (given >> 31)
      return METATE_OK;
    Array<uint32_t> stamps(*type.device);
    METATE_TRY(stamps.allocate(count));
    eachStamp(number, [&](uint32_t any) {
      stamps[next++] = any;
      return true;
    });
    uint32_t *first = stamps.data(), *end = first + count;
    std::make_heap(first, end); // less code than std::sort
    std::sort_heap(first, end);
    return std::adjacent_find(first, end) == end ? METATE_OK
                                                 : corrupt(number, "two containers have one stamp");
  }

  const char *tableProblem(uint32_t number, uint32_t &linked) {
    metate_view view = block.view();
    uint32_t at = type.poolLevels[number], buckets = block.pools[number].buckets;
    const uint32_t *table = metate_view_table(&view, at);
    Bits seen = bits(number);
    for (uint32_t n = 0; n < buckets; ++n) {
      uint32_t slot = table[n];
      if (!slot)
        continue;
      if (slot > block.pool(number).high_water)
        return "its table leaves the pool";
      if (seen.test(slot))
        return "a slot is in its table twice";
      seen.set(slot);
      ++linked;
      if (!isInActiveContainer(number, slot))
        return "a slot's container is not active, or does not know it";
      uint64_t index = 0;
      const uint8_t *container = homeContainer(view, at, slot, &index);
      uint32_t first = 0;
      if (metate_view_hash_bucket(&view, at, container, block.record(number, slot) + 2, &first) !=
          &table[n])
        return "its table does not find a slot by its coordinates";
    }
    return nullptr;
  }

  // A hash slot's container is in an active cell and has the slot's stamp. Its coordinates lie
  // inside of the tree along the axes that have bounds.
  bool isInActiveContainer(uint32_t number, uint32_t slot) {
    const LevelFacts &facts = type.facts[type.poolLevels[number]];
    const uint32_t *record = block.record(number, slot);
    for (uint32_t k = 0; k < facts.pathRank; ++k)
      if (facts.shape[k] && int64_t(record[2 + k]) >= facts.shape[k])
        return false;
    metate_view view = block.view();
    uint64_t index = 0;
    const uint8_t *container = homeContainer(view, type.poolLevels[number], slot, &index);
    uint32_t any = 0;
    if (container)
      memcpy(&any, container, sizeof any);
    return any && any == record[1];
  }

  // All members background, nothing active inside. Entry masks and lengths mean nothing.
  bool isBackground(uint32_t level, const uint8_t *cell) {
    const metate_level *levels = type.levels;
    for (uint32_t i = level + 1; i < type.levelCount() && levels[i].parent >= level; ++i) {
      const metate_level &child = levels[i];
      const uint8_t *container = cell + child.offset;
      if (child.parent != level)
        continue;
      if (child.background) { // a member or words
        for (uint64_t n = 0; n < metate_level_pieces(&child); ++n)
          if (memcmp(container + n * child.cell_bytes, type.background(i), child.cell_bytes) != 0)
            return false;
        continue;
      }
      bool list = child.kind == METATE_LEVEL_DYNAMIC;
      if (child.pool != METATE_NONE) {
        uint64_t links = metate_level_container_bytes(&child) / 4;
        for (uint64_t n = 0; n < links; ++n)
          if (reinterpret_cast<const uint32_t *>(container)[n] && !(list && n == 1))
            return false;
        continue;
      }
      for (uint64_t n = 0; n < child.cells; ++n)
        if ((child.kind == METATE_LEVEL_BITMASKED && maskBit(child, container, n)) ||
            !isBackground(i, container + n * child.cell_bytes))
          return false;
    }
    return true;
  }

  metate_status checkMasks(uint32_t level) {
    const metate_level &own = type.levels[level];
    const char *problem = nullptr;
    eachContainer(level, [&](const uint8_t *container, const int64_t *) {
      const auto *mask = reinterpret_cast<const uint32_t *>(container + own.mask);
      if (own.cells % 32 && mask[own.cells / 32] >> own.cells % 32)
        problem = "a mask has bits beyond its cells";
      for (uint64_t n = 0; n < own.cells && !problem; ++n)
        if (!maskBit(own, container, n) && !isBackground(level, container + n * own.cell_bytes))
          problem = "an inactive cell is not background";
      return !problem;
    });
    if (!problem)
      return METATE_OK;
    return fail(METATE_E_CORRUPT, "block of type '%s': level '%s': %s", type.shown(),
                type.levelName(level), problem);
  }

  metate_status checkStates(uint32_t number) {
    uint32_t high = block.pool(number).high_water;
    for (uint32_t slot = 0; slot <= block.pools[number].physical; ++slot) {
      uint32_t state = block.record(number, slot)[0];
      bool linked = slot && slot <= high && bits(number).test(slot);
      if ((state != 0) != linked || state > block.header().epoch)
        return corrupt(number, "a slot's state is not its link's");
    }
    return METATE_OK;
  }

  // Every slot handed out is linked or free, on the list or in a magazine. Marking what is free finds cycles.
  metate_status checkFreeList(uint32_t number) {
    const metate_pool &pool = block.pool(number);
    Bits seen = bits(number);
    Array<uint64_t> marks(*type.device);
    METATE_TRY(marks.allocate(pool.high_water / 64 + 1));
    Bits free{marks.data()};
    uint64_t count = 0;
    auto mark = [&](uint64_t head) {
      for (uint32_t slot = uint32_t(head); slot; slot = block.record(number, slot)[1]) {
        if (slot > pool.high_water || seen.test(slot) || free.test(slot))
          return false;
        free.set(slot);
        ++count;
      }
      return true;
    };
    if (!mark(pool.free_head))
      return corrupt(number, "its free list is damaged");
    for (uint32_t m = 0; m < METATE_MAGAZINES; ++m)
      if (!mark(pool.magazines[m].head) ||
          (uint32_t(pool.magazines[m].head) && !(pool.loaded >> m & 1)))
        return corrupt(number, "a worker's magazine of free slots is damaged");
    if (count + pool.used != pool.high_water)
      return corrupt(number, "slots are missing from its free list");
    return METATE_OK;
  }

  metate_status checkAmbient(uint32_t number) {
    const PoolLayout &pool = block.pools[number];
    if (!pool.ambient)
      return METATE_OK;
    fillSlot(type, type.poolLevels[number], pattern.data());
    if (memcmp(pattern.data(), block.slot(number, 0), pool.slot_bytes) != 0)
      return corrupt(number, "its ambient slot is not background");
    return METATE_OK;
  }

  metate_status checkBooleans(uint32_t level) {
    uint64_t count = type.levels[level].cell_bytes;
    auto visit = [&](uint8_t *value, const int64_t *) {
      for (uint64_t i = 0; i < count; ++i)
        if (value[i] > 1)
          return false;
      return true;
    };
    Nest nest = nestOf(type, level);
    bool sound = eachOwner(type.facts[level].ownerPool, [&](uint8_t *cell, const int64_t *along) {
      return walk(type, nest, 0, cell, along, visit);
    });
    return sound
               ? METATE_OK
               : fail(METATE_E_CORRUPT, "block of type '%s': member '%s': a boolean is not 0 or 1",
                      type.shown(), type.levelName(level));
  }
};

} // namespace

metate_status readLayout(const metate_type &type, const uint8_t *start, uint64_t bytes,
                         PoolLayout *pools, BlockLayout *layout) {
  uint64_t tables = sizeof(metate_tree_header) + uint64_t(type.poolCount()) * sizeof(metate_pool);
  if (bytes < tables)
    return fail(METATE_E_TOO_SMALL, "block of type '%s': expected at least %llu bytes, got %llu",
                type.shown(), show(tables), show(bytes));
  const auto &header = *reinterpret_cast<const metate_tree_header *>(start);
  const auto *stored = reinterpret_cast<const metate_pool *>(start + sizeof header);
  if (header.magic != METATE_TREE_MAGIC)
    return fail(METATE_E_CORRUPT, "block of type '%s': wrong magic number: not a tree's block",
                type.shown());
  if (header.abi_version != METATE_ABI_VERSION)
    return fail(METATE_E_VERSION, "block of type '%s': expected abi version %u, got %u",
                type.shown(), METATE_ABI_VERSION, header.abi_version);
  if (header.type_hash[0] != type.blob->hash[0] || header.type_hash[1] != type.blob->hash[1])
    return fail(METATE_E_TYPE_MISMATCH, "the block is of another type than '%s'", type.shown());
  if (header.pool_count != type.poolCount() || !header.workers || header.workers > maxWorkers)
    return fail(METATE_E_CORRUPT, "block of type '%s': its header is damaged", type.shown());
  Array<uint64_t> slots(*type.device);
  METATE_TRY(slots.allocate(type.poolCount()));
  for (uint32_t number = 0; number < type.poolCount(); ++number)
    slots[number] = stored[number].capacity;
  METATE_TRY(layOut(type, header.workers, slots.data(), pools, layout));
  bool same = header.bytes == layout->bytes && header.root_offset == layout->rootOffset;
  for (uint32_t number = 0; number < type.poolCount(); ++number)
    same = same && stored[number].meta_offset == pools[number].meta &&
           stored[number].slots_offset == pools[number].slots &&
           stored[number].table_offset == pools[number].table &&
           stored[number].table_buckets == pools[number].buckets &&
           stored[number].physical == pools[number].physical;
  if (!same)
    return fail(METATE_E_CORRUPT, "block of type '%s': its offsets are not its capacities'",
                type.shown());
  if (layout->bytes > bytes)
    return fail(METATE_E_TOO_SMALL, "block of type '%s': expected at least %llu bytes, got %llu",
                type.shown(), show(layout->bytes), show(bytes));
  return METATE_OK;
}

metate_status claimedLayout(metate_tree &tree, uint64_t bytes) {
  if (!tree.isElsewhere())
    return readLayout(*tree.type, tree.memory.host, bytes, tree.pools, &tree.layout);
  uint64_t tables =
      sizeof(metate_tree_header) + uint64_t(tree.type->poolCount()) * sizeof(metate_pool);
  Array<uint64_t> start(*tree.device);
  METATE_TRY(start.allocate(tables / sizeof(uint64_t)));
  METATE_TRY(
      readRegion(*tree.device, tree.memory, 0, start.data(), bytes < tables ? bytes : tables));
  return readLayout(*tree.type, reinterpret_cast<const uint8_t *>(start.data()), bytes, tree.pools,
                    &tree.layout);
}

metate_status checkBlock(const Block &block) { return Checker(block).run(); }

} // namespace metate

using namespace metate;

metate_status metate_tree_check(const metate_type *type, const void *block, uint64_t bytes) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(block);
  if (reinterpret_cast<uintptr_t>(block) % METATE_BLOCK_ALIGN)
    return fail(METATE_E_MISALIGNED, "block of type '%s': expected an address aligned to %u bytes",
                type->shown(), METATE_BLOCK_ALIGN);
  metate_tree tree(type);
  METATE_TRY(type->device->driver->wrap(type->device->machine, const_cast<void *>(block), bytes,
                                        &tree.memory));
  Array<PoolLayout> pools(*type->device);
  METATE_TRY(pools.allocate(type->poolCount()));
  tree.pools = pools.data();
  METATE_TRY(claimedLayout(tree, bytes));
  return onHost(tree, Use::checks, checkBlock);
}
