// Reads and writes NumPy's .npy files, version 1.0, little-endian, row-major: all that the demo needs.
#ifndef METATE_DEMO_NPY_HPP
#define METATE_DEMO_NPY_HPP

#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace demo {

// The element types of the demo's files, as NumPy spells them.
template <typename T> constexpr const char *npyType = nullptr;
template <> inline constexpr const char *npyType<float> = "<f4";
template <> inline constexpr const char *npyType<std::int32_t> = "<i4";
template <> inline constexpr const char *npyType<std::uint8_t> = "|u1";

template <typename T> struct Array {
  std::vector<std::int64_t> shape;
  std::vector<T> data;
};

// Reads a file of exactly this element type and rank.
template <typename T> Array<T> readNpy(const std::string &path, std::size_t rank) {
  std::ifstream file(path, std::ios::binary);
  char start[10];
  if (!file.read(start, 10) || std::memcmp(start, "\x93NUMPY\x01", 7) != 0)
    throw std::runtime_error(path + ": not a version 1 .npy file");
  std::uint16_t bytes;
  std::memcpy(&bytes, start + 8, 2);
  std::string header(bytes, ' ');
  file.read(header.data(), bytes);
  auto value = [&](const std::string &key) {
    std::size_t at = header.find("'" + key + "':");
    if (!file || at == std::string::npos)
      throw std::runtime_error(path + ": header without '" + key + "'");
    return header.substr(at + key.size() + 3);
  };
  if (value("descr").find(npyType<T>) > 3 || value("fortran_order").find("False") > 2)
    throw std::runtime_error(path + ": expected row-major " + npyType<T>);
  Array<T> array;
  std::int64_t count = 1;
  std::string shape = value("shape");
  for (std::size_t at = shape.find('(') + 1; array.shape.size() < rank;
       at = shape.find(',', at) + 1) {
    array.shape.push_back(std::stoll(shape.substr(at)));
    count *= array.shape.back();
  }
  array.data.resize(count);
  if (!file.read(reinterpret_cast<char *>(array.data.data()), count * sizeof(T)) ||
      file.peek() != EOF)
    throw std::runtime_error(path + ": size and shape do not agree");
  return array;
}

template <typename T> void writeNpy(const std::string &path, const Array<T> &array) {
  std::string header =
      std::string("{'descr': '") + npyType<T> + "', 'fortran_order': False, 'shape': (";
  for (std::int64_t extent : array.shape)
    header += std::to_string(extent) + ", ";
  header += "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::uint16_t bytes = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8).write(reinterpret_cast<const char *>(&bytes), 2) << header;
  file.write(reinterpret_cast<const char *>(array.data.data()), array.data.size() * sizeof(T));
  if (!file.flush())
    throw std::runtime_error(path + ": cannot be written");
}

} // namespace demo
#endif
