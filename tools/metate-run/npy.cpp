// Reading and writing .npy files.
#include "npy.h"

#include "common.h"

#include <cstring>
#include <fstream>

namespace metate::tool {

// NumPy's letter for each metate_dtype; bf16 has none.
static const std::pair<uint32_t, const char *> letters[] = {
    {METATE_U1, "b1"},  {METATE_I8, "i1"},  {METATE_I16, "i2"}, {METATE_I32, "i4"},
    {METATE_I64, "i8"}, {METATE_U8, "u1"},  {METATE_U16, "u2"}, {METATE_U32, "u4"},
    {METATE_U64, "u8"}, {METATE_F16, "f2"}, {METATE_F32, "f4"}, {METATE_F64, "f8"}};

void Array::allocate() {
  for (int64_t extent : shape)
    if (extent < 0)
      throw Error("an array cannot have a negative extent");
  words.assign((count() * metate_dtype_bytes(dtype) + 7) / 8, 0);
}

void Array::guard(const std::string &name) {
  uint64_t bytes = count() * metate_dtype_bytes(dtype);
  auto memory = std::make_shared<GuardedMemory>("array '" + name + "'", bytes, 1);
  if (bytes)
    std::memcpy(memory->data(), data(), bytes);
  guarded = std::move(memory);
  words.clear();
}

static std::string valueOf(const std::string &header, const std::string &key,
                           const std::string &path) {
  size_t at = header.find("'" + key + "':");
  if (at == std::string::npos)
    throw Error("'" + path + "' is not a .npy file: its header has no '" + key + "'");
  return header.substr(header.find_first_not_of(' ', at + key.size() + 3));
}

Array readNpy(const std::string &path) {
  File file = readFile(path);
  const uint8_t *data = file.data();
  if (file.bytes < 12 || std::memcmp(data, "\x93NUMPY", 6) != 0 || (data[6] != 1 && data[6] != 2))
    throw Error("'" + path + "' is not a .npy file of format 1 or 2");
  uint64_t start = data[6] == 1 ? 10 : 12;
  uint64_t length = data[8] | data[9] << 8;
  if (data[6] == 2)
    length |= uint64_t(data[10]) << 16 | uint64_t(data[11]) << 24;
  if (length > file.bytes - start)
    throw Error("'" + path + "' is truncated");
  std::string header(reinterpret_cast<const char *>(data) + start, length);
  std::string descr = valueOf(header, "descr", path);
  if (valueOf(header, "fortran_order", path).rfind("False", 0) != 0)
    throw Error("'" + path + "' is in Fortran order: expected C order");
  Array array;
  if (descr.size() > 4 && descr[1] != '>')
    for (auto [dtype, letter] : letters)
      if (descr.compare(2, 2, letter) == 0 && descr[4] == descr[0])
        array.dtype = dtype;
  if (!array.dtype)
    throw Error("'" + path + "' has an element type that is not a little-endian scalar");
  std::string shape = valueOf(header, "shape", path);
  shape = shape.substr(1, shape.find(')') - 1);
  for (const std::string &extent : split(shape, ','))
    if (extent.find_first_not_of(' ') != std::string::npos)
      array.shape.push_back(std::stoll(extent));
  uint64_t left = file.bytes - start - length;
  uint64_t needed = metate_dtype_bytes(array.dtype);
  for (int64_t extent : array.shape)
    if (extent < 0 || __builtin_mul_overflow(needed, uint64_t(extent), &needed))
      throw Error("'" + path + "' has an impossible shape");
  if (needed > left)
    throw Error("'" + path + "' is truncated");
  array.allocate();
  if (needed)
    std::memcpy(array.data(), data + start + length, needed);
  return array;
}

void writeNpy(const std::string &path, uint32_t dtype, const std::vector<int64_t> &shape,
              const void *data) {
  const char *letter = nullptr;
  for (auto [known, name] : letters)
    if (known == dtype)
      letter = name;
  if (!letter)
    throw Error("NumPy has no type for " + std::string(metate_dtype_name(dtype)));
  std::string header = "{'descr': '" + std::string(metate_dtype_bytes(dtype) == 1 ? "|" : "<") +
                       letter + "', 'fortran_order': False, 'shape': (";
  uint64_t count = 1;
  for (int64_t extent : shape) {
    header += std::to_string(extent) + ", ";
    count *= uint64_t(extent);
  }
  if (shape.size() > 1)
    header.resize(header.size() - 2);
  header += "), }";
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::ofstream stream(path, std::ios::binary);
  const char magic[] = "\x93NUMPY\x01";
  stream.write(magic, 8); // the terminating zero is the minor version
  const char size[2] = {char(header.size() & 0xff), char(header.size() >> 8)};
  stream.write(size, 2);
  stream << header;
  stream.write(static_cast<const char *>(data), std::streamsize(count * metate_dtype_bytes(dtype)));
  if (!stream.flush())
    throw Error("cannot write '" + path + "'");
}

} // namespace metate::tool
