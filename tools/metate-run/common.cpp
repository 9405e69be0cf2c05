// Reading files and showing types: what several subcommands say alike.
#include "common.h"

#include <fstream>

namespace metate::tool {

File readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream)
    throw Error("cannot open '" + path + "'");
  File file;
  std::streamoff size = stream.tellg();
  if (size < 0)
    throw Error("cannot read '" + path + "'");
  file.bytes = uint64_t(size);
  file.words.resize(file.bytes / 8 + 1);
  stream.seekg(0);
  if (!stream.read(reinterpret_cast<char *>(file.words.data()), size))
    throw Error("cannot read '" + path + "'");
  return file;
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

std::string showElement(uint32_t dtype, uint32_t rows, uint32_t columns, uint32_t rank) {
  std::string scalar = metate_dtype_name(dtype);
  if (rank == 0)
    return scalar;
  if (rank == 1)
    return "vector(" + std::to_string(rows) + ", " + scalar + ")";
  return "matrix(" + std::to_string(rows) + ", " + std::to_string(columns) + ", " + scalar + ")";
}

std::string showArgument(const metate_argument_description &argument) {
  if (argument.kind == METATE_ARGUMENT_TREE)
    return TreeType(argument.type).name();
  if (argument.kind == METATE_ARGUMENT_NDARRAY)
    return "ndarray(" + std::string(metate_dtype_name(argument.dtype)) + ", " +
           std::to_string(argument.rank) + ")";
  return showElement(argument.dtype, argument.rows, argument.columns, argument.element_rank);
}

} // namespace metate::tool
