// A bound tree: a type, the memory of its block, and the block's layout. The layout is the runtime's own
// copy, computed from type and capacities, so that a damaged block cannot lead an access outside.
//
// The block may lie where the host cannot reach it. So nothing but tree/staged.h gives a Block away:
// the block itself, or the host's copy of it while it works.
#ifndef METATE_RUNTIME_TREE_TREE_H
#define METATE_RUNTIME_TREE_TREE_H

#include "support/uses.h"
#include "type/type.h"

namespace metate {

// A block as the host can reach it.
struct Block {
  const metate_type *type = nullptr;
  uint8_t *data = nullptr;
  const PoolLayout *pools = nullptr;
  BlockLayout layout{};

  metate_tree_header &header() const { return *reinterpret_cast<metate_tree_header *>(data); }
  metate_pool &pool(uint32_t number) const {
    return reinterpret_cast<metate_pool *>(data + sizeof(metate_tree_header))[number];
  }
  uint8_t *root() const { return data + layout.rootOffset; }
  uint8_t *slot(uint32_t number, uint32_t slot) const {
    // Slot 0 that is not there may be below 0: the sum comes first.
    uint64_t offset = pools[number].slots + uint64_t(slot) * pools[number].slot_bytes;
    return data + offset;
  }
  // The block as the protocol sees it: with constants of our own.
  metate_view view() const { return {data, type->blob, pools, nullptr, 0}; }
  // {state, next, coordinate[]} of a slot.
  uint32_t *record(uint32_t number, uint32_t slot) const {
    return reinterpret_cast<uint32_t *>(data + pools[number].meta +
                                        uint64_t(slot) * pools[number].record_bytes);
  }
  // Slots that may have been handed out; bounded whatever the block says.
  uint32_t highWater(uint32_t number) const {
    uint32_t high = __atomic_load_n(&pool(number).high_water, __ATOMIC_RELAXED);
    return high < pools[number].physical ? high : pools[number].physical;
  }
};

} // namespace metate

struct metate_tree {
  const metate_type *type;
  metate_device *device;
  metate::Region memory; // of the block
  uint32_t flags = 0;
  bool ready = false;      // reset or adopted
  bool zeroed = false;     // the memory behind the block was never written
  metate::Region own;      // reserved by metate_tree_new: given back at unbind
  uint8_t *file = nullptr; // mapped by metate_tree_load: unmapped at unbind
  uint64_t fileBytes = 0;
  metate::PoolLayout *pools = nullptr;
  metate::BlockLayout layout{};
  metate::Uses uses; // launches on it

  explicit metate_tree(const metate_type *type) : type(type), device(type->device) {}
  bool readOnly() const { return flags & METATE_BIND_READ_ONLY; }
  bool isElsewhere() const { return !memory.host; }
};

namespace metate {

// What an access to a cell found. `cell` is NULL when a level above is inactive.
struct Found {
  uint8_t *cell = nullptr;
  bool corrupt = false; // a link outside its pool
};

// The cell of a level with these coordinates (in the level's units, by axis number), without
// activating anything.
Found find(const Block &block, uint32_t level, const int64_t *along);

// The same, activated: METATE_E_CAPACITY (sticky in the block) or METATE_E_CORRUPT.
metate_status activate(const Block &block, uint32_t level, const int64_t *along, uint8_t **cell);

// The larger functions of the protocol, compiled once: metate_view_collect with the settling of a
// host call, _deactivate, _append, _container, _home_container.
void collect(const metate_view &view);
// Each list ends with the last chunk that is there; chunks beyond the length are given up.
void cutLists(const metate_view &view);
void deactivateCell(const metate_view &view, uint32_t level, uint8_t *container, uint64_t linear,
                    const uint32_t *key);
int64_t appendCell(const metate_view &view, uint32_t level, uint8_t *container,
                   const uint32_t *key);
uint8_t *containerOf(const metate_view &view, uint32_t level, const int64_t *along,
                     metate_view_mode mode, uint64_t *linear);
uint8_t *homeContainer(const metate_view &view, uint32_t level, uint32_t slot, uint64_t *linear);

// Is this block sound? Reads only.
metate_status checkBlock(const Block &block);
// The layout that a block's header claims, when it is one of this type and fits into `bytes`. Of `start` the header and the
// records of pools are read.
metate_status readLayout(const metate_type &type, const uint8_t *start, uint64_t bytes,
                         PoolLayout *pools, BlockLayout *layout);

// The same of a tree whose memory is known: fills its layout and pools.
metate_status claimedLayout(metate_tree &tree, uint64_t bytes);

// Are the slots of a pool 1 to n, in the order of their coordinates?
bool isInOrder(const Block &block, uint32_t number);
// Puts them all in order.
metate_status sortBlock(const Block &block);

// Makes the free list of a pool anew, lowest slots first; returns the highest slot in use.
uint32_t sortFreeList(const Block &block, uint32_t number);
uint32_t highestInUse(const Block &block, uint32_t number);

// How a block is made: with these counts, in memory that holds zeros (`zeroed`), or a block of this very layout
// (`ready`), or anything.
struct Fresh {
  uint64_t resets = 1;
  uint64_t topology = 1;
  bool zeroed = false;
  bool ready = false;
};
// Writes a fresh block.
void resetBlock(const Block &block, const Fresh &fresh);

// What `from` holds into `to`, a fresh block of the same type with other capacities: slots keep their
// numbers. METATE_E_CAPACITY where a pool is too small for that.
metate_status copyBlock(const Block &from, const Block &to);

// The text of METATE_E_CAPACITY from the block's sticky status; `who` names kernel and argument.
metate_status failCapacity(const metate_type &type, const PoolLayout *pools, uint32_t number,
                           uint64_t needed, const char *who);
metate_status failCapacity(const Block &block, const char *who);

} // namespace metate

#endif
