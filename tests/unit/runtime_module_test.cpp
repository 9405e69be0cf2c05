// Opening, verifying and querying modules: static, from bytes, from a file.
#include "fixture.h"

#include <functional>

using namespace metate::test;
using metate::sized;

namespace {
class ModuleTest : public Runtime {
protected:
  Bytes file = readWhole(METATE_TEST_FILE);

  metate_status openBytes(const Bytes &bytes, uint32_t flags = 0) {
    metate_module *module = nullptr;
    metate_status status =
        metate_module_open_bytes(device, bytes.data(), bytes.size(), flags, &module);
    if (module) {
      EXPECT_OK(metate_module_close(module));
    }
    return status;
  }
  // The file with another variant, opened.
  metate_status openVariant(uint32_t arch, uint32_t level, const char *features,
                            uint32_t flags = 0) {
    ModuleSpec spec = testModuleSpec();
    spec.variants = {{arch, level, METATE_FORMAT_SHARED_OBJECT, "some-cpu", features}};
    Bytes payload;
    payload.append("not code", 8);
    return openBytes(carrier(descriptor(spec), {payload}), flags);
  }
};
} // namespace

TEST_F(ModuleTest, fileAndBytesAndStaticLookAlike) {
  Bytes head = descriptor(testModuleSpec());
  metate_module *modules[3] = {};
  ASSERT_OK(metate_module_open_file(device, METATE_TEST_FILE, 0, &modules[0]));
  ASSERT_OK(metate_module_open_bytes(device, file.data(), file.size(), 0, &modules[1]));
  ASSERT_OK(metate_module_open_static(device, head.data(), head.size(), metate_test_entries,
                                      TEST_KERNELS, &modules[2]));
  for (metate_module *module : modules) {
    auto info = sized<metate_module_info>();
    ASSERT_OK(metate_module_describe(module, &info));
    EXPECT_STREQ(info.name, "test");
    EXPECT_STREQ(info.producer, "test builder");
    EXPECT_EQ(info.type_count, 2u);
    EXPECT_EQ(info.kernel_count, unsigned(TEST_KERNELS));
    EXPECT_EQ(info.variant, 0u);
    EXPECT_EQ(info.descriptor_bytes, head.size());
    EXPECT_EQ(std::memcmp(info.descriptor, head.data(), head.size()), 0) << "the same bytes";
    const metate_type *type = nullptr;
    ASSERT_OK(metate_module_find_type(module, "ab_soa", &type));
    auto about = sized<metate_type_description>();
    ASSERT_OK(metate_type_describe(type, &about));
    EXPECT_STREQ(about.name, "ab_soa");
    EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_type_close(const_cast<metate_type *>(type)),
                 "module");
    const metate_kernel *kernel = nullptr;
    ASSERT_OK(metate_module_find_kernel(module, "empty", &kernel));
    EXPECT_OK(metate_kernel_launch(kernel, nullptr, 0));
    EXPECT_FAILS(METATE_E_NOT_FOUND, metate_module_find_kernel(module, "run2", &kernel), "'test'",
                 "'run2'", "run1", "axpy");
    EXPECT_FAILS(METATE_E_NOT_FOUND, metate_module_find_type(module, "ab", &type), "'ab'",
                 "ab_aos, ab_soa");
    EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_module_type_at(module, 2, &type), "2");
    EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_module_kernel_at(module, 99, &kernel), "99");
    ASSERT_OK(metate_module_close(module));
  }
}

// The loader names anonymous files by their number: a number used again must not bring old code.
TEST_F(ModuleTest, openingAgainLoadsTheNewCode) {
  for (int round = 0; round < 3; ++round) {
    metate_module *first = nullptr, *second = nullptr;
    ASSERT_OK(metate_module_open_bytes(device, file.data(), file.size(), 0, &first));
    ASSERT_OK(metate_module_open_bytes(device, file.data(), file.size(), 0, &second));
    const metate_kernel *kernels[2];
    ASSERT_OK(metate_module_find_kernel(first, "empty", &kernels[0]));
    ASSERT_OK(metate_module_find_kernel(second, "empty", &kernels[1]));
    auto info = sized<metate_kernel_description>();
    ASSERT_OK(metate_kernel_describe(kernels[0], &info));
    metate_entry entries[2];
    ASSERT_OK(metate_kernel_direct(kernels[0], info.signature, &entries[0]));
    ASSERT_OK(metate_kernel_direct(kernels[1], info.signature, &entries[1]));
    EXPECT_NE(entries[0], entries[1]) << "two modules do not meet";
    ASSERT_OK(metate_module_close(first));
    EXPECT_OK(metate_kernel_launch(kernels[1], nullptr, 0));
    ASSERT_OK(metate_module_close(second));
  }
}

