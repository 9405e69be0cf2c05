// Sizes, capacities and the verifier of type blobs.
#include "fixture.h"

using namespace metate::test;
using metate::sized;

namespace {
class TypeTest : public Runtime {
protected:
  uint64_t size(const metate_type *type, const metate_capacities *capacities = nullptr) {
    uint64_t bytes = 0, align = 0;
    EXPECT_OK(metate_type_size(type, capacities, &bytes, &align));
    EXPECT_EQ(align, 64u);
    return bytes;
  }
  metate_capacities capacities(const std::vector<metate_capacity> &entries, uint32_t workers = 0) {
    auto value = sized<metate_capacities>();
    value.workers = workers;
    value.count = uint32_t(entries.size());
    value.entries = entries.data();
    return value;
  }
  metate_status reopen(Bytes blob) {
    sealType(blob.data(), blob.size());
    metate_type *type = nullptr;
    metate_status status = metate_type_open_blob(device, blob.data(), blob.size(), "t", &type);
    if (type)
      types.push_back(type);
    return status;
  }
};

uint64_t up(uint64_t bytes) { return (bytes + 63) / 64 * 64; }
} // namespace

TEST_F(TypeTest, sizeIsTheSumOfItsParts) {
  metate_type *type = open(abAos());
  // header, one pool record, root cell of 9 links, metadata and slots 0 to 9 + 16
  EXPECT_EQ(size(type), up(128 + sizeof(metate_pool)) + up(36) + up(26 * 16) + up(26 * 400));
  std::vector<metate_capacity> entries{{"pointer0", 3}};
  auto wanted = capacities(entries, 2);
  EXPECT_EQ(size(type, &wanted), up(128 + sizeof(metate_pool)) + up(36) + up(6 * 16) + up(6 * 400));
}

TEST_F(TypeTest, twoLevelsOfOneNameShareAnEntry) {
  metate_type *type = open(abSoa());
  std::vector<metate_capacity> entries{{"pointer0", 1}};
  auto wanted = capacities(entries, 1);
  EXPECT_EQ(size(type, &wanted), up(128 + 2 * sizeof(metate_pool)) + up(72) + up(3 * 16) +
                                     up(3 * 100) + up(3 * 16) + up(3 * 300));
}

TEST_F(TypeTest, largeSlotsHaveNoAmbientSlot) {
  metate_type *type = open(typeBlob(
      {pointer("p", "i", {8}, {dense("d", "i", {32768}, {place("x", METATE_F32)})})}, "large"));
  auto wanted = capacities({}, 1);
  // 131072 bytes a slot: slots 1 to 9, metadata 0 to 9
  EXPECT_EQ(size(type, &wanted),
            up(128 + sizeof(metate_pool)) + up(32) + up(10 * 8) + 9 * 131072ull);
}

TEST_F(TypeTest, naturalMaximumFollowsTheParents) {
  metate_type *type = open(nestedBlob());
  auto level = sized<metate_level_description>();
  ASSERT_OK(metate_type_level(type, 2, &level));
  EXPECT_STREQ(level.name, "pointer1");
  EXPECT_EQ(level.natural_slots, 64u * 64);
  EXPECT_EQ(level.path_rank, 3u);
  EXPECT_EQ(level.shape[0], 16);
  // A smaller parent makes a smaller child: 2 * 64 slots of pointer1.
  std::vector<metate_capacity> small{{"pointer0", 2}}, exact{{"pointer0", 2}, {"pointer1", 128}};
  auto a = capacities(small), b = capacities(exact);
  EXPECT_EQ(size(type, &a), size(type, &b));
}

