// Voxels into grids of OpenVDB, and those into .vdb files.
#include "OpenGrid.h"

#include <openvdb/io/File.h>

#include <cstring>
#include <stdexcept>

namespace metate::vdb {
namespace {

/// A value from its bytes; `bool` from a byte, vectors from their components.
template <typename Value> Value valueAt(const uint8_t *bytes) {
  if constexpr (std::is_same_v<Value, bool>)
    return *bytes != 0;
  Value value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Grids come from OpenVDB's registry: constructed here, each would bring all its code into this file.
template <typename Grid> openvdb::GridBase::Ptr fill(const WrittenGrid &given) {
  using Value = typename Grid::ValueType;
  using Leaf = typename Grid::TreeType::LeafNodeType;
  openvdb::GridBase::Ptr made = openvdb::GridBase::createGrid(Grid::gridType());
  auto &tree = static_cast<Grid &>(*made).tree();
  auto background = valueAt<Value>(reinterpret_cast<const uint8_t *>(given.background.data()));
  tree.root().setBackground(background, /*updateChildNodes=*/false); // it has none yet
  Leaf *leaf = nullptr;
  openvdb::Coord corner;
  for (uint64_t index = 0; index < given.count; ++index) {
    openvdb::Coord at(given.coordinates + 3 * index);
    openvdb::Coord own = at & ~int32_t(Leaf::DIM - 1);
    if (!leaf || own != corner) { // neighbours come one after the other: a leaf is looked up once
      leaf = tree.touchLeaf(at);
      corner = own;
    }
    leaf->setValueOn(Leaf::coordToOffset(at), valueAt<Value>(given.values + index * sizeof(Value)));
  }
  return made;
}

openvdb::GridBase::Ptr fillByType(const WrittenGrid &given) {
  if (given.type == "f32")
    return fill<openvdb::FloatGrid>(given);
  if (given.type == "f64")
    return fill<openvdb::DoubleGrid>(given);
  if (given.type == "i32")
    return fill<openvdb::Int32Grid>(given);
  if (given.type == "i64")
    return fill<openvdb::Int64Grid>(given);
  if (given.type == "u1")
    return fill<openvdb::BoolGrid>(given);
  if (given.type == "v3f32")
    return fill<openvdb::Vec3SGrid>(given);
  if (given.type == "v3f64")
    return fill<openvdb::Vec3DGrid>(given);
  if (given.type == "v3i32")
    return fill<openvdb::Vec3IGrid>(given);
  throw std::invalid_argument("type of a grid: expected one that is written, got " + given.type);
}

openvdb::Metadata::Ptr makeMetadata(const Metadata::mapped_type &value) {
  if (auto *flag = std::get_if<bool>(&value))
    return std::make_shared<openvdb::BoolMetadata>(*flag);
  if (auto *number = std::get_if<int64_t>(&value))
    return std::make_shared<openvdb::Int64Metadata>(*number);
  if (auto *number = std::get_if<double>(&value))
    return std::make_shared<openvdb::DoubleMetadata>(*number);
  if (auto *text = std::get_if<std::string>(&value))
    return std::make_shared<openvdb::StringMetadata>(*text);
  return std::make_shared<openvdb::Vec3DMetadata>(
      openvdb::Vec3d(std::get<std::array<double, 3>>(value).data()));
}

} // namespace

openvdb::GridBase::Ptr makeGrid(const WrittenGrid &given) {
  openvdb::GridBase::Ptr grid = fillByType(given);
  grid->setName(given.name);
  grid->setGridClass(openvdb::GridBase::stringToGridClass(given.gridClass));
  openvdb::math::Mat4d columns(given.matrix.data());
  grid->setTransform(openvdb::math::Transform::createLinearTransform(columns.transpose()));
  for (auto &[name, value] : given.metadata)
    grid->insertMeta(name, *makeMetadata(value));
  return grid;
}

void writeOpen(const std::string &path, const std::vector<WrittenGrid> &grids, bool half) {
  openvdb::GridPtrVec made;
  for (const WrittenGrid &given : grids) {
    made.push_back(makeGrid(given));
    made.back()->setSaveFloatAsHalf(half);
  }
  openvdb::io::File file(path);
  file.write(made);
  file.close();
}

} // namespace metate::vdb
