// Damaged module files: truncated at every length, flipped at random, and mutated field by field
// with all hashes made right again.
#include "damage.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

using namespace metate::test;

namespace {

// A module with more kinds of types than the test module has, and no code.
Bytes richModule() {
  ModuleSpec spec = testModuleSpec();
  spec.name = "rich";
  spec.variants.clear();
  spec.types.emplace_back(
      "nested",
      typeBlob({pointer("outer", "ijk", {4, 4, 4},
                        {pointer("inner", "ijk", {4, 4, 4},
                                 {dense("d", "ijk", {2, 2, 2},
                                        {withBackground<float>(place("x", METATE_F32), {1.5f}),
                                         place("on", METATE_U1)})})})},
               "nested"));
  spec.types.emplace_back(
      "mixed", typeBlob({pointer("p", "ik", {5, 3},
                                 {dense("d", "ij", {3, 7},
                                        {place("x", METATE_I64), place("m", METATE_F64, 2, 2)}),
                                  dense("e", "i", {3}, {place("s", METATE_U16)})}),
                         dense("flat", "j", {6}, {place("y", METATE_I8)}), place("n", METATE_I32)},
                        "mixed"));
  spec.types.emplace_back(
      "words",
      typeBlob(
          {pointer("p", "i", {5},
                   {bitStruct(64, {shared({quantFloat("u", 5, 9, true, METATE_F32),
                                           quantFloat("v", 5, 9, false, METATE_F32)}),
                                   quantInt("n", 17, true, METATE_I32),
                                   quantFloat("h", 4, 9, true, METATE_F64)}),
                    quantArray("q", "j", {7}, 32, quantFixed("f", 5, true, 0.5, METATE_F32))})},
          "words"));
  return carrier(descriptor(spec), {});
}

// The files to damage; METATE_TEST_MODULE adds one that the compiler made.
std::vector<std::pair<std::string, Bytes>> modules() {
  std::vector<std::pair<std::string, Bytes>> list;
  list.emplace_back("the test module", readWhole(METATE_TEST_FILE));
  list.emplace_back("a rich module", richModule());
  if (const char *path = std::getenv("METATE_TEST_MODULE"))
    list.emplace_back(path, readWhole(path));
  return list;
}

class ModuleDamage : public ::testing::Test {
protected:
  metate_device *device = nullptr;
  void SetUp() override { ASSERT_EQ(METATE_OK, metate_device_open(nullptr, &device)); }
  void TearDown() override {
    EXPECT_EQ(METATE_OK, metate_device_close(device)) << metate_last_error();
  }
};

// Writes a nasty value over a random 1, 2, 4 or 8 bytes of [begin, end), aligned to their size.
void mutate(Bytes &file, size_t begin, size_t end, Random &random) {
  size_t width = size_t(1) << random.below(4);
  if (end - begin < width)
    return;
  size_t offset = begin + random.below((end - begin) / width) * width;
  uint64_t old = 0;
  std::memcpy(&old, file.data() + offset, width);
  uint64_t value = random.nasty(old);
  // Now and then another field's value, which is plausible and wrong.
  if (random.below(4) == 0)
    std::memcpy(&value, file.data() + begin + random.below((end - begin) / width) * width, width);
  std::memcpy(file.data() + offset, &value, width);
}

// Types, descriptor, carrier: whatever can still be found, from the inside out.
void sealAll(Bytes &file, const Bytes &original) {
  const auto *head = reinterpret_cast<const metate_carrier *>(original.data());
  const auto *section =
      reinterpret_cast<const metate_section *>(original.data() + head->section_offset);
  size_t start = section->offset, bytes = section->bytes;
  const auto *before = reinterpret_cast<const metate_descriptor *>(original.data() + start);
  for (uint32_t i = 0; i < before->types.count; ++i) {
    const auto *type =
        reinterpret_cast<const metate_type_info *>(original.data() + start + before->types.offset) +
        i;
    sealType(file.data() + start + type->offset, type->bytes);
  }
  sealDescriptor(file.data() + start, bytes);
  sealCarrier(file.data(), file.size());
}

// Where a mutation goes: carrier header, section table, descriptor head, its tables, a type's blob.
std::pair<size_t, size_t> region(const Bytes &original, Random &random) {
  const auto *head = reinterpret_cast<const metate_carrier *>(original.data());
  const auto *section =
      reinterpret_cast<const metate_section *>(original.data() + head->section_offset);
  const auto *descriptor =
      reinterpret_cast<const metate_descriptor *>(original.data() + section->offset);
  size_t start = section->offset;
  switch (random.below(8)) {
  case 0:
    return {0, sizeof(metate_carrier)};
  case 1:
    return {sizeof(metate_carrier),
            sizeof(metate_carrier) + head->section_count * sizeof(metate_section)};
  case 2:
    return {start, start + sizeof(metate_descriptor)};
  case 3:
  case 4:
    return {start + sizeof(metate_descriptor), start + section->bytes};
  default:
    const auto *types = reinterpret_cast<const metate_type_info *>(original.data() + start +
                                                                   descriptor->types.offset);
    if (!descriptor->types.count)
      return {start, start + section->bytes};
    const metate_type_info &type = types[random.below(descriptor->types.count)];
    return {start + type.offset, start + type.offset + type.bytes};
  }
}

} // namespace

