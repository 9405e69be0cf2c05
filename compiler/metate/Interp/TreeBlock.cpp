//===- TreeBlock.cpp - trees in and out of blocks of memory ---------*- C++ -*-===//
#include "metate/Interp/TreeBlock.h"
#include "metate/protocol/tree.h" // metate_view_home: where a hash slot's bucket is

#include <cstring>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

//===-- where things are ----------------------------------------------------===//

TreeBlock::TreeBlock(const TreeShape &shape, const metate_tree_type *type, void *memory)
    : shape(shape), type(type), levels(reinterpret_cast<const metate_level *>(type + 1)),
      block(static_cast<uint8_t *>(memory)), header(static_cast<metate_tree_header *>(memory)),
      pools(reinterpret_cast<metate_pool *>(header + 1)) {
  assert(type->level_count == shape.nodes.size() + 1 && "the blob is the type's");
  for (int node = 0; node < int(shape.nodes.size()); ++node) {
    if (!shape.nodes[node].isUnbounded())
      continue;
    for (uint32_t slot = 1; slot <= pool(node).high_water; ++slot)
      if (const uint32_t *data = metadata(node, slot); data[0]) {
        const auto *first = reinterpret_cast<const int32_t *>(data + 2);
        hashed[node][Coordinates(first, first + record(node).coordinate_count)] = slot;
      }
  }
}

uint32_t *TreeBlock::metadata(int node, uint32_t slot) const {
  uint64_t bytes = metate_record_bytes(&record(node));
  return reinterpret_cast<uint32_t *>(block + pool(node).meta_offset + slot * bytes);
}

uint8_t *TreeBlock::slotMemory(int node, uint32_t slot) const {
  return block + pool(node).slots_offset + slot * record(node).slot_bytes;
}

/// Where the level's cells or the member's value stand in this cell of the parent.
uint8_t *TreeBlock::container(int node, const Coordinates &parent) const {
  int above = shape.nodes[node].parent;
  return (above < 0 ? block + header->root_offset : cell(above, parent)) + record(node).offset;
}

uint64_t TreeBlock::linear(int node, const Coordinates &coordinates) const {
  const metate_level &level = record(node);
  uint64_t index = 0;
  for (uint32_t k = 0; k < level.axis_count; ++k) {
    unsigned position =
        llvm::find(shape.nodes[node].axes, level.axes[k]) - shape.nodes[node].axes.begin();
    int64_t extent = level.extents[k], digit = coordinates[position] % extent;
    index = index * extent + (digit < 0 ? digit + extent : digit);
  }
  return index;
}

/// Of a pointer level's cell, or of a list's chunk.
uint32_t *TreeBlock::link(int node, const Coordinates &coordinates) const {
  Coordinates parent = shape.ancestor(node, shape.nodes[node].parent, coordinates);
  auto *words = reinterpret_cast<uint32_t *>(container(node, parent));
  uint64_t index = linear(node, coordinates);
  return shape.nodes[node].isList() ? words + 2 + index / record(node).slot_cells : words + index;
}

uint32_t *TreeBlock::maskWord(int node, const Coordinates &coordinates, uint32_t &bit) const {
  Coordinates parent = shape.ancestor(node, shape.nodes[node].parent, coordinates);
  uint64_t index = linear(node, coordinates);
  bit = uint32_t(1) << index % 32;
  return reinterpret_cast<uint32_t *>(container(node, parent) + record(node).mask) + index / 32;
}

uint8_t *TreeBlock::cell(int node, const Coordinates &coordinates) const {
  const TreeNode &of = shape.nodes[node];
  const metate_level &level = record(node);
  if (of.place || of.isWord())
    return container(node, coordinates);
  if (of.isUnbounded())
    return slotMemory(node, hashed.at(node).at(coordinates));
  uint64_t index = linear(node, coordinates);
  if (of.hasPool())
    return slotMemory(node, *link(node, coordinates)) + index % level.slot_cells * level.cell_bytes;
  return container(node, shape.ancestor(node, of.parent, coordinates)) + index * level.cell_bytes;
}

