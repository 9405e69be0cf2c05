// Copies between whole members and a dense array, on all workers of the device: of a member in the root cell by pieces of its
// box, of one below a pool by slots. A block that was damaged after it was bound gives METATE_E_CORRUPT. What callers may ask for
// is not checked here.
#ifndef METATE_RUNTIME_TREE_COPIES_H
#define METATE_RUNTIME_TREE_COPIES_H

#include "tree/tree.h"

namespace metate {

// Some members of one shape and an array whose elements are their cells, one after the other.
struct Transfer {
  const uint32_t *levels;
  uint32_t count = 1;
  uint8_t *array;
  uint64_t bytes; // of the array
  uint64_t stride[METATE_MAX_AXES] = {};
};

// The active cells take their values from the array, the others stay as they are.
metate_status copyToCells(const Block &block, const Transfer &transfer);
// Inactive cells are their background.
metate_status copyToArray(const Block &block, const Transfer &transfer);

} // namespace metate

#endif
