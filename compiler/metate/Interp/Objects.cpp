//===- Objects.cpp - arrays and trees as the language means them -*- C++ -*-===//
#include "metate/Interp/Objects.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <algorithm>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

Components interp::componentsOf(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return {wrap(number.getValue().bitcastToAPInt())};
  if (auto number = dyn_cast<IntegerAttr>(value))
    return {wrap(number.getValue())};
  auto elements = cast<DenseElementsAttr>(value);
  if (isa<FloatType>(elements.getElementType()))
    return llvm::map_to_vector<1>(elements.getValues<llvm::APFloat>(), [](llvm::APFloat number) {
      return wrap(number.bitcastToAPInt());
    });
  return llvm::map_to_vector<1>(elements.getValues<llvm::APInt>(),
                                [](llvm::APInt number) { return wrap(number); });
}

//===-- arrays --------------------------------------------------------------===//

bool Array::contains(ArrayRef<int64_t> indices) const {
  for (auto [index, extent] : llvm::zip(indices, extents))
    if (index < 0 || index >= extent)
      return false;
  return true;
}

int64_t Array::offset(ArrayRef<int64_t> indices) const {
  int64_t sum = 0;
  for (auto [index, stride] : llvm::zip(indices, strides))
    sum += index * stride;
  return sum;
}

uint8_t *Array::address(ArrayRef<int64_t> indices) const {
  return memory + offset(indices) * int64_t(bytesOf(element));
}

//===-- shape ---------------------------------------------------------------===//

TreeShape::TreeShape(TreeType type) : type(type) {
  for (Attribute branch : type.getBranches())
    add(branch, -1);
}

void TreeShape::add(Attribute attribute, int parent) {
  TreeNode node;
  node.parent = parent;
  if (parent >= 0) {
    node.axes = nodes[parent].axes;
    node.extents = nodes[parent].extents;
    node.pools = nodes[parent].pools;
  }
  int number = nodes.size();
  node.place = dyn_cast<PlaceAttr>(attribute);
  if (node.place) {
    nodes.push_back(node);
    return;
  }
  node.level = cast<LevelInterface>(attribute);
  std::map<unsigned, int64_t> along;
  for (auto [axis, extent] : llvm::zip(node.axes, node.extents))
    along[axis] = extent;
  for (auto [axis, extent] : llvm::zip(levelAxes(node.level), node.level.getLevelExtents()))
    along[axis] = (along.count(axis) ? along[axis] : 1) * extent;
  node.axes.clear();
  node.extents.clear();
  for (auto [axis, extent] : along) {
    node.axes.push_back(axis);
    node.extents.push_back(extent);
  }
  if (node.level.hasPool())
    node.pools.push_back(number);
  nodes.push_back(node);
  for (Attribute child : node.level.getLevelChildren())
    add(child, number);
}

int TreeShape::find(StringRef path) const {
  auto [name, depth] = path.split('@');
  auto depthOf = [&](int node) {
    unsigned count = 0;
    for (int above = nodes[node].parent; above >= 0; above = nodes[above].parent)
      ++count;
    return count;
  };
  int found = -1;
  for (int node = 0; node < int(nodes.size()) && found < 0; ++node)
    if (nodes[node].place && nodes[node].place.getName() == name)
      found = node;
  for (int node = 0; node < int(nodes.size()) && found < 0; ++node)
    if (nodes[node].level && levelName(nodes[node].level, depthOf(node)) == name)
      found = node;
  unsigned wanted = 0;
  if (found >= 0 && !depth.empty() && !depth.getAsInteger(10, wanted))
    while (!nodes[found].level || depthOf(found) > wanted)
      found = nodes[found].parent;
  return found;
}

Coordinates TreeShape::ancestor(int node, int above, const Coordinates &coordinates) const {
  Coordinates result;
  for (auto [axis, extent] : llvm::zip(nodes[above].axes, nodes[above].extents)) {
    unsigned position = llvm::find(nodes[node].axes, axis) - nodes[node].axes.begin();
    result.push_back(coordinates[position] / (nodes[node].extents[position] / extent));
  }
  return result;
}

//===-- trees ---------------------------------------------------------------===//

Tree::Tree(TreeType type) : shape(type) {
  for (auto [number, node] : llvm::enumerate(shape.nodes)) {
    if (node.level && node.level.hasPool())
      pools[number];
    if (node.place)
      values[number];
  }
}

bool Tree::contains(int node, const Coordinates &coordinates) const {
  for (auto [coordinate, extent] : llvm::zip(coordinates, shape.nodes[node].extents))
    if (coordinate < 0 || coordinate >= extent)
      return false;
  return true;
}

bool Tree::isActive(int node, const Coordinates &coordinates) const {
  if (!contains(node, coordinates))
    return shape.nodes[node].pools.empty();
  for (int pool : shape.nodes[node].pools)
    if (!pools.at(pool).active.count(shape.ancestor(node, pool, coordinates)))
      return false;
  return true;
}

bool Tree::activate(int node, const Coordinates &coordinates) {
  if (!contains(node, coordinates))
    return shape.nodes[node].pools.empty();
  for (int number : shape.nodes[node].pools) {
    Pool &pool = pools[number];
    Coordinates cell = shape.ancestor(node, number, coordinates);
    if (pool.active.count(cell))
      continue;
    uint64_t wanted = pool.active.size() + 1;
    if (wanted > pool.capacity)
      pool.needed = std::max(pool.needed, wanted);
    if (wanted > pool.limit)
      return false;
    pool.active.insert(cell);
    activated[number].push_back(cell);
  }
  return true;
}

Components Tree::background(int node) const {
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

std::vector<Coordinates> Tree::cells(int node) const {
  const TreeNode &info = shape.nodes[node];
  std::vector<Coordinates> result;
  auto keep = [&](const Coordinates &at) { result.push_back(at); };
  if (info.pools.empty()) {
    visitBox(Coordinates(info.axes.size(), 0), info.extents, keep);
    return result;
  }
  int last = info.pools.back();
  const TreeNode &slots = shape.nodes[last];
  for (const Coordinates &slot : pools.at(last).active) {
    Coordinates low, size;
    for (auto [axis, extent] : llvm::zip(info.axes, info.extents)) {
      auto found = llvm::find(slots.axes, axis);
      bool split = found != slots.axes.end();
      unsigned position = found - slots.axes.begin();
      size.push_back(split ? extent / slots.extents[position] : extent);
      low.push_back(split ? slot[position] * size.back() : 0);
    }
    visitBox(low, size, keep);
  }
  std::sort(result.begin(), result.end());
  return result;
}

int Tree::exhausted() const {
  for (const auto &[node, pool] : pools)
    if (pool.needed)
      return node;
  return -1;
}
