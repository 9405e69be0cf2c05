// The verifier of type blobs (abi/metate/abi/tree.h). Nothing else in the runtime reads a blob that
// did not pass it; after it, offsets, products and references may be used without further checks.
#ifndef METATE_RUNTIME_FORMAT_BLOB_H
#define METATE_RUNTIME_FORMAT_BLOB_H

#include "support/status.h"

namespace metate {

// Bounds that keep every walk over a type small and every product in 64 bits. A program's tree has
// about ten levels; the limits are far above that.
constexpr uint32_t maxLevels = 1024;
constexpr uint32_t maxDepth = 32;
constexpr uint64_t maxCellBytes = uint64_t(1) << 46;

inline const metate_level *levelsOf(const metate_tree_type *type) {
  return reinterpret_cast<const metate_level *>(type + 1);
}

// Do quantised members share the words of this level?
inline bool isWord(const metate_level &level) {
  return level.kind == METATE_LEVEL_BIT_STRUCT || level.kind == METATE_LEVEL_QUANT_ARRAY;
}

// `blob` is 8-byte aligned and `bytes` long.
metate_status verifyTypeBlob(const void *blob, uint64_t bytes);

} // namespace metate

#endif
