// Damaged modules in shared objects: truncated at every length, flipped at random, and mutated in ELF's header, its section table
// and the descriptor, with all hashes made right again.
#include "damage.h"
#include "library.h"

#include "metate/abi/library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <elf.h>
#include <vector>

using namespace metate::test;

namespace {

ModuleSpec ofOneVariant() {
  ModuleSpec spec = testModuleSpec();
  spec.variants = {{METATE_ARCH_X86_64, 1, METATE_FORMAT_SHARED_OBJECT, "x86-64", ""}};
  return spec;
}

// METATE_TEST_LIBRARY adds one that the compiler made.
std::vector<std::pair<std::string, Bytes>> libraries() {
  std::vector<std::pair<std::string, Bytes>> list;
  list.emplace_back("the test module", library(descriptor(ofOneVariant())));
  if (const char *path = std::getenv("METATE_TEST_LIBRARY"))
    list.emplace_back(path, readWhole(path));
  return list;
}

class LibraryDamage : public ::testing::Test {
protected:
  metate_device *device = nullptr;
  void SetUp() override { ASSERT_EQ(METATE_OK, metate_device_open(nullptr, &device)); }
  void TearDown() override {
    EXPECT_EQ(METATE_OK, metate_device_close(device)) << metate_last_error();
  }
  metate_status query(const Bytes &file, metate_module **module) {
    return metate_module_open_bytes(device, file.data(), file.size(), METATE_MODULE_QUERY_ONLY,
                                    module);
  }
};

// Its types, its descriptor and the file, from the inside out.
void sealAll(Bytes &file, const Bytes &original, size_t record) {
  const size_t start = record + sizeof(metate_library);
  const auto *head = reinterpret_cast<const metate_descriptor *>(original.data() + start);
  const auto *types =
      reinterpret_cast<const metate_type_info *>(original.data() + start + head->types.offset);
  for (uint32_t i = 0; i < head->types.count; ++i)
    sealType(file.data() + start + types[i].offset, types[i].bytes);
  sealDescriptor(file.data() + start, head->bytes);
  sealLibrary(file.data(), file.size(), record);
}

// ELF's header, the section table, the record, the descriptor.
std::pair<size_t, size_t> region(const Bytes &original, size_t record, Random &random) {
  const auto *head = reinterpret_cast<const Elf64_Ehdr *>(original.data());
  switch (random.below(4)) {
  case 0:
    return {0, sizeof *head};
  case 1:
    return {head->e_shoff, head->e_shoff + head->e_shnum * sizeof(Elf64_Shdr)};
  case 2:
    return {record, record + sizeof(metate_library)};
  default:
    const size_t start = record + sizeof(metate_library);
    return {start,
            start + reinterpret_cast<const metate_descriptor *>(original.data() + start)->bytes};
  }
}

void damage(Bytes &file, size_t begin, size_t end, Random &random) {
  const size_t width = size_t(1) << random.below(4);
  const size_t offset = begin + random.below((end - begin) / width) * width;
  uint64_t value = 0;
  std::memcpy(&value, file.data() + offset, width);
  value = random.nasty(value);
  std::memcpy(file.data() + offset, &value, width);
}

} // namespace

TEST_F(LibraryDamage, aSoundOneIsDescribed) {
  Random random;
  for (const auto &[name, file] : libraries()) {
    SCOPED_TRACE(name);
    ASSERT_EQ(METATE_OK, metate_module_verify(file.data(), file.size())) << metate_last_error();
    metate_module *module = nullptr;
    ASSERT_EQ(METATE_OK, query(file, &module)) << metate_last_error();
    EXPECT_EQ(exercise(module, random), "");
    auto variant = metate::sized<metate_variant_description>();
    EXPECT_EQ(METATE_OK, metate_module_variant(module, 0, &variant));
    EXPECT_EQ(variant.payload_bytes, file.size());
    EXPECT_EQ(METATE_OK, metate_module_close(module));
  }
}

TEST_F(LibraryDamage, everyTruncationIsRefused) {
  for (const auto &[name, file] : libraries()) {
    SCOPED_TRACE(name);
    for (size_t bytes = 0; bytes < file.size(); ++bytes) {
      Exact part(file.data(), bytes);
      ASSERT_NE(METATE_OK, metate_module_verify(part.data, part.bytes)) << bytes;
    }
    Bytes longer = file;
    longer.resize(file.size() + 1);
    EXPECT_EQ(METATE_E_CORRUPT, metate_module_verify(longer.data(), longer.size()));
  }
}

