// Giving memory back: free slots in ascending order, pools as short as their highest slot, and the
// pages of what is left over to the system.
#include "tree/access.h"

#include <cstring>

using namespace metate;

namespace metate {

uint32_t highestInUse(const metate_tree &tree, uint32_t number) {
  uint32_t high = tree.highWater(number);
  while (high && !tree.record(number, high)[0])
    --high;
  return high;
}

uint32_t sortFreeList(const metate_tree &tree, uint32_t number) {
  metate_pool &pool = tree.pool(number);
  uint32_t high = highestInUse(tree, number), first = 0;
  for (uint32_t slot = high; slot > 0; --slot) {
    uint32_t *record = tree.record(number, slot);
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

// Slots hold nothing while they are free: activation fills them.
void discardSlots(const metate_tree &tree, uint32_t number, uint32_t first, uint32_t end) {
  if (first < end)
    os::discard(tree.slot(number, first), uint64_t(end - first) * tree.pools[number].slot_bytes);
}

void trimPool(const metate_tree &tree, uint32_t number) {
  metate_pool &pool = tree.pool(number);
  const PoolLayout &layout = tree.pools[number];
  uint32_t before = tree.highWater(number), high = sortFreeList(tree, number);
  for (uint32_t slot = 1; slot <= high; ++slot) {
    uint32_t run = slot;
    while (run <= high && !tree.record(number, run)[0])
      ++run;
    discardSlots(tree, number, slot, run);
    slot = run;
  }
  // Sorting lowers the high water mark: slots behind it may have pages.
  discardSlots(tree, number, high + 1, layout.physical + 1);
  pool.high_water = high;
  // States behind the highest slot stay 0. Pages of the caller's may come back as they were in
  // a file, so only those of our own are given back.
  if (before > high)
    memset(tree.record(number, high + 1), 0, uint64_t(before - high) * layout.record_bytes);
  if (!tree.ownBytes)
    return;
  if (before > high)
    os::discard(tree.record(number, high + 1), uint64_t(before - high) * layout.record_bytes);
  if (layout.buckets && !pool.used)
    os::discard(tree.block + layout.table, layout.buckets * uint64_t(4));
}

} // namespace

metate_status metate_tree_trim(metate_tree *tree) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkIdle(__func__, tree));
  for (uint32_t number = 0; number < tree->type->poolCount(); ++number)
    trimPool(*tree, number);
  return METATE_OK;
}
