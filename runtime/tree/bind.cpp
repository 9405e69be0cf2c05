// Binding, resetting and unbinding trees: the only file that writes a block's constant parts.
#include "support/checked.h"
#include "tree/access.h"
#include "tree/staged.h"

#include <cstring>

namespace metate {

namespace {

void destroy(metate_tree *tree) {
  metate_device *device = tree->device;
  device->release(tree->pools, tree->type->poolCount() * sizeof(PoolLayout), alignof(PoolLayout));
  if (tree->own.address)
    device->driver->release(device->machine, tree->own);
  if (tree->file)
    os::release(tree->file, tree->fileBytes);
  release(tree->type);
  device->drop(tree);
}

metate_status make(const metate_type *type, metate_tree **tree) {
  metate_device &device = *type->device;
  auto *made = device.make<metate_tree>(type);
  if (!made)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes for a tree",
                sizeof(metate_tree));
  retain(type);
  made->pools = static_cast<PoolLayout *>(
      device.allocate(type->poolCount() * sizeof(PoolLayout), alignof(PoolLayout)));
  if (!made->pools) {
    destroy(made);
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %llu bytes for a tree's pools",
                show(type->poolCount() * sizeof(PoolLayout)));
  }
  *tree = made;
  return METATE_OK;
}

metate_status checkFlags(uint32_t flags, const metate_capacities *capacities) {
  const uint32_t known = METATE_BIND_RESET | METATE_BIND_ADOPT | METATE_BIND_READ_ONLY |
                         METATE_BIND_TRUST | METATE_BIND_ZEROED | METATE_BIND_FIT;
  bool adopt = flags & METATE_BIND_ADOPT, reset = flags & METATE_BIND_RESET;
  if (flags & ~known)
    return fail(METATE_E_INVALID_ARGUMENT, "metate_tree_bind: flags: unknown bits 0x%x",
                flags & ~known);
  if (adopt && (reset || (flags & (METATE_BIND_FIT | METATE_BIND_ZEROED)) || capacities))
    return fail(METATE_E_INVALID_ARGUMENT,
                "metate_tree_bind: ADOPT takes the block as it is: no RESET, ZEROED, FIT or "
                "capacities");
  if (!adopt && (flags & (METATE_BIND_READ_ONLY | METATE_BIND_TRUST)))
    return fail(METATE_E_INVALID_ARGUMENT,
                "metate_tree_bind: READ_ONLY and TRUST need ADOPT: only a block that exists can be "
                "read");
  if ((flags & METATE_BIND_ZEROED) && !reset)
    return fail(METATE_E_INVALID_ARGUMENT, "metate_tree_bind: ZEROED needs RESET");
  return METATE_OK;
}

// Chooses the layout of a block that is to be made.
metate_status plan(metate_tree &tree, uint64_t bytes, const metate_capacities *capacities) {
  const metate_type &type = *tree.type;
  Array<uint64_t> slots(*tree.device);
  Array<bool> wanted(*tree.device);
  METATE_TRY(slots.allocate(type.poolCount()));
  METATE_TRY(wanted.allocate(type.poolCount()));
  uint32_t workers;
  if (tree.flags & METATE_BIND_FIT)
    METATE_TRY(fitCapacities(type, capacities, bytes, &workers, slots.data()));
  else
    METATE_TRY(resolveCapacities(type, capacities, &workers, slots.data(), wanted.data()));
  METATE_TRY(layOut(type, workers, slots.data(), tree.pools, &tree.layout));
  if (tree.layout.bytes > bytes)
    return fail(METATE_E_TOO_SMALL,
                "memory for a tree of type '%s': expected at least %llu bytes, got %llu",
                type.shown(), show(tree.layout.bytes), show(bytes));
  return METATE_OK;
}

metate_status registerRange(metate_tree &tree) {
  uint64_t begin = tree.memory.address;
  bool overlaps = false;
  os::Lock lock(tree.device->boundMutex);
  if (!tree.device->bound.insert(tree.device->allocator, begin, begin + tree.layout.bytes,
                                 &overlaps))
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused the registry of bound memory");
  if (overlaps)
    return fail(METATE_E_ALREADY_BOUND,
                "memory for a tree of type '%s': a live tree is bound in these %llu bytes: unbind "
                "it first",
                tree.type->shown(), show(tree.layout.bytes));
  return METATE_OK;
}

