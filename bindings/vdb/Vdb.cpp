// _vdb: files of OpenVDB and NanoVDB for Python. It knows arrays and files, nothing of trees.
#include "Grids.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace nb = nanobind;

namespace metate::vdb {

uint32_t bytesOf(const ValueType &type) {
  static constexpr std::pair<const char *, uint32_t> sizes[] = {
      {"f32", 4},  {"f64", 8},    {"i32", 4},    {"i64", 8},   {"u1", 1},
      {"mask", 1}, {"v3f32", 12}, {"v3f64", 24}, {"v3i32", 12}};
  for (auto [name, bytes] : sizes)
    if (type == name)
      return bytes;
  return 0;
}

void checkCount(uint64_t found, uint64_t limit) {
  if (found > limit)
    throw std::length_error(std::to_string(found));
}

namespace {

using Bytes = nb::ndarray<nb::ro, uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Coordinates = nb::ndarray<nb::ro, int32_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

/// The grids as they are in Python's memory, sizes checked.
std::vector<WrittenGrid> readGiven(nb::list given, const std::array<double, 16> &matrix) {
  std::vector<WrittenGrid> grids;
  for (nb::handle item : given) {
    auto fields = nb::cast<nb::tuple>(item);
    WrittenGrid grid;
    grid.name = nb::cast<std::string>(fields[0]);
    grid.type = nb::cast<std::string>(fields[1]);
    auto coordinates = nb::cast<Coordinates>(fields[2]);
    auto values = nb::cast<Bytes>(fields[3]);
    auto background = nb::cast<nb::bytes>(fields[4]);
    grid.gridClass = nb::cast<std::string>(fields[5]);
    grid.metadata = nb::cast<Metadata>(fields[6]);
    grid.matrix = matrix;
    grid.count = coordinates.shape(0);
    grid.coordinates = coordinates.data();
    grid.values = values.data();
    grid.background.assign(background.c_str(), background.size());
    uint64_t bytes = bytesOf(grid.type);
    if (bytes == 0 || values.size() != grid.count * bytes || grid.background.size() != bytes)
      throw std::invalid_argument("grid '" + grid.name + "': expected values and a background of " +
                                  grid.type);
    grids.push_back(std::move(grid));
  }
  return grids;
}

void writeFile(const std::string &path, nb::list given, const std::array<double, 16> &matrix,
               bool half, bool nano) {
  std::vector<WrittenGrid> grids = readGiven(given, matrix); // `given` keeps the arrays
  nb::gil_scoped_release released;
  if (nano)
    writeNano(path, grids);
  else
    writeOpen(path, grids, half);
}

/// A vector's memory as a NumPy array that owns it.
template <typename T, typename... Shape>
nb::object toArray(std::vector<T> &&items, Shape... shape) {
  auto *kept = new std::vector<T>(std::move(items));
  nb::capsule owner(kept, [](void *own) noexcept { delete static_cast<std::vector<T> *>(own); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {size_t(shape)...}, owner));
}

nb::tuple readFile(const std::string &path, const std::string &name, uint64_t limit, bool nano) {
  FoundGrid found;
  {
    nb::gil_scoped_release released;
    found = nano ? readNano(path, name, limit) : readOpen(path, name, limit);
  }
  size_t count = found.coordinates.size() / 3, bytes = found.values.size();
  return nb::make_tuple(found.type, toArray(std::move(found.coordinates), count, size_t(3)),
                        toArray(std::move(found.values), bytes),
                        nb::bytes(found.background.data(), found.background.size()),
                        found.gridClass, found.metadata,
                        found.affine ? nb::cast(found.matrix) : nb::none());
}

std::vector<std::pair<std::string, ValueType>> listFile(const std::string &path, bool nano) {
  nb::gil_scoped_release released;
  return nano ? listNano(path) : listOpen(path);
}

} // namespace
} // namespace metate::vdb

NB_MODULE(_vdb, module) {
  using namespace metate::vdb;
  initialise();
  module.doc() = "Files of OpenVDB and NanoVDB; metate.interop.vdb is its interface.";
  module.def(
      "write", &writeFile, nb::arg("path"), nb::arg("grids"), nb::arg("matrix"), nb::arg("half"),
      nb::arg("nano"),
      "Writes grids: (name, type, coordinates int32[n, 3], values' bytes, background's bytes, "
      "class, metadata) each, all with one transform, a row-major 4 x 4 matrix.");
  module.def(
      "read", &readFile, nb::arg("path"), nb::arg("name"), nb::arg("limit"), nb::arg("nano"),
      "(type, coordinates, values' bytes, background's bytes, class, metadata, matrix or None) "
      "of a grid. Raises IndexError for an unknown name, ValueError for more than `limit` voxels.");
  module.def("grids", &listFile, nb::arg("path"), nb::arg("nano"),
             "(name, type) of each grid of a file.");
  module.attr("openvdb") = openVersion();
  module.attr("nanovdb") = nanoVersion();
}
