// Fuzz target: a type blob and the bytes of a block. The blob's hash is made right and written into
// the block. What metate_tree_check accepts must then serve every function that uses a tree, and a
// walk that follows links without looking, as kernels do. What is adopted unchecked need not be
// consistent, but must never lead outside its memory.
//
// An input: u16 bytes of the blob, the blob, the block.
#include "harness.h"

#include <cstddef>
#include <set>
#include <vector>

using namespace metate;
using namespace metate::fuzz;
using test::Exact;

namespace {

// Descends from the root cell along the level table, trusting every link.
class Walk {
public:
  Walk(const metate_tree_type *type, uint8_t *block)
      : levels(reinterpret_cast<const metate_level *>(type + 1)), count(type->level_count),
        pools(reinterpret_cast<const metate_pool *>(block + sizeof(metate_tree_header))),
        block(block), seen(count) {
    const auto *header = reinterpret_cast<const metate_tree_header *>(block);
    visit(0, block + header->root_offset);
  }
  uint64_t cells(uint32_t level) const { return seen[level]; }

private:
  const metate_level *levels;
  uint32_t count;
  const metate_pool *pools;
  uint8_t *block;
  std::vector<uint64_t> seen;
  std::set<std::pair<uint32_t, uint32_t>> hashed; // stamps repeat once 2^31 were given

  void visit(uint32_t parent, uint8_t *cell) {
    ++seen[parent];
    const metate_level &record = levels[parent];
    uint64_t bytes = record.kind != METATE_LEVEL_PLACE ? 0
                     : record.quant                    ? levels[record.parent].cell_bytes // a word
                                                       : record.cell_bytes;
    for (uint64_t i = 0; i < bytes; ++i) {
      uint8_t byte = static_cast<volatile uint8_t *>(cell)[i];
      if (record.dtype == METATE_U1 && byte > 1)
        finding("a boolean is %u", byte);
    }
    for (uint32_t child = parent + 1; child < count; ++child) {
      const metate_level &level = levels[child];
      if (level.parent != parent)
        continue;
      uint8_t *container = cell + level.offset;
      const auto *words = reinterpret_cast<const uint32_t *>(container);
      const auto *mask = reinterpret_cast<const uint32_t *>(container + level.mask);
      if (level.kind == METATE_LEVEL_POINTER)
        follow(child, words);
      else if (level.kind == METATE_LEVEL_DYNAMIC)
        followList(child, words);
      else if (level.kind == METATE_LEVEL_HASH)
        followTable(child, words[0]);
      else
        for (uint64_t n = 0; n < level.cells; ++n)
          if (level.kind != METATE_LEVEL_BITMASKED || mask[n / 32] >> n % 32 & 1)
            visit(child,
                  container + (level.kind == METATE_LEVEL_QUANT_ARRAY ? n / level.slot_cells : n) *
                                  level.cell_bytes);
    }
  }

  uint8_t *slot(const metate_level &level, uint32_t number) {
    return block + pools[level.pool].slots_offset + number * level.slot_bytes;
  }

  void followList(uint32_t child, const uint32_t *words) {
    const metate_level &level = levels[child];
    for (uint32_t n = 0; n < words[0]; ++n)
      visit(child,
            slot(level, words[2 + n / level.slot_cells]) + n % level.slot_cells * level.cell_bytes);
  }

  // The slots that bear the container's stamp.
  void followTable(uint32_t child, uint32_t stamp) {
    const metate_level &level = levels[child];
    const metate_pool &pool = pools[level.pool];
    const auto *table = reinterpret_cast<const uint32_t *>(block + pool.table_offset);
    for (uint32_t n = 0; stamp && n < pool.table_buckets; ++n) {
      const uint8_t *record =
          block + pool.meta_offset + table[n] * uint64_t(metate_record_bytes(&level));
      uint32_t bears;
      std::memcpy(&bears, record + 4, sizeof bears);
      if (table[n] && bears == stamp && hashed.insert({child, table[n]}).second)
        visit(child, slot(level, table[n]));
    }
  }