void unregisterRange(metate_tree &tree) {
  os::Lock lock(tree.device->boundMutex);
  tree.device->bound.remove(tree.memory.address);
}

void writeConstants(const Block &block, const Fresh &fresh) {
  const metate_type &type = *block.type;
  metate_tree_header &header = block.header();
  header = metate_tree_header{};
  header.abi_version = METATE_ABI_VERSION;
  header.pool_count = type.poolCount();
  header.type_hash[0] = type.blob->hash[0];
  header.type_hash[1] = type.blob->hash[1];
  header.bytes = block.layout.bytes;
  header.root_offset = block.layout.rootOffset;
  header.workers = block.layout.workers;
  header.epoch = 1;
  header.status_level = METATE_NONE;
  header.resets = fresh.resets;
  header.topology = fresh.topology;
  for (uint32_t number = 0; number < type.poolCount(); ++number) {
    metate_pool &pool = block.pool(number);
    pool = metate_pool{};
    pool.meta_offset = block.pools[number].meta;
    pool.slots_offset = block.pools[number].slots;
    pool.capacity = block.pools[number].capacity;
    pool.physical = block.pools[number].physical;
    pool.table_offset = block.pools[number].table;
    pool.table_buckets = block.pools[number].buckets;
  }
}

} // namespace

// Slots keep what they held: activation fills them. Their metadata must be zero, because a walk
// over the pool may look at a slot between its being handed out and its being filled.
void resetBlock(const Block &block, const Fresh &fresh) {
  const metate_type &type = *block.type;
  for (uint32_t number = 0; number < type.poolCount(); ++number) {
    const PoolLayout &pool = block.pools[number];
    uint64_t records = fresh.ready ? block.highWater(number) + 1ull : pool.physical + 1ull;
    if (!fresh.zeroed)
      memset(block.data + pool.meta, 0, records * pool.record_bytes);
    if (pool.ambient && !(fresh.zeroed && type.facts[type.poolLevels[number]].zeroBackground))
      fillSlot(type, type.poolLevels[number], block.slot(number, 0));
    if (pool.buckets && !fresh.zeroed)
      memset(block.data + pool.table, 0, pool.buckets * uint64_t(4));
  }
  writeConstants(block, fresh);
  if (!(fresh.zeroed && type.facts[0].zeroBackground))
    fillCell(type, 0, block.root());
  // Last: a block whose reset was cut short is no block.
  __atomic_store_n(&block.header().magic, METATE_TREE_MAGIC, __ATOMIC_RELEASE);
}

