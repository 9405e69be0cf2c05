// Reading files and showing types: what several subcommands say alike.
#include "common.h"

#include <fstream>
#include <iterator>
#include <utility>

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

const char *archName(uint32_t arch) {
  const char *names[] = {"?",    "x86-64",  "aarch64", "cuda",  "vulkan",
                         "simt", "riscv64", "thumb",   "wasm32"};
  return names[arch < std::size(names) ? arch : 0];
}

const char *levelKindName(uint32_t kind) {
  const char *names[] = {"?",         "root",    "dense", "pointer",    "place",
                         "bitmasked", "dynamic", "hash",  "bit_struct", "quant_array"};
  return kind < std::size(names) ? names[kind] : "?";
}

std::vector<std::string> accessNames(uint32_t access) {
  std::vector<std::string> found;
  const std::pair<uint32_t, const char *> names[] = {{METATE_ACCESS_READ, "read"},
                                                     {METATE_ACCESS_WRITE, "write"},
                                                     {METATE_ACCESS_ACTIVATE, "activate"},
                                                     {METATE_ACCESS_SORT, "sort"},
                                                     {METATE_ACCESS_BEFORE, "before"}};
  for (auto [bit, name] : names)
    if (access & bit)
      found.push_back(name);
  return found;
}

std::string machineName(const metate_variant_description &variant) {
  std::string machine = archName(variant.arch);
  if (variant.arch == METATE_ARCH_CUDA)
    return machine + " " + std::to_string(variant.level / 10) + "." +
           std::to_string(variant.level % 10);
  return variant.level ? machine + "-v" + std::to_string(variant.level) : machine;
}

uint32_t parseCount(const std::string &option, const std::string &text) {
  if (text.empty() || text.size() > 6 ||
      text.find_first_not_of("0123456789") != std::string::npos || std::stoul(text) == 0)
    throw Error(option + ": expected a number from 1 to 999999, got '" + text + "'");
  return uint32_t(std::stoul(text));
}

const char *documentationOf(const Module &module, uint32_t kernel) {
  const auto *base = static_cast<const char *>(module.describe().descriptor);
  const auto *head = reinterpret_cast<const metate_descriptor *>(base);
  uint32_t source =
      reinterpret_cast<const metate_kernel_info *>(base + head->kernels.offset)[kernel].source;
  uint32_t text =
      source == METATE_NONE
          ? 0
          : reinterpret_cast<const metate_text *>(base + head->texts.offset)[source].text;
  return text ? base + text : "";
}

} // namespace metate::tool