TreeBlock::Packed TreeBlock::packed(int node, const Coordinates &coordinates) const {
  const auto &quant = *reinterpret_cast<const metate_quant *>(
      reinterpret_cast<const uint8_t *>(type) + record(node).quant);
  int parent = shape.nodes[node].parent;
  if (shape.nodes[parent].isWord())
    return {cell(parent, coordinates), quant, quant.shift};
  // Of a quant_array: some elements in each word.
  const metate_level &words = record(parent);
  Coordinates above = shape.ancestor(parent, shape.nodes[parent].parent, coordinates);
  uint64_t index = linear(parent, coordinates);
  return {container(parent, above) + index / words.slot_cells * words.cell_bytes, quant,
          index % words.slot_cells * quant.bits};
}

/// Of one that shares its exponent: with that on top.
uint64_t TreeBlock::loadPacked(int node, const Coordinates &coordinates) const {
  auto [memory, quant, shift] = packed(node, coordinates);
  uint64_t word = 0;
  std::memcpy(&word, memory, quant.word_bytes);
  uint64_t bits = wrap(word >> shift, quant.bits);
  if (quant.flags & METATE_QUANT_SHARED)
    bits |= wrap(word >> quant.exponent_shift, quant.exponent_bits) << quant.bits;
  return bits;
}

void TreeBlock::storePacked(int node, const Coordinates &coordinates, uint64_t bits) const {
  auto [memory, quant, shift] = packed(node, coordinates);
  uint64_t word = 0;
  std::memcpy(&word, memory, quant.word_bytes);
  auto put = [&](uint64_t value, uint32_t count, uint64_t at) {
    uint64_t mask = wrap(~uint64_t(0), count) << at;
    word = (word & ~mask) | (value << at & mask);
  };
  put(bits, quant.bits, shift);
  if (quant.flags & METATE_QUANT_SHARED)
    put(bits >> quant.bits, quant.exponent_bits, quant.exponent_shift);
  std::memcpy(memory, &word, quant.word_bytes);
}

//===-- reading -------------------------------------------------------------===//

void TreeBlock::readLevel(Tree &tree, int node) const {
  Tree::Level &model = tree.levels[node];
  const metate_level &level = record(node);
  if (level.pool != METATE_NONE) {
    model.capacity = pool(node).capacity;
    model.limit = pool(node).physical;
    model.used = pool(node).used;
  }
  if (shape.nodes[node].isList()) {
    for (const Coordinates &parent : tree.cells(shape.nodes[node].parent))
      if (uint32_t length = *reinterpret_cast<uint32_t *>(container(node, parent)))
        model.lengths[parent] = length;
    return;
  }
  if (shape.nodes[node].hasMask()) {
    Coordinates low, size;
    int above = shape.nodes[node].parent;
    for (const Coordinates &parent : tree.cells(above)) {
      low.clear();
      size.clear();
      for (auto [axis, extent] : llvm::zip(shape.nodes[node].axes, shape.nodes[node].extents)) {
        ArrayRef<unsigned> outer = above < 0 ? ArrayRef<unsigned>() : shape.nodes[above].axes;
        const auto *found = llvm::find(outer, axis);
        bool split = found != outer.end();
        size.push_back(split ? extent / shape.nodes[above].extents[found - outer.begin()] : extent);
        low.push_back(split ? parent[found - outer.begin()] * size.back() : 0);
      }
      visitBox(low, size, [&](const Coordinates &at) {
        uint32_t bit;
        if (*maskWord(node, at, bit) & bit)
          model.active.insert(at);
      });
    }
    return;
  }
  for (uint32_t slot = 1; slot <= pool(node).high_water; ++slot) {
    const uint32_t *data = metadata(node, slot);
    const auto *first = reinterpret_cast<const int32_t *>(data + 2);
    if (data[0])
      model.active.insert(Coordinates(first, first + level.coordinate_count));
  }
}

void TreeBlock::readValues(Tree &tree, int node) const {
  Type type = shape.nodes[node].place.getType(), scalar = scalarOf(type);
  bool isPacked = bool(shape.nodes[node].format);
  Components background = tree.background(node);
  for (const Coordinates &at : tree.cells(node)) {
    Components value;
    for (int64_t k = 0; k < countOf(type); ++k)
      value.push_back(isPacked ? loadPacked(node, at)
                               : loadScalar(scalar, cell(node, at) + k * bytesOf(scalar)));
    if (value != background)
      tree.values[node][at] = value;
  }
}

