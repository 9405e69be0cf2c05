// A tree into other memory: with other capacities, into a file, and out of one.
#include "support/checked.h"
#include "tree/access.h"
#include "tree/staged.h"

#include <cstdio>
#include <cstring>
#include <utility>

namespace metate {

namespace {

void copyPool(const Block &from, const Block &to, uint32_t number, uint32_t high) {
  metate_pool &pool = to.pool(number);
  const metate_pool &old = from.pool(number);
  uint32_t recordBytes = from.pools[number].record_bytes;
  memcpy(to.record(number, 0), from.record(number, 0), (high + 1ull) * recordBytes);
  for (uint32_t slot = 1; slot <= high; ++slot)
    if (from.record(number, slot)[0])
      memcpy(to.slot(number, slot), from.slot(number, slot), from.pools[number].slot_bytes);
  pool.high_water = high;
  pool.used = old.used;
  pool.stamps = old.stamps;
  pool.orphans = pool.orphans_seen = old.orphans_seen;
  sortFreeList(to, number);
  metate_view view = to.view();
  if (to.pools[number].buckets)
    metate_view_rebuild(&view, to.type->poolLevels[number]);
}

} // namespace

metate_status copyBlock(const Block &from, const Block &to) {
  const metate_type &type = *from.type;
  for (uint32_t number = 0; number < type.poolCount(); ++number) {
    uint32_t high = highestInUse(from, number), used = from.pool(number).used;
    uint32_t capacity = to.pools[number].capacity;
    const char *name = type.levelName(type.poolLevels[number]);
    if (used > capacity)
      return fail(METATE_E_CAPACITY,
                  "level '%s' has %u slots in use; the new capacity is %u: name a larger one", name,
                  used, capacity);
    if (high > to.pools[number].physical)
      return fail(METATE_E_CAPACITY,
                  "level '%s' has %u slots in use, up to number %u; the new capacity is %u: name a "
                  "larger one, or sort the tree before it is saved",
                  name, used, high, capacity);
  }
  memcpy(to.root(), from.root(), type.blob->root_bytes);
  for (uint32_t number = 0; number < type.poolCount(); ++number)
    copyPool(from, to, number, highestInUse(from, number));
  to.header().epoch = from.header().epoch;
  to.header().resets = from.header().resets;
  to.header().topology = from.header().topology;
  to.header().sorted = from.header().sorted;
  to.header().changed = from.header().changed;
  return METATE_OK;
}

} // namespace metate

using namespace metate;

// Would the new memory hold all slots if they had the numbers from 1 on? As they are it does not.
static bool fitsSorted(const Block &from, const metate_tree &to) {
  bool fits = true;
  for (uint32_t number = 0; number < from.type->poolCount(); ++number) {
    if (from.pool(number).used > to.pools[number].capacity)
      return false;
    fits = fits && highestInUse(from, number) <= to.pools[number].physical;
  }
  return !fits;
}

// What a tree holds into a fresh one; put in order before where it does not fit otherwise.
static metate_status copyInto(const metate_tree &tree, const metate_tree &made) {
  return onHost(tree, tree.readOnly() ? Use::reads : Use::changes, [&](const Block &from) {
    if (!tree.readOnly() && fitsSorted(from, made))
      METATE_TRY(sortBlock(from));
    return onHost(made, Use::changes, [&](const Block &to) { return copyBlock(from, to); });
  });
}

metate_status metate_tree_migrate(metate_tree *tree, void *memory, uint64_t bytes,
                                  const metate_capacities *capacities, uint32_t flags) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkIdle(__func__, tree));
  if (flags & ~uint32_t(METATE_BIND_FIT | METATE_BIND_ZEROED))
    return fail(METATE_E_INVALID_ARGUMENT, "%s: flags: expected FIT and ZEROED at most, got 0x%x",
                __func__, flags);
  metate_tree *made = nullptr;
  METATE_TRY(memory ? metate_tree_bind(tree->type, memory, bytes, capacities,
                                       flags | METATE_BIND_RESET, &made)
                    : metate_tree_new(tree->type, capacities, &made));
  metate_status status = copyInto(*tree, *made);
  if (status == METATE_OK) { // the handle goes on with the new memory, the other ends with the old
    std::swap(tree->memory, made->memory);
    std::swap(tree->flags, made->flags);
    std::swap(tree->zeroed, made->zeroed);
    std::swap(tree->own, made->own);
    std::swap(tree->file, made->file);
    std::swap(tree->fileBytes, made->fileBytes);
    std::swap(tree->layout, made->layout);
    std::swap(tree->pools, made->pools);
  }
  metate_tree_unbind(made);
  return status;
}

// Capacities that just hold what is in use: a saved block is small.
static metate_status planFile(const Block &block, uint64_t *slots, PoolLayout *pools,
                              BlockLayout *layout) {
  for (uint32_t number = 0; number < block.type->poolCount(); ++number) {
    uint32_t high = highestInUse(block, number), used = block.pool(number).used;
    slots[number] = high > used ? high : used;
    slots[number] += !slots[number];
  }
  return layOut(*block.type, block.layout.workers, slots, pools, layout);
}