TEST_F(TypeTest, capacityErrorsNameTheLevel) {
  metate_type *type = open(abAos(), "ab");
  uint64_t bytes, align;
  std::vector<metate_capacity> unknown{{"pointer7", 3}}, dense{{"dense1", 3}},
      huge{{"pointer0", 1ull << 32}}, null{{nullptr, 3}};
  auto wanted = capacities(unknown);
  EXPECT_FAILS(METATE_E_NOT_FOUND, metate_type_size(type, &wanted, &bytes, &align), "'ab'",
               "'pointer7'");
  wanted = capacities(dense);
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_type_size(type, &wanted, &bytes, &align),
               "'dense1'");
  wanted = capacities(huge);
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_type_size(type, &wanted, &bytes, &align), "pointer0",
               "4294967278", "4294967296");
  wanted = capacities(null);
  EXPECT_FAILS(METATE_E_NULL, metate_type_size(type, &wanted, &bytes, &align), "level");
  wanted = capacities({}, 70000);
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_type_size(type, &wanted, &bytes, &align), "workers");
  wanted.struct_size = 3;
  EXPECT_FAILS(METATE_E_VERSION, metate_type_size(type, &wanted, &bytes, &align), "struct_size");
}

TEST_F(TypeTest, fitUsesTheBytesItGets) {
  metate_type *type = open(nestedBlob());
  uint32_t slots[2];
  uint64_t whole = size(type);
  ASSERT_OK(metate_type_fit(type, nullptr, whole, 2, slots));
  EXPECT_EQ(slots[0], 64u);
  EXPECT_EQ(slots[1], 4096u);
  // pointer0 is small beside pointer1: it keeps its maximum, pointer1 gets the rest.
  ASSERT_OK(metate_type_fit(type, nullptr, whole / 2, 2, slots));
  EXPECT_EQ(slots[0], 64u);
  EXPECT_GT(slots[1], 1500u);
  EXPECT_LT(slots[1], 2500u);
  std::vector<metate_capacity> entries{{"pointer0", slots[0]}, {"pointer1", slots[1]}};
  auto wanted = capacities(entries);
  EXPECT_LE(size(type, &wanted), whole / 2);
  EXPECT_GT(size(type, &wanted), whole / 2 - 1024);
  EXPECT_FAILS(METATE_E_TOO_SMALL, metate_type_fit(type, nullptr, 1000, 2, slots), "1000");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_type_fit(type, nullptr, whole, 1, slots),
               "pool_count");
}

TEST_F(TypeTest, fitKeepsWhatIsAskedFor) {
  metate_type *type = open(nestedBlob());
  uint32_t slots[2];
  std::vector<metate_capacity> entries{{"pointer1", 100}};
  auto wanted = capacities(entries);
  ASSERT_OK(metate_type_fit(type, &wanted, size(type) / 4, 2, slots));
  EXPECT_EQ(slots[1], 100u);
  EXPECT_EQ(slots[0], 64u);
}

// 2^20 blocks of 2^20 blocks: far more than any memory, and more than 2^32 slots.
TEST_F(TypeTest, hugeTypesFitTheirBound) {
  metate_type *type =
      open(typeBlob({pointer("outer", "ij", {1024, 1024},
                             {pointer("inner", "ij", {1024, 1024},
                                      {dense("d", "ij", {8, 8}, {place("x", METATE_F32)})})})},
                    "huge"));
  uint32_t slots[2];
  const uint64_t bound = uint64_t(64) << 30;
  ASSERT_OK(metate_type_fit(type, nullptr, bound, 2, slots));
  std::vector<metate_capacity> entries{{"outer", slots[0]}, {"inner", slots[1]}};
  auto wanted = capacities(entries);
  uint64_t bytes = size(type, &wanted);
  EXPECT_LE(bytes, bound);
  EXPECT_GT(bytes, bound - (bound >> 4));
  // Half of the bytes each: outer slots are 4 MiB of links, inner ones 256 bytes.
  EXPECT_NEAR(double(slots[0]), double(bound) / 2 / (4 << 20), 100);
  EXPECT_NEAR(double(slots[1]), double(bound) / 2 / 272, 1e6);
}

