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
    node.unbounded = nodes[parent].unbounded;
    node.sparse = nodes[parent].sparse;
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
  if (node.level.isUnbounded())
    for (unsigned axis : levelAxes(node.level))
      node.unbounded |= 1u << axis;
  if (node.level.hasActivity())
    node.sparse.push_back(number);
  nodes.push_back(node);
  for (Attribute child : node.level.getLevelChildren())
    add(child, number);
}

int TreeShape::find(StringRef path) const {
  StringRef name = path.split('@').first; // "a@1@0", a level above another: the last depth counts
  StringRef depth = path.size() == name.size() ? StringRef() : path.rsplit('@').second;
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

/// Of a level's units in units above it: floor division.
static int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

Coordinates TreeShape::ancestor(int node, int above, const Coordinates &coordinates) const {
  Coordinates result;
  if (above < 0)
    return result;
  for (auto [axis, extent] : llvm::zip(nodes[above].axes, nodes[above].extents)) {
    unsigned position = llvm::find(nodes[node].axes, axis) - nodes[node].axes.begin();
    result.push_back(floorDivide(coordinates[position], nodes[node].extents[position] / extent));
  }
  return result;
}

bool TreeShape::isBelow(int node, int above) const {
  while (node > above)
    node = nodes[node].parent;
  return node == above;
}

unsigned TreeShape::listAxis(int list) const {
  const TreeNode &node = nodes[list];
  return llvm::find(node.axes, levelAxes(node.level).front()) - node.axes.begin();
}