static metate_status writeFile(const Block &block, const char *path) {
  const metate_type &type = *block.type;
  Array<uint64_t> slots(*type.device);
  Array<PoolLayout> pools(*type.device);
  METATE_TRY(slots.allocate(type.poolCount()));
  METATE_TRY(pools.allocate(type.poolCount()));
  Block saved{&type, nullptr, pools.data(), {}};
  METATE_TRY(planFile(block, slots.data(), pools.data(), &saved.layout));
  metate_tree_file head{};
  head.magic = METATE_FILE_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  head.blob_bytes = type.blob->bytes;
  head.block_offset = Checked(sizeof head + type.blob->bytes).alignedTo(METATE_FILE_ALIGN).value();
  head.block_bytes = saved.layout.bytes;
  uint8_t *data = nullptr;
  uint64_t bytes = head.block_offset + head.block_bytes;
  METATE_TRY(os::createFile(path, bytes, &data));
  memcpy(data, &head, sizeof head);
  memcpy(data + sizeof head, type.blob, type.blob->bytes);
  saved.data = data + head.block_offset;
  Fresh fresh;
  fresh.zeroed = true;
  resetBlock(saved, fresh);
  metate_status status = copyBlock(block, saved);
  os::release(data, bytes);
  return status;
}

metate_status metate_tree_save(const metate_tree *tree, const char *path) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(path);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkIdle(__func__, tree));
  Array<char> part(*tree->device); // a save that is cut short leaves an older file alone
  METATE_TRY(part.allocate(strlen(path) + 6));
  snprintf(part.data(), strlen(path) + 6, "%s.part", path);
  metate_status status =
      onHost(*tree, Use::reads, [&](const Block &block) { return writeFile(block, part.data()); });
  if (status == METATE_OK)
    status = os::renameFile(part.data(), path);
  if (status != METATE_OK)
    os::removeFile(part.data());
  return status;
}

static metate_status checkFile(const metate_type &type, const uint8_t *data, uint64_t bytes,
                               const char *path) {
  const auto *head = reinterpret_cast<const metate_tree_file *>(data);
  if (bytes < sizeof *head || head->magic != METATE_FILE_MAGIC)
    return fail(METATE_E_CORRUPT, "'%s' is no saved tree", path);
  if (head->abi_version != METATE_ABI_VERSION)
    return fail(METATE_E_VERSION, "'%s': expected abi version %u, got %u", path, METATE_ABI_VERSION,
                head->abi_version);
  if (head->block_offset % METATE_FILE_ALIGN ||
      !inRange(sizeof *head, head->blob_bytes, head->block_offset) ||
      !inRange(head->block_offset, head->block_bytes, bytes))
    return fail(METATE_E_CORRUPT, "'%s': the block is outside the file", path);
  if (head->blob_bytes != type.blob->bytes ||
      memcmp(data + sizeof *head, type.blob, type.blob->bytes) != 0)
    return fail(METATE_E_TYPE_MISMATCH, "'%s' is a tree of another type than '%s'", path,
                type.shown());
  return METATE_OK;
}

// A tree in the mapped file, which goes with it.
static metate_status bindFile(const metate_type &type, uint8_t *data, uint64_t bytes,
                              uint64_t offset, uint32_t flags, metate_tree **tree) {
  METATE_TRY(metate_tree_bind(&type, data + offset, bytes - offset, nullptr,
                              METATE_BIND_ADOPT | METATE_BIND_READ_ONLY | flags, tree));
  (*tree)->file = data;
  (*tree)->fileBytes = bytes;
  return METATE_OK;
}

// A tree of its own with what the mapped file holds.
static metate_status copyFile(const metate_type &type, uint8_t *start, uint64_t bytes,
                              uint32_t flags, const metate_capacities *capacities,
                              metate_tree **tree) {
  Array<PoolLayout> pools(*type.device);
  METATE_TRY(pools.allocate(type.poolCount()));
  Block saved{&type, start, pools.data(), {}};
  METATE_TRY(readLayout(type, start, bytes, pools.data(), &saved.layout));
  if (!(flags & METATE_BIND_TRUST))
    METATE_TRY(checkBlock(saved));
  metate_tree *made = nullptr;
  METATE_TRY(metate_tree_new(&type, capacities, &made));
  metate_status status =
      onHost(*made, Use::changes, [&](const Block &block) { return copyBlock(saved, block); });
  if (status == METATE_OK)
    *tree = made;
  else
    metate_tree_unbind(made);
  return status;
}

metate_status metate_tree_load(const metate_type *type, const char *path,
                               const metate_capacities *capacities, uint32_t flags,
                               metate_tree **tree) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(path);
  METATE_REQUIRE(tree);
  bool readOnly = flags & METATE_BIND_READ_ONLY;
  if ((flags & ~uint32_t(METATE_BIND_READ_ONLY | METATE_BIND_TRUST)) || (readOnly && capacities))
    return fail(
        METATE_E_INVALID_ARGUMENT,
        "%s: flags: expected READ_ONLY (without capacities: the file is mapped) and TRUST at "
        "most, got 0x%x",
        __func__, flags);
  uint8_t *data = nullptr;
  uint64_t bytes = 0;
  METATE_TRY(os::mapFile(path, &data, &bytes));
  metate_status status = checkFile(*type, data, bytes, path);
  if (status == METATE_OK) {
    uint64_t offset = reinterpret_cast<const metate_tree_file *>(data)->block_offset;
    flags &= METATE_BIND_TRUST;
    if (readOnly)
      status = bindFile(*type, data, bytes, offset, flags, tree);
    else
      status = copyFile(*type, data + offset, bytes - offset, flags, capacities, tree);
  }
  if (status != METATE_OK || !readOnly)
    os::release(data, bytes);
  return status;
}