TEST_F(ModuleTest, otherMachinesModulesOpenForQueries) {
  const uint32_t foreign = testModuleSpec().variants[0].arch == METATE_ARCH_X86_64
                               ? METATE_ARCH_AARCH64
                               : METATE_ARCH_X86_64;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openVariant(foreign, 0, ""), "some-cpu", "architecture");
  EXPECT_OK(openVariant(foreign, 0, "", METATE_MODULE_QUERY_ONLY));
  ModuleSpec spec = testModuleSpec();
  spec.variants.clear();
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openBytes(carrier(descriptor(spec), {})), "none");
}

#if defined(__x86_64__)
TEST_F(ModuleTest, levelAndFeaturesAreCheckedAgainstTheCpu) {
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openVariant(METATE_ARCH_X86_64, 5, ""), "x86-64-v5",
               "this CPU is");
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openVariant(METATE_ARCH_X86_64, 1, "sse2,warp-drive"),
               "does not know", "warp-drive");
  // Features it has: the loader then sees that the payload is no code.
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openVariant(METATE_ARCH_X86_64, 1, "+sse2,cmov"), "loader");
}

TEST_F(ModuleTest, instrumentedCodeNeedsItsSanitizer) {
  auto open = [&](const char *features) { return openVariant(METATE_ARCH_X86_64, 1, features); };
#if __has_feature(thread_sanitizer)
  const char *present = "sse2,sanitizer-thread", *absent = "sse2,sanitizer-address";
#elif __has_feature(address_sanitizer)
  const char *present = "sse2,sanitizer-address", *absent = "sse2,sanitizer-thread";
#else
  const char *present = "sse2", *absent = "sse2,sanitizer-thread";
#endif
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(present), "loader");
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(absent), "instrumented for the",
               "which is not in this process (build the host with -fsanitize=");
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open("sanitizer-memory"), "the memory sanitizer");
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open("sanitizer-"), "does not know the feature sanitizer-");
}

TEST_F(ModuleTest, theBestVariantWins) {
  ModuleSpec spec = testModuleSpec();
  spec.variants = {{METATE_ARCH_X86_64, 5, METATE_FORMAT_SHARED_OBJECT, "future", ""},
                   {METATE_ARCH_X86_64, 1, METATE_FORMAT_SHARED_OBJECT, "plain", ""},
                   {METATE_ARCH_X86_64, 1, METATE_FORMAT_SHARED_OBJECT, "more", "sse2"}};
  Bytes payload;
  payload.append("not code", 8);
  Bytes head = descriptor(spec);
  // Variant 2 is chosen, so its payload is the one that is loaded.
  Bytes real = testModuleFile(METATE_TEST_PAYLOAD);
  const auto *section = real.at<metate_section>(sizeof(metate_carrier)) + 1;
  Bytes code;
  code.append(real.data() + section->offset, section->bytes);
  EXPECT_FAILS(METATE_E_CORRUPT, openBytes(carrier(head, {payload, payload, code})),
               "another descriptor");
  EXPECT_FAILS(METATE_E_UNSUPPORTED, openBytes(carrier(head, {payload, code, payload})), "loader");
}

TEST_F(ModuleTest, linkedCodeMustBeForThisMachine) {
  ModuleSpec spec = testModuleSpec();
  metate_module *module = nullptr;
  auto open = [&](uint32_t arch, uint32_t level, const char *features) {
    spec.variants = {{arch, level, METATE_FORMAT_IN_MEMORY, "some-cpu", features}};
    Bytes head = descriptor(spec);
    return metate_module_open_static(device, head.data(), head.size(), metate_test_entries,
                                     TEST_KERNELS, &module);
  };
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(METATE_ARCH_X86_64, 5, ""),
               "module 'test' is linked for some-cpu, which this machine cannot run: it needs "
               "x86-64-v5");
  EXPECT_FAILS(METATE_E_UNSUPPORTED, open(METATE_ARCH_AARCH64, 0, ""), "another architecture");
  EXPECT_EQ(module, nullptr);
  // The code is here already: what this libmetate has never heard of may be there.
  Bytes head;
  spec.variants = {{METATE_ARCH_X86_64, 1, METATE_FORMAT_IN_MEMORY, "some-cpu", "sse2,new-thing"}};
  head = descriptor(spec);
  ASSERT_OK(metate_module_open_static(device, head.data(), head.size(), metate_test_entries,
                                      TEST_KERNELS, &module));
  EXPECT_OK(metate_module_close(module));
}
#endif

