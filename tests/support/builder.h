// Makes type blobs, descriptors and .metate files for tests, without the compiler: an independent
// reading of abi/. Everything is little-endian and deterministic.
#ifndef METATE_TESTS_BUILDER_H
#define METATE_TESTS_BUILDER_H

#include "metate/abi/pool.h"
#include "metate/metate.h"

#include <cstdint>
#include <string>
#include <vector>

namespace metate::test {

// Bytes that start at a multiple of 8.
class Bytes {
public:
  Bytes() = default;
  explicit Bytes(size_t count) : words((count + 7) / 8), count(count) {}
  uint8_t *data() { return reinterpret_cast<uint8_t *>(words.data()); }
  const uint8_t *data() const { return reinterpret_cast<const uint8_t *>(words.data()); }
  size_t size() const { return count; }
  void resize(size_t bytes);
  // Appends at a multiple of `align`; returns the offset.
  size_t append(const void *from, size_t bytes, size_t align = 1);
  size_t append(const std::string &text) { return append(text.c_str(), text.size() + 1); }
  template <typename T> T *at(size_t offset) { return reinterpret_cast<T *>(data() + offset); }

private:
  std::vector<uint64_t> words;
  size_t count = 0;
};

// How a quantised place is stored.
struct Quant {
  uint32_t kind = 0; // metate_quant_kind; 0: it is not quantised
  uint32_t bits = 0; // without a shared exponent
  bool isSigned = true;
  uint32_t exponentBits = 0;
  double scale = 0;
  int group = -1; // members of one number share their exponent
};

// One level of a tree type; children in order.
struct Node {
  uint32_t kind;
  std::string name;
  std::vector<uint8_t> axes;
  std::vector<uint32_t> extents;
  std::vector<Node> children = {};
  uint32_t chunk = 0; // of a list
  uint32_t dtype = 0;
  uint32_t rows = 0;
  uint32_t columns = 0;
  uint32_t rank = 0;
  std::vector<uint8_t> background = {}; // empty: zero
  Quant quant = {};
  uint32_t wordBytes = 0; // of a bit_struct or quant_array
};

Node pointer(std::string name, std::string axes, std::vector<uint32_t> extents,
             std::vector<Node> children);
Node dense(std::string name, std::string axes, std::vector<uint32_t> extents,
           std::vector<Node> children);
Node bitmasked(std::string name, std::string axes, std::vector<uint32_t> extents,
               std::vector<Node> children);
Node dynamic(std::string name, std::string axis, uint32_t extent, uint32_t chunk,
             std::vector<Node> children);
Node hash(std::string name, std::string axes, std::vector<Node> children);
Node place(std::string name, uint32_t dtype, uint32_t rows = 0, uint32_t columns = 0);
Node quantInt(std::string name, uint32_t bits, bool isSigned, uint32_t dtype);
Node quantFixed(std::string name, uint32_t bits, bool isSigned, double scale, uint32_t dtype);
Node quantFloat(std::string name, uint32_t exponent, uint32_t fraction, bool isSigned,
                uint32_t dtype);
// Floats that share an exponent, to be put into a bit_struct.
Node shared(std::vector<Node> places);
// `background`: the word that holds the members' backgrounds.
Node bitStruct(uint32_t word, std::vector<Node> members, uint64_t background = 0);
Node quantArray(std::string name, std::string axes, std::vector<uint32_t> extents, uint32_t word,
                Node member, uint64_t background = 0);
template <typename T> Node withBackground(Node node, std::vector<T> values) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  node.background.assign(bytes, bytes + values.size() * sizeof(T));
  return node;
}

// The blob of a tree with these branches below its root.
Bytes typeBlob(const std::vector<Node> &branches, const std::string &text);

// Make the hashes right again after a change.
void sealType(uint8_t *blob, size_t bytes);
void sealDescriptor(uint8_t *descriptor, size_t bytes);
void sealCarrier(uint8_t *carrier, size_t bytes);

struct ArgumentSpec {
  std::string name;
  uint32_t kind;
  uint32_t dtype = 0;
  uint32_t rows = 1;
  uint32_t columns = 1;
  uint32_t elementRank = 0;
  uint32_t rank = 0;
  uint32_t access = METATE_ACCESS_READ;
  uint32_t flags = 0;
  uint32_t type = 0;
  std::vector<int64_t> fixed = {};
};

struct PoolSpec {
  std::string name;
  uint32_t kind = METATE_POOL_LAUNCH;
  uint64_t bytes = 0;
  uint32_t align = 1;
  uint64_t scale = 0;
  std::vector<uint32_t> factors = {}; // slots
  uint32_t variant = METATE_NONE;
  std::string memory = ""; // that it is to lie in
};

struct DimSpec {
  std::string name;
  int64_t min, max, multiple;
  uint32_t slot; // of the first extent that is it
};

struct KernelSpec {
  std::string name;
  std::vector<ArgumentSpec> arguments;
  uint32_t flags = 0;
  uint32_t source = METATE_NONE;
  std::vector<PoolSpec> pools = {};
  std::vector<DimSpec> dims = {};
};

struct TextSpec {
  std::string file;
  uint32_t line, column;
  std::string text;
};

struct VariantSpec {
  uint32_t arch, level, format;
  std::string cpu, features;
};

struct ModuleSpec {
  std::string name;
  std::vector<std::pair<std::string, Bytes>> types;
  std::vector<KernelSpec> kernels;
  std::vector<TextSpec> texts;
  std::vector<VariantSpec> variants;
  std::vector<metate_derivative_info> derivatives = {};
};

Bytes descriptor(const ModuleSpec &module);
// payloads[i] belongs to variant i.
Bytes carrier(const Bytes &descriptor, const std::vector<Bytes> &payloads);

// A file's bytes; aborts the test program when it cannot be read.
Bytes readWhole(const std::string &path);

} // namespace metate::test

#endif