TEST_F(TypeTest, describeAndFind) {
  metate_type *type = open(abSoa(), "soa");
  auto info = sized<metate_type_description>();
  ASSERT_OK(metate_type_describe(type, &info));
  EXPECT_STREQ(info.name, "soa");
  EXPECT_EQ(info.pool_count, 2u);
  EXPECT_EQ(info.member_count, 2u);
  EXPECT_EQ(info.level_count, 7u);
  uint32_t level;
  ASSERT_OK(metate_type_find_member(type, "b", &level));
  EXPECT_EQ(level, 6u);
  ASSERT_OK(metate_type_find_level(type, "dense1", &level));
  EXPECT_EQ(level, 2u);
  EXPECT_FAILS(METATE_E_NOT_FOUND, metate_type_find_member(type, "c", &level), "soa", "'c'");
  EXPECT_FAILS(METATE_E_NOT_FOUND, metate_type_find_level(type, "a", &level), "soa", "'a'");
  auto description = sized<metate_level_description>();
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_type_level(type, 7, &description), "7");
}

TEST_F(TypeTest, hashTellsTypesApart) {
  EXPECT_NE(std::memcmp(abAos().data() + 8, abSoa().data() + 8, 16), 0);
  Bytes blob = abAos();
  blob.data()[200] ^= 1;
  metate_type *type = nullptr;
  EXPECT_FAILS(METATE_E_CORRUPT,
               metate_type_open_blob(device, blob.data(), blob.size(), "t", &type), "hash");
  EXPECT_EQ(type, nullptr);
}

