// .nvdb files: written by NanoVDB's converter of OpenVDB's grids, read node by node.
#include "OpenGrid.h"

#include <nanovdb/util/IO.h>
#include <nanovdb/util/OpenToNanoVDB.h>

#include <stdexcept>

namespace metate::vdb {
namespace {

using Handle = nanovdb::GridHandle<>;

template <typename Grid> bool convertIf(const openvdb::GridBase &base, std::vector<Handle> &made) {
  if (!base.isType<Grid>())
    return false;
  made.push_back(nanovdb::openToNanoVDB(static_cast<const Grid &>(base)));
  return true;
}

template <typename Value>
void append(FoundGrid &found, const nanovdb::Coord &corner, int64_t extent, const Value &value) {
  if constexpr (std::is_same_v<Value, bool>)
    appendTile(found, {corner[0], corner[1], corner[2]}, {extent, extent, extent}, uint8_t(value));
  else
    appendTile(found, {corner[0], corner[1], corner[2]}, {extent, extent, extent}, value);
}

/// Active voxels of a node: a leaf's own, an internal node's tiles and then its children's.
template <typename Node> void collectNode(const Node &node, FoundGrid &found) {
  if constexpr (Node::LEVEL == 0) {
    for (auto voxel = node.beginValueOn(); voxel; ++voxel)
      append(found, node.offsetToGlobalCoord(voxel.pos()), 1, node.getValue(voxel.pos()));
  } else {
    for (auto tile = node.beginValueOn(); tile; ++tile)
      append(found, node.offsetToGlobalCoord(tile.pos()), Node::ChildNodeType::dim(), *tile);
    for (auto child = node.beginChild(); child; ++child)
      collectNode(*child, found);
  }
}

template <typename Build> bool collectIf(const Handle &handle, FoundGrid &found) {
  const nanovdb::NanoGrid<Build> *grid = handle.grid<Build>();
  if (!grid)
    return false;
  const auto &root = grid->tree().root();
  using Root = std::decay_t<decltype(root)>;
  auto background = root.background();
  if constexpr (std::is_same_v<decltype(background), bool>)
    found.background.assign(1, char(background));
  else
    found.background.assign(reinterpret_cast<const char *>(&background), sizeof background);
  for (uint32_t index = 0; index < root.data()->mTableSize; ++index) {
    auto *tile = root.data()->tile(index);
    if (tile->isChild())
      collectNode(*root.data()->getChild(tile), found);
    else if (tile->state)
      append(found, tile->origin(), Root::ChildNodeType::dim(), tile->value);
  }
  return true;
}

ValueType typeOf(nanovdb::GridType type) {
  switch (type) {
  case nanovdb::GridType::Float:
  case nanovdb::GridType::Fp4:
  case nanovdb::GridType::Fp8:
  case nanovdb::GridType::Fp16:
  case nanovdb::GridType::FpN:
    return "f32";
  case nanovdb::GridType::Double:
    return "f64";
  case nanovdb::GridType::Int32:
    return "i32";
  case nanovdb::GridType::Int64:
    return "i64";
  case nanovdb::GridType::Boolean:
    return "u1";
  case nanovdb::GridType::Mask:
    return "mask";
  case nanovdb::GridType::Vec3f:
    return "v3f32";
  case nanovdb::GridType::Vec3d:
    return "v3f64";
  default:
    return nanovdb::toStr(type);
  }
}

std::string classOf(nanovdb::GridClass own) {
  switch (own) {
  case nanovdb::GridClass::LevelSet:
    return "level set";
  case nanovdb::GridClass::FogVolume:
    return "fog volume";
  case nanovdb::GridClass::Staggered:
    return "staggered";
  default:
    return "unknown";
  }
}

void setTransform(const nanovdb::Map &map, GridInfo &info) {
  for (int row = 0; row < 3; ++row) {
    std::copy_n(map.mMatD + 3 * row, 3, info.matrix.begin() + 4 * row);
    info.matrix[4 * row + 3] = map.mVecD[row];
  }
}

} // namespace

void writeNano(const std::string &path, const std::vector<WrittenGrid> &grids) {
  std::vector<Handle> made;
  for (const WrittenGrid &given : grids) {
    openvdb::GridBase::Ptr grid = makeGrid(given);
    bool known =
        convertIf<openvdb::FloatGrid>(*grid, made) || convertIf<openvdb::DoubleGrid>(*grid, made) ||
        convertIf<openvdb::Int32Grid>(*grid, made) || convertIf<openvdb::Int64Grid>(*grid, made) ||
        convertIf<openvdb::BoolGrid>(*grid, made) || convertIf<openvdb::Vec3SGrid>(*grid, made);
    if (!known)
      throw std::invalid_argument("NanoVDB has no grids of " + given.type);
  }
  nanovdb::io::writeGrids<nanovdb::HostBuffer, std::vector>(path, made);
}

FoundGrid readNano(const std::string &path, const std::string &name, uint64_t limit) {
  FoundGrid found;
  const nanovdb::io::GridMetaData *own = nullptr;
  auto grids = nanovdb::io::readGridMetaData(path);
  for (const nanovdb::io::GridMetaData &grid : grids)
    if (!own && grid.gridName == name)
      own = &grid;
  if (!own)
    throw std::out_of_range(name);
  found.name = name;
  found.type = typeOf(own->gridType);
  found.gridClass = classOf(own->gridClass);
  if (bytesOf(found.type) == 0)
    return found;
  checkCount(own->voxelCount, limit);
  Handle handle = nanovdb::io::readGrid(path, name);
  if (!handle)
    throw std::runtime_error("expected a grid of this version of NanoVDB");
  setTransform(handle.gridMetaData()->map(), found);
  bool known = collectIf<float>(handle, found) || collectIf<double>(handle, found) ||
               collectIf<int32_t>(handle, found) || collectIf<int64_t>(handle, found) ||
               collectIf<bool>(handle, found) || collectIf<nanovdb::ValueMask>(handle, found) ||
               collectIf<nanovdb::Vec3f>(handle, found) ||
               collectIf<nanovdb::Vec3d>(handle, found) || collectIf<nanovdb::Fp4>(handle, found) ||
               collectIf<nanovdb::Fp8>(handle, found) || collectIf<nanovdb::Fp16>(handle, found) ||
               collectIf<nanovdb::FpN>(handle, found);
  if (!known)
    throw std::runtime_error("the file's table says " + found.type + ", its grid is another");
  return found;
}

std::vector<std::pair<std::string, ValueType>> listNano(const std::string &path) {
  std::vector<std::pair<std::string, ValueType>> found;
  for (const nanovdb::io::GridMetaData &grid : nanovdb::io::readGridMetaData(path))
    found.emplace_back(grid.gridName, typeOf(grid.gridType));
  return found;
}

std::string nanoVersion() {
  nanovdb::Version own;
  return std::to_string(own.getMajor()) + "." + std::to_string(own.getMinor()) + "." +
         std::to_string(own.getPatch());
}

} // namespace metate::vdb
