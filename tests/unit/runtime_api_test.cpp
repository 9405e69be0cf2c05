// The C API's manners: NULL everywhere, struct sizes, hooks, ownership, memory objects.
#include "fixture.h"

#include <map>
#include <thread>

using namespace metate::test;
using metate::sized;

namespace {
class ApiTest : public Runtime {};

// Counts and checks everything that goes through the hooks.
struct Ledger {
  std::map<void *, std::pair<size_t, size_t>> live;
  size_t total = 0;
  int64_t refuseAfter = -1;

  static void *allocate(void *self, size_t bytes, size_t align) {
    auto *ledger = static_cast<Ledger *>(self);
    if (ledger->refuseAfter == 0)
      return nullptr;
    if (ledger->refuseAfter > 0)
      --ledger->refuseAfter;
    size_t padded = std::max<size_t>(align, 16);
    void *pointer = std::aligned_alloc(padded, (bytes + padded - 1) / padded * padded);
    ledger->live[pointer] = {bytes, align};
    ledger->total += bytes;
    return pointer;
  }
  static void release(void *self, void *pointer, size_t bytes, size_t align) {
    auto *ledger = static_cast<Ledger *>(self);
    ASSERT_TRUE(ledger->live.count(pointer));
    EXPECT_EQ(ledger->live[pointer], std::make_pair(bytes, align))
        << "release gets what allocate got";
    ledger->live.erase(pointer);
    std::free(pointer);
  }
  metate_allocator hook() { return {this, allocate, release}; }
};
} // namespace

