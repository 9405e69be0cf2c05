// Copies of blocks that lie where the host cannot reach them: the parts that are in use, in reserved address space of the
// block's size, so that offsets are the block's.
#include "tree/staged.h"

namespace metate {

namespace {

// A copy while it lives.
class Copy {
public:
  Copy(const metate_tree &tree) : tree(tree), block(blockOf(tree)) {}
  ~Copy() {
    if (block.data)
      os::release(block.data, block.layout.bytes);
  }
  Copy(const Copy &) = delete;
  Copy &operator=(const Copy &) = delete;

  metate_status open(Use use) {
    METATE_TRY(reserve());
    METATE_TRY(high.allocate(tree.type->poolCount()));
    if (use == Use::makes)
      return METATE_OK;
    if (use == Use::checks)
      return read(0, block.layout.bytes);
    METATE_TRY(read(0, block.layout.rootOffset + tree.type->blob->root_bytes));
    return eachPart([this](uint64_t offset, uint64_t bytes) { return read(offset, bytes); });
  }
  // Parts that were in use before, or are now.
  metate_status writeBack() {
    METATE_TRY(write(0, block.layout.rootOffset + tree.type->blob->root_bytes));
    return eachPart([this](uint64_t offset, uint64_t bytes) { return write(offset, bytes); });
  }
  const Block &get() const { return block; }

  // A copy of one cell alone, which is found without what a block holds.
  metate_status openCell(uint32_t member, const int64_t *along) {
    METATE_TRY(reserve());
    cell = uint64_t(find(block, member, along).cell - block.data);
    cellBytes = tree.type->levels[member].cell_bytes;
    return read(cell, cellBytes);
  }
  metate_status writeCell() { return write(cell, cellBytes); }

private:
  const metate_tree &tree;
  Block block;
  Array<uint32_t> high{*tree.device}; // highest slot of each pool that was in use at any time
  uint64_t cell = 0, cellBytes = 0;   // of a copy of one cell

  metate_status reserve() {
    block.data = static_cast<uint8_t *>(os::reserve(block.layout.bytes));
    if (block.data)
      return METATE_OK;
    return fail(METATE_E_OUT_OF_MEMORY,
                "tree of type '%s': the system refused %llu bytes for the host's copy",
                tree.type->shown(), show(block.layout.bytes));
  }

  metate_status read(uint64_t offset, uint64_t bytes) {
    return readRegion(*tree.device, tree.memory, offset, block.data + offset, bytes);
  }
  metate_status write(uint64_t offset, uint64_t bytes) {
    return writeRegion(*tree.device, tree.memory, offset, block.data + offset, bytes);
  }

  // visit(offset, bytes) for the metadata, the slots and the table of each pool.
  template <typename Visit> metate_status eachPart(const Visit &visit) {
    for (uint32_t number = 0; number < tree.type->poolCount(); ++number) {
      const PoolLayout &pool = block.pools[number];
      uint32_t now = block.highWater(number);
      high[number] = high[number] > now ? high[number] : now;
      METATE_TRY(visit(pool.meta, (high[number] + uint64_t(1)) * pool.record_bytes));
      uint64_t first = pool.ambient ? 0 : 1; // without an ambient slot, slot 0 is no memory
      METATE_TRY(visit(pool.slots + first * pool.slot_bytes,
                       (high[number] + 1 - first) * pool.slot_bytes));
      if (pool.buckets)
        METATE_TRY(visit(pool.table, pool.buckets * uint64_t(4)));
    }
    return METATE_OK;
  }
};

} // namespace

metate_status workOnCopy(const metate_tree &tree, Use use, Work work) {
  os::Lock lock(tree.device->stagedMutex);
  Copy copy(tree);
  METATE_TRY(copy.open(use));
  metate_status status = work.run(work.self, copy.get());
  if (use == Use::reads || use == Use::checks)
    return status;
  if (status == METATE_OK)
    return copy.writeBack();
  char text[512]; // what went wrong first is what is told
  __builtin_snprintf(text, sizeof text, "%s", metate_last_error());
  copy.writeBack();
  return fail(status, "%s", text);
}

metate_status workOnCell(const metate_tree &tree, uint32_t member, const int64_t *along, Use use,
                         Work work) {
  const LevelFacts &facts = tree.type->facts[member];
  if (facts.ownerPool != METATE_NONE || !facts.everyCell || tree.type->levels[member].quant)
    return workOnCopy(tree, use, work);
  os::Lock lock(tree.device->stagedMutex);
  Copy copy(tree);
  METATE_TRY(copy.openCell(member, along));
  METATE_TRY(work.run(work.self, copy.get()));
  return use == Use::reads ? METATE_OK : copy.writeCell();
}

} // namespace metate
