// The custom mutator of the block target: most of a block is values, which nobody checks, so most
// mutations go to what leads somewhere: the header, the pools, links and the slots' metadata; and
// two of its words are exchanged as often as one is changed, because counts must still agree.
#include "harness.h"

#include <algorithm>

namespace {

struct Region {
  size_t begin, bytes;
};

// One of the block's parts, as its own header says, inside [0, size).
Region choose(const uint8_t *block, size_t size, metate::test::Random &random) {
  metate_tree_header header;
  metate_pool pool;
  std::memcpy(&header, block, sizeof header);
  uint64_t number = random.below(std::min<uint32_t>(header.pool_count, 8));
  uint64_t at = sizeof header + number * sizeof pool;
  if (at + sizeof pool > size)
    return {0, size};
  std::memcpy(&pool, block + at, sizeof pool);
  Region region{0, size};
  switch (random.below(pool.table_buckets ? 9 : 8)) {
  case 0:
    region = {0, sizeof header};
    break;
  case 1:
    region = {at, sizeof pool};
    break;
  case 2:
    region = {header.root_offset, 64};
    break;
  case 3:
  case 4:
  case 5:
    region = {pool.meta_offset, (size_t(std::min(pool.high_water, 64u)) + 2) * 16};
    break;
  case 6:
    region = {pool.slots_offset, 256};
    break;
  case 8:
    region = {pool.table_offset, pool.table_buckets * size_t(4)};
    break;
  default:
    break;
  }
  if (region.begin > size)
    return {0, size};
  region.bytes = std::min(region.bytes, size - region.begin);
  return region;
}

void exchange(uint8_t *data, size_t words, metate::test::Random &random) {
  uint32_t a, b;
  size_t i = random.below(words) * 4, j = random.below(words) * 4;
  std::memcpy(&a, data + i, 4);
  std::memcpy(&b, data + j, 4);
  std::memcpy(data + i, &b, 4);
  std::memcpy(data + j, &a, 4);
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed) {
  metate::test::Random random(seed);
  uint16_t blob = 0;
  if (bytes >= 2)
    std::memcpy(&blob, data, 2);
  size_t start = 2 + size_t(blob);
  if (bytes < start + sizeof(metate_tree_header) || random.below(8) == 0)
    return metate::fuzz::mutateFields(data, bytes, most, seed);
  if (random.below(3) == 0) { // the type: its fields are aligned to the blob, not to the input
    metate::fuzz::mutateField(data + 2, blob, random.below(3) ? 4 : 8, random);
    return bytes;
  }
  uint8_t *block = data + start;
  for (uint64_t changes = 1 + random.below(3); changes; --changes) {
    Region region = choose(block, bytes - start, random);
    if (random.below(2) && region.bytes >= 4)
      exchange(block + region.begin, region.bytes / 4, random);
    else
      metate::fuzz::mutateField(block + region.begin, region.bytes, 4, random);
  }
  return bytes;
}
