//===- TreeCells.cpp - which cells of a tree are active, and their values -*- C++ -*-===//
//
// The rules of docs/semantics.md about trees, one after another. A cell is active where every level on the way to
// it says so: pointer, bitmasked and hash levels have a set of active cells, a dynamic level a
// length for each of its lists.
//
//===----------------------------------------------------------------------===//
#include "metate/Interp/Objects.h"
#include "metate/Interp/QuantNumbers.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

Tree::Tree(TreeType type) : shape(type) {
  for (auto [number, node] : llvm::enumerate(shape.nodes)) {
    if (node.hasActivity())
      levels[number];
    if (node.place)
      values[number];
  }
}

bool Tree::contains(int node, const Coordinates &coordinates) const {
  if (node < 0)
    return true;
  const TreeNode &info = shape.nodes[node];
  for (auto [axis, coordinate, extent] : llvm::zip(info.axes, coordinates, info.extents))
    if (info.unbounded >> axis & 1 ? coordinate != int32_t(coordinate)
                                   : coordinate < 0 || coordinate >= extent)
      return false;
  return true;
}

int64_t Tree::length(int list, const Coordinates &parent) const {
  const Lengths &lengths = levels.at(list).lengths;
  auto found = lengths.find(parent);
  return found == lengths.end() ? 0 : found->second;
}

bool Tree::isActive(int node, const Coordinates &coordinates) const {
  if (node < 0)
    return true;
  if (!contains(node, coordinates))
    return shape.nodes[node].sparse.empty();
  for (int level : shape.nodes[node].sparse) {
    Coordinates cell = shape.ancestor(node, level, coordinates);
    bool active = shape.nodes[level].isList()
                      ? cell[shape.listAxis(level)] <
                            length(level, shape.ancestor(level, shape.nodes[level].parent, cell))
                      : levels.at(level).active.count(cell);
    if (!active)
      return false;
  }
  return true;
}

std::optional<bool> Tree::wasActive(int node, const Coordinates &coordinates) const {
  if (!contains(node, coordinates))
    return shape.nodes[node].sparse.empty();
  const auto &path = shape.nodes[node].sparse;
  int lastPool = -1;
  for (int level : path)
    if (shape.nodes[level].level.hasPool())
      lastPool = level;
  for (int level : path) {
    if (shape.nodes[level].level.hasPool() && !shape.nodes[level].isList())
      continue; // its slots are those that the task is at
    const auto &entry = levels.at(level).entry;
    if (!entry && level >= lastPool)
      return std::nullopt;
    if (!entry)
      continue;
    Coordinates cell = shape.ancestor(node, level, coordinates);
    if (!shape.nodes[level].isList()) {
      if (!entry->first.count(cell))
        return false;
      continue;
    }
    auto found = entry->second.find(shape.ancestor(level, shape.nodes[level].parent, cell));
    if (found == entry->second.end() || cell[shape.listAxis(level)] >= found->second)
      return false;
  }
  return true;
}

//===-- activation ----------------------------------------------------------===//

/// One more slot.
bool Tree::claim(Level &level) {
  uint64_t wanted = level.used + 1;
  if (wanted > level.capacity)
    level.needed = std::max(level.needed, wanted);
  if (wanted > level.limit)
    return false;
  level.used = wanted;
  return true;
}

/// As far as there are chunks.
bool Tree::grow(int list, const Coordinates &parent, int64_t wanted) {
  Level &level = levels[list];
  int64_t chunk = shape.nodes[list].chunk(), before = length(list, parent);
  if (wanted <= before)
    return true;
  int64_t chunks = llvm::divideCeil(uint64_t(before), uint64_t(chunk));
  while (chunks * chunk < wanted && claim(level))
    ++chunks;
  int64_t now = std::min(chunks * chunk, wanted);
  if (now > before) {
    level.lengths[parent] = now;
    isChanged = true;
  }
  return now == wanted;
}

bool Tree::activate(int node, const Coordinates &coordinates) {
  if (node < 0)
    return true;
  if (!contains(node, coordinates))
    return shape.nodes[node].sparse.empty();
  for (int number : shape.nodes[node].sparse) {
    Coordinates cell = shape.ancestor(node, number, coordinates);
    if (shape.nodes[number].isList()) {
      Coordinates parent = shape.ancestor(number, shape.nodes[number].parent, cell);
      if (!grow(number, parent, cell[shape.listAxis(number)] + 1))
        return false;
      continue;
    }
    Level &level = levels[number];
    if (level.active.count(cell))
      continue;
    if (shape.nodes[number].level.hasPool() && !claim(level))
      return false;
    level.active.insert(cell);
    level.changes.push_back(cell);
    isChanged = true;
  }
  return true;
}

