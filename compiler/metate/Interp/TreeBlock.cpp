//===- TreeBlock.cpp - trees in and out of blocks of memory ---------*- C++ -*-===//
#include "metate/Interp/TreeBlock.h"

#include <cstring>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

TreeBlock::TreeBlock(const TreeShape &shape, const metate_tree_type *type, void *memory)
    : shape(shape), type(type), levels(reinterpret_cast<const metate_level *>(type + 1)),
      block(static_cast<uint8_t *>(memory)), header(static_cast<metate_tree_header *>(memory)),
      pools(reinterpret_cast<metate_pool *>(header + 1)) {
  assert(type->level_count == shape.nodes.size() + 1 && "the blob is the type's");
}

uint32_t *TreeBlock::metadata(int node, uint32_t slot) const {
  uint64_t bytes = 4 * (1 + uint64_t(record(node).coordinate_count));
  return reinterpret_cast<uint32_t *>(block + pool(node).meta_offset + slot * bytes);
}

/// Where the level's cells or the member's value stand in the cell of the parent.
uint8_t *TreeBlock::container(int node, const Coordinates &coordinates) const {
  int parent = shape.nodes[node].parent;
  uint8_t *outer = parent < 0 ? block + header->root_offset
                              : cell(parent, shape.ancestor(node, parent, coordinates));
  return outer + record(node).offset;
}

uint64_t TreeBlock::linear(int node, const Coordinates &coordinates) const {
  const metate_level &level = record(node);
  uint64_t index = 0;
  for (uint32_t k = 0; k < level.axis_count; ++k) {
    unsigned position =
        llvm::find(shape.nodes[node].axes, level.axes[k]) - shape.nodes[node].axes.begin();
    index = index * level.extents[k] + coordinates[position] % level.extents[k];
  }
  return index;
}

uint32_t *TreeBlock::link(int node, const Coordinates &coordinates) const {
  return reinterpret_cast<uint32_t *>(container(node, coordinates)) + linear(node, coordinates);
}

uint8_t *TreeBlock::cell(int node, const Coordinates &coordinates) const {
  const metate_level &level = record(node);
  if (level.kind == METATE_LEVEL_PLACE)
    return container(node, coordinates);
  if (level.kind == METATE_LEVEL_POINTER)
    return block + pool(node).slots_offset + *link(node, coordinates) * level.cell_bytes;
  return container(node, coordinates) + linear(node, coordinates) * level.cell_bytes;
}

void TreeBlock::read(Tree &tree) const {
  for (auto &[node, model] : tree.pools) {
    model.capacity = pool(node).capacity;
    model.limit = pool(node).physical;
    for (uint32_t slot = 1; slot <= pool(node).high_water; ++slot) {
      const uint32_t *data = metadata(node, slot);
      if (!data[0])
        continue;
      Coordinates at;
      for (uint32_t k = 0; k < record(node).coordinate_count; ++k)
        at.push_back(int32_t(data[1 + k]));
      model.active.insert(at);
    }
  }
  for (auto &[node, values] : tree.values) {
    Type type = shape.nodes[node].place.getType(), scalar = scalarOf(type);
    Components background = tree.background(node);
    for (const Coordinates &at : tree.cells(node)) {
      const uint8_t *memory = cell(node, at);
      Components value;
      for (int64_t k = 0; k < countOf(type); ++k)
        value.push_back(loadScalar(scalar, memory + k * bytesOf(scalar)));
      if (value != background)
        values[at] = value;
    }
  }
}

/// The free list's first slot, else a new one. The tree's limit made sure that there is one.
uint32_t TreeBlock::takeSlot(int node) {
  metate_pool &from = pool(node);
  uint32_t slot = uint32_t(from.free_head);
  if (!slot)
    return ++from.high_water;
  uint64_t tag = (from.free_head >> 32) + 1;
  from.free_head = tag << 32 | metadata(node, slot)[1];
  return slot;
}

/// Gives every member below `parent` in this cell its background; links are zero.
void TreeBlock::fill(int parent, uint8_t *cell) const {
  for (int node = parent + 1; node < int(shape.nodes.size()); ++node) {
    if (shape.nodes[node].parent != parent)
      continue;
    const metate_level &level = record(node);
    uint8_t *inner = cell + level.offset;
    if (level.kind == METATE_LEVEL_PLACE)
      std::memcpy(inner, reinterpret_cast<const uint8_t *>(type) + level.background,
                  level.cell_bytes);
    else if (level.kind == METATE_LEVEL_DENSE)
      for (uint64_t k = 0; k < level.cells; ++k)
        fill(node, inner + k * level.cell_bytes);
  }
}

void TreeBlock::activate(int node, const Coordinates &coordinates) {
  uint32_t slot = takeSlot(node);
  uint8_t *memory = block + pool(node).slots_offset + slot * record(node).cell_bytes;
  std::memset(memory, 0, record(node).cell_bytes);
  fill(node, memory);
  uint32_t *data = metadata(node, slot);
  data[0] = header->epoch;
  for (auto [k, coordinate] : llvm::enumerate(coordinates))
    data[1 + k] = uint32_t(coordinate);
  *link(node, coordinates) = slot;
  ++pool(node).used;
}

void TreeBlock::write(const Tree &tree) {
  for (const auto &[node, cells] : tree.activated) // ascending: an outer level comes first
    for (const Coordinates &at : cells)
      activate(node, at);
  for (const auto &[node, cells] : tree.written) {
    Type scalar = scalarOf(shape.nodes[node].place.getType());
    for (const Coordinates &at : cells) {
      uint8_t *memory = cell(node, at);
      for (auto [k, bits] : llvm::enumerate(tree.values.at(node).at(at)))
        storeScalar(scalar, bits, memory + k * bytesOf(scalar));
    }
  }
  if (int node = tree.exhausted(); node >= 0) {
    header->status = METATE_E_CAPACITY;
    header->status_level = record(node).pool;
    header->status_needed = tree.pools.at(node).needed;
  }
}