TEST_F(ApiTest, everyRequiredPointerIsChecked) {
  metate_type *type = open(abAos());
  metate_tree *tree = make(type);
  metate_module *module = nullptr;
  ASSERT_OK(metate_module_open_file(device, METATE_TEST_FILE, 0, &module));
  const metate_kernel *kernel = nullptr;
  ASSERT_OK(metate_module_kernel_at(module, 0, &kernel));
  metate_memory *memory = nullptr;
  ASSERT_OK(metate_memory_create(device, 64, 0, &memory));
  metate_device *d = nullptr;
  metate_module *m = nullptr;
  metate_type *t = nullptr;
  metate_tree *tr = nullptr;
  metate_memory *mem = nullptr;
  const metate_type *ct = nullptr;
  const metate_kernel *ck = nullptr;
  metate_entry entry = nullptr;
  uint64_t n = 0, align = 0;
  uint32_t level = 0, flag = 0;
  int64_t at[2] = {0, 0};
  float v = 0;
  char byte = 0;
  auto di = sized<metate_device_info>();
  auto mi = sized<metate_module_info>();
  auto vi = sized<metate_variant_description>();
  auto ti = sized<metate_type_description>();
  auto li = sized<metate_level_description>();
  auto tri = sized<metate_tree_description>();
  auto ps = sized<metate_pool_stats>();
  auto ki = sized<metate_kernel_description>();
  auto ai = sized<metate_argument_description>();
  auto pl = sized<metate_plan>();
  auto mmi = sized<metate_memory_info>();
#define NULLS(argument, call) EXPECT_FAILS(METATE_E_NULL, call, "'" argument "'")
  NULLS("device", metate_device_open(nullptr, nullptr));
  NULLS("device", metate_device_describe(nullptr, &di));
  NULLS("info", metate_device_describe(device, nullptr));
  NULLS("device", metate_device_close(nullptr));
  NULLS("device", metate_memory_create(nullptr, 1, 0, &mem));
  NULLS("memory", metate_memory_create(device, 1, 0, nullptr));
  NULLS("device", metate_memory_reserve(nullptr, 1, &mem));
  NULLS("memory", metate_memory_reserve(device, 1, nullptr));
  NULLS("device", metate_memory_wrap(nullptr, &byte, 1, &mem));
  NULLS("data", metate_memory_wrap(device, nullptr, 1, &mem));
  NULLS("memory", metate_memory_wrap(device, &byte, 1, nullptr));
  NULLS("memory", metate_memory_describe(nullptr, &mmi));
  NULLS("info", metate_memory_describe(memory, nullptr));
  NULLS("memory", metate_memory_read(nullptr, 0, &byte, 1));
  NULLS("to", metate_memory_read(memory, 0, nullptr, 1));
  NULLS("memory", metate_memory_write(nullptr, 0, &byte, 1));
  NULLS("from", metate_memory_write(memory, 0, nullptr, 1));
  NULLS("memory", metate_memory_destroy(nullptr));
  NULLS("device", metate_module_open_file(nullptr, "x", 0, &m));
  NULLS("path", metate_module_open_file(device, nullptr, 0, &m));
  NULLS("module", metate_module_open_file(device, "x", 0, nullptr));
  NULLS("device", metate_module_open_bytes(nullptr, &byte, 1, 0, &m));
  NULLS("bytes", metate_module_open_bytes(device, nullptr, 1, 0, &m));
  NULLS("module", metate_module_open_bytes(device, &byte, 1, 0, nullptr));
  NULLS("device", metate_module_open_static(nullptr, &byte, 1, &entry, 1, &m));
  NULLS("descriptor", metate_module_open_static(device, nullptr, 1, &entry, 1, &m));
  NULLS("entries", metate_module_open_static(device, &byte, 1, nullptr, 1, &m));
  NULLS("module", metate_module_open_static(device, &byte, 1, &entry, 1, nullptr));
  NULLS("bytes", metate_module_verify(nullptr, 1));
  NULLS("module", metate_module_describe(nullptr, &mi));
  NULLS("info", metate_module_describe(module, nullptr));
  NULLS("module", metate_module_variant(nullptr, 0, &vi));
  NULLS("variant", metate_module_variant(module, 0, nullptr));
  NULLS("module", metate_module_type_at(nullptr, 0, &ct));
  NULLS("type", metate_module_type_at(module, 0, nullptr));
  NULLS("module", metate_module_find_type(nullptr, "x", &ct));
  NULLS("name", metate_module_find_type(module, nullptr, &ct));
  NULLS("type", metate_module_find_type(module, "x", nullptr));
  NULLS("module", metate_module_kernel_at(nullptr, 0, &ck));
  NULLS("kernel", metate_module_kernel_at(module, 0, nullptr));
  NULLS("module", metate_module_find_kernel(nullptr, "x", &ck));
  NULLS("name", metate_module_find_kernel(module, nullptr, &ck));
  NULLS("kernel", metate_module_find_kernel(module, "x", nullptr));
  NULLS("module", metate_module_close(nullptr));
  NULLS("device", metate_type_open_blob(nullptr, &byte, 1, "x", &t));
  NULLS("blob", metate_type_open_blob(device, nullptr, 1, "x", &t));
  NULLS("type", metate_type_open_blob(device, &byte, 1, "x", nullptr));
  NULLS("type", metate_type_close(nullptr));
  NULLS("type", metate_type_describe(nullptr, &ti));
  NULLS("info", metate_type_describe(type, nullptr));
  NULLS("type", metate_type_level(nullptr, 0, &li));
  NULLS("level", metate_type_level(type, 0, nullptr));
  NULLS("type", metate_type_find_member(nullptr, "a", &level));
  NULLS("name", metate_type_find_member(type, nullptr, &level));
  NULLS("level", metate_type_find_member(type, "a", nullptr));
  NULLS("type", metate_type_find_level(nullptr, "a", &level));
  NULLS("name", metate_type_find_level(type, nullptr, &level));
  NULLS("level", metate_type_find_level(type, "pointer0", nullptr));
  NULLS("type", metate_type_size(nullptr, nullptr, &n, &align));
  NULLS("bytes", metate_type_size(type, nullptr, nullptr, &align));
  NULLS("align", metate_type_size(type, nullptr, &n, nullptr));
  NULLS("type", metate_type_fit(nullptr, nullptr, 0, 1, &level));
  NULLS("slots", metate_type_fit(type, nullptr, 0, 1, nullptr));
  NULLS("type", metate_tree_bind(nullptr, &byte, 1, nullptr, 0, &tr));
  NULLS("memory", metate_tree_bind(type, nullptr, 1, nullptr, 0, &tr));
  NULLS("tree", metate_tree_bind(type, &byte, 1, nullptr, 0, nullptr));
  NULLS("type", metate_tree_new(nullptr, nullptr, &tr));
  NULLS("tree", metate_tree_new(type, nullptr, nullptr));
  NULLS("tree", metate_tree_reset(nullptr));
  NULLS("tree", metate_tree_describe(nullptr, &tri));
  NULLS("info", metate_tree_describe(tree, nullptr));
  NULLS("tree", metate_tree_stats(nullptr, 0, &ps));
  NULLS("stats", metate_tree_stats(tree, 0, nullptr));
  NULLS("type", metate_tree_check(nullptr, &byte, 1));
  NULLS("block", metate_tree_check(type, nullptr, 1));
  NULLS("tree", metate_tree_unbind(nullptr));
  NULLS("tree", metate_tree_is_active(nullptr, 3, at, 2, &flag));
  NULLS("active", metate_tree_is_active(tree, 3, at, 2, nullptr));
  NULLS("coordinates", metate_tree_is_active(tree, 3, nullptr, 2, &flag));
  NULLS("tree", metate_tree_activate(nullptr, 3, at, 2));
  NULLS("coordinates", metate_tree_activate(tree, 3, nullptr, 2));
  NULLS("tree", metate_tree_read(nullptr, 3, at, 2, &v, 4));
  NULLS("value", metate_tree_read(tree, 3, at, 2, nullptr, 4));
  NULLS("coordinates", metate_tree_read(tree, 3, nullptr, 2, &v, 4));
  NULLS("tree", metate_tree_write(nullptr, 3, at, 2, &v, 4));
  NULLS("value", metate_tree_write(tree, 3, at, 2, nullptr, 4));
  NULLS("tree", metate_tree_cells(nullptr, 3, 0, nullptr, nullptr, &n));
  NULLS("count", metate_tree_cells(tree, 3, 0, nullptr, nullptr, nullptr));
  NULLS("tree", metate_tree_read_dense(nullptr, 3, &v, 4));
  NULLS("values", metate_tree_read_dense(tree, 3, nullptr, 4));
  NULLS("tree", metate_tree_write_dense(nullptr, 3, &v, 4));
  NULLS("values", metate_tree_write_dense(tree, 3, nullptr, 4));
  const uint32_t members[] = {3};
  NULLS("tree", metate_tree_read_members(nullptr, members, 1, &v, 4));
  NULLS("levels", metate_tree_read_members(tree, nullptr, 1, &v, 4));
  NULLS("values", metate_tree_read_members(tree, members, 1, nullptr, 4));
  NULLS("tree", metate_tree_write_members(nullptr, members, 1, &v, 4));
  NULLS("levels", metate_tree_write_members(tree, nullptr, 1, &v, 4));
  NULLS("values", metate_tree_write_members(tree, members, 1, nullptr, 4));
  NULLS("tree", metate_tree_fill(nullptr, 3, &v, 4));
  NULLS("value", metate_tree_fill(tree, 3, nullptr, 4));
  NULLS("kernel", metate_kernel_describe(nullptr, &ki));
  NULLS("info", metate_kernel_describe(kernel, nullptr));
  NULLS("kernel", metate_kernel_argument_info(nullptr, 0, &ai));
  NULLS("info", metate_kernel_argument_info(kernel, 0, nullptr));
  NULLS("kernel", metate_kernel_plan(nullptr, nullptr, 0, &pl));
  NULLS("plan", metate_kernel_plan(kernel, nullptr, 0, nullptr));
  NULLS("kernel", metate_kernel_launch(nullptr, nullptr, 0));
  NULLS("kernel", metate_kernel_direct(nullptr, 0, &entry));
  NULLS("entry", metate_kernel_direct(kernel, 0, nullptr));
#undef NULLS
  EXPECT_EQ(d, nullptr);
  EXPECT_OK(metate_memory_destroy(memory));
  EXPECT_OK(metate_module_close(module));
}

