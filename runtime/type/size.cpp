// From capacities to bytes: the layout of a block (abi/metate/abi/tree.h) and the choice of
// capacities that fit a given size. Pure functions; all arithmetic is checked.
#include "support/checked.h"
#include "type/type.h"

#include <cstring>

namespace metate {

// A hash level's table has at most 2^31 buckets; numbers from 2^31 on are no slots of it.
static uint64_t slotLimit(const metate_level &level, uint32_t workers) {
  uint64_t most = level.kind == METATE_LEVEL_HASH ? (uint64_t(1) << 30) - 1 : UINT32_MAX - 1ull;
  return most - workers;
}

static uint32_t recordBytes(const metate_level &level) { return metate_record_bytes(&level); }

// Buckets of a table: a power of two, at least twice the slot numbers.
static uint32_t tableBuckets(uint64_t physical) {
  uint64_t buckets = 1;
  while (buckets < 2 * (physical + 1))
    buckets *= 2;
  return uint32_t(buckets);
}

// Bytes that a pool's parts take at most to start at multiples of 64.
static uint64_t roundingBytes(const metate_level &level) {
  return (level.kind == METATE_LEVEL_HASH ? 3 : 2) * uint64_t(METATE_BLOCK_ALIGN);
}

// Bytes that a pool takes at most for each slot.
static uint64_t bytesPerSlot(const metate_level &level) {
  return level.slot_bytes + recordBytes(level) + (level.kind == METATE_LEVEL_HASH ? 16 : 0);
}

// Slots that the pool's parents can link, given the capacities chosen for them.
static uint64_t reachable(const metate_type &type, uint32_t pool, const uint64_t *slots,
                          uint32_t workers) {
  const LevelFacts &facts = type.facts[type.poolLevels[pool]];
  const metate_level &level = type.poolLevel(pool);
  uint64_t limit = slotLimit(level, workers);
  if (level.kind == METATE_LEVEL_HASH) // as many as anybody asks for
    return limit < METATE_DEFAULT_HASH_SLOTS ? limit : METATE_DEFAULT_HASH_SLOTS - 1 - workers;
  Checked links = facts.fanout;
  if (facts.ownerPool != METATE_NONE)
    links = links * slots[facts.ownerPool];
  return links.fitsIn(limit) ? links.value() : limit;
}

// Applies one entry to every level of its name.
static metate_status applyEntry(const metate_type &type, const metate_capacity &entry,
                                uint32_t workers, uint64_t *slots, bool *wanted) {
  if (!entry.level)
    return fail(METATE_E_NULL, "capacities: the name of a level is NULL");
  bool known = false, pooled = false;
  for (uint32_t i = 0; i < type.levelCount(); ++i) {
    if (type.levels[i].kind == METATE_LEVEL_PLACE || strcmp(type.levelName(i), entry.level) != 0)
      continue;
    known = true;
    uint32_t pool = type.levels[i].pool;
    if (pool == METATE_NONE)
      continue;
    pooled = true;
    uint64_t limit = slotLimit(type.levels[i], workers);
    if (entry.slots > limit)
      return fail(METATE_E_OUT_OF_RANGE,
                  "capacities: level '%s': expected at most %llu slots (%s - 2 - %u workers), "
                  "got %llu",
                  entry.level, show(limit), limit > UINT32_MAX / 2 ? "2^32" : "2^30 + 1", workers,
                  show(entry.slots));
    slots[pool] = entry.slots;
    wanted[pool] = true;
  }
  if (!known)
    return fail(METATE_E_NOT_FOUND, "capacities: type '%s' has no level named '%s'", type.shown(),
                entry.level);
  if (!pooled)
    return fail(METATE_E_INVALID_ARGUMENT,
                "capacities: level '%s' has no pool: its cells are always there", entry.level);
  return METATE_OK;
}

// A device runs many iterations at once, each of which may hold a slot of each pool while it activates: what these take is bounded.
static uint32_t defaultWorkers(const metate_type &type) {
  constexpr uint64_t slackBytes = uint64_t(32) << 20;
  uint64_t wanted = type.device->driver->treeWorkers, perWorker = 1;
  for (uint32_t pool = 0; pool < type.poolCount(); ++pool)
    perWorker += bytesPerSlot(type.poolLevel(pool));
  uint64_t most = slackBytes / perWorker;
  uint64_t workers = wanted < most ? wanted : most;
  return workers > METATE_DEFAULT_WORKERS ? uint32_t(workers) : METATE_DEFAULT_WORKERS;
}

metate_status resolveCapacities(const metate_type &type, const metate_capacities *capacities,
                                uint32_t *workers, uint64_t *slots, bool *wanted) {
  *workers = defaultWorkers(type);
  memset(wanted, 0, type.poolCount() * sizeof *wanted);
  if (capacities) {
    METATE_REQUIRE_STRUCT(capacities);
    if (capacities->workers)
      *workers = capacities->workers;
    if (*workers > maxWorkers)
      return fail(METATE_E_OUT_OF_RANGE, "capacities: expected at most %u workers, got %u",
                  maxWorkers, *workers);
    if (capacities->count && !capacities->entries)
      return fail(METATE_E_NULL, "capacities: entries is NULL but count is %u", capacities->count);
    for (uint32_t i = 0; i < capacities->count; ++i)
      METATE_TRY(applyEntry(type, capacities->entries[i], *workers, slots, wanted));
  }
  for (uint32_t pool = 0; pool < type.poolCount(); ++pool)
    if (!wanted[pool])
      slots[pool] = reachable(type, pool, slots, *workers);
  return METATE_OK;
}

metate_status layOut(const metate_type &type, uint32_t workers, const uint64_t *slots,
                     PoolLayout *pools, BlockLayout *block) {
  constexpr uint64_t align = METATE_BLOCK_ALIGN;
  Checked at = sizeof(metate_tree_header) + uint64_t(type.poolCount()) * sizeof(metate_pool);
  at = at.alignedTo(align);
  block->rootOffset = at.value();
  block->workers = workers;
  at = (at + type.blob->root_bytes).alignedTo(align);
  for (uint32_t pool = 0; pool < type.poolCount(); ++pool) {
    const metate_level &level = type.poolLevel(pool);
    PoolLayout &layout = pools[pool];
    if (slots[pool] > slotLimit(level, workers))
      return fail(METATE_E_OUT_OF_RANGE, "level '%s': more than 2^32 slots",
                  type.levelName(type.poolLevels[pool]));
    layout.capacity = uint32_t(slots[pool]);
    layout.physical = layout.capacity + workers;
    layout.record_bytes = recordBytes(level);
    layout.slot_bytes = level.slot_bytes;
    layout.ambient = (level.flags & METATE_LEVEL_AMBIENT) != 0;
    layout.reserved = 0;
    layout.meta = at.value();
    at = (at + Checked(layout.physical + 1ull) * layout.record_bytes).alignedTo(align);
    // Without an ambient slot, slot 0 is the address before slot 1, which is not part of the pool.
    layout.slots = at.value() - (layout.ambient ? 0 : layout.slot_bytes);
    at = (at + Checked(layout.physical + (layout.ambient ? 1ull : 0ull)) * layout.slot_bytes)
             .alignedTo(align);
    layout.buckets = 0;
    layout.table = 0;
    if (level.kind == METATE_LEVEL_HASH) {
      layout.buckets = tableBuckets(layout.physical);
      layout.table = at.value();
      at = (at + Checked(layout.buckets) * 4).alignedTo(align);
    }
    layout.end = at.value();
  }
  if (!at.fitsIn(INT64_MAX))
    return fail(METATE_E_OUT_OF_RANGE,
                "type '%s': a block with these capacities is larger than 2^63 bytes: name smaller "
                "capacities",
                type.shown());
  block->bytes = at.value();
  return METATE_OK;
}

// The largest capacity whose pool takes at most `share` bytes; the pool's own rounding included.
static uint64_t slotsWithin(const metate_type &type, uint32_t pool, uint32_t workers,
                            uint64_t share) {
  const metate_level &level = type.poolLevel(pool);
  uint64_t perSlot = bytesPerSlot(level);
  Checked fixed = Checked(workers + 1ull) * perSlot + roundingBytes(level);
  return fixed.fitsIn(share) ? (share - fixed.value()) / perSlot : 0;
}

static Checked poolBytes(const metate_type &type, uint32_t pool, uint32_t workers, uint64_t slots) {
  const metate_level &level = type.poolLevel(pool);
  uint64_t perSlot = bytesPerSlot(level);
  return Checked(slots + workers + 1) * perSlot + roundingBytes(level);
}

// Water filling: pools in order, parents before children; each round gives every open pool an equal
// share of what is left and closes those that need less, until a round closes none.
static void share(const metate_type &type, uint32_t workers, uint64_t budget, uint64_t *slots,
                  bool *closed) {
  uint32_t open = 0;
  for (uint32_t pool = 0; pool < type.poolCount(); ++pool)
    open += !closed[pool];
  for (bool changed = true; changed && open;) {
    changed = false;
    for (uint32_t pool = 0; pool < type.poolCount() && open; ++pool) {
      if (closed[pool])
        continue;
      uint64_t part = budget / open;
      uint64_t most = reachable(type, pool, slots, workers);
      slots[pool] = slotsWithin(type, pool, workers, part);
      Checked need = poolBytes(type, pool, workers, most);
      uint32_t owner = type.facts[type.poolLevels[pool]].ownerPool;
      // Only a pool whose parent is settled knows its maximum.
      if (!need.fitsIn(part) || (owner != METATE_NONE && !closed[owner]))
        continue;
      slots[pool] = most;
      closed[pool] = true;
      budget -= need.value();
      --open;
      changed = true;
    }
  }
  for (uint32_t pool = 0; pool < type.poolCount(); ++pool)
    if (!closed[pool]) {
      uint64_t most = reachable(type, pool, slots, workers);
      slots[pool] = slotsWithin(type, pool, workers, budget / open);
      if (slots[pool] > most)
        slots[pool] = most;
    }
}

// The shares are cautious about rounding; this gives a pool the slots that still fit, by the exact layout.
static void topUp(const metate_type &type, uint32_t workers, uint64_t bytes, uint32_t pool,
                  uint64_t *slots, PoolLayout *layouts) {
  auto fits = [&](uint64_t count) {
    uint64_t before = slots[pool];
    slots[pool] = count;
    BlockLayout block;
    bool good = layOut(type, workers, slots, layouts, &block) == METATE_OK && block.bytes <= bytes;
    slots[pool] = before;
    return good;
  };
  const metate_level &level = type.poolLevel(pool);
  uint64_t most = reachable(type, pool, slots, workers);
  uint64_t low = slots[pool], high = low + bytes / level.slot_bytes;
  if (high > most)
    high = most;
  while (low < high) {
    uint64_t middle = low + (high - low + 1) / 2;
    if (fits(middle))
      low = middle;
    else
      high = middle - 1;
  }
  slots[pool] = low;
}

metate_status fitCapacities(const metate_type &type, const metate_capacities *capacities,
                            uint64_t bytes, uint32_t *workers, uint64_t *slots) {
  uint32_t pools = type.poolCount();
  Array<bool> closed(*type.device);
  Array<PoolLayout> layouts(*type.device);
  METATE_TRY(closed.allocate(pools));
  METATE_TRY(layouts.allocate(pools));
  METATE_TRY(resolveCapacities(type, capacities, workers, slots, closed.data()));
  BlockLayout block;
  // All maxima may fit at once.
  if (layOut(type, *workers, slots, layouts.data(), &block) == METATE_OK && block.bytes <= bytes)
    return METATE_OK;
  Checked fixed =
      sizeof(metate_tree_header) + pools * sizeof(metate_pool) + 2 * uint64_t(METATE_BLOCK_ALIGN);
  fixed = fixed + type.blob->root_bytes;
  for (uint32_t pool = 0; pool < pools; ++pool)
    if (closed[pool])
      fixed = fixed + poolBytes(type, pool, *workers, slots[pool]);
  if (fixed.fitsIn(bytes))
    share(type, *workers, bytes - fixed.value(), slots, closed.data());
  for (uint32_t pool = 0; pool < pools; ++pool)
    if (slots[pool] == 0)
      slots[pool] = 1;
  for (uint32_t pool = 0; pool < pools; ++pool)
    if (!closed[pool])
      topUp(type, *workers, bytes, pool, slots, layouts.data());
  METATE_TRY(layOut(type, *workers, slots, layouts.data(), &block));
  if (block.bytes > bytes)
    return fail(METATE_E_TOO_SMALL, "type '%s': expected at least %llu bytes, got %llu",
                type.shown(), show(block.bytes), show(bytes));
  return METATE_OK;
}

} // namespace metate

