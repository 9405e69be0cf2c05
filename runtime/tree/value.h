// One value of a member between its cell and a host's memory.
#ifndef METATE_RUNTIME_TREE_VALUE_H
#define METATE_RUNTIME_TREE_VALUE_H

#include "tree/tree.h"

namespace metate {

class Value {
public:
  Value(const metate_type &type, uint32_t member) : levels(type.levels), level(levels[member]) {
    if (level.quant)
      packing = Packing(type.blob, member);
  }

  // `cell` is the member's, of a quantised one its word; `along` its coordinates.
  void read(const uint8_t *cell, const int64_t *along, void *value) const {
    if (packing)
      packing.fetch(cell, element(along), static_cast<uint8_t *>(value));
    else
      __builtin_memcpy(value, cell, level.cell_bytes);
  }
  void write(uint8_t *cell, const int64_t *along, const void *value) const {
    if (packing)
      packing.store(cell, element(along), static_cast<const uint8_t *>(value));
    else
      __builtin_memcpy(cell, value, level.cell_bytes);
  }

private:
  const metate_level *levels, &level;
  Packing packing;

  // Which one of its word.
  uint64_t element(const int64_t *along) const {
    if (!packing.isArray())
      return 0;
    int64_t outer[METATE_MAX_AXES];
    __builtin_memcpy(outer, along, sizeof outer);
    return metate_view_ascend(&levels[level.parent], outer) % packing.elementsPerWord();
  }
};

} // namespace metate

#endif