TEST_F(ApiTest, structSizesAreChecked) {
  metate_device_info info{};
  EXPECT_FAILS(METATE_E_VERSION, metate_device_describe(device, &info), "struct_size", "got 0");
  metate_device_hooks hooks{};
  metate_device *other = nullptr;
  EXPECT_FAILS(METATE_E_VERSION, metate_device_open(&hooks, &other), "struct_size");
}

TEST_F(ApiTest, statusesHaveNamesAndTexts) {
  EXPECT_STREQ(metate_status_name(METATE_E_ALIAS), "METATE_E_ALIAS");
  EXPECT_STREQ(metate_status_name(-5), "METATE_E_?");
  EXPECT_EQ(metate_abi_version(), METATE_ABI_VERSION);
  EXPECT_STREQ(metate_dtype_name(METATE_BF16), "bf16");
  EXPECT_EQ(metate_dtype_bytes(METATE_F64), 8u);
  EXPECT_EQ(metate_dtype_bytes(0), 0u);
  EXPECT_EQ(metate_dtype_bytes(14), 0u);
  metate_device_close(nullptr);
  std::string here = metate_last_error(), there = "x";
  std::thread([&] { there = metate_last_error(); }).join();
  EXPECT_NE(here, "");
  EXPECT_EQ(there, "") << "the text is the thread's own";
}