int64_t Tree::append(int list, const Coordinates &parent) {
  int parentNode = shape.nodes[list].parent;
  if (!contains(parentNode, parent) || !activate(parentNode, parent))
    return -1;
  int64_t index = length(list, parent);
  if (index == shape.nodes[list].level.getLevelExtents().front()) {
    levels[list].isListFull = true;
    return -1;
  }
  return grow(list, parent, index + 1) ? index : -1;
}

//===-- deactivation --------------------------------------------------------===//

/// Takes out of `cells` those whose place is in a box or, where that is smaller, looks at all.
template <typename Map>
static void eraseBelow(Map &cells, const TreeShape &shape, int node, int anchor,
                       const Coordinates &cell,
                       function_ref<void(typename Map::const_iterator)> visit) {
  double volume = 1;
  Coordinates low, size;
  for (auto [k, axis] : llvm::enumerate(node < 0 ? ArrayRef<unsigned>() : shape.nodes[node].axes)) {
    const TreeNode &info = shape.nodes[node];
    int64_t below = info.extents[k], from = 0;
    if (anchor >= 0) {
      const TreeNode &above = shape.nodes[anchor];
      auto found = llvm::find(above.axes, axis);
      if (found != above.axes.end()) {
        below /= above.extents[found - above.axes.begin()];
        from = cell[found - above.axes.begin()] * below;
      }
    }
    volume *= double(below);
    low.push_back(from);
    size.push_back(below);
  }
  if (volume <= double(cells.size()))
    return visitBox(low, size, [&](const Coordinates &at) {
      auto found = cells.find(at);
      if (found == cells.end())
        return;
      visit(found);
      cells.erase(found);
    });
  for (auto it = cells.begin(); it != cells.end();) {
    const Coordinates &at = [](const auto &entry) -> const Coordinates & {
      if constexpr (std::is_same_v<std::decay_t<decltype(entry)>, Coordinates>)
        return entry;
      else
        return entry.first;
    }(*it);
    if (node >= 0 && shape.ancestor(node, anchor, at) != cell) {
      ++it;
      continue;
    }
    visit(it);
    it = cells.erase(it);
  }
}

/// All that is below the node `top`, in `cell` of the node `anchor` (top itself, or its parent).
void Tree::drop(int top, int anchor, const Coordinates &cell) {
  for (int node = top + 1; node < int(shape.nodes.size()) && shape.isBelow(node, top); ++node) {
    const TreeNode &info = shape.nodes[node];
    if (info.place) {
      eraseBelow(values[node], shape, node, anchor, cell,
                 [&](auto found) { lost[node].insert(found->first); });
    } else if (info.isList()) {
      Level &level = levels[node];
      eraseBelow(level.lengths, shape, info.parent, anchor, cell, [&](auto found) {
        level.retired += llvm::divideCeil(uint64_t(found->second), uint64_t(info.chunk()));
      });
    } else if (info.hasActivity()) {
      Level &level = levels[node];
      eraseBelow(level.active, shape, node, anchor, cell, [&](auto found) {
        level.retired += info.level.hasPool();
        level.changes.push_back(*found);
      });
    }
  }
}

void Tree::deactivate(int node, const Coordinates &coordinates) {
  int number = shape.nodes[node].sparse.back();
  if (!contains(node, coordinates) || !isActive(node, coordinates))
    return;
  Coordinates cell = shape.ancestor(node, number, coordinates);
  Level &level = levels[number];
  level.active.erase(cell);
  level.changes.push_back(cell);
  level.retired += shape.nodes[number].level.hasPool();
  isChanged = true;
  drop(number, number, cell);
}

void Tree::clear(int list, const Coordinates &parent) {
  Level &level = levels[list];
  auto found = level.lengths.find(parent);
  if (found == level.lengths.end())
    return;
  level.retired += llvm::divideCeil(uint64_t(found->second), uint64_t(shape.nodes[list].chunk()));
  level.lengths.erase(found);
  isChanged = true;
  drop(list, shape.nodes[list].parent, parent);
}

void Tree::collect() {
  for (auto &[node, level] : levels)
    level.used -= std::exchange(level.retired, 0);
}

void Tree::endTask() {
  collect();
  for (auto &[node, level] : levels) {
    level.entry.reset();
    level.changes.clear();
  }
}