// Each contradiction a verifier must see, one at a time, with the hash made right.
TEST_F(TypeTest, verifierSeesContradictions) {
  auto change = [&](auto edit) {
    Bytes blob = nestedBlob();
    auto *type = blob.at<metate_tree_type>(0);
    edit(type, blob.at<metate_level>(sizeof *type));
    return reopen(blob);
  };
  using Type = metate_tree_type *;
  using Levels = metate_level *;
  EXPECT_OK(change([](Type, Levels) {}));
  EXPECT_EQ(METATE_E_VERSION, change([](Type type, Levels) { type->abi_version = 9; }));
  const std::pair<const char *, void (*)(Type, Levels)> edits[] = {
      {"magic", [](Type type, Levels) { type->magic ^= 1; }},
      {"bytes", [](Type type, Levels) { type->bytes += 8; }},
      {"level count 0", [](Type type, Levels) { type->level_count = 0; }},
      {"level count large", [](Type type, Levels) { type->level_count = 1u << 30; }},
      {"pool count", [](Type type, Levels) { type->pool_count = 3; }},
      {"member count", [](Type type, Levels) { type->member_count = 1; }},
      {"root bytes", [](Type type, Levels) { type->root_bytes += 4; }},
      {"root align", [](Type type, Levels) { type->root_align = 8; }},
      {"text", [](Type type, Levels) { type->text = type->bytes; }},
      {"text in the tables", [](Type type, Levels) { type->text = 70; }},
      {"type reserved", [](Type type, Levels) { type->reserved[1] = 1; }},
      {"kind", [](Type, Levels l) { l[3].kind = 9; }},
      {"root kind", [](Type, Levels l) { l[0].kind = METATE_LEVEL_DENSE; }},
      {"second root", [](Type, Levels l) { l[3].kind = METATE_LEVEL_ROOT; }},
      {"self parent", [](Type, Levels l) { l[2].parent = 2; }},
      {"later parent", [](Type, Levels l) { l[2].parent = 4; }},
      {"parent is a member", [](Type, Levels l) { l[5].parent = 4; }},
      {"orphan", [](Type, Levels l) { l[2].parent = METATE_NONE; }},
      {"no ambient flag", [](Type, Levels l) { l[1].flags = 0; }},
      {"unknown flag", [](Type, Levels l) { l[3].flags = 2; }},
      {"pool number", [](Type, Levels l) { l[2].pool = 0; }},
      {"dense with a pool", [](Type, Levels l) { l[3].pool = 2; }},
      {"name", [](Type type, Levels l) { l[3].name = type->bytes + 100; }},
      {"axes descend", [](Type, Levels l) { std::swap(l[1].axes[0], l[1].axes[1]); }},
      {"stray axis", [](Type, Levels l) { l[1].axes[2] = METATE_MAX_AXES; }},
      {"too many axes", [](Type, Levels l) { l[1].axis_count = METATE_MAX_AXES + 1; }},
      {"extent 0", [](Type, Levels l) { l[1].extents[0] = 0; }},
      {"cells", [](Type, Levels l) { l[1].cells = 63; }},
      {"extents overflow", [](Type, Levels l) { l[3].extents[0] = l[3].extents[1] = ~0u; }},
      {"stray extent", [](Type, Levels l) { l[1].extents[5] = 2; }},
      {"offset outside", [](Type, Levels l) { l[4].offset = 8; }},
      {"offset wraps", [](Type, Levels l) { l[2].offset = ~0ull - 3; }},
      {"misaligned", [](Type, Levels l) { l[4].offset = 2; }},
      {"overlap", [](Type, Levels l) { l[5].offset = 0; }},
      {"cell bytes 0", [](Type, Levels l) { l[3].cell_bytes = 0; }},
      {"cell bytes huge", [](Type, Levels l) { l[1].cell_bytes = ~0ull; }},
      {"align 3", [](Type, Levels l) { l[3].cell_align = 3; }},
      {"align 128", [](Type, Levels l) { l[3].cell_align = 128; }},
      {"child aligned more", [](Type, Levels l) { l[3].cell_align = 2; }},
      {"coordinate count", [](Type, Levels l) { l[1].coordinate_count = 0; }},
      {"path rank", [](Type, Levels l) { l[4].path_rank = 2; }},
      {"path axes", [](Type, Levels l) { l[4].path_axes[1] = 3; }},
      {"stray path axis", [](Type, Levels l) { l[3].path_axes[4] = 3; }},
      {"dtype", [](Type, Levels l) { l[4].dtype = 14; }},
      {"dense dtype", [](Type, Levels l) { l[3].dtype = METATE_F32; }},
      {"rows", [](Type, Levels l) { l[4].rows = 2; }},
      {"rows 0", [](Type, Levels l) { l[4].rows = 0; }},
      {"element rank", [](Type, Levels l) { l[4].element_rank = 3; }},
      {"background", [](Type type, Levels l) { l[4].background = type->bytes - 3; }},
      {"background in the tables", [](Type, Levels l) { l[4].background = 64; }},
      {"boolean background",
       [](Type type, Levels l) { reinterpret_cast<uint8_t *>(type)[l[5].background] = 2; }},
      {"unknown kind", [](Type, Levels l) { l[3].kind = 10; }},
      {"a level that is quantised", [](Type, Levels l) { l[2].quant = 1000; }},
      {"member names", [](Type, Levels l) { l[5].name = l[4].name; }},
  };
  for (auto [name, edit] : edits) {
    SCOPED_TRACE(name);
    EXPECT_EQ(METATE_E_CORRUPT, change(edit)) << metate_last_error();
  }
}

TEST_F(TypeTest, coordinatesStayBelowTwoToTheThirtyOne) {
  Bytes blob = typeBlob(
      {pointer("p", "i", {1u << 16}, {pointer("q", "i", {1u << 16}, {place("x", METATE_F32)})})},
      "long");
  metate_type *type = nullptr;
  EXPECT_FAILS(METATE_E_CORRUPT,
               metate_type_open_blob(device, blob.data(), blob.size(), "t", &type), "axis");
}

TEST_F(TypeTest, unalignedBlobsAreAccepted) {
  Bytes blob = abAos();
  std::vector<uint8_t> shifted(blob.size() + 1);
  std::memcpy(shifted.data() + 1, blob.data(), blob.size());
  metate_type *type = nullptr;
  ASSERT_OK(metate_type_open_blob(device, shifted.data() + 1, blob.size(), nullptr, &type));
  types.push_back(type);
  EXPECT_EQ(size(type), size(open(abAos())));
}
