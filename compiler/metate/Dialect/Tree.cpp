//===- Tree.cpp - paths through a tree type ---------------------*- C++ -*-===//
#include "metate/Dialect/Tree.h"
#include "metate/Dialect/Quant.h"
#include "metate/abi/base.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace metate;

int TreePath::lastPool() const {
  for (int k = int(levels.size()) - 1; k >= 0; --k)
    if (levels[k].hasPool())
      return k;
  return -1;
}

int TreePath::lastActivity() const {
  for (int k = int(levels.size()) - 1; k >= 0; --k)
    if (levels[k].hasActivity())
      return k;
  return -1;
}

unsigned TreePath::parentRank() const {
  unsigned axes = 0;
  for (LevelInterface level : ArrayRef(levels).drop_back())
    for (unsigned axis : levelAxes(level))
      axes |= 1u << axis;
  return llvm::popcount(axes);
}

int64_t TreePath::extentBelow(unsigned depth, unsigned k) const {
  int64_t product = 1;
  for (LevelInterface level : ArrayRef(levels).drop_front(depth + 1))
    for (auto [axis, extent] : llvm::zip(levelAxes(level), level.getLevelExtents()))
      if (axis == axes[k])
        product = std::min(product * extent, unboundedExtent);
  return product;
}

std::string metate::levelName(LevelInterface level, unsigned depth) {
  if (!level.getGivenName().empty())
    return level.getGivenName().str();
  return (level.getKindName() + Twine(depth)).str();
}

SmallVector<unsigned> metate::levelAxes(LevelInterface level) {
  return llvm::map_to_vector(level.getLevelAxes(),
                             [](char letter) { return unsigned(letter - 'i'); });
}

bool metate::hasPools(Attribute node) {
  auto level = dyn_cast<LevelInterface>(node);
  return level && (level.hasPool() || llvm::any_of(level.getLevelChildren(), hasPools));
}

llvm::SmallVector<PlaceAttr> metate::placesAt(Attribute node) {
  if (auto place = dyn_cast<PlaceAttr>(node))
    return {place};
  if (auto word = dyn_cast<BitStructAttr>(node))
    return llvm::map_to_vector(packedPlaces(word), [](PackedPlace one) { return one.place; });
  return {};
}

/// Depth-first search; `path.levels` is the stack.
static bool search(Attribute node, StringRef name, bool wantMember, TreePath &path) {
  auto level = dyn_cast<LevelInterface>(node);
  if (!level) {
    for (PlaceAttr place : placesAt(node))
      if (wantMember && place.getName() == name)
        path.place = place;
    return bool(path.place);
  }
  unsigned depth = path.levels.size();
  path.levels.push_back(level);
  if (!wantMember && levelName(level, depth) == name)
    return true;
  for (Attribute child : level.getLevelChildren())
    if (search(child, name, wantMember, path))
      return true;
  path.levels.pop_back();
  return false;
}

std::optional<TreePath> metate::findPath(TreeType type, StringRef spelled) {
  TreePath path;
  StringRef name =
      spelled.split('@').first; // "a@1@0", a level above another: the last depth counts
  StringRef depth = spelled.size() == name.size() ? StringRef() : spelled.rsplit('@').second;
  auto found = [&](bool wantMember) {
    return llvm::any_of(type.getBranches(),
                        [&](Attribute branch) { return search(branch, name, wantMember, path); });
  };
  if (!found(true) && !found(false))
    return std::nullopt;
  if (!depth.empty()) {
    unsigned last;
    if (depth.getAsInteger(10, last) || last >= path.levels.size())
      return std::nullopt;
    path.levels.truncate(last + 1);
    path.place = {};
  }
  int64_t extents[METATE_MAX_AXES] = {0};
  for (LevelInterface level : path.levels)
    for (auto [axis, extent] : llvm::zip(levelAxes(level), level.getLevelExtents()))
      extents[axis] = extents[axis] ? std::min(extents[axis] * extent, unboundedExtent) : extent;
  for (unsigned axis = 0; axis < METATE_MAX_AXES; ++axis)
    if (extents[axis]) {
      path.axes.push_back(axis);
      path.extents.push_back(extents[axis]);
    }
  return path;
}

static void collectNames(Attribute node, unsigned depth, SmallVectorImpl<std::string> &members,
                         SmallVectorImpl<std::string> &levels) {
  auto level = dyn_cast<LevelInterface>(node);
  if (!level) {
    for (PlaceAttr place : placesAt(node))
      members.push_back(place.getName().str());
    return;
  }
  std::string name = levelName(level, depth);
  if (!llvm::is_contained(levels, name))
    levels.push_back(name);
  for (Attribute child : level.getLevelChildren())
    collectNames(child, depth + 1, members, levels);
}

ShownMember metate::shownMember(KernelOp kernel, unsigned argument, StringRef path) {
  auto members = kernel.getArgAttrOfType<DictionaryAttr>(argument, mark::members);
  auto shown = members ? members.getAs<DictionaryAttr>(path) : DictionaryAttr();
  auto name = shown ? shown.getAs<StringAttr>("name") : StringAttr();
  if (name) {
    ShownMember result{name.str(), {}};
    if (auto offset = shown.getAs<DenseI64ArrayAttr>("offset"))
      llvm::append_range(result.offset, offset.asArrayRef());
    return result;
  }
  auto given = kernel.getArgAttrOfType<StringAttr>(argument, mark::name);
  std::string text = given ? given.str() : "arg" + std::to_string(argument);
  return {path.empty() ? text : text + "." + path.str(), {}};
}

SmallVector<std::string> metate::memberNames(TreeType type) {
  SmallVector<std::string> members, levels;
  for (Attribute branch : type.getBranches())
    collectNames(branch, 0, members, levels);
  return members;
}

std::string metate::knownNames(TreeType type) {
  SmallVector<std::string> members, levels;
  for (Attribute branch : type.getBranches())
    collectNames(branch, 0, members, levels);
  return "members " + llvm::join(members, ", ") + "; levels " + llvm::join(levels, ", ");
}

Type metate::signlessType(Type type) {
  if (std::optional<QuantFormat> format = QuantFormat::of(type))
    return IntegerType::get(type.getContext(), format->bits);
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), signlessType(vector.getElementType()));
  return type;
}
