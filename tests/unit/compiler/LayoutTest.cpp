// Layout against independent rules: on random tree types, containers are aligned and do not
// overlap, sizes are what the parts need, and libmetate accepts and sizes what the compiler writes.
#include "metate/Dialect/Tree.h"
#include "metate/Layout/TypeBlob.h"
#include "metate/abi/tree.h"
#include "metate/metate.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace metate;

namespace {
/// Random well-formed tree types as text.
class TypeGenerator {
public:
  explicit TypeGenerator(uint32_t seed) : random(seed) {}

  std::string tree() {
    members = 0;
    std::string text = "!metate.tree<";
    int branches = pick(1, 3);
    for (int k = 0; k < branches; ++k)
      text += (k ? ", " : "") + level(pick(1, 4));
    return text + ">";
  }

private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

  std::string place() {
    static const char *types[] = {"i1",
                                  "i8",
                                  "i16",
                                  "i32",
                                  "i64",
                                  "ui8",
                                  "ui64",
                                  "f16",
                                  "bf16",
                                  "f32",
                                  "f64",
                                  "vector<3xf32>",
                                  "vector<2x2xf64>",
                                  "vector<5xi8>"};
    return "#metate.place<\"m" + std::to_string(members++) + "\" : " + types[pick(0, 13)] + ">";
  }

  std::string level(int depth) {
    static const char *axes[] = {"i", "j", "ij", "ijk", "k"};
    std::string letters = axes[pick(0, 4)], extents, children;
    for (size_t k = 0; k < letters.size(); ++k)
      extents += (k ? ", " : "") + std::to_string(pick(1, 7));
    int count = pick(1, 3);
    for (int k = 0; k < count; ++k)
      children += (k ? ", " : "") + (depth > 1 && pick(0, 2) ? level(depth - 1) : place());
    switch (pick(0, 6)) { // lists and hash levels only where no other level splits their axes
    case 0: {
      int extent = pick(1, 40);
      return "#metate.dynamic<\"" + letters.substr(0, 1) + "\", [" + std::to_string(extent) +
             "], [" + children + "], chunk = " + std::to_string(pick(1, extent)) + ">";
    }
    case 1:
      return "#metate.hash<\"" + letters + "\", [" + children + "]>";
    default:
      static const char *kinds[] = {"dense", "pointer", "bitmasked"};
      return std::string("#metate.") + kinds[pick(0, 2)] + "<\"" + letters + "\", [" + extents +
             "], [" + children + "]>";
    }
  }

  std::mt19937 random;
  int members = 0;
};

class LayoutTest : public testing::Test {
protected:
  LayoutTest() { context.loadDialect<MetateDialect>(); }