TEST_F(ModuleTest, verifyRefusesWhatItMust) {
  EXPECT_OK(metate_module_verify(file.data(), file.size()));
  EXPECT_FAILS(METATE_E_CORRUPT, metate_module_verify(file.data(), 10), "64");
  EXPECT_FAILS(METATE_E_CORRUPT, metate_module_verify(file.data(), file.size() - 1), "truncated");
  Bytes changed = file;
  changed.data()[changed.size() - 1] ^= 1;
  EXPECT_FAILS(METATE_E_CORRUPT, openBytes(changed), "hash");
  changed = file;
  changed.at<metate_carrier>(0)->abi_version = METATE_ABI_VERSION + 1;
  sealCarrier(changed.data(), changed.size());
  std::string version = "version " + std::to_string(METATE_ABI_VERSION);
  std::string got = "got " + std::to_string(METATE_ABI_VERSION + 1);
  EXPECT_FAILS(METATE_E_VERSION, openBytes(changed), version.c_str(), got.c_str());
  EXPECT_FAILS(METATE_E_MISALIGNED, metate_module_verify(file.data() + 1, 100), "8 bytes");
  metate_module *module = nullptr;
  EXPECT_FAILS(METATE_E_IO, metate_module_open_file(device, "/no/such/file", 0, &module),
               "/no/such/file");
  EXPECT_FAILS(METATE_E_IO, metate_module_open_file(device, "/", 0, &module), "regular");
}

TEST_F(ModuleTest, unalignedBytesAreAccepted) {
  std::vector<uint8_t> shifted(file.size() + 1);
  std::memcpy(shifted.data() + 1, file.data(), file.size());
  metate_module *module = nullptr;
  ASSERT_OK(metate_module_open_bytes(device, shifted.data() + 1, file.size(), 0, &module));
  EXPECT_OK(metate_module_close(module));
}

