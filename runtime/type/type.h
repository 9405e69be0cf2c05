// A tree type as the runtime uses it: a verified blob of its own and what is derived from it once,
// so that walking a tree needs no search. A value without memory: trees share it by reference
// count.
#ifndef METATE_RUNTIME_TYPE_TYPE_H
#define METATE_RUNTIME_TYPE_TYPE_H

#include "device/device.h"
#include "format/quant.h"
#include "metate/protocol/tree.h"

namespace metate {

constexpr uint32_t maxWorkers = 1u << 16; // that a tree's slack is made for

// What is derived of one level.
struct LevelFacts {
  const metate_level *record;
  uint32_t ownerPool; // pool whose slot this level's container lies in; METATE_NONE = root cell
  uint32_t pathRank;  // axes on the path from the root, this level included
  uint8_t pathAxes[METATE_MAX_AXES];
  int64_t shape[METATE_MAX_AXES]; // cells along each path axis, over the tree; 0 = no bounds
  uint64_t fanout;        // a pool level: links that one slot of ownerPool (or the root cell) holds
  uint64_t natural;       // a pool level: slots that can ever be linked (saturating)
  uint64_t cellsPerOwner; // cells in one slot of ownerPool (or the root cell)
  bool everyCell;         // all of those are active: no bitmasked or dynamic level lies between
  bool unbounded;         // an axis of the path has no bounds
  bool zeroBackground;    // every member at or below it has a background of zero bytes
  uint64_t background;    // a quantised member: the value that its word's background stands for
};

} // namespace metate

struct metate_type {
  metate_device *device;
  std::atomic<uint32_t> references{1};
  bool owned = false; // by the caller of metate_type_open_blob; otherwise by its module
  const metate_tree_type *blob = nullptr;
  const metate_level *levels = nullptr;
  metate::LevelFacts *facts = nullptr;
  uint32_t *poolLevels = nullptr; // the level of each pool
  const char *name = nullptr;

  explicit metate_type(metate_device *device) : device(device) {}

  uint32_t levelCount() const { return blob->level_count; }
  uint32_t poolCount() const { return blob->pool_count; }
  const char *text(uint32_t offset) const { return reinterpret_cast<const char *>(blob) + offset; }
  const char *levelName(uint32_t level) const { return text(levels[level].name); }
  const void *background(uint32_t level) const {
    return levels[level].quant ? static_cast<const void *>(&facts[level].background)
                               : text(levels[level].background);
  }
  const metate_level &poolLevel(uint32_t pool) const { return levels[poolLevels[pool]]; }
  // As errors name it: its name in the module, else the printed type.
  const char *shown() const { return *name ? name : text(blob->text); }
};

namespace metate {

// Verifies and copies the blob. The result holds one reference.
metate_status makeType(metate_device *device, const void *blob, uint64_t bytes, const char *name,
                       metate_type **type);
void retain(const metate_type *type);
void release(const metate_type *type);

// Writes the background of one cell of `level`: links 0, members their background.
void fillCell(const metate_type &type, uint32_t level, uint8_t *cell);
// The same for all cells of one slot.
void fillSlot(const metate_type &type, uint32_t level, uint8_t *slot);

// The layout of one block: a pure function of a type and its capacities.
using PoolLayout = metate_view_pool;
struct BlockLayout {
  uint64_t rootOffset;
  uint64_t bytes;
  uint32_t workers;
};

// slots[pool] from the caller's capacities: the entries, natural maxima for the rest. wanted[pool]
// says which pools had an entry (may be NULL).
metate_status resolveCapacities(const metate_type &type, const metate_capacities *capacities,
                                uint32_t *workers, uint64_t *slots, bool *wanted);
// pools[pool_count]; METATE_E_OUT_OF_RANGE when a capacity or the block outgrows its integers.
metate_status layOut(const metate_type &type, uint32_t workers, const uint64_t *slots,
                     PoolLayout *pools, BlockLayout *block);
// See metate_type_fit; slots[pool_count].
metate_status fitCapacities(const metate_type &type, const metate_capacities *capacities,
                            uint64_t bytes, uint32_t *workers, uint64_t *slots);

} // namespace metate

#endif
