// Is a block from outside sound? Every constant is recomputed, every link must lead into its pool,
// no slot has two parents, free lists are free of cycles, and metadata says what the links say.
// Nothing is written, and nothing outside the given bytes is read.
#include "support/checked.h"
#include "tree/walk.h"

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
  Checker(const metate_type &type, const metate_tree &tree)
      : type(type), tree(tree), storage(*type.device), offsets(*type.device),
        pattern(*type.device) {}

  metate_status run() {
    const metate_tree_header &header = tree.header();
    if (header.epoch == 0 || (header.status != METATE_OK && header.status != METATE_E_CAPACITY) ||
        (header.status != METATE_OK && header.status_level >= type.poolCount()))
      return corrupt("its epoch or status is impossible");
    METATE_TRY(allocate());
    for (uint32_t number = 0; number < type.poolCount(); ++number) {
      METATE_TRY(checkLinks(number));
      METATE_TRY(checkStates(number));
      METATE_TRY(checkFreeList(number));
      METATE_TRY(checkAmbient(number));
    }
    for (uint32_t level = 0; level < type.levelCount(); ++level)
      if (type.levels[level].dtype == METATE_U1)
        METATE_TRY(checkBooleans(level));
    return METATE_OK;
  }

private:
  const metate_type &type;
  const metate_tree &tree;
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
      const metate_pool &pool = tree.pool(number);
      if (pool.high_water > tree.pools[number].physical || pool.used > pool.high_water)
        return corrupt(number, "its counters are larger than the pool");
      offsets[number] = words;
      words += pool.high_water / 64 + 1;
      if (tree.pools[number].ambient && tree.pools[number].cellBytes > largest)
        largest = tree.pools[number].cellBytes;
    }
    METATE_TRY(storage.allocate(words));
    return pattern.allocate(largest);
  }

  // visit(cell) for the root cell or every linked slot of the pool.
  template <typename Visit> bool eachOwner(uint32_t owner, Visit visit) {
    uint64_t along[METATE_MAX_AXES] = {};
    if (owner == METATE_NONE)
      return visit(tree.root(), along);
    const LevelFacts &facts = type.facts[type.poolLevels[owner]];
    for (uint32_t slot = 1; slot <= tree.pool(owner).high_water; ++slot) {
      if (!bits(owner).test(slot))
        continue;
      for (uint32_t k = 0; k < facts.pathRank; ++k)
        along[facts.pathAxes[k]] = uint64_t(int32_t(tree.record(owner, slot)[1 + k]));
      if (!visit(tree.slot(owner, slot), along))
        return false;
    }
    return true;
  }

  metate_status checkLinks(uint32_t number) {
    uint32_t level = type.poolLevels[number];
    const LevelFacts &facts = type.facts[level];
    uint32_t high = tree.pool(number).high_water, linked = 0;
    Bits seen = bits(number);
    const char *problem = nullptr;
    auto visit = [&](uint8_t *address, const uint64_t *along) {
      uint32_t slot;
      memcpy(&slot, address, sizeof slot);
      if (!slot)
        return true;
      if (slot > high)
        problem = "a link leaves the pool";
      else if (seen.test(slot))
        problem = "a slot has two parents";
      if (problem)
        return false;
      seen.set(slot);
      ++linked;
      const uint32_t *record = tree.record(number, slot);
      for (uint32_t k = 0; k < facts.pathRank; ++k)
        if (int64_t(int32_t(record[1 + k])) != int64_t(along[facts.pathAxes[k]]))
          problem = "a slot's coordinates are not its link's";
      return !problem;
    };
    Nest nest = nestOf(type, level);
    eachOwner(facts.ownerPool, [&](uint8_t *cell, const uint64_t *along) {
      return walk(type, nest, 0, cell, along, visit);
    });
    if (problem)
      return corrupt(number, problem);
    if (linked != tree.pool(number).used)
      return corrupt(number, "it has another number of links than it says");
    return METATE_OK;
  }

  metate_status checkStates(uint32_t number) {
    uint32_t high = tree.pool(number).high_water;
    for (uint32_t slot = 0; slot <= tree.pools[number].physical; ++slot) {
      uint32_t state = tree.record(number, slot)[0];
      bool linked = slot && slot <= high && bits(number).test(slot);
      if ((state != 0) != linked || state > tree.header().epoch)
        return corrupt(number, "a slot's state is not its link's");
    }
    return METATE_OK;
  }

  // Every slot handed out is linked or free. Marking what is free finds cycles.
  metate_status checkFreeList(uint32_t number) {
    const metate_pool &pool = tree.pool(number);
    Bits seen = bits(number);
    Array<uint64_t> marks(*type.device);
    METATE_TRY(marks.allocate(pool.high_water / 64 + 1));
    Bits free{marks.data()};
    uint64_t count = 0;
    for (uint32_t slot = uint32_t(pool.free_head); slot; slot = tree.record(number, slot)[1]) {
      if (slot > pool.high_water || seen.test(slot) || free.test(slot))
        return corrupt(number, "its free list is damaged");
      free.set(slot);
      ++count;
    }
    if (count + pool.used != pool.high_water)
      return corrupt(number, "slots are missing from its free list");
    return METATE_OK;
  }

  metate_status checkAmbient(uint32_t number) {
    const PoolLayout &pool = tree.pools[number];
    if (!pool.ambient)
      return METATE_OK;
    fillCell(type, type.poolLevels[number], pattern.data());
    if (memcmp(pattern.data(), tree.slot(number, 0), pool.cellBytes) != 0)
      return corrupt(number, "its ambient slot is not background");
    return METATE_OK;
  }

  metate_status checkBooleans(uint32_t level) {
    uint64_t count = type.levels[level].cell_bytes;
    auto visit = [&](uint8_t *value, const uint64_t *) {
      for (uint64_t i = 0; i < count; ++i)
        if (value[i] > 1)
          return false;
      return true;
    };
    Nest nest = nestOf(type, level);
    bool sound = eachOwner(type.facts[level].ownerPool, [&](uint8_t *cell, const uint64_t *along) {
      return walk(type, nest, 0, cell, along, visit);
    });
    return sound
               ? METATE_OK
               : fail(METATE_E_CORRUPT, "block of type '%s': member '%s': a boolean is not 0 or 1",
                      type.shown(), type.levelName(level));
  }
};

} // namespace

