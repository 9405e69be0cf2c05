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
    block.data = static_cast<uint8_t *>(os::reserve(block.layout.bytes));
    if (!block.data)
      return fail(METATE_E_OUT_OF_MEMORY,
                  "tree of type '%s': the system refused %llu bytes for the host's copy",
                  tree.type->shown(), show(block.layout.bytes));
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

private:
  const metate_tree &tree;
  Block block;
  Array<uint32_t> high{*tree.device}; // highest slot of each pool that was in use at any time

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

} // namespace metate