void Tree::snapshot(int level) {
  levels[level].entry.emplace(levels[level].active, levels[level].lengths);
}

//===-- values --------------------------------------------------------------===//

Components Tree::background(int node) const {
  if (shape.nodes[node].format)
    return {shape.nodes[node].background};
  PlaceAttr place = shape.nodes[node].place;
  int64_t count = countOf(place.getType());
  TypedAttr value = place.getBackground();
  if (!value)
    return Components(count, 0);
  Components components = componentsOf(value);
  if (components.size() == 1)
    components.resize(count, components[0]);
  return components;
}

Components Tree::read(int node, const Coordinates &coordinates) const {
  if (isActive(node, coordinates)) {
    const auto &cells = values.at(node);
    auto found = cells.find(coordinates);
    if (found != cells.end())
      return found->second;
  }
  return background(node);
}

void Tree::write(int node, const Coordinates &coordinates, Components value) {
  values[node][coordinates] = std::move(value);
  written[node].insert(coordinates);
}

void Tree::assign(ArrayRef<std::pair<int, uint64_t>> given, const Coordinates &coordinates) {
  auto [node, value] = given.front();
  SmallVector<int> members = shape.sharers(node);
  SmallVector<QuantFormat> formats;
  SmallVector<uint64_t> all;
  for (int member : members) {
    formats.push_back(*shape.nodes[member].format);
    const auto *found = llvm::find_if(given, [&](auto &one) { return one.first == member; });
    all.push_back(found != given.end() ? found->second
                                       : shape.shownBits(member, read(member, coordinates)[0]));
  }
  if (shape.nodes[node].group < 0)
    return write(node, coordinates, {quantise(formats[0], value).bits});
  for (auto [member, stored] : llvm::zip(members, quantiseTogether(formats, all)))
    values[member][coordinates] = {stored.bits};
  for (auto [member, number] : given)
    written[member].insert(coordinates);
}

//===-- sets ----------------------------------------------------------------===//

void interp::visitBox(const Coordinates &low, const Coordinates &size,
                      function_ref<void(const Coordinates &)> visit) {
  Coordinates at = low;
  while (true) {
    visit(at);
    int axis = int(at.size()) - 1;
    for (; axis >= 0; --axis) {
      if (++at[axis] < low[axis] + size[axis])
        break;
      at[axis] = low[axis];
    }
    if (axis < 0)
      return;
  }
}

/// The coordinates of a list's cells, every `step`th.
static void visitLists(const TreeShape &shape, int list, const Tree::Lengths &lengths, int64_t step,
                       function_ref<void(const Coordinates &)> visit) {
  unsigned axis = shape.listAxis(list);
  for (const auto &[parent, length] : lengths) {
    Coordinates at(parent);
    at.insert(at.begin() + axis, 0);
    for (; at[axis] < length; at[axis] += step)
      visit(at);
  }
}

std::vector<Coordinates> Tree::cells(int node) const {
  std::vector<Coordinates> result;
  auto keep = [&](const Coordinates &at) { result.push_back(at); };
  if (node < 0)
    return {Coordinates()};
  const TreeNode &info = shape.nodes[node];
  if (info.sparse.empty()) {
    visitBox(Coordinates(info.axes.size(), 0), info.extents, keep);
    return result;
  }
  int last = info.sparse.back();
  const TreeNode &above = shape.nodes[last];
  auto visitCell = [&](const Coordinates &cell) {
    Coordinates low, size;
    for (auto [axis, extent] : llvm::zip(info.axes, info.extents)) {
      auto found = llvm::find(above.axes, axis);
      bool split = found != above.axes.end();
      unsigned position = found - above.axes.begin();
      size.push_back(split ? extent / above.extents[position] : extent);
      low.push_back(split ? cell[position] * size.back() : 0);
    }
    visitBox(low, size, keep);
  };
  if (above.isList())
    visitLists(shape, last, levels.at(last).lengths, 1, visitCell);
  else
    for (const Coordinates &cell : levels.at(last).active)
      visitCell(cell);
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<Coordinates> Tree::slots(int number) const {
  const TreeNode &info = shape.nodes[number];
  const Level &level = levels.at(number);
  std::vector<Coordinates> result(level.active.begin(), level.active.end());
  if (info.isList())
    visitLists(shape, number, level.lengths, info.chunk(),
               [&](const Coordinates &at) { result.push_back(at); });
  std::sort(result.begin(), result.end());
  return result;
}

int Tree::exhausted() const {
  for (const auto &[node, level] : levels)
    if (level.needed || level.isListFull)
      return node;
  return -1;
}