  TreeType parse(const std::string &text) {
    return llvm::dyn_cast_or_null<TreeType>(mlir::parseType(text, &context));
  }
  mlir::MLIRContext context;
};

uint64_t containerBytes(const layout::Node &node) {
  uint64_t masks = (node.cells + 31) / 32 * 4 * 2;
  switch (node.kind) {
  case METATE_LEVEL_POINTER:
    return node.cells * 4;
  case METATE_LEVEL_DYNAMIC:
    return 8 + (node.cells + node.slotCells - 1) / node.slotCells * 4;
  case METATE_LEVEL_HASH:
    return 4;
  case METATE_LEVEL_BITMASKED:
    return llvm::alignTo(node.cells * node.cellBytes, 4) + masks;
  default:
    return node.cells * node.cellBytes;
  }
}
uint64_t containerAlign(const layout::Node &node) {
  if (node.pool >= 0)
    return 4;
  return node.kind == METATE_LEVEL_BITMASKED ? std::max<uint64_t>(node.cellAlign, 4)
                                             : node.cellAlign;
}

/// The children of one cell lie in it, aligned and apart.
void checkCell(const layout::TreeLayout &layout, unsigned parent) {
  uint64_t end = 0;
  for (const layout::Node &node : layout.nodes) {
    if (node.parent != int(parent))
      continue;
    EXPECT_GE(node.offset, end) << node.name;
    EXPECT_EQ(node.offset % containerAlign(node), 0u) << node.name;
    EXPECT_LT(node.offset - end, 64u) << "more padding than any alignment needs: " << node.name;
    end = node.offset + containerBytes(node);
  }
  const layout::Node &cell = layout.nodes[parent];
  EXPECT_LE(end, cell.cellBytes) << cell.name;
  EXPECT_EQ(cell.cellBytes % cell.cellAlign, 0u) << cell.name;
}

TEST_F(LayoutTest, RandomTypesAreLaidOutSoundly) {
  const char *given = std::getenv("METATE_TEST_SEED"); // of a long run
  uint32_t seed = given ? uint32_t(std::strtoul(given, nullptr, 10)) : 1;
  SCOPED_TRACE("seed " + std::to_string(seed));
  TypeGenerator generator(seed);
  metate_device *device = nullptr;
  ASSERT_EQ(metate_device_open(nullptr, &device), METATE_OK);
  int kept = 0;
  for (int round = 0; round < 900; ++round) {
    std::string text = generator.tree();
    mlir::ScopedDiagnosticHandler quiet(&context,
                                        [](mlir::Diagnostic &) { return mlir::success(); });
    TreeType type = parse(text);
    if (!type) // two levels of one default name at one depth are fine; axes that grow too long are
               // not
      continue;
    ++kept;
    SCOPED_TRACE(text);
    llvm::Expected<layout::TreeLayout> layout = layout::TreeLayout::get(type);
    ASSERT_TRUE(bool(layout));
    for (unsigned k = 0; k < layout->nodes.size(); ++k)
      if (!layout->nodes[k].place)
        checkCell(*layout, k);
    llvm::Expected<std::string> blob = layout::treeTypeBlob(type);
    ASSERT_TRUE(bool(blob));
    metate_type *opened = nullptr;
    ASSERT_EQ(metate_type_open_blob(device, blob->data(), blob->size(), "t", &opened), METATE_OK)
        << metate_last_error();
    uint64_t bytes = 0, align = 0;
    ASSERT_EQ(metate_type_size(opened, nullptr, &bytes, &align), METATE_OK) << metate_last_error();
    EXPECT_EQ(align, 64u);
    EXPECT_GE(bytes, sizeof(metate_tree_header) + layout->poolCount * sizeof(metate_pool) +
                         layout->nodes[0].cellBytes);
    EXPECT_EQ(metate_type_close(opened), METATE_OK);
  }
  EXPECT_GT(kept, 200);
  metate_device_close(device);
}

TEST_F(LayoutTest, TheRfcsTreeHasTheBytesOneExpects) {
  TreeType type = parse("!metate.tree<#metate.pointer<\"ij\", [3, 3], [#metate.dense<\"ij\", [5, "
                        "5], [#metate.place<\"a\" : f32>, "
                        "#metate.place<\"b\" : vector<3xf32>>]>]>>");
  ASSERT_TRUE(bool(type));
  auto layout = llvm::cantFail(layout::TreeLayout::get(type));
  EXPECT_EQ(layout.nodes[0].cellBytes, 9 * 4u); // nine links
  EXPECT_EQ(layout.nodes[1].cellBytes, 448u);   // 25 cells of 16 bytes, a multiple of 64
  EXPECT_EQ(layout.nodes[2].cellBytes, 16u);
  EXPECT_EQ(layout.nodes[4].offset, 4u);
  EXPECT_TRUE(layout.nodes[1].ambient);
}

TEST_F(LayoutTest, SlotsChunksAndMasksAreWhereOneExpects) {
  TreeType type = parse(
      "!metate.tree<#metate.hash<\"ij\", [#metate.bitmasked<\"ij\", [5, 7], [#metate.place<\"a\" "
      ": i8>]>, #metate.dynamic<\"k\", [1000], [#metate.place<\"b\" : vector<3xf32>>], chunk = "
      "32>]>>");
  ASSERT_TRUE(bool(type));
  auto layout = llvm::cantFail(layout::TreeLayout::get(type));
  EXPECT_EQ(layout.nodes[0].cellBytes, 4u); // the stamp
  const layout::Node &masked = layout.nodes[2], &list = layout.nodes[4];
  EXPECT_EQ(masked.maskOffset, 36u); // 35 cells of a byte, then two masks of two words
  EXPECT_EQ(masked.maskBytes(), 8u);
  EXPECT_EQ(list.offset, 52u);
  metate_level record = list.record();
  EXPECT_EQ(metate_level_chunks(&record), 32u);
  EXPECT_EQ(list.slotBytes, 384u);
  EXPECT_EQ(list.containerBytes(), 136u); // two lengths, 32 links
  EXPECT_EQ(layout.nodes[1].slotBytes, 192u);
  EXPECT_EQ(layout.nodes[1].cells, 0u); // without bounds
  EXPECT_EQ(list.metaBytes(), 24u);
}

TEST_F(LayoutTest, BlobsAreEqualExactlyWhereTypesAre) {
  auto blobOf = [&](const std::string &text) {
    return llvm::cantFail(layout::treeTypeBlob(parse(text)));
  };
  std::string a = "!metate.tree<#metate.dense<\"i\", [4], [#metate.place<\"a\" : f32>]>>";
  std::string named =
      "!metate.tree<#metate.dense<\"i\", [4], [#metate.place<\"a\" : f32>], name = \"cells\">>";
  std::string background = "!metate.tree<#metate.dense<\"i\", [4], [#metate.place<\"a\" : f32, "
                           "background = 1.0 : f32>]>>";
  EXPECT_EQ(blobOf(a), blobOf(a));
  EXPECT_NE(blobOf(a), blobOf(named));
  EXPECT_NE(blobOf(a), blobOf(background));
  auto hashOf = [](const std::string &blob) {
    return reinterpret_cast<const metate_tree_type *>(blob.data())->hash[0];
  };
  EXPECT_NE(hashOf(blobOf(a)), hashOf(blobOf(background)));
}

TEST_F(LayoutTest, ATypeBeyond62BitsIsAnError) {
  std::string dims = "[2147483647, 2147483647, 2147483647]";
  TreeType type =
      parse("!metate.tree<#metate.dense<\"ijk\", " + dims + ", [#metate.place<\"a\" : f32>]>>");
  ASSERT_TRUE(bool(type));
  llvm::Expected<layout::TreeLayout> layout = layout::TreeLayout::get(type);
  ASSERT_FALSE(bool(layout));
  EXPECT_NE(llvm::toString(layout.takeError()).find("too large"), std::string::npos);
}
} // namespace