TEST_F(ApiTest, devicesCloseLast) {
  metate_memory *memory = nullptr;
  ASSERT_OK(metate_memory_create(device, 64, 0, &memory));
  EXPECT_FAILS(METATE_E_BUSY, metate_device_close(device), "1 objects");
  EXPECT_OK(metate_memory_destroy(memory));
}

TEST_F(ApiTest, describesTheMachine) {
  auto info = sized<metate_device_info>();
  ASSERT_OK(metate_device_describe(device, &info));
  EXPECT_EQ(info.worker_count, 1u);
#if defined(__x86_64__)
  EXPECT_EQ(info.arch, unsigned(METATE_ARCH_X86_64));
  EXPECT_GE(info.level, 1u);
  EXPECT_LE(info.level, 4u);
  EXPECT_EQ(info.level >= 3, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                 __builtin_cpu_supports("bmi2"));
  EXPECT_EQ(info.level == 4, __builtin_cpu_supports("avx512vl") != 0);
#endif
}

TEST_F(ApiTest, memoryReadsAndWrites) {
  metate_memory *memory = nullptr;
  ASSERT_OK(metate_memory_create(device, 100, 4096, &memory));
  auto info = sized<metate_memory_info>();
  ASSERT_OK(metate_memory_describe(memory, &info));
  EXPECT_EQ(info.bytes, 100u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(info.data) % 4096, 0u);
  char text[6] = "hello";
  ASSERT_OK(metate_memory_write(memory, 94, text, 6));
  ASSERT_OK(metate_memory_read(memory, 95, text, 5));
  EXPECT_STREQ(text, "ello");
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_memory_write(memory, 95, text, 6), "95", "100");
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_memory_read(memory, UINT64_MAX, text, 2), "100");
  EXPECT_OK(metate_memory_destroy(memory));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_memory_create(device, 1, 3, &memory), "align");
}

TEST_F(ApiTest, memoryWithATreeStays) {
  metate_type *type = open(abAos());
  uint64_t bytes, align;
  ASSERT_OK(metate_type_size(type, nullptr, &bytes, &align));
  metate_memory *memory = nullptr;
  ASSERT_OK(metate_memory_reserve(device, bytes, &memory));
  auto info = sized<metate_memory_info>();
  ASSERT_OK(metate_memory_describe(memory, &info));
  metate_tree *tree = nullptr;
  ASSERT_OK(metate_tree_bind(type, info.data, info.bytes, nullptr,
                             METATE_BIND_RESET | METATE_BIND_ZEROED, &tree));
  EXPECT_FAILS(METATE_E_BUSY, metate_memory_destroy(memory), "unbind");
  ASSERT_OK(metate_tree_unbind(tree));
  EXPECT_OK(metate_memory_destroy(memory));
}