// Each contradiction in a descriptor, one at a time, with the hash made right.
TEST_F(ModuleTest, verifierSeesContradictions) {
  auto change = [&](auto edit) {
    Bytes bytes = descriptor(testModuleSpec());
    edit(bytes.at<metate_descriptor>(0), bytes);
    sealDescriptor(bytes.data(), bytes.size());
    metate_module *module = nullptr;
    metate_status status = metate_module_open_static(device, bytes.data(), bytes.size(),
                                                     metate_test_entries, TEST_KERNELS, &module);
    if (module) {
      EXPECT_OK(metate_module_close(module));
    }
    return status;
  };
  using Head = metate_descriptor *;
  EXPECT_OK(change([](Head, Bytes &) {}));
  EXPECT_EQ(METATE_E_VERSION, change([](Head head, Bytes &) { head->abi_version = 7; }));
  EXPECT_EQ(METATE_E_UNSUPPORTED, change([](Head head, Bytes &) { head->graphs.count = 1; }));
  EXPECT_EQ(METATE_E_UNSUPPORTED, change([](Head head, Bytes &bytes) {
              bytes.at<metate_type_info>(head->types.offset)->kind = 2;
            }));
  auto kernel = [](Head head, Bytes &bytes) {
    return bytes.at<metate_kernel_info>(head->kernels.offset) + TEST_ECHO;
  };
  auto argument = [](Head head, Bytes &bytes, uint32_t index) {
    return bytes.at<metate_argument_info>(head->arguments.offset) + index;
  };
  auto pool = [](Head head, Bytes &bytes, uint32_t index) {
    return bytes.at<metate_pool_info>(head->pools.offset) + index;
  };
  auto derivative = [](Head head, Bytes &bytes, uint32_t index) {
    return bytes.at<metate_derivative_info>(head->derivatives.offset) + index;
  };
  EXPECT_EQ(METATE_E_UNSUPPORTED, change([&](Head h, Bytes &b) { derivative(h, b, 0)->mode = 3; }));
  // arguments: 0 f, 1 scale, 2 f, 3 x, 4 y, 5 s, 6 x, 7 v, 8 m, 9 c, 10 on, 11 out
  const std::pair<const char *, std::function<void(Head, Bytes &)>> edits[] = {
      {"magic", [](Head head, Bytes &) { head->magic ^= 1; }},
      {"bytes", [](Head head, Bytes &) { head->bytes -= 8; }},
      {"name", [](Head head, Bytes &) { head->name = head->bytes; }},
      {"name in the head", [](Head head, Bytes &) { head->name = 8; }},
      {"producer", [](Head head, Bytes &) { head->producer = ~0u; }},
      {"reserved", [](Head head, Bytes &) { head->reserved[0] = 1; }},
      {"table outside", [](Head head, Bytes &) { head->kernels.offset = head->bytes; }},
      {"table misaligned", [](Head head, Bytes &) { head->kernels.offset += 4; }},
      {"table in the head", [](Head head, Bytes &) { head->texts.offset = 64; }},
      {"table count", [](Head head, Bytes &) { head->types.count = ~0u; }},
      {"end", [](Head, Bytes &bytes) { bytes.data()[bytes.size() - 1] = 'x'; }},
      {"blob outside",
       [](Head head, Bytes &bytes) {
         bytes.at<metate_type_info>(head->types.offset)->bytes = ~0u;
       }},
      {"blob misaligned",
       [](Head head, Bytes &bytes) {
         bytes.at<metate_type_info>(head->types.offset)->offset += 4;
       }},
      {"type name",
       [](Head head, Bytes &bytes) { bytes.at<metate_type_info>(head->types.offset)->name = ~0u; }},
      {"kernel name", [&](Head h, Bytes &b) { kernel(h, b)->name = h->bytes + 1; }},
      {"kernel flags", [&](Head h, Bytes &b) { kernel(h, b)->flags = 64; }},
      {"first argument", [&](Head h, Bytes &b) { kernel(h, b)->first_argument = ~0u; }},
      {"argument count", [&](Head h, Bytes &b) { kernel(h, b)->argument_count += 100; }},
      {"fewer arguments", [&](Head h, Bytes &b) { kernel(h, b)->argument_count -= 1; }},
      {"slot count", [&](Head h, Bytes &b) { kernel(h, b)->slot_count += 1; }},
      {"source", [&](Head h, Bytes &b) { kernel(h, b)->source = 2; }},
      {"first pool", [&](Head h, Bytes &b) { kernel(h, b)->first_pool = ~0u; }},
      {"pool count", [&](Head h, Bytes &b) { kernel(h, b)->pool_count = 3; }},
      {"pool name", [&](Head h, Bytes &b) { pool(h, b, 0)->name = ~0u; }},
      {"pool align", [&](Head h, Bytes &b) { pool(h, b, 0)->align = 3; }},
      {"pool without align", [&](Head h, Bytes &b) { pool(h, b, 0)->align = 0; }},
      {"pool variant", [&](Head h, Bytes &b) { pool(h, b, 1)->variant = 0; }},
      {"pools' variants",
       [&](Head h, Bytes &b) { pool(h, b, 0)->variant = pool(h, b, 1)->variant = 1; }},
      {"pool factor", [&](Head h, Bytes &b) { pool(h, b, 0)->factors[0] = 0; }},
      {"pool stride", [&](Head h, Bytes &b) { pool(h, b, 0)->factors[0] = 2; }},
      {"pool factor behind", [&](Head h, Bytes &b) { pool(h, b, 0)->factors[2] = 1; }},
      {"derivatives", [](Head head, Bytes &) { head->derivatives.count = 1000; }},
      {"derivative's primal", [&](Head h, Bytes &b) { derivative(h, b, 2)->primal = ~0u; }},
      {"derivative outside", [&](Head h, Bytes &b) { derivative(h, b, 0)->kernel = TEST_KERNELS; }},
      {"derivative of itself", [&](Head h, Bytes &b) { derivative(h, b, 0)->kernel = TEST_AXPY; }},
      {"derivatives' order", [&](Head h, Bytes &b) { derivative(h, b, 2)->primal = TEST_RUN1; }},
      {"two derivatives", [&](Head h, Bytes &b) { derivative(h, b, 1)->mode = 1; }},
      {"derivative's reserved", [&](Head h, Bytes &b) { derivative(h, b, 1)->reserved = 1; }},
      {"derivative of a slice",
       [&](Head h, Bytes &b) { // the last kernel of the table, which a derivative names
         b.at<metate_kernel_info>(h->kernels.offset)[TEST_KERNELS - 1].flags = METATE_KERNEL_SLICE;
         b.at<metate_kernel_info>(h->kernels.offset)[TEST_KERNELS - 1].pool_count = 0;
         derivative(h, b, 2)->kernel = TEST_KERNELS - 1;
       }},
      {"argument name", [&](Head h, Bytes &b) { argument(h, b, 7)->name = ~0u; }},
      {"argument kind", [&](Head h, Bytes &b) { argument(h, b, 7)->kind = 9; }},
      {"argument dtype", [&](Head h, Bytes &b) { argument(h, b, 9)->dtype = 0; }},
      {"argument rows", [&](Head h, Bytes &b) { argument(h, b, 7)->rows = 4; }},
      {"rows overflow",
       [&](Head h, Bytes &b) { argument(h, b, 8)->rows = argument(h, b, 8)->columns = ~0u; }},
      {"element rank", [&](Head h, Bytes &b) { argument(h, b, 11)->element_rank = 2; }},
      {"rank", [&](Head h, Bytes &b) { argument(h, b, 11)->rank = 9; }},
      {"access", [&](Head h, Bytes &b) { argument(h, b, 11)->access = 32; }},
      {"argument flags", [&](Head h, Bytes &b) { argument(h, b, 11)->flags = 8; }},
      {"first slot", [&](Head h, Bytes &b) { argument(h, b, 11)->first_slot += 1; }},
      {"fixed", [&](Head h, Bytes &b) { argument(h, b, 11)->fixed[0] = -2; }},
      {"tree type", [&](Head h, Bytes &b) { argument(h, b, 0)->type = 2; }},
      {"text file",
       [](Head head, Bytes &bytes) { bytes.at<metate_text>(head->texts.offset)->file = ~0u; }},
      {"variant cpu", [](Head head, Bytes &bytes) {
         bytes.at<metate_variant_info>(head->variants.offset)->cpu = ~0u;
       }}};
  for (const auto &[name, edit] : edits) {
    SCOPED_TRACE(name);
    EXPECT_EQ(METATE_E_CORRUPT, change(edit)) << metate_last_error();
  }
}