void TreeBlock::read(Tree &tree) const {
  for (auto &[node, model] : tree.levels) // ascending: an outer level comes first
    readLevel(tree, node);
  for (auto &[node, values] : tree.values)
    readValues(tree, node);
}

//===-- writing -------------------------------------------------------------===//

/// The free list's first slot, else a new one, filled. The tree's limit made sure that there is one.
uint32_t TreeBlock::takeSlot(int node, const Coordinates &first) {
  metate_pool &from = pool(node);
  uint32_t slot = uint32_t(from.free_head);
  if (!slot) {
    slot = ++from.high_water;
  } else {
    uint64_t tag = (from.free_head >> 32) + 1;
    from.free_head = tag << 32 | metadata(node, slot)[1];
  }
  const metate_level &level = record(node);
  uint8_t *memory = slotMemory(node, slot);
  std::memset(memory, 0, level.slot_bytes);
  for (uint32_t k = 0; k < level.slot_cells; ++k)
    fill(node, memory + k * level.cell_bytes);
  uint32_t *data = metadata(node, slot);
  data[0] = header->epoch;
  data[1] = 0;
  for (auto [k, coordinate] : llvm::enumerate(first))
    data[2 + k] = uint32_t(coordinate);
  ++from.used;
  return slot;
}

void TreeBlock::freeSlot(int node, uint32_t slot) {
  metate_pool &to = pool(node);
  metadata(node, slot)[0] = 0;
  metadata(node, slot)[1] = uint32_t(to.free_head);
  to.free_head = ((to.free_head >> 32) + 1) << 32 | slot;
  --to.used;
}

/// Gives the words in a container, of a bit_struct or quant_array, the background of all their members.
static void fillWords(const metate_tree_type *type, const metate_level &level, uint8_t *words) {
  const auto *background = reinterpret_cast<const uint8_t *>(type) + level.background;
  for (uint64_t at = 0; at < metate_level_container_bytes(&level); at += level.cell_bytes)
    std::memcpy(words + at, background, level.cell_bytes);
}

/// Gives every member below `parent` in this cell its background; nothing else is active in it.
void TreeBlock::fill(int parent, uint8_t *cell) const {
  for (int node = parent + 1; node < int(shape.nodes.size()); ++node) {
    if (shape.nodes[node].parent != parent)
      continue;
    const metate_level &level = record(node);
    uint8_t *inner = cell + level.offset;
    if (level.kind == METATE_LEVEL_BIT_STRUCT || level.kind == METATE_LEVEL_QUANT_ARRAY) {
      fillWords(type, level, inner);
      continue;
    }
    if (shape.nodes[node].place) {
      std::memcpy(inner, reinterpret_cast<const uint8_t *>(type) + level.background,
                  level.cell_bytes);
      continue;
    }
    if (shape.nodes[node].hasPool()) { // links, lengths, stamps: nothing is there
      std::memset(inner, 0, metate_level_container_bytes(&level));
      continue;
    }
    if (shape.nodes[node].hasMask())
      std::memset(inner + level.mask, 0, 2 * metate_level_mask_bytes(&level));
    for (uint64_t k = 0; k < level.cells; ++k)
      fill(node, inner + k * level.cell_bytes);
  }
}

void TreeBlock::activate(int node, const Coordinates &coordinates) {
  if (shape.nodes[node].hasMask()) {
    uint32_t bit, *word = maskWord(node, coordinates, bit);
    *word |= bit;
  } else if (!shape.nodes[node].isUnbounded()) {
    uint32_t *at = link(node, coordinates);
    *at = takeSlot(node, coordinates);
  } else {
    uint32_t slot = takeSlot(node, coordinates);
    hashed[node][coordinates] = slot;
    Coordinates parent = shape.ancestor(node, shape.nodes[node].parent, coordinates);
    uint32_t &stamp = *reinterpret_cast<uint32_t *>(container(node, parent));
    if (!stamp)
      stamp = ++pool(node).stamps | 0x80000000u;
    metadata(node, slot)[1] = stamp;
  }
}