TEST_F(ApiTest, everyByteGoesThroughTheAllocator) {
  Ledger ledger;
  metate_allocator allocator = ledger.hook();
  auto hooks = sized<metate_device_hooks>();
  hooks.allocator = &allocator;
  metate_device *counted = nullptr;
  ASSERT_OK(metate_device_open(&hooks, &counted));
  metate_module *module = nullptr;
  ASSERT_OK(metate_module_open_file(counted, METATE_TEST_FILE, 0, &module));
  const metate_type *type = nullptr;
  ASSERT_OK(metate_module_find_type(module, "ab_aos", &type));
  uint64_t bytes, align;
  ASSERT_OK(metate_type_size(type, nullptr, &bytes, &align));
  metate_memory *memory = nullptr;
  size_t before = ledger.total;
  ASSERT_OK(metate_memory_create(counted, bytes, align, &memory));
  EXPECT_GE(ledger.total - before, bytes) << "the host's allocator sees a tree's every byte";
  auto info = sized<metate_memory_info>();
  ASSERT_OK(metate_memory_describe(memory, &info));
  metate_tree *tree = nullptr;
  ASSERT_OK(metate_tree_bind(type, info.data, info.bytes, nullptr, METATE_BIND_RESET, &tree));
  EXPECT_OK(write(tree, 3, {1, 1}, 1.0f));
  EXPECT_OK(check(tree));
  EXPECT_OK(metate_tree_unbind(tree));
  EXPECT_OK(metate_memory_destroy(memory));
  EXPECT_OK(metate_module_close(module));
  EXPECT_OK(metate_device_close(counted));
  EXPECT_TRUE(ledger.live.empty()) << ledger.live.size() << " allocations leaked";
}

// Whatever allocation fails, the call says so and nothing leaks.
TEST_F(ApiTest, refusedMemoryIsAStatus) {
  int64_t steps = 0;
  for (bool done = false; !done; ++steps) {
    ASSERT_LT(steps, 1000);
    Ledger ledger;
    metate_allocator allocator = ledger.hook();
    auto hooks = sized<metate_device_hooks>();
    hooks.allocator = &allocator;
    metate_device *counted = nullptr;
    ASSERT_OK(metate_device_open(&hooks, &counted));
    ledger.refuseAfter = steps;
    metate_module *module = nullptr;
    const metate_type *type = nullptr;
    metate_tree *tree = nullptr;
    metate_status status = metate_module_open_file(counted, METATE_TEST_FILE, 0, &module);
    if (status == METATE_OK)
      status = metate_module_find_type(module, "ab_aos", &type);
    if (status == METATE_OK)
      status = metate_tree_new(type, nullptr, &tree);
    if (status == METATE_OK)
      status = check(tree);
    done = status == METATE_OK;
    EXPECT_TRUE(done || status == METATE_E_OUT_OF_MEMORY) << metate_last_error();
    if (tree) {
      EXPECT_OK(metate_tree_unbind(tree));
    }
    if (module) {
      EXPECT_OK(metate_module_close(module));
    }
    EXPECT_OK(metate_device_close(counted));
    EXPECT_TRUE(ledger.live.empty());
  }
  EXPECT_GT(steps, 5);
}

TEST_F(ApiTest, incompleteHooksAreRefused) {
  metate_device *other = nullptr;
  metate_allocator allocator{};
  auto hooks = sized<metate_device_hooks>();
  hooks.allocator = &allocator;
  EXPECT_FAILS(METATE_E_NULL, metate_device_open(&hooks, &other), "allocate");
  metate_executor executor{};
  hooks.allocator = nullptr;
  hooks.executor = &executor;
  EXPECT_FAILS(METATE_E_NULL, metate_device_open(&hooks, &other), "parallel_for");
  metate_print_sink sink{};
  hooks.executor = nullptr;
  hooks.print = &sink;
  EXPECT_FAILS(METATE_E_NULL, metate_device_open(&hooks, &other), "text");
}