TEST_F(ModuleTest, kernelsNameTheirDerivatives) {
  metate_module *module = nullptr;
  ASSERT_OK(metate_module_open_file(device, METATE_TEST_FILE, METATE_MODULE_QUERY_ONLY, &module));
  const metate_kernel *axpy = nullptr, *echo = nullptr, *total = nullptr, *found = nullptr;
  ASSERT_OK(metate_module_find_kernel(module, "axpy", &axpy));
  ASSERT_OK(metate_module_find_kernel(module, "echo", &echo));
  ASSERT_OK(metate_module_find_kernel(module, "total", &total));
  ASSERT_OK(metate_kernel_derivative(axpy, METATE_DERIVATIVE_REVERSE, &found));
  EXPECT_EQ(found, echo) << "the test module's derivatives have other names on purpose";
  ASSERT_OK(metate_kernel_derivative(axpy, METATE_DERIVATIVE_FORWARD, &found));
  EXPECT_EQ(found, total);
  EXPECT_FAILS(METATE_E_NOT_FOUND,
               metate_kernel_derivative(total, METATE_DERIVATIVE_FORWARD, &found), "'total'",
               "forward mode", "fwd=True");
  EXPECT_FAILS(METATE_E_NOT_FOUND,
               metate_kernel_derivative(echo, METATE_DERIVATIVE_REVERSE, &found), "'echo'",
               "reverse mode", "grad=True");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_kernel_derivative(axpy, 0, &found), "got 0");
  EXPECT_EQ(found, total) << "written on success only";
  EXPECT_OK(metate_module_close(module));
}

TEST_F(ModuleTest, staticModulesCheckTheirEntries) {
  Bytes head = descriptor(testModuleSpec());
  metate_module *module = nullptr;
  EXPECT_FAILS(
      METATE_E_INVALID_ARGUMENT,
      metate_module_open_static(device, head.data(), head.size(), metate_test_entries, 3, &module),
      "entry_count", "got 3");
  std::vector<metate_entry> entries(metate_test_entries, metate_test_entries + TEST_KERNELS);
  entries[TEST_FILL] = nullptr;
  EXPECT_FAILS(METATE_E_NULL,
               metate_module_open_static(device, head.data(), head.size(), entries.data(),
                                         TEST_KERNELS, &module),
               "'fill'");
  EXPECT_EQ(module, nullptr);
}

TEST_F(ModuleTest, queryOnlyModulesDoNotRun) {
  metate_module *module = nullptr;
  ASSERT_OK(metate_module_open_file(device, METATE_TEST_FILE, METATE_MODULE_QUERY_ONLY, &module));
  const metate_kernel *kernel = nullptr;
  ASSERT_OK(metate_module_find_kernel(module, "empty", &kernel));
  EXPECT_FAILS(METATE_E_UNSUPPORTED, metate_kernel_launch(kernel, nullptr, 0), "QUERY_ONLY");
  auto variant = sized<metate_variant_description>();
  ASSERT_OK(metate_module_variant(module, 0, &variant));
  EXPECT_GT(variant.payload_bytes, 1000u);
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_module_variant(module, 1, &variant), "1");
  EXPECT_OK(metate_module_close(module));
}