namespace {

// What must be zero becomes so where it lies: the host's copy of a fresh block is small.
metate_status zeroElsewhere(const metate_tree &tree) {
  const Driver &driver = *tree.device->driver;
  for (uint32_t number = 0; !tree.zeroed && number < tree.type->poolCount(); ++number) {
    const PoolLayout &pool = tree.pools[number];
    METATE_TRY(driver.zero(tree.device->machine, tree.memory.address + pool.meta,
                           (pool.physical + 1ull) * pool.record_bytes));
    METATE_TRY(driver.zero(tree.device->machine, tree.memory.address + pool.table,
                           pool.buckets * uint64_t(4)));
  }
  return METATE_OK;
}

metate_status resetTree(metate_tree &tree) {
  Fresh fresh{1, 1, tree.zeroed, tree.ready};
  if (tree.ready) {
    METATE_TRY(loadWord(tree, METATE_HEADER_WORD(resets), &fresh.resets));
    METATE_TRY(loadWord(tree, METATE_HEADER_WORD(topology), &fresh.topology));
    ++fresh.resets;
    ++fresh.topology;
  }
  if (tree.isElsewhere()) {
    METATE_TRY(zeroElsewhere(tree));
    fresh.zeroed = true; // the copy is
    fresh.ready = false;
  }
  METATE_TRY(onHost(tree, Use::makes, [&](const Block &block) {
    resetBlock(block, fresh);
    return METATE_OK;
  }));
  tree.zeroed = false;
  tree.ready = true;
  return METATE_OK;
}

metate_status bindInto(metate_tree &tree, uint64_t bytes, const metate_capacities *capacities) {
  const metate_type &type = *tree.type;
  uint64_t address = tree.memory.address;
  if (address % METATE_BLOCK_ALIGN)
    return fail(METATE_E_MISALIGNED,
                "memory for a tree of type '%s': expected an address aligned to %u bytes, got %llu "
                "bytes past one",
                type.shown(), METATE_BLOCK_ALIGN, show(address % METATE_BLOCK_ALIGN));
  if (tree.flags & METATE_BIND_ADOPT) {
    METATE_TRY(claimedLayout(tree, bytes));
    if (!(tree.flags & METATE_BIND_TRUST))
      METATE_TRY(onHost(tree, Use::checks, checkBlock));
  } else {
    METATE_TRY(plan(tree, bytes, capacities));
  }
  METATE_TRY(registerRange(tree));
  tree.ready = tree.flags & METATE_BIND_ADOPT;
  tree.zeroed = tree.flags & METATE_BIND_ZEROED;
  metate_status status = tree.flags & METATE_BIND_RESET ? resetTree(tree) : METATE_OK;
  if (status != METATE_OK)
    unregisterRange(tree);
  return status;
}

} // namespace

} // namespace metate

using namespace metate;

metate_status metate_tree_bind(const metate_type *type, void *memory, uint64_t bytes,
                               const metate_capacities *capacities, uint32_t flags,
                               metate_tree **tree) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(memory);
  METATE_REQUIRE(tree);
  METATE_TRY(checkFlags(flags, capacities));
  metate_tree *made = nullptr;
  METATE_TRY(make(type, &made));
  made->flags = flags;
  metate_status status =
      made->device->driver->wrap(made->device->machine, memory, bytes, &made->memory);
  if (status == METATE_OK)
    status = bindInto(*made, bytes, capacities);
  if (status != METATE_OK) {
    destroy(made);
    return status;
  }
  type->device->live.fetch_add(1, std::memory_order_relaxed);
  *tree = made;
  return METATE_OK;
}

// A tree in reserved memory of its own, with unused memory on both sides of it.
static metate_status bindOwn(const metate_type *type, const Region &own, uint64_t margin,
                             const metate_capacities *capacities, uint32_t flags,
                             metate_tree **tree) {
  METATE_TRY(metate_tree_bind(type, reinterpret_cast<void *>(uintptr_t(own.address + margin)),
                              own.bytes - 2 * margin, capacities,
                              METATE_BIND_RESET | METATE_BIND_ZEROED | flags, tree));
  const Driver &driver = *type->device->driver;
  (*tree)->own = own;
  for (uint32_t pool = 0; driver.scatter && pool < type->poolCount(); ++pool)
    if ((*tree)->pools[pool].buckets)
      driver.scatter(type->device->machine, (*tree)->memory.address + (*tree)->pools[pool].table,
                     (*tree)->pools[pool].buckets * uint64_t(4));
  return METATE_OK;
}

metate_status metate_tree_new(const metate_type *type, const metate_capacities *capacities,
                              metate_tree **tree) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(tree);
  // The exact size when there is room for it. A size that outgrows the integers is beyond that, too.
  uint64_t bytes = 0, align = 0;
  metate_status sized = metate_type_size(type, capacities, &bytes, &align);
  if (sized != METATE_OK && sized != METATE_E_OUT_OF_RANGE)
    return sized;
  metate_device *device = type->device;
  device->spares.clear(*device->driver, device->machine); // a tree lives long: it comes first
  Room room = device->driver->room(device->machine);
  uint32_t fit = 0;
  bool isExact = sized == METATE_OK && type->poolCount() == 0; // nothing of it can be left out
  if (!isExact && (sized != METATE_OK || bytes > room.bytes)) {
    bytes = room.bytes;
    fit = METATE_BIND_FIT;
  }
  for (;;) {
    Checked rounded = Checked(bytes).alignedTo(os::pageBytes());
    Region own;
    if (device->driver->reserve(device->machine, rounded.value() + 2 * room.margin, &own) ==
        METATE_OK) {
      metate_status status = bindOwn(type, own, room.margin, capacities, fit, tree);
      if (status != METATE_OK)
        device->driver->release(device->machine, own);
      return status;
    }
    if (isExact)
      return METATE_E_OUT_OF_MEMORY; // the driver has said what it refuses
    // The system refuses so much (strict overcommit, a full address space): ask for less, until the
    // fit says that the type does not go into it.
    fit = METATE_BIND_FIT;
    bytes /= 2;
    if (bytes < os::pageBytes())
      return fail(METATE_E_OUT_OF_MEMORY, "metate_tree_new: the system reserves no memory");
  }
}

