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
  /// Makes the block's active cells the tree's, writes what it has written, records an exhausted
  /// pool.
  void write(const Tree &tree);

private:
  const metate_level &record(int node) const { return levels[node + 1]; }
  metate_pool &pool(int node) const { return pools[record(node).pool]; }
  uint32_t *metadata(int node, uint32_t slot) const;
  uint8_t *slotMemory(int node, uint32_t slot) const;
  uint8_t *container(int node, const Coordinates &parent) const;
  uint64_t linear(int node, const Coordinates &coordinates) const;
  uint32_t *link(int node, const Coordinates &coordinates) const;
  uint32_t *maskWord(int node, const Coordinates &coordinates, uint32_t &bit) const;
  uint8_t *cell(int node, const Coordinates &coordinates) const;
  /// A quantised member's word, how it is stored there, and which bit of the word is the lowest of the member's.
  struct Packed {
    uint8_t *word;
    const metate_quant &quant;
    uint64_t shift;
  };
  Packed packed(int node, const Coordinates &coordinates) const;
  uint64_t loadPacked(int node, const Coordinates &coordinates) const;
  void storePacked(int node, const Coordinates &coordinates, uint64_t bits) const;

  void readLevel(Tree &tree, int node) const;
  void readValues(Tree &tree, int node) const;
  void writeValue(const Tree &tree, int node, const Coordinates &at) const;

  uint32_t takeSlot(int node, const Coordinates &first);
  void freeSlot(int node, uint32_t slot);
  void activate(int node, const Coordinates &coordinates);
  void deactivate(int node, const Coordinates &coordinates);
  void setLength(int node, const Coordinates &parent, uint32_t length);
  void buildTable(int node);
  void fill(int parent, uint8_t *cell) const;

  const TreeShape &shape;
  const metate_tree_type *type;
  const metate_level *levels;
  uint8_t *block;
  metate_tree_header *header;
  metate_pool *pools;
  /// Slots of the cells of hash levels, by node.
  std::map<int, std::unordered_map<Coordinates, uint32_t, HashCoordinates>> hashed;
};

} // namespace metate::interp

#endif
