// Descriptor and carrier of a hand-written module: tables, hashes, sections, the linked payload.
#include "LongTasks.h"
#include "Saxpy.h"

#include "metate/Module/Hash.h"
#include "metate/Module/Module.h"
#include "metate/abi/kernel.h"

#include "llvm/Object/ELFObjectFile.h"
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>

using namespace metate;
using namespace metate::test;

static std::string packed(const std::string &text, llvm::ArrayRef<const char *> targets,
                          PackOptions options = {}) {
  Compiled compiled(text);
  if (!compiled.module)
    return "";
  llvm::cantFail(emitFor(*compiled.module, targets));
  return llvm::cantFail(pack(*compiled.module, ownTargets(), options));
}

template <typename Record> static Record read(const std::string &bytes, size_t offset) {
  Record record;
  EXPECT_LE(offset + sizeof record, bytes.size());
  std::memcpy(&record, bytes.data() + offset, sizeof record);
  return record;
}

static std::string section(const std::string &carrier, unsigned index) {
  auto record =
      read<metate_section>(carrier, sizeof(metate_carrier) + index * sizeof(metate_section));
  return carrier.substr(record.offset, record.bytes);
}

TEST(Descriptor, StatesTypesKernelsArgumentsAndTexts) {
  std::string tree = "!metate.tree<#metate.dense<\"i\", [8], [#metate.place<\"v\" : f32>]>>";
  std::string text =
      replaced(saxpyText, "metate.interface @saxpy",
               "metate.text 0 \"saxpy.py\" : 7 : 9 \"x must be positive\"\n"
               "metate.named_type @cells = " +
                   tree +
                   "\n"
                   "metate.interface @fill entry \"metate_k_saxpy\" tasks 2 "
                   "[#metate.argument<\"t\", \"tree\", " +
                   tree +
                   " access = 6>, #metate.argument<\"m\", \"vector\", ui8 element = [3, 2]>, "
                   "#metate.argument<\"out\", \"ndarray\", f64 element = [2] rank = 2 access = 2 "
                   "flags = 2>] may_alias\n"
                   "metate.interface @saxpy");
  Compiled compiled(text);
  ASSERT_TRUE(bool(compiled.module));
  std::string bytes = llvm::cantFail(buildDescriptor(*compiled.module));
  auto head = read<metate_descriptor>(bytes, 0);
  EXPECT_EQ(head.bytes, bytes.size());
  EXPECT_STREQ(bytes.data() + head.name, "saxpy_module");
  ASSERT_EQ(head.types.count, 1u);
  ASSERT_EQ(head.kernels.count, 2u);
  ASSERT_EQ(head.arguments.count, 6u);
  ASSERT_EQ(head.texts.count, 3u); // the assert's and two kernels' places
  auto fill = read<metate_kernel_info>(bytes, head.kernels.offset);
  EXPECT_STREQ(bytes.data() + fill.name, "fill");
  EXPECT_EQ(fill.flags, uint32_t(METATE_KERNEL_HAS_RESULT));
  EXPECT_EQ(fill.slot_count, 1u + 6u + 5u);
  EXPECT_EQ(fill.source, 1u);
  auto matrix =
      read<metate_argument_info>(bytes, head.arguments.offset + sizeof(metate_argument_info));
  EXPECT_EQ(matrix.dtype, uint32_t(METATE_U8));
  EXPECT_EQ(matrix.rows * 10 + matrix.columns, 32u);
  EXPECT_EQ(matrix.first_slot, 1u);
  auto out =
      read<metate_argument_info>(bytes, head.arguments.offset + 2 * sizeof(metate_argument_info));
  EXPECT_EQ(out.fixed[0], -1);
  EXPECT_EQ(out.fixed[1], 2);
  auto text0 = read<metate_text>(bytes, head.texts.offset);
  EXPECT_EQ(text0.line, 7u);
  EXPECT_STREQ(bytes.data() + text0.text, "x must be positive");
  std::string copy = bytes;
  sealWithHash(copy, offsetof(metate_descriptor, signature_hash));
  EXPECT_EQ(copy, bytes);
}

TEST(Descriptor, NamesTreeTypesThatHaveNone) {
  std::string tree = "!metate.tree<#metate.dense<\"i\", [8], [#metate.place<\"v\" : f32>]>>";
  Compiled compiled("metate.interface @k entry \"e\" tasks 1 [#metate.argument<\"t\", \"tree\", " +
                    tree + ">]");
  ASSERT_TRUE(bool(compiled.module));
  std::string bytes = llvm::cantFail(buildDescriptor(*compiled.module));
  auto head = read<metate_descriptor>(bytes, 0);
  ASSERT_EQ(head.types.count, 1u);
  EXPECT_STREQ(bytes.data() + read<metate_type_info>(bytes, head.types.offset).name, "tree0");
}

