// A bound tree: a type, the caller's block, and the block's layout. The layout is the runtime's own
// copy, computed from type and capacities, so that a damaged block cannot lead an access outside.
#ifndef METATE_RUNTIME_TREE_TREE_H
#define METATE_RUNTIME_TREE_TREE_H

#include "support/uses.h"
#include "type/type.h"

struct metate_tree {
  const metate_type *type;
  metate_device *device;
  uint8_t *block;
  uint32_t flags = 0;
  bool ready = false;     // reset or adopted
  bool zeroed = false;    // the memory behind the block was never written
  uint64_t ownBytes = 0;  // reserved by metate_tree_new, given back at unbind, from
  uint64_t ownMargin = 0; // so many bytes before the block
  metate::BlockLayout layout{};
  metate::PoolLayout *pools = nullptr;
  metate::Uses uses; // launches on it

  metate_tree(const metate_type *type, uint8_t *block)
      : type(type), device(type->device), block(block) {}

  metate_tree_header &header() const { return *reinterpret_cast<metate_tree_header *>(block); }
  metate_pool &pool(uint32_t number) const {
    return reinterpret_cast<metate_pool *>(block + sizeof(metate_tree_header))[number];
  }
  uint8_t *root() const { return block + layout.rootOffset; }
  uint8_t *slot(uint32_t number, uint32_t slot) const {
    // Slot 0 that is not there may be below 0: the sum comes first.
    uint64_t offset = pools[number].slots + uint64_t(slot) * pools[number].slot_bytes;
    return block + offset;
  }
  // The tree as the protocol sees it: with constants of our own.
  metate_view view() const { return {block, type->blob, pools, nullptr, 0}; }
  // {state, next, coordinate[]} of a slot.
  uint32_t *record(uint32_t number, uint32_t slot) const {
    return reinterpret_cast<uint32_t *>(block + pools[number].meta +
                                        uint64_t(slot) * pools[number].record_bytes);
  }
  // Slots that may have been handed out; bounded whatever the block says.
  uint32_t highWater(uint32_t number) const {
    uint32_t high = __atomic_load_n(&pool(number).high_water, __ATOMIC_RELAXED);
    return high < pools[number].physical ? high : pools[number].physical;
  }
  bool readOnly() const { return flags & METATE_BIND_READ_ONLY; }
};

namespace metate {

// What an access to a cell found. `cell` is NULL when a level above is inactive.
struct Found {
  uint8_t *cell = nullptr;
  bool corrupt = false; // a link outside its pool
};

// The cell of a level with these coordinates (in the level's units, by axis number), without
// activating anything.
Found find(const metate_tree &tree, uint32_t level, const int64_t *along);

// The same, activated: METATE_E_CAPACITY (sticky in the block) or METATE_E_CORRUPT.
metate_status activate(const metate_tree &tree, uint32_t level, const int64_t *along,
                       uint8_t **cell);

// The larger functions of the protocol, compiled once: metate_view_collect with the settling of a
// host call, _deactivate, _append, _container, _home_container.
void collect(const metate_view &view);
void deactivateCell(const metate_view &view, uint32_t level, uint8_t *container, uint64_t linear,
                    const uint32_t *key);
int64_t appendCell(const metate_view &view, uint32_t level, uint8_t *container,
                   const uint32_t *key);
uint8_t *containerOf(const metate_view &view, uint32_t level, const int64_t *along,
                     metate_view_mode mode, uint64_t *linear);
uint8_t *homeContainer(const metate_view &view, uint32_t level, uint32_t slot, uint64_t *linear);

// Is this block, laid out as `layout` and `pools` say, sound? Reads only.
metate_status checkBlock(const metate_type &type, const uint8_t *block, const BlockLayout &layout,
                         const PoolLayout *pools);
// The layout that a block's header claims, when it is one of this type and fits into `bytes`.
metate_status readLayout(const metate_type &type, const uint8_t *block, uint64_t bytes,
                         PoolLayout *pools, BlockLayout *layout);

// Are the slots of a pool 1 to n, in the order of their coordinates?
bool isInOrder(const metate_tree &tree, uint32_t number);

// Makes the free list of a pool anew, lowest slots first; returns the highest slot in use.
uint32_t sortFreeList(const metate_tree &tree, uint32_t number);
uint32_t highestInUse(const metate_tree &tree, uint32_t number);

// Writes a fresh tree into the memory.
void resetBlock(metate_tree &tree);

// What `from` holds into `to`, a fresh tree of the same type with other capacities: slots keep their
// numbers. METATE_E_CAPACITY where a pool is too small for that.
metate_status copyTree(const metate_tree &from, metate_tree &to);

// The text of METATE_E_CAPACITY from the block's sticky status; `who` names kernel and argument.
metate_status failCapacity(const metate_tree &tree, const char *who);

} // namespace metate

#endif
