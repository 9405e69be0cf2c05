// Slots in the order of their coordinates (protocol/metate/protocol/sort.h). No memory is asked for. Links are
// looked at before anything moves: a damaged block stays as it is.
#include "tree/access.h"
#include "tree/staged.h"

using namespace metate;

namespace metate {

bool isInOrder(const Block &block, uint32_t number) {
  metate_view view = block.view();
  return metate_view_in_order(&view, block.type->poolLevels[number]);
}

} // namespace metate

namespace {

// Does what leads to this slot by its coordinates lead to it?
bool isLinked(const Block &block, const metate_view &view, uint32_t number, uint32_t slot) {
  uint32_t at = block.type->poolLevels[number];
  const metate_level &level = block.type->levels[at];
  uint64_t linear = 0;
  uint8_t *container = homeContainer(view, at, slot, &linear);
  if (!container)
    return false;
  const auto *links = reinterpret_cast<const uint32_t *>(container);
  uint32_t found = 0;
  switch (level.kind) {
  case METATE_LEVEL_HASH:
    return metate_view_hash_bucket(&view, at, container, block.record(number, slot) + 2, &found) &&
           found == slot;
  case METATE_LEVEL_DYNAMIC:
    return linear % level.slot_cells == 0 && links[2 + linear / level.slot_cells] == slot;
  default:
    return links[linear] == slot;
  }
}

// Every active slot has a link of its own, and there are as many as the pool says.
bool isSound(const Block &block, const metate_view &view, uint32_t number) {
  const metate_pool &pool = block.pool(number);
  uint32_t active = 0;
  for (uint32_t slot = 1, high = block.highWater(number); slot <= high; ++slot) {
    if (!block.record(number, slot)[0])
      continue;
    if (!isLinked(block, view, number, slot))
      return false;
    ++active;
  }
  return active == pool.used && !pool.pending && !pool.tombs;
}

} // namespace

metate_status metate::sortBlock(const Block &block) {
  metate_view view = block.view();
  if (metate_view_is_sorted(&view))
    return METATE_OK;
  bool moved = false;
  for (uint32_t number = 0; number < block.type->poolCount(); ++number) {
    uint32_t level = block.type->poolLevels[number];
    if (metate_view_in_order(&view, level))
      continue;
    if (!isSound(block, view, number)) {
      if (moved) // pools above are whole, with other numbers
        metate_view_change(&view);
      metate_view_settle(&view);
      return failLink(*block.type);
    }
    moved = metate_view_sort_pool(&view, level) || moved;
  }
  metate_view_note_sorted(&view, moved);
  return METATE_OK;
}

metate_status metate_tree_sort(metate_tree *tree) {
  METATE_REQUIRE(tree);
  METATE_TRY(checkReady(__func__, tree));
  METATE_TRY(checkWritable(__func__, tree));
  METATE_TRY(checkIdle(__func__, tree));
  return onHost(*tree, Use::changes, sortBlock);
}
