// Binding, resetting and unbinding trees: the only file that writes a block's constant parts.
#include "support/checked.h"
#include "tree/access.h"

#include <cstring>

namespace metate {

namespace {

// Address space on both sides of a block of metate_tree_new. Kernels without debug check no
// coordinates: what reads a row outside of a dense tree finds these pages, and does not crash.
static constexpr uint64_t marginBytes = 2 << 20;

// The most that a tree of metate_tree_new reserves. Address space, not memory: 64 GiB lets two
// thousand trees live in a 47-bit address space.
constexpr uint64_t policyBytes = uint64_t(64) << 30;
// Under an address-space limit a tree takes at most this part of what is left, so that several fit.
constexpr uint64_t limitedPart = 8;

void destroy(metate_tree *tree) {
  metate_device *device = tree->device;
  device->release(tree->pools, tree->type->poolCount() * sizeof(PoolLayout), alignof(PoolLayout));
  if (tree->ownBytes)
    os::release(tree->block - tree->ownMargin, tree->ownBytes);
  release(tree->type);
  device->drop(tree);
}

metate_status make(const metate_type *type, void *memory, metate_tree **tree) {
  metate_device &device = *type->device;
  auto *made = device.make<metate_tree>(type, static_cast<uint8_t *>(memory));
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
  uint64_t begin = reinterpret_cast<uintptr_t>(tree.block);
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

void writeConstants(const metate_tree &tree, uint64_t resets, uint64_t topology) {
  const metate_type &type = *tree.type;
  metate_tree_header &header = tree.header();
  header = metate_tree_header{};
  header.abi_version = METATE_ABI_VERSION;
  header.pool_count = type.poolCount();
  header.type_hash[0] = type.blob->hash[0];
  header.type_hash[1] = type.blob->hash[1];
  header.bytes = tree.layout.bytes;
  header.root_offset = tree.layout.rootOffset;
  header.workers = tree.layout.workers;
  header.epoch = 1;
  header.status_level = METATE_NONE;
  header.resets = resets;
  header.topology = topology;
  for (uint32_t number = 0; number < type.poolCount(); ++number) {
    metate_pool &pool = tree.pool(number);
    pool = metate_pool{};
    pool.meta_offset = tree.pools[number].meta;
    pool.slots_offset = tree.pools[number].slots;
    pool.capacity = tree.pools[number].capacity;
    pool.physical = tree.pools[number].physical;
    pool.table_offset = tree.pools[number].table;
    pool.table_buckets = tree.pools[number].buckets;
  }
}

} // namespace

// Slots keep what they held: activation fills them. Their metadata must be zero, because a walk
// over the pool may look at a slot between its being handed out and its being filled.
void resetBlock(metate_tree &tree) {
  const metate_type &type = *tree.type;
  uint64_t resets = tree.ready ? tree.header().resets + 1 : 1;
  uint64_t topology = tree.ready ? tree.header().topology + 1 : 1;
  for (uint32_t number = 0; number < type.poolCount(); ++number) {
    const PoolLayout &pool = tree.pools[number];
    uint64_t records = tree.ready ? tree.highWater(number) + 1ull : pool.physical + 1ull;
    if (!tree.zeroed)
      memset(tree.block + pool.meta, 0, records * pool.record_bytes);
    if (pool.ambient && !(tree.zeroed && type.facts[type.poolLevels[number]].zeroBackground))
      fillSlot(type, type.poolLevels[number], tree.slot(number, 0));
    if (pool.buckets && !tree.zeroed)
      memset(tree.block + pool.table, 0, pool.buckets * uint64_t(4));
  }
  writeConstants(tree, resets, topology);
  if (!(tree.zeroed && type.facts[0].zeroBackground))
    fillCell(type, 0, tree.root());
  // Last: a block whose reset was cut short is no block.
  __atomic_store_n(&tree.header().magic, METATE_TREE_MAGIC, __ATOMIC_RELEASE);
  tree.zeroed = false;
  tree.ready = true;
}

namespace {

metate_status bindInto(metate_tree &tree, uint64_t bytes, const metate_capacities *capacities) {
  const metate_type &type = *tree.type;
  uint64_t address = reinterpret_cast<uintptr_t>(tree.block);
  if (address % METATE_BLOCK_ALIGN)
    return fail(METATE_E_MISALIGNED,
                "memory for a tree of type '%s': expected an address aligned to %u bytes, got %llu "
                "bytes past one",
                type.shown(), METATE_BLOCK_ALIGN, show(address % METATE_BLOCK_ALIGN));
  if (tree.flags & METATE_BIND_ADOPT) {
    METATE_TRY(readLayout(type, tree.block, bytes, tree.pools, &tree.layout));
    if (!(tree.flags & METATE_BIND_TRUST))
      METATE_TRY(checkBlock(type, tree.block, tree.layout, tree.pools));
  } else {
    METATE_TRY(plan(tree, bytes, capacities));
  }
  METATE_TRY(registerRange(tree));
  tree.ready = tree.flags & METATE_BIND_ADOPT;
  tree.zeroed = tree.flags & METATE_BIND_ZEROED;
  if (tree.flags & METATE_BIND_RESET)
    resetBlock(tree);
  return METATE_OK;
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
  METATE_TRY(make(type, memory, &made));
  made->flags = flags;
  metate_status status = bindInto(*made, bytes, capacities);
  if (status != METATE_OK) {
    destroy(made);
    return status;
  }
  type->device->live.fetch_add(1, std::memory_order_relaxed);
  *tree = made;
  return METATE_OK;
}

// The bytes that a default instance reserves at most, before the system has its say.
static uint64_t policyBound() {
  uint64_t left = os::addressSpaceLeft();
  if (left == UINT64_MAX)
    return policyBytes;
  return left / limitedPart < policyBytes ? left / limitedPart : policyBytes;
}

metate_status metate_tree_new(const metate_type *type, const metate_capacities *capacities,
                              metate_tree **tree) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(tree);
  // The exact size when it is within the policy. A size that outgrows the integers is beyond it,
  // too.
  uint64_t bytes = 0, align = 0;
  metate_status sized = metate_type_size(type, capacities, &bytes, &align);
  if (sized != METATE_OK && sized != METATE_E_OUT_OF_RANGE)
    return sized;
  uint64_t bound = policyBound();
  uint32_t fit = 0;
  if (sized != METATE_OK || bytes > bound) {
    bytes = bound;
    fit = METATE_BIND_FIT;
  }
  uint64_t margin = os::addressSpaceLeft() == UINT64_MAX ? marginBytes : 0;
  for (;;) {
    Checked rounded = Checked(bytes).alignedTo(os::pageBytes());
    uint64_t whole = rounded.value() + 2 * margin;
    if (void *memory = os::reserve(whole)) {
      metate_status status =
          metate_tree_bind(type, static_cast<uint8_t *>(memory) + margin, rounded.value(),
                           capacities, METATE_BIND_RESET | METATE_BIND_ZEROED | fit, tree);
      if (status == METATE_OK) {
        (*tree)->ownBytes = whole;
        (*tree)->ownMargin = margin;
        for (uint32_t pool = 0; pool < type->poolCount(); ++pool)
          if ((*tree)->pools[pool].buckets)
            os::keepPagesSmall((*tree)->block + (*tree)->pools[pool].table,
                               (*tree)->pools[pool].buckets * uint64_t(4));
      } else {
        os::release(memory, whole);
      }
      return status;
    }
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
  resetBlock(*tree);
  return METATE_OK;
}

metate_status metate_tree_unbind(metate_tree *tree) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkIdle(__func__, tree));
  metate_device *device = tree->device;
  {
    os::Lock lock(device->boundMutex);
    device->bound.remove(reinterpret_cast<uintptr_t>(tree->block));
  }
  destroy(tree);
  device->live.fetch_sub(1, std::memory_order_release);
  return METATE_OK;
}

metate_status metate_tree_describe(const metate_tree *tree, metate_tree_description *info) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE_STRUCT(info);
  metate_tree_description filled{};
  filled.struct_size = sizeof filled;
  filled.flags = tree->flags;
  filled.type = tree->type;
  filled.block = tree->block;
  filled.bytes = tree->layout.bytes;
  filled.workers = tree->layout.workers;
  filled.pool_count = tree->type->poolCount();
  filled.ready = tree->ready;
  if (tree->ready) {
    filled.status = __atomic_load_n(&tree->header().status, __ATOMIC_RELAXED);
    filled.topology_version = __atomic_load_n(&tree->header().topology, __ATOMIC_RELAXED);
  }
  *info = filled;
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
    filled.used = __atomic_load_n(&tree->pool(pool).used, __ATOMIC_RELAXED);
    filled.high_water = tree->highWater(pool);
  }
  *stats = filled;
  return METATE_OK;
}
