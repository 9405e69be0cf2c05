// Giving memory back: free slots in ascending order, pools as short as their highest slot, and the
// pages of what is left over to the system.
#include "tree/access.h"
#include "tree/staged.h"

#include <cstring>

using namespace metate;

namespace metate {

uint32_t highestInUse(const Block &block, uint32_t number) {
  uint32_t high = block.highWater(number);
  while (high && !block.record(number, high)[0])
    --high;
  return high;
}

uint32_t sortFreeList(const Block &block, uint32_t number) {
  metate_pool &pool = block.pool(number);
  uint32_t high = highestInUse(block, number), first = 0;
  for (uint32_t slot = high; slot > 0; --slot) {
    uint32_t *record = block.record(number, slot);
    if (record[0])
      continue;
    record[1] = first;
    first = slot;
  }
  pool.free_head = ((pool.free_head >> 32) + 1) << 32 | first;
  metate_view_forget_magazines(&pool);
  return high;
}

} // namespace metate

namespace {

// Bytes of the block that hold nothing: pages go back to the system, where the memory has any.
void discard(const metate_tree &tree, const Block &block, const void *first, uint64_t bytes) {
  const Driver &driver = *tree.device->driver;
  uint64_t offset = uint64_t(static_cast<const uint8_t *>(first) - block.data);
  if (driver.discard && bytes)
    driver.discard(tree.device->machine, tree.memory.address + offset, bytes);
}

// Slots hold nothing while they are free: activation fills them.
void discardSlots(const metate_tree &tree, const Block &block, uint32_t number, uint32_t first,
                  uint32_t end) {
  if (first < end)
    discard(tree, block, block.slot(number, first),
            uint64_t(end - first) * block.pools[number].slot_bytes);
}

void trimPool(const metate_tree &tree, const Block &block, uint32_t number) {
  metate_pool &pool = block.pool(number);
  const PoolLayout &layout = block.pools[number];
  uint32_t before = block.highWater(number), high = sortFreeList(block, number);
  for (uint32_t slot = 1; slot <= high; ++slot) {
    uint32_t run = slot;
    while (run <= high && !block.record(number, run)[0])
      ++run;
    discardSlots(tree, block, number, slot, run);
    slot = run;
  }
  // Sorting lowers the high water mark: slots behind it may have pages.
  discardSlots(tree, block, number, high + 1, layout.physical + 1);
  pool.high_water = high;
  pool.peak = 0;
  // States behind the highest slot stay 0. Pages of the caller's may come back as they were in
  // a file, so only those of our own are given back.
  if (before > high)
    memset(block.record(number, high + 1), 0, uint64_t(before - high) * layout.record_bytes);
  if (!tree.own.address)
    return;
  if (before > high)
    discard(tree, block, block.record(number, high + 1),
            uint64_t(before - high) * layout.record_bytes);
  if (layout.buckets && !pool.used)
    discard(tree, block, block.data + layout.table, layout.buckets * uint64_t(4));
}

} // namespace

metate_status metate_tree_trim(metate_tree *tree) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkIdle(__func__, tree));
  return onHost(*tree, Use::changes, [&](const Block &block) {
    for (uint32_t number = 0; number < tree->type->poolCount(); ++number)
      trimPool(*tree, block, number);
    return METATE_OK;
  });
}