TEST_F(LibraryDamage, everyFlipIsRefused) {
  Random random;
  for (const auto &[name, original] : libraries()) {
    SCOPED_TRACE(name);
    Bytes file = original;
    for (int round = 0; round < 20000; ++round) {
      const size_t at = random.below(file.size());
      const auto flip = uint8_t(1u << random.below(8));
      file.data()[at] ^= flip;
      metate_module *module = nullptr;
      const metate_status status =
          metate_module_open_bytes(device, file.data(), file.size(), 0, &module);
      file.data()[at] ^= flip;
      ASSERT_NE(METATE_OK, status) << "byte " << at << " bit mask " << int(flip);
      ASSERT_EQ(module, nullptr);
    }
  }
}

TEST_F(LibraryDamage, mutationsAreRefusedOrReadConsistently) {
  Random random;
  for (const auto &[name, original] : libraries()) {
    SCOPED_TRACE(name);
    const size_t record = findLibrary(original.data(), original.size());
    ASSERT_LT(record, original.size());
    int accepted = 0;
    for (int round = 0; round < 4000; ++round) {
      Bytes file = original;
      for (uint64_t changes = 1 + random.below(3); changes; --changes) {
        auto [begin, end] = region(original, record, random);
        damage(file, begin, end, random);
      }
      sealAll(file, original, record);
      Exact exact(file.data(), file.size());
      metate_module *module = nullptr;
      if (metate_module_open_bytes(device, exact.data, exact.bytes, METATE_MODULE_QUERY_ONLY,
                                   &module) != METATE_OK)
        continue;
      ++accepted;
      EXPECT_EQ(exercise(module, random), "") << "round " << round;
      ASSERT_EQ(METATE_OK, metate_module_close(module));
    }
    std::printf("%s: %d of 4000 mutations were harmless\n", name.c_str(), accepted);
    EXPECT_LT(accepted, 4000) << "no mutation was refused: the verifier does not look";
    EXPECT_GT(accepted, 0) << "every mutation was refused: the hashes were not made right";
  }
}

TEST_F(LibraryDamage, whatIsWrongIsNamed) {
  const Bytes sound = library(descriptor(ofOneVariant()));
  const size_t record = findLibrary(sound.data(), sound.size());
  auto said = [&](auto &&change) {
    Bytes file = sound;
    change(file);
    EXPECT_NE(METATE_OK, metate_module_verify(file.data(), file.size()));
    return std::string(metate_last_error());
  };
  auto elf = [](Bytes &file) { return file.at<Elf64_Ehdr>(0); };
  auto has = [](const std::string &text, const char *piece) {
    EXPECT_NE(text.find(piece), std::string::npos) << text;
  };
  has(said([&](Bytes &file) { elf(file)->e_ident[EI_CLASS] = ELFCLASS32; }), "64-bit");
  has(said([&](Bytes &file) { elf(file)->e_type = ET_EXEC; }), "is no module");
  has(said([&](Bytes &file) { elf(file)->e_shoff = file.size(); }), "section table is damaged");
  has(said([&](Bytes &file) { elf(file)->e_shoff = ~uint64_t(0) - 63; }),
      "section table is damaged");
  has(said([&](Bytes &file) { elf(file)->e_shstrndx = 3; }), "section table is damaged");
  has(said([&](Bytes &file) { file.at<Elf64_Shdr>(elf(file)->e_shoff)[2].sh_size = file.size(); }),
      "section names are damaged");
  has(said([&](Bytes &file) { file.at<Elf64_Shdr>(elf(file)->e_shoff)[1].sh_name = 3; }),
      "it has no section .metate");
  has(said([&](Bytes &file) {
        file.at<Elf64_Shdr>(elf(file)->e_shoff)[2] = file.at<Elf64_Shdr>(elf(file)->e_shoff)[1];
        elf(file)->e_shstrndx = 2;
      }),
      "shared object: ");
  has(said([&](Bytes &file) { file.at<metate_library>(record)->abi_version ^= 1; }),
      "its hash does not match");
  has(said([&](Bytes &file) {
        file.at<metate_library>(record)->abi_version ^= 1;
        sealLibrary(file.data(), file.size(), record);
      }),
      "expected abi version");
  has(said([&](Bytes &file) {
        file.at<metate_library>(record)->descriptor_bytes -= 8;
        sealLibrary(file.data(), file.size(), record);
      }),
      "section .metate is damaged");
  has(said([&](Bytes &file) {
        elf(file)->e_machine = EM_AARCH64;
        sealLibrary(file.data(), file.size(), record);
      }),
      "of another machine than the file");
}