/// All below it has been before.
void TreeBlock::deactivate(int node, const Coordinates &coordinates) {
  if (shape.nodes[node].hasMask()) {
    uint32_t bit, *word = maskWord(node, coordinates, bit);
    *word &= ~bit;
    fill(node, cell(node, coordinates));
  } else if (!shape.nodes[node].isUnbounded()) {
    freeSlot(node, std::exchange(*link(node, coordinates), 0));
  } else {
    auto found = hashed[node].find(coordinates);
    freeSlot(node, found->second);
    hashed[node].erase(found);
  }
}

/// Chunks for the cells below the length and no others; background in cells that are given up.
void TreeBlock::setLength(int node, const Coordinates &parent, uint32_t length) {
  const metate_level &level = record(node);
  auto *words = reinterpret_cast<uint32_t *>(container(node, parent));
  uint32_t chunks = metate_level_chunks(&level);
  uint32_t before = std::exchange(words[0], length);
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    uint32_t first = chunk * level.slot_cells, &slot = words[2 + chunk];
    if (first >= length) {
      if (slot)
        freeSlot(node, std::exchange(slot, 0));
      continue;
    }
    for (uint32_t k = std::max(first, length);
         slot && k < std::min(first + level.slot_cells, before); ++k)
      fill(node, slotMemory(node, slot) + (k - first) * level.cell_bytes);
    Coordinates at(parent);
    at.insert(at.begin() + shape.listAxis(node), first);
    if (!slot)
      slot = takeSlot(node, at);
  }
}

void TreeBlock::buildTable(int node) {
  metate_pool &of = pool(node);
  auto *table = reinterpret_cast<uint32_t *>(block + of.table_offset);
  std::memset(table, 0, of.table_buckets * sizeof(*table));
  for (uint32_t slot = 1; slot <= of.high_water; ++slot) {
    const uint32_t *data = metadata(node, slot);
    if (!data[0])
      continue;
    uint32_t at = metate_view_home(data + 2, record(node).coordinate_count, of.table_buckets);
    while (table[at])
      at = (at + 1) & (of.table_buckets - 1);
    table[at] = slot;
  }
}

/// Of members that share an exponent: all of them.
void TreeBlock::writeValue(const Tree &tree, int node, const Coordinates &at) const {
  if (shape.nodes[node].format) {
    for (int member : shape.sharers(node))
      storePacked(member, at, tree.read(member, at)[0]);
    return;
  }
  Type scalar = scalarOf(shape.nodes[node].place.getType());
  uint8_t *memory = cell(node, at);
  for (auto [k, bits] : llvm::enumerate(tree.read(node, at)))
    storeScalar(scalar, bits, memory + k * bytesOf(scalar));
}

void TreeBlock::write(const Tree &tree) {
  Tree before(shape.type);
  for (auto &[node, model] : before.levels)
    readLevel(before, node);
  auto changed = [&](const auto &from, const auto &to, auto visit) {
    for (const auto &entry : from)
      if (!to.count(entry))
        visit(entry);
  };
  for (auto &[node, old] : llvm::reverse(before.levels)) { // an inner level comes first
    const Tree::Level &now = tree.levels.at(node);
    for (const auto &[parent, length] : old.lengths)
      if (tree.length(node, parent) < length)
        setLength(node, parent, uint32_t(tree.length(node, parent)));
    changed(old.active, now.active,
            [&, node = node](const Coordinates &at) { deactivate(node, at); });
  }
  for (const auto &[node, now] : tree.levels) { // ascending: an outer level comes first
    for (const auto &[parent, length] : now.lengths)
      if (before.length(node, parent) < length)
        setLength(node, parent, uint32_t(length));
    changed(now.active, before.levels.at(node).active,
            [&, node = node](const Coordinates &at) { activate(node, at); });
    if (shape.nodes[node].isUnbounded() && tree.isChanged)
      buildTable(node);
  }
  for (const auto *cells : {&tree.lost, &tree.written})
    for (const auto &[node, places] : *cells)
      for (const Coordinates &at : places)
        if (tree.isActive(node, at))
          writeValue(tree, node, at);
  if (tree.isChanged)
    header->changed = 1;
  if (int node = tree.exhausted(); node >= 0) {
    header->status = METATE_E_CAPACITY;
    header->status_level = record(node).pool;
    header->status_needed = tree.levels.at(node).needed;
  }
}
