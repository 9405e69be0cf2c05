// The one hash of the formats: XXH3-128, seed 0, as two 64-bit halves {low, high}.
#ifndef METATE_RUNTIME_SUPPORT_HASH_H
#define METATE_RUNTIME_SUPPORT_HASH_H

#include <cstddef>
#include <cstdint>

namespace metate {

struct Hash {
  uint64_t half[2];
  bool operator==(const uint64_t other[2]) const {
    return half[0] == other[0] && half[1] == other[1];
  }
};

// Of `bytes` bytes at `data`, with the 16 bytes at `hole` read as zero.
Hash hashWithHole(const void *data, size_t bytes, size_t hole);

} // namespace metate

#endif