metate_status readLayout(const metate_type &type, const uint8_t *block, uint64_t bytes,
                         PoolLayout *pools, BlockLayout *layout) {
  uint64_t tables = sizeof(metate_tree_header) + uint64_t(type.poolCount()) * sizeof(metate_pool);
  if (bytes < tables)
    return fail(METATE_E_TOO_SMALL, "block of type '%s': expected at least %llu bytes, got %llu",
                type.shown(), show(tables), show(bytes));
  const auto &header = *reinterpret_cast<const metate_tree_header *>(block);
  const auto *stored = reinterpret_cast<const metate_pool *>(block + sizeof header);
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
           stored[number].physical == pools[number].physical;
  if (!same)
    return fail(METATE_E_CORRUPT, "block of type '%s': its offsets are not its capacities'",
                type.shown());
  if (layout->bytes > bytes)
    return fail(METATE_E_TOO_SMALL, "block of type '%s': expected at least %llu bytes, got %llu",
                type.shown(), show(layout->bytes), show(bytes));
  return METATE_OK;
}

metate_status checkBlock(const metate_type &type, const uint8_t *block, const BlockLayout &layout,
                         const PoolLayout *pools) {
  // A view for the accessors; the block is never written through it.
  metate_tree view(&type, const_cast<uint8_t *>(block));
  view.layout = layout;
  view.pools = const_cast<PoolLayout *>(pools);
  return Checker(type, view).run();
}

} // namespace metate

using namespace metate;

metate_status metate_tree_check(const metate_type *type, const void *block, uint64_t bytes) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(block);
  if (reinterpret_cast<uintptr_t>(block) % METATE_BLOCK_ALIGN)
    return fail(METATE_E_MISALIGNED, "block of type '%s': expected an address aligned to %u bytes",
                type->shown(), METATE_BLOCK_ALIGN);
  Array<PoolLayout> pools(*type->device);
  METATE_TRY(pools.allocate(type->poolCount()));
  BlockLayout layout;
  const auto *start = static_cast<const uint8_t *>(block);
  METATE_TRY(readLayout(*type, start, bytes, pools.data(), &layout));
  return checkBlock(*type, start, layout, pools.data());
}
