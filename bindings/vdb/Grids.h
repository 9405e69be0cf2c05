// Grids between NumPy's arrays and files of OpenVDB and NanoVDB. No header of either library: they take long to compile.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace metate::vdb {

/// What a voxel holds: "f32", "f64", "i32", "i64", "u1" (a byte), and of three "v3f32", "v3f64", "v3i32"; read grids also
/// "mask" (values are bytes that are 1), and any other text for what this cannot read.
using ValueType = std::string;

using Metadata =
    std::map<std::string, std::variant<bool, int64_t, double, std::string, std::array<double, 3>>>;

/// What a grid says beside its voxels. The transform takes index coordinates, as columns, to the world.
struct GridInfo {
  std::string name;
  ValueType type;
  std::string gridClass; ///< "unknown", "level set", "fog volume" or "staggered"
  Metadata metadata;
  /// Row-major 4 x 4; `affine` is false for a frustum, whose matrix is the identity.
  std::array<double, 16> matrix{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  bool affine = true;
};

/// A grid to be written: `count` active voxels, in memory of the caller's.
struct WrittenGrid : GridInfo {
  uint64_t count = 0;
  const int32_t *coordinates = nullptr; ///< 3 a voxel
  const uint8_t *values = nullptr;
  std::string background; ///< the bytes of one value
};

/// A grid that was read: its active voxels, those of tiles one by one.
struct FoundGrid : GridInfo {
  std::vector<int32_t> coordinates;
  std::vector<uint8_t> values;
  std::string background;
};

/// Thrown where a grid has more active voxels than the caller wants; `std::out_of_range` for a name that is not there.
void checkCount(uint64_t found, uint64_t limit);

/// Bytes of one value, 0 for a type that cannot be read.
uint32_t bytesOf(const ValueType &type);

void writeOpen(const std::string &path, const std::vector<WrittenGrid> &grids, bool half);
FoundGrid readOpen(const std::string &path, const std::string &name, uint64_t limit);
/// (name, type) of each grid of the file.
std::vector<std::pair<std::string, ValueType>> listOpen(const std::string &path);

void writeNano(const std::string &path, const std::vector<WrittenGrid> &grids);
FoundGrid readNano(const std::string &path, const std::string &name, uint64_t limit);
std::vector<std::pair<std::string, ValueType>> listNano(const std::string &path);

/// Registers OpenVDB's types; may be called again.
void initialise();
std::string openVersion();
/// "" where this was built without NanoVDB.
std::string nanoVersion();

} // namespace metate::vdb
