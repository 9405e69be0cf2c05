//===- TypeBlob.cpp - the level table as bytes ------------------*- C++ -*-===//
#include "metate/Layout/TypeBlob.h"

#include "metate/abi/tree.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace metate;
using namespace metate::layout;

/// Appends one scalar of a background value in memory form.
static void appendScalar(std::string &bytes, Type scalar, const llvm::APInt &bits) {
  uint64_t value = bits.getZExtValue();
  for (uint64_t k = 0; k < scalarBytes(scalar); ++k)
    bytes.push_back(char(value >> (8 * k)));
}

/// The background of a place in memory form; zeros if none was given.
static std::string backgroundBytes(const Node &node) {
  std::string bytes;
  Type scalar = scalarType(shownType(node.place));
  TypedAttr background = shownBackground(node);
  auto append = [&](Attribute value) {
    if (auto number = dyn_cast<FloatAttr>(value))
      appendScalar(bytes, scalar, number.getValue().bitcastToAPInt());
    else
      appendScalar(bytes, scalar, cast<IntegerAttr>(value).getValue());
  };
  if (!background)
    bytes.assign(node.cellBytes, '\0');
  else if (auto elements = dyn_cast<DenseElementsAttr>(background))
    llvm::for_each(elements.getValues<Attribute>(), append);
  else
    append(background);
  return bytes;
}

llvm::Expected<std::string> layout::treeTypeBlob(TreeType type) {
  llvm::Expected<TreeLayout> layout = TreeLayout::get(type);
  if (!layout)
    return layout.takeError();

  SmallVector<metate_level> records =
      llvm::map_to_vector(layout->nodes, [](const Node &node) { return node.record(); });
  size_t tailAt = sizeof(metate_tree_type) + records.size() * sizeof(metate_level);
  std::string tail;
  auto addString = [&](StringRef text) {
    uint32_t offset = tailAt + tail.size();
    tail.append(text.begin(), text.end());
    tail.push_back('\0');
    return offset;
  };
  for (auto [record, node] : llvm::zip(records, layout->nodes))
    record.name = addString(node.name);
  metate_tree_type head = {};
  std::string text;
  llvm::raw_string_ostream(text) << type;
  head.text = addString(text);
  auto align = [&] { tail.resize(llvm::alignTo(tailAt + tail.size(), 8) - tailAt); };
  for (auto [record, node] : llvm::zip(records, layout->nodes)) {
    if (!node.place && !node.isWords())
      continue;
    align();
    record.background = tailAt + tail.size();
    if (node.place)
      tail += backgroundBytes(node);
    else
      tail.append(reinterpret_cast<const char *>(&node.word), node.cellBytes);
  }
  for (auto [record, node] : llvm::zip(records, layout->nodes)) {
    if (!node.packed)
      continue;
    align();
    record.quant = tailAt + tail.size();
    metate_quant packed = node.packed->record();
    tail.append(reinterpret_cast<const char *>(&packed), sizeof(packed));
  }
  align();

  head.magic = METATE_TREE_TYPE_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  head.bytes = tailAt + tail.size();
  head.level_count = records.size();
  head.pool_count = layout->poolCount;
  head.member_count = layout->memberCount;
  head.root_bytes = layout->nodes[0].cellBytes;
  head.root_align = layout->nodes[0].cellAlign;
  static_assert(llvm::endianness::native == llvm::endianness::little,
                "the contract is little-endian");
  std::string blob(reinterpret_cast<const char *>(&head), sizeof(head));
  blob.append(reinterpret_cast<const char *>(records.data()),
              records.size() * sizeof(metate_level));
  blob += tail;
  auto hash =
      llvm::xxh3_128bits(ArrayRef(reinterpret_cast<const uint8_t *>(blob.data()), blob.size()));
  uint64_t parts[2] = {hash.low64, hash.high64};
  std::memcpy(blob.data() + offsetof(metate_tree_type, hash), parts, sizeof(parts));
  return blob;
}