TEST(Descriptor, SignatureDependsOnNameAndArguments) {
  auto signature = [](const std::string &text) {
    Compiled compiled(text);
    std::string bytes = llvm::cantFail(buildDescriptor(*compiled.module));
    return read<metate_kernel_info>(bytes, read<metate_descriptor>(bytes, 0).kernels.offset)
        .signature;
  };
  EXPECT_EQ(signature(saxpyText), signature(std::string(saxpyText) + "\n"));
  EXPECT_NE(signature(saxpyText), signature(replaced(saxpyText, "@saxpy entry", "@other entry")));
  EXPECT_NE(signature(saxpyText),
            signature(replaced(saxpyText, "\"scalar\", f32", "\"scalar\", f64")));
}

TEST(Variant, StatesLevelAndFeaturesBeyondIt) {
  Compiled compiled(saxpyText);
  ASSERT_TRUE(bool(compiled.module));
  const char *const targets[] = {"x86-64", "x86-64-v3", "znver4", "aarch64:cortex-a72"};
  llvm::cantFail(emitFor(*compiled.module, targets));
  std::string bytes = section(llvm::cantFail(pack(*compiled.module, ownTargets())), 0);
  auto head = read<metate_descriptor>(bytes, 0);
  ASSERT_EQ(head.variants.count, 4u);
  const uint32_t levels[] = {1, 3, 4, 0};
  const char *const cpus[] = {"x86-64", "x86-64-v3", "znver4", "cortex-a72"};
  for (unsigned k = 0; k < 4; ++k) {
    auto variant =
        read<metate_variant_info>(bytes, head.variants.offset + k * sizeof(metate_variant_info));
    std::string features = variant.features ? bytes.data() + variant.features : "";
    EXPECT_EQ(variant.level, levels[k]) << cpus[k];
    EXPECT_STREQ(bytes.data() + variant.cpu, cpus[k]);
    EXPECT_EQ(variant.arch, uint32_t(k == 3 ? METATE_ARCH_AARCH64 : METATE_ARCH_X86_64));
    EXPECT_EQ(features.find("avx512vbmi2") != std::string::npos, k == 2) << features;
    EXPECT_EQ(features.empty(), k != 2) << features;
  }
}

TEST(Pack, WritesACarrierWithAlignedSections) {
  const char *const targets[] = {"x86-64-v2", "aarch64"};
  std::string bytes = packed(saxpyText, targets);
  auto head = read<metate_carrier>(bytes, 0);
  EXPECT_EQ(head.magic, METATE_CARRIER_MAGIC);
  EXPECT_EQ(head.bytes, bytes.size());
  ASSERT_EQ(head.section_count, 3u);
  std::string descriptor = section(bytes, 0);
  EXPECT_EQ(read<metate_descriptor>(descriptor, 0).bytes, descriptor.size());
  for (unsigned k = 0; k < 3; ++k) {
    auto record = read<metate_section>(bytes, sizeof(metate_carrier) + k * sizeof(metate_section));
    EXPECT_EQ(record.offset % 64, 0u);
    EXPECT_EQ(record.kind, uint32_t(k ? METATE_SECTION_PAYLOAD : METATE_SECTION_DESCRIPTOR));
  }
  std::string copy = bytes;
  sealWithHash(copy, offsetof(metate_carrier, hash));
  EXPECT_EQ(copy, bytes);
}

TEST(Pack, IsDeterministicAndSurvivesADump) {
  const char *const targets[] = {"x86-64-v3"};
  std::string first = packed(saxpyText, targets);
  EXPECT_EQ(first, packed(saxpyText, targets));
  Compiled compiled(saxpyText);
  llvm::cantFail(emitFor(*compiled.module, targets));
  std::string dump;
  llvm::raw_string_ostream stream(dump);
  compiled.module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  Compiled again(dump);
  ASSERT_TRUE(bool(again.module));
  EXPECT_EQ(first, llvm::cantFail(pack(*again.module, ownTargets())));
}

namespace {
/// A payload loaded by the system's loader.
struct Loaded {
  explicit Loaded(const std::string &carrier) {
    std::string path = testing::TempDir() + "metate_payload_test.so";
    std::ofstream(path, std::ios::binary) << section(carrier, 1);
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    if (library)
      payload = static_cast<const metate_payload *>(dlsym(library, METATE_PAYLOAD_SYMBOL));
    std::remove(path.c_str());
  }
  ~Loaded() {
    if (library)
      dlclose(library);
  }
  void *library = nullptr;
  const metate_payload *payload = nullptr;
};
} // namespace

