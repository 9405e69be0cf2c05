//===- TreeBlock.h - trees in and out of blocks of memory -----------*- C++ -*-===//
//
// Reads a tree from the caller's block and writes back what a kernel changed, as
// abi/metate/abi/tree.h describes blocks: from the type's own level table, written a second time
// and without Layout/, so that a mistake there is not repeated here. One worker at a time.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_TREEBLOCK_H
#define METATE_INTERP_TREEBLOCK_H

#include "metate/Interp/Objects.h"
#include "metate/abi/tree.h"

namespace metate::interp {

class TreeBlock {
public:
  /// `type` is the blob of the tree's type, `memory` a block that is bound to it.
  TreeBlock(const TreeShape &shape, const metate_tree_type *type, void *memory);

  /// Active cells, capacities and values that differ from the background.
  void read(Tree &tree) const;
  /// Activates what the tree has activated, writes what it has written, records an exhausted pool.
  void write(const Tree &tree);

private:
  const metate_level &record(int node) const { return levels[node + 1]; }
  metate_pool &pool(int node) const { return pools[record(node).pool]; }
  uint32_t *metadata(int node, uint32_t slot) const;
  uint8_t *container(int node, const Coordinates &coordinates) const;
  uint64_t linear(int node, const Coordinates &coordinates) const;
  uint32_t *link(int node, const Coordinates &coordinates) const;
  uint8_t *cell(int node, const Coordinates &coordinates) const;
  uint32_t takeSlot(int node);
  void activate(int node, const Coordinates &coordinates);
  void fill(int parent, uint8_t *cell) const;

  const TreeShape &shape;
  const metate_tree_type *type;
  const metate_level *levels;
  uint8_t *block;
  metate_tree_header *header;
  metate_pool *pools;
};

} // namespace metate::interp

#endif
