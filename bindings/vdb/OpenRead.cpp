// .vdb files into voxels.
#include "OpenGrid.h"

#include <openvdb/io/File.h>

#include <stdexcept>

namespace metate::vdb {
namespace {

template <typename Grid> void collect(const Grid &grid, FoundGrid &found) {
  using Value = std::conditional_t<std::is_same_v<typename Grid::ValueType, bool>, uint8_t,
                                   typename Grid::ValueType>;
  auto background = static_cast<Value>(grid.background());
  found.background.assign(reinterpret_cast<const char *>(&background), sizeof background);
  for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf)
    for (auto voxel = leaf->cbeginValueOn(); voxel; ++voxel) {
      openvdb::Coord at = voxel.getCoord();
      appendTile<Value>(found, {at[0], at[1], at[2]}, {1, 1, 1}, static_cast<Value>(*voxel));
    }
  auto tile = grid.tree().cbeginValueOn();
  tile.setMaxDepth(Grid::TreeType::ValueOnCIter::LEAF_DEPTH - 1);
  for (; tile; ++tile) {
    openvdb::CoordBBox box = tile.getBoundingBox();
    const openvdb::Coord &low = box.min(), &high = box.max();
    appendTile<Value>(found, {low[0], low[1], low[2]},
                      {int64_t(high[0]) - low[0] + 1, int64_t(high[1]) - low[1] + 1,
                       int64_t(high[2]) - low[2] + 1},
                      static_cast<Value>(*tile));
  }
}

template <typename Grid> bool collectIf(const openvdb::GridBase &base, FoundGrid &found) {
  if (!base.isType<Grid>())
    return false;
  collect(static_cast<const Grid &>(base), found);
  return true;
}

ValueType typeOf(const openvdb::GridBase &grid) {
  static constexpr std::pair<const char *, const char *> names[] = {
      {"float", "f32"}, {"double", "f64"},  {"int32", "i32"},   {"int64", "i64"},  {"bool", "u1"},
      {"mask", "mask"}, {"vec3s", "v3f32"}, {"vec3d", "v3f64"}, {"vec3i", "v3i32"}};
  std::string own = grid.valueType();
  for (auto [theirs, ours] : names)
    if (own == theirs)
      return ours;
  return own;
}

/// OpenVDB's own entries, which the next writer makes anew, are left out; what has no type here is text.
Metadata metadataOf(const openvdb::GridBase &grid) {
  Metadata found;
  for (auto entry = grid.beginMeta(); entry != grid.endMeta(); ++entry) {
    const std::string &name = entry->first;
    if (name == "class" || name == "name" || name == "is_saved_as_half_float" ||
        name == "is_local_space" || name.starts_with("file_"))
      continue;
    const openvdb::Metadata &value = *entry->second;
    std::string type = value.typeName();
    if (type == "bool")
      found[name] = static_cast<const openvdb::BoolMetadata &>(value).value();
    else if (type == "int32")
      found[name] = int64_t(static_cast<const openvdb::Int32Metadata &>(value).value());
    else if (type == "int64")
      found[name] = int64_t(static_cast<const openvdb::Int64Metadata &>(value).value());
    else if (type == "float")
      found[name] = double(static_cast<const openvdb::FloatMetadata &>(value).value());
    else if (type == "double")
      found[name] = static_cast<const openvdb::DoubleMetadata &>(value).value();
    else if (type == "vec3d") {
      openvdb::Vec3d own = static_cast<const openvdb::Vec3DMetadata &>(value).value();
      found[name] = std::array<double, 3>{own[0], own[1], own[2]};
    } else
      found[name] = value.str();
  }
  return found;
}

void setTransform(const openvdb::math::Transform &transform, GridInfo &info) {
  info.affine = transform.isLinear();
  if (!info.affine)
    return;
  openvdb::math::Mat4d columns = transform.baseMap()->getAffineMap()->getMat4().transpose();
  std::copy_n(columns.asPointer(), 16, info.matrix.begin());
}

} // namespace

FoundGrid readOpen(const std::string &path, const std::string &name, uint64_t limit) {
  openvdb::io::File file(path);
  file.open(/*delayLoad=*/false);
  if (!file.hasGrid(name))
    throw std::out_of_range(name);
  openvdb::GridBase::Ptr grid = file.readGrid(name);
  FoundGrid found;
  found.name = grid->getName();
  found.type = typeOf(*grid);
  found.gridClass = openvdb::GridBase::gridClassToString(grid->getGridClass());
  found.metadata = metadataOf(*grid);
  setTransform(grid->transform(), found);
  if (bytesOf(found.type) == 0)
    return found;
  checkCount(grid->activeVoxelCount(), limit);
  bool known =
      collectIf<openvdb::FloatGrid>(*grid, found) || collectIf<openvdb::DoubleGrid>(*grid, found) ||
      collectIf<openvdb::Int32Grid>(*grid, found) || collectIf<openvdb::Int64Grid>(*grid, found) ||
      collectIf<openvdb::BoolGrid>(*grid, found) || collectIf<openvdb::MaskGrid>(*grid, found) ||
      collectIf<openvdb::Vec3SGrid>(*grid, found) || collectIf<openvdb::Vec3DGrid>(*grid, found) ||
      collectIf<openvdb::Vec3IGrid>(*grid, found);
  if (!known) // its values are known, but not its tree
    found.type = grid->type();
  return found;
}

std::vector<std::pair<std::string, ValueType>> listOpen(const std::string &path) {
  openvdb::io::File file(path);
  file.open(/*delayLoad=*/false);
  std::vector<std::pair<std::string, ValueType>> found;
  openvdb::GridPtrVecPtr grids = file.readAllGridMetadata();
  for (const openvdb::GridBase::Ptr &grid : *grids)
    found.emplace_back(grid->getName(), typeOf(*grid));
  return found;
}

void initialise() { openvdb::initialize(); }

std::string openVersion() { return openvdb::getLibraryVersionString(); }

} // namespace metate::vdb