TEST(Pack, PayloadLoadsAndRuns) {
  for (bool strip : {false, true}) {
    std::string carrier = packed(saxpyText, {"x86-64"}, {strip});
    Loaded loaded(carrier);
    ASSERT_NE(loaded.payload, nullptr);
    EXPECT_EQ(loaded.payload->magic, METATE_PAYLOAD_MAGIC);
    ASSERT_EQ(loaded.payload->kernel_count, 1u);
    auto head = read<metate_descriptor>(section(carrier, 0), 0);
    EXPECT_EQ(loaded.payload->descriptor_hash[0], head.signature_hash[0]);
    EXPECT_EQ(loaded.payload->descriptor_hash[1], head.signature_hash[1]);
    float x[3] = {1, 2, 3}, y[3] = {10, 20, 30};
    metate_slot slots[7] = {};
    slots[0].f = 2;
    slots[1].p = x;
    slots[2].i = 3;
    slots[4].p = y;
    EXPECT_EQ(loaded.payload->entries[0](slots, nullptr, nullptr), METATE_OK);
    EXPECT_EQ(y[2], 36.0f);
  }
}

TEST(Pack, MathFunctionsComeFromTheCLibraryByVersion) {
  std::string text = replaced(saxpyText, "llvm.func private @saxpy_body",
                              "llvm.func @roundevenf(f32) -> f32\n  llvm.func private @saxpy_body");
  text = replaced(text, "llvm.store %sum,",
                  "%e = llvm.call @roundevenf(%sum) : (f32) -> f32\n llvm.store %e,");
  std::string carrier = packed(text, {"x86-64"});
  std::string object = section(carrier, 1);
  EXPECT_NE(object.find("libm.so.6"), std::string::npos);
  EXPECT_NE(object.find("GLIBC_2.25"), std::string::npos);
  EXPECT_EQ(object.find("metate-link"), std::string::npos) << "a temporary path is in the bytes";
  Loaded loaded(carrier);
  ASSERT_NE(loaded.payload, nullptr);
}

TEST(Pack, ReportsWhatTheLinkerSaysAndCanLinkAgain) {
  Compiled compiled(saxpyText);
  llvm::cantFail(emitFor(*compiled.module, {"x86-64"}));
  InterfaceOp interface = *compiled.module->getOps<InterfaceOp>().begin();
  interface.setEntry("elsewhere");
  llvm::Expected<std::string> bytes = pack(*compiled.module, ownTargets());
  ASSERT_FALSE(bool(bytes));
  std::string text = textOf(bytes.takeError());
  EXPECT_NE(text.find("linking the payload failed"), std::string::npos) << text;
  EXPECT_NE(text.find("elsewhere"), std::string::npos) << text;
  interface.setEntry("metate_k_saxpy");
  EXPECT_TRUE(bool(pack(*compiled.module, ownTargets())));
}

TEST(Pack, JoinsTheObjectsOfALongModule) {
  EXPECT_EQ(packed(longTasksText(5), {"x86-64"}), packed(longTasksText(5), {"x86-64"}));
  Loaded loaded(packed(longTasksText(5), {"x86-64"}));
  ASSERT_NE(loaded.payload, nullptr);
  EXPECT_TRUE(runsLongTasks(loaded.payload->entries[0], 5));
}

TEST(Pack, RefusesADamagedPayload) {
  Compiled compiled(saxpyText);
  llvm::cantFail(emitFor(*compiled.module, {"x86-64"}));
  PayloadOp payload = *compiled.module->getOps<PayloadOp>().begin();
  mlir::Builder builder(payload.getContext());
  auto whole = llvm::cast<mlir::DenseI8ArrayAttr>(payload.getObjects()[0]);
  llvm::SmallVector<int8_t> object(whole.asArrayRef());
  for (size_t bytes : {size_t(0), size_t(3), size_t(64), object.size() / 2}) {
    mlir::Attribute damaged = builder.getDenseI8ArrayAttr(llvm::ArrayRef(object).take_front(bytes));
    payload.setObjectsAttr(builder.getArrayAttr(damaged));
    EXPECT_NE(textOf(pack(*compiled.module, ownTargets()).takeError()), "") << bytes;
    payload.setObjectsAttr(builder.getArrayAttr({whole, damaged}));
    EXPECT_NE(textOf(pack(*compiled.module, ownTargets()).takeError()), "") << bytes;
  }
}
