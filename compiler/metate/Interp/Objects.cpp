//===- Objects.cpp - arrays and trees as the language means them -*- C++ -*-===//
#include "metate/Interp/Objects.h"
#include "metate/Interp/QuantNumbers.h"

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
  addBackgrounds();
}

/// What stands in a cell of the parent and splits no axis.
TreeNode TreeShape::childOf(int parent) const {
  TreeNode node;
  node.parent = parent;
  if (parent >= 0) {
    node.axes = nodes[parent].axes;
    node.extents = nodes[parent].extents;
    node.unbounded = nodes[parent].unbounded;
    node.sparse = nodes[parent].sparse;
  }
  return node;
}

void TreeShape::addPlace(PlaceAttr place, int parent, int group) {
  TreeNode node = childOf(parent);
  node.place = place;
  node.format = QuantFormat::of(place.getType(), group >= 0);
  node.group = group;
  nodes.push_back(node);
}

void TreeShape::addWord(BitStructAttr word, int parent) {
  int number = nodes.size(), last = -1, first = -1;
  nodes.push_back(childOf(parent));
  for (auto [place, group] : packedPlaces(word)) {
    if (group != last)
      first = group < 0 ? -1 : int(nodes.size());
    last = group;
    addPlace(place, number, first);
  }
}

/// The bits of the values that quantised members have where nothing was written.
void TreeShape::addBackgrounds() {
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (!node.format || (node.group >= 0 && node.group != int(number)))
      continue;
    SmallVector<int> members = sharers(number);
    SmallVector<QuantFormat> formats;
    SmallVector<uint64_t> values;
    for (int member : members) {
      TypedAttr given = nodes[member].place.getBackground();
      formats.push_back(*nodes[member].format);
      values.push_back(given ? componentsOf(given)[0] : 0);
    }
    if (node.group < 0)
      node.background = quantise(formats[0], values[0]).bits;
    else
      for (auto [member, stored] : llvm::zip(members, quantiseTogether(formats, values)))
        nodes[member].background = stored.bits;
  }
}

void TreeShape::add(Attribute attribute, int parent) {
  if (auto place = dyn_cast<PlaceAttr>(attribute))
    return addPlace(place, parent);
  if (auto word = dyn_cast<BitStructAttr>(attribute))
    return addWord(word, parent);
  TreeNode node = childOf(parent);
  int number = nodes.size();
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

SmallVector<int> TreeShape::sharers(int member) const {
  int group = nodes[member].group;
  if (group < 0)
    return {member};
  SmallVector<int> result;
  for (int node = group; node < int(nodes.size()) && nodes[node].group == group; ++node)
    result.push_back(node);
  return result;
}

std::vector<Coordinates> TreeShape::elementsOfWord(int member,
                                                   const Coordinates &coordinates) const {
  const TreeNode &node = nodes[member];
  LevelInterface array = nodes[node.parent].level;
  auto digit = [](int64_t coordinate, int64_t extent) {
    return (coordinate % extent + extent) % extent; // below a hash level some are negative
  };
  SmallVector<unsigned> positions; // of the level's axes
  int64_t number = 0, cells = 1;   // of the element, in the array
  for (auto [axis, extent] :
       llvm::zip(levelAxes(nodes[node.parent].level), array.getLevelExtents())) {
    positions.push_back(llvm::find(node.axes, axis) - node.axes.begin());
    number = number * extent + digit(coordinates[positions.back()], extent);
    cells *= extent;
  }
  int64_t inWord = array.getWordBits() / node.format->bits, first = number - number % inWord;
  std::vector<Coordinates> result;
  for (int64_t element = first; element < std::min(first + inWord, cells); ++element) {
    Coordinates &at = result.emplace_back(coordinates);
    int64_t rest = element;
    for (auto [position, extent] : llvm::reverse(llvm::zip(positions, array.getLevelExtents()))) {
      at[position] += rest % extent - digit(coordinates[position], extent);
      rest /= extent;
    }
  }
  return result;
}

Type TreeShape::shownType(int member) const {
  const TreeNode &node = nodes[member];
  return node.format ? node.format->compute : scalarOf(node.place.getType());
}

uint64_t TreeShape::shownBits(int member, uint64_t bits) const {
  const TreeNode &node = nodes[member];
  return node.format ? dequantise(*node.format, bits) : bits;
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