TEST_F(ModuleDamage, everyTruncationIsRefused) {
  for (const auto &[name, file] : modules()) {
    SCOPED_TRACE(name);
    for (size_t bytes = 0; bytes < file.size(); ++bytes) {
      Exact part(file.data(), bytes);
      // malloc(0) may give NULL, which is a refusal of its own.
      ASSERT_NE(METATE_OK, metate_module_verify(part.data, part.bytes)) << bytes;
    }
    Bytes longer = file;
    longer.resize(file.size() + 1);
    EXPECT_EQ(METATE_E_CORRUPT, metate_module_verify(longer.data(), longer.size()));
  }
}

TEST_F(ModuleDamage, everyFlipIsRefused) {
  Random random;
  for (const auto &[name, original] : modules()) {
    SCOPED_TRACE(name);
    Bytes file = original;
    for (int round = 0; round < 20000; ++round) {
      size_t at = random.below(file.size());
      uint8_t flip = uint8_t(1u << random.below(8));
      file.data()[at] ^= flip;
      metate_module *module = nullptr;
      metate_status status = metate_module_open_bytes(device, file.data(), file.size(), 0, &module);
      file.data()[at] ^= flip;
      ASSERT_NE(METATE_OK, status) << "byte " << at << " bit mask " << int(flip);
      ASSERT_EQ(module, nullptr);
    }
  }
}

TEST_F(ModuleDamage, mutationsAreRefusedOrReadConsistently) {
  Random random;
  for (const auto &[name, original] : modules()) {
    SCOPED_TRACE(name);
    int accepted = 0;
    for (int round = 0; round < 2000; ++round) {
      Bytes file = original;
      for (uint64_t changes = 1 + random.below(3); changes; --changes) {
        auto [begin, end] = region(original, random);
        mutate(file, begin, end, random);
      }
      sealAll(file, original);
      Exact exact(file.data(), file.size());
      metate_module *module = nullptr;
      metate_status status = metate_module_open_bytes(device, exact.data, exact.bytes,
                                                      METATE_MODULE_QUERY_ONLY, &module);
      if (status != METATE_OK)
        continue;
      ++accepted;
      std::string problem = exercise(module, random);
      EXPECT_EQ(problem, "") << "round " << round;
      ASSERT_EQ(METATE_OK, metate_module_close(module));
    }
    std::printf("%s: %d of 2000 mutations were harmless\n", name.c_str(), accepted);
    EXPECT_LT(accepted, 2000) << "no mutation was refused: the verifier does not look";
    EXPECT_GT(accepted, 0) << "every mutation was refused: the hashes were not made right";
  }
}