  void follow(uint32_t child, const uint32_t *links) {
    const metate_level &level = levels[child];
    for (uint64_t n = 0; n < level.cells; ++n)
      if (links[n])
        visit(child, slot(level, links[n]));
  }
};

struct Input {
  std::vector<uint8_t> blob;
  const uint8_t *block = nullptr;
  size_t blockBytes = 0;
};

bool split(const uint8_t *data, size_t bytes, Input &input) {
  uint16_t blobBytes = 0;
  if (bytes < sizeof blobBytes)
    return false;
  std::memcpy(&blobBytes, data, sizeof blobBytes);
  if (blobBytes < sizeof(metate_tree_type) || blobBytes > bytes - 2)
    return false;
  input.blob.assign(data + 2, data + 2 + blobBytes);
  auto *type = reinterpret_cast<metate_tree_type *>(input.blob.data());
  type->bytes = blobBytes;
  type->abi_version = METATE_ABI_VERSION;
  test::sealType(input.blob.data(), blobBytes);
  input.block = data + 2 + blobBytes;
  input.blockBytes = bytes - 2 - blobBytes;
  return true;
}

// The block in memory of its own, with the type's hash.
void load(const Input &input, Exact &memory) {
  if (input.blockBytes)
    std::memcpy(memory.data, input.block, input.blockBytes);
  if (memory.bytes < sizeof(metate_tree_header))
    return;
  auto *header = reinterpret_cast<metate_tree_header *>(memory.data);
  const auto *type = reinterpret_cast<const metate_tree_type *>(input.blob.data());
  std::memcpy(header->type_hash, type->hash, sizeof type->hash);
  header->abi_version = METATE_ABI_VERSION;
}

void activateAll(metate_tree *tree, const metate_type *type) {
  auto info = sized<metate_type_description>();
  require(metate_type_describe(type, &info), "describe");
  for (uint32_t index = 0; index < info.level_count; ++index) {
    auto level = sized<metate_level_description>();
    require(metate_type_level(type, index, &level), "level");
    int64_t at[METATE_MAX_AXES] = {};
    for (int n = 0; n < 256; ++n) {
      metate_status status = metate_tree_activate(tree, index, at, level.path_rank);
      if (status != METATE_OK && status != METATE_E_CAPACITY)
        requireReason(status, "activate");
      uint32_t k = level.path_rank;
      while (k > 0 && ++at[k - 1] == level.shape[k - 1])
        at[--k] = 0;
      if (k == 0)
        break;
    }
  }
}

void compareWalk(const Input &input, metate_tree *tree, uint8_t *block) {
  const auto *type = reinterpret_cast<const metate_tree_type *>(input.blob.data());
  const auto *levels = reinterpret_cast<const metate_level *>(type + 1);
  Walk walk(type, block);
  for (uint32_t index = 0; index < type->level_count; ++index) {
    if (levels[index].kind == METATE_LEVEL_ROOT || levels[index].kind == METATE_LEVEL_DENSE)
      continue;
    uint64_t count = 0;
    require(metate_tree_cells(tree, index, 0, nullptr, nullptr, &count), "cells");
    if (count != walk.cells(index))
      finding("level %u: following links finds %llu cells, its pool has %llu", index,
              static_cast<unsigned long long>(walk.cells(index)),
              static_cast<unsigned long long>(count));
  }
  for (uint32_t pool = 0; pool < type->pool_count; ++pool) {
    auto stats = sized<metate_pool_stats>();
    require(metate_tree_stats(tree, pool, &stats), "stats");
    if (levels[stats.level].kind != METATE_LEVEL_DYNAMIC && stats.used != walk.cells(stats.level))
      finding("pool %u says %llu slots are used", pool,
              static_cast<unsigned long long>(stats.used));
  }
}

void useReadOnly(const Input &input, const metate_type *type, Exact &memory) {
  std::vector<uint8_t> before(memory.data, memory.data + memory.bytes);
  metate_tree *tree = nullptr;
  require(metate_tree_bind(type, memory.data, memory.bytes, nullptr,
                           METATE_BIND_ADOPT | METATE_BIND_READ_ONLY, &tree),
          "adopt read-only what check accepts");
  requireEmpty(test::readAll(tree));
  compareWalk(input, tree, memory.data);
  if (metate_tree_reset(tree) == METATE_OK)
    finding("a read-only tree was reset");
  require(metate_tree_unbind(tree), "unbind");
  if (std::memcmp(before.data(), memory.data, memory.bytes) != 0)
    finding("a read-only tree was written");
}

void use(const Input &input, const metate_type *type, Exact &memory, test::Random &random) {
  metate_tree *tree = nullptr;
  require(metate_tree_bind(type, memory.data, memory.bytes, nullptr, METATE_BIND_ADOPT, &tree),
          "adopt what check accepts");
  requireEmpty(test::readAll(tree));
  requireEmpty(test::writeSome(tree, type, random));
  activateAll(tree, type);
  require(metate_tree_check(type, memory.data, memory.bytes), "check after activations");
  requireEmpty(test::readAll(tree));
  compareWalk(input, tree, memory.data);
  require(metate_tree_sort(tree), "sort");
  require(metate_tree_check(type, memory.data, memory.bytes), "check after sort");
  compareWalk(input, tree, memory.data);
  require(metate_tree_trim(tree), "trim");
  require(metate_tree_check(type, memory.data, memory.bytes), "check after trim");
  require(metate_tree_deactivate_all(tree, 0), "deactivate_all");
  require(metate_tree_check(type, memory.data, memory.bytes), "check after deactivate_all");
  compareWalk(input, tree, memory.data);
  require(metate_tree_reset(tree), "reset");
  require(metate_tree_check(type, memory.data, memory.bytes), "check after a reset");
  require(metate_tree_unbind(tree), "unbind");
}

// The header is right, the rest is whatever it is.
void useUnchecked(const Input &input, const metate_type *type, test::Random &random) {
  Exact memory(input.blockBytes);
  load(input, memory);
  metate_tree *tree = nullptr;
  metate_status status = metate_tree_bind(type, memory.data, memory.bytes, nullptr,
                                          METATE_BIND_ADOPT | METATE_BIND_TRUST, &tree);
  requireReason(status, "bind unchecked");
  if (status != METATE_OK)
    return;
  test::readAll(tree);
  test::writeSome(tree, type, random);
  activateAll(tree, type);
  test::readAll(tree);
  metate_tree_sort(tree); // may find that links and slots do not agree
  test::readAll(tree);
  require(metate_tree_deactivate_all(tree, 0), "deactivate_all");
  require(metate_tree_trim(tree), "trim");
  require(metate_tree_reset(tree), "reset");
  require(metate_tree_unbind(tree), "unbind");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const Host device;
  static Tally tally;
  ++tally.inputs;
  Input input;
  if (!split(data, bytes, input))
    return 0;
  metate_type *type = nullptr;
  metate_status status =
      metate_type_open_blob(device.get(), input.blob.data(), input.blob.size(), "t", &type);
  requireReason(status, "open_blob");
  if (status != METATE_OK)
    return 0;
  test::Random random(seedOf(data, bytes));
  Exact memory(input.blockBytes);
  load(input, memory);
  status = metate_tree_check(type, memory.data, memory.bytes);
  requireReason(status, "check");
  if (status == METATE_OK) {
    ++tally.accepted;
    useReadOnly(input, type, memory);
    use(input, type, memory, random);
  } else {
    metate_tree *tree = nullptr;
    if (metate_tree_bind(type, memory.data, memory.bytes, nullptr, METATE_BIND_ADOPT, &tree) ==
        METATE_OK)
      finding("bind adopts what check refuses");
  }
  useUnchecked(input, type, random);
  require(metate_type_close(type), "close");
  device.requireNoLeftovers();
  return 0;
}
