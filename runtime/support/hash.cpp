// XXH3-128 of a value that stores its own hash. xxHash is used header-only: nothing is linked.
#include "support/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace metate {

Hash hashWithHole(const void *data, size_t bytes, size_t hole) {
  static const uint64_t zero[2] = {0, 0};
  const char *start = static_cast<const char *>(data);
  XXH3_state_t state; // 576 bytes, on the stack: no allocation, no failure
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, start, hole);
  XXH3_128bits_update(&state, zero, sizeof zero);
  XXH3_128bits_update(&state, start + hole + sizeof zero, bytes - hole - sizeof zero);
  XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {{hash.low64, hash.high64}};
}

} // namespace metate