metate_status metate_tree_reset(metate_tree *tree) {
  METATE_REQUIRE(tree);
  if (tree->readOnly())
    return fail(METATE_E_INVALID_ARGUMENT, "metate_tree_reset: the tree is bound read-only");
  METATE_TRY(checkIdle(__func__, tree));
  return resetTree(*tree);
}

metate_status metate_tree_unbind(metate_tree *tree) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkIdle(__func__, tree));
  metate_device *device = tree->device;
  unregisterRange(*tree);
  destroy(tree);
  device->live.fetch_sub(1, std::memory_order_release);
  return METATE_OK;
}

// As a host that knows only the first fields of the struct has compiled it.
static constexpr uint32_t firstDescriptionBytes = offsetof(metate_tree_description, elsewhere);

metate_status metate_tree_describe(const metate_tree *tree, metate_tree_description *info) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(info);
  uint32_t bytes = info->struct_size;
  if (bytes != firstDescriptionBytes)
    METATE_REQUIRE_STRUCT(info);
  metate_tree_description filled{};
  filled.struct_size = bytes;
  filled.flags = tree->flags;
  filled.type = tree->type;
  filled.block = reinterpret_cast<void *>(uintptr_t(tree->memory.address));
  filled.bytes = tree->layout.bytes;
  filled.workers = tree->layout.workers;
  filled.pool_count = tree->type->poolCount();
  filled.ready = tree->ready;
  filled.elsewhere = tree->isElsewhere();
  filled.root_offset = tree->layout.rootOffset;
  filled.exhausted_pool = METATE_NONE;
  if (tree->ready) {
    Sticky sticky;
    METATE_TRY(readSticky(*tree, &sticky));
    filled.status = sticky.status;
    filled.exhausted_pool = sticky.number;
    filled.slots_needed = sticky.needed;
    METATE_TRY(loadWord(*tree, METATE_HEADER_WORD(topology), &filled.topology_version));
  }
  memcpy(info, &filled, bytes);
  return METATE_OK;
}

metate_status metate_tree_stats(const metate_tree *tree, uint32_t pool, metate_pool_stats *stats) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE_STRUCT(stats);
  const metate_type &type = *tree->type;
  if (pool >= type.poolCount())
    return fail(METATE_E_OUT_OF_RANGE, "metate_tree_stats: pool: expected less than %u, got %u",
                type.poolCount(), pool);
  metate_pool_stats filled{};
  filled.struct_size = sizeof filled;
  filled.level = type.poolLevels[pool];
  filled.name = type.levelName(filled.level);
  filled.capacity = tree->pools[pool].capacity;
  filled.bytes = tree->pools[pool].end - tree->pools[pool].meta;
  if (tree->ready) {
    uint32_t used = 0, high = 0, peak = 0, physical = tree->pools[pool].physical;
    METATE_TRY(loadWord(*tree, poolWord(pool, offsetof(metate_pool, used)), &used));
    METATE_TRY(loadWord(*tree, poolWord(pool, offsetof(metate_pool, high_water)), &high));
    METATE_TRY(loadWord(*tree, poolWord(pool, offsetof(metate_pool, peak)), &peak));
    filled.used = used;
    high = high < peak ? peak : high;
    filled.high_water = high < physical ? high : physical;
  }
  *stats = filled;
  return METATE_OK;
}