using namespace metate;

metate_status metate_type_size(const metate_type *type, const metate_capacities *capacities,
                               uint64_t *bytes, uint64_t *align) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(bytes);
  METATE_REQUIRE(align);
  Array<uint64_t> slots(*type->device);
  Array<bool> wanted(*type->device);
  Array<PoolLayout> pools(*type->device);
  METATE_TRY(slots.allocate(type->poolCount()));
  METATE_TRY(wanted.allocate(type->poolCount()));
  METATE_TRY(pools.allocate(type->poolCount()));
  uint32_t workers;
  BlockLayout block;
  METATE_TRY(resolveCapacities(*type, capacities, &workers, slots.data(), wanted.data()));
  METATE_TRY(layOut(*type, workers, slots.data(), pools.data(), &block));
  *bytes = block.bytes;
  *align = METATE_BLOCK_ALIGN;
  return METATE_OK;
}

metate_status metate_type_fit(const metate_type *type, const metate_capacities *capacities,
                              uint64_t bytes, uint32_t pool_count, uint32_t *slots) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(slots);
  if (pool_count != type->poolCount())
    return fail(METATE_E_INVALID_ARGUMENT, "metate_type_fit: pool_count: expected %u, got %u",
                type->poolCount(), pool_count);
  Array<uint64_t> wide(*type->device);
  METATE_TRY(wide.allocate(pool_count));
  uint32_t workers;
  METATE_TRY(fitCapacities(*type, capacities, bytes, &workers, wide.data()));
  for (uint32_t pool = 0; pool < pool_count; ++pool)
    slots[pool] = uint32_t(wide[pool]);
  return METATE_OK;
}
