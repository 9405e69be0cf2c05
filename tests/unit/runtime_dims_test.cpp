// Named extents: what launches accept of them, what plans say, and which descriptors are refused.
#include "fixture.h"

#include <array>
#include <functional>

using namespace metate::test;
using metate::sized;

namespace {

metate_slot seen[16];

int32_t remember(const metate_slot *slots, void *const *, const metate_host *) {
  std::copy_n(slots, 8, seen);
  return METATE_OK;
}
int32_t nothing(const metate_slot *, void *const *, const metate_host *) { return METATE_OK; }
const metate_entry entries[] = {nothing, remember};

ArgumentSpec arrayOf(const char *name, uint32_t rank, std::vector<int64_t> fixed) {
  ArgumentSpec spec{name, METATE_ARGUMENT_NDARRAY, METATE_F32};
  spec.rank = rank;
  spec.access = METATE_ACCESS_READ;
  spec.fixed = std::move(fixed);
  return spec;
}

// "plain" has no dims, "dims" (x: [n, 3], y: [m, n]) has two and pools that grow with them.
ModuleSpec spec() {
  const int64_t n = METATE_EXTENT_OF_DIM(0), m = METATE_EXTENT_OF_DIM(1);
  ModuleSpec made;
  made.name = "dims";
  made.kernels = {{"plain", {arrayOf("x", 1, {})}},
                  {"dims",
                   {arrayOf("x", 2, {n, 3}), arrayOf("y", 2, {m, n})},
                   0,
                   METATE_NONE,
                   {{"rows", METATE_POOL_LAUNCH, 10, 64, 4, {1}},
                    {"all", METATE_POOL_LAUNCH, 0, 8, 4, {1, 6}, METATE_NONE, "sram"}},
                   {{"n", 8, 64, 8, 1}, {"m", 0, INT32_MAX, 1, 6}}}};
  return made;
}

class DimsTest : public ::testing::Test {
protected:
  Bytes head = descriptor(spec());
  metate_device *device = nullptr;
  metate_module *module = nullptr;
  const metate_kernel *kernel = nullptr;
  std::array<float, 64 * 64> memory{};
  int64_t shapes[2][2] = {};
  metate_array arrays[2] = {};
  metate_argument arguments[2] = {};

  void SetUp() override {
    ASSERT_OK(metate_device_open(nullptr, &device));
    ASSERT_OK(metate_module_open_static(device, head.data(), head.size(), entries, 2, &module));
    ASSERT_OK(metate_module_find_kernel(module, "dims", &kernel));
    for (int k = 0; k < 2; ++k) {
      arrays[k] = {memory.data(), METATE_F32, 2, 0, 0, shapes[k], nullptr};
      arguments[k].kind = METATE_ARGUMENT_NDARRAY;
      arguments[k].value.array = &arrays[k];
    }
  }
  void TearDown() override {
    EXPECT_OK(metate_module_close(module));
    EXPECT_OK(metate_device_close(device));
  }
  metate_status launch(int64_t n, int64_t three, int64_t m, int64_t other) {
    shapes[0][0] = n, shapes[0][1] = three, shapes[1][0] = m, shapes[1][1] = other;
    return metate_kernel_launch(kernel, arguments, 2);
  }
};

TEST_F(DimsTest, DescribesThem) {
  auto about = sized<metate_kernel_description>();
  ASSERT_OK(metate_kernel_describe(kernel, &about));
  EXPECT_EQ(about.dim_count, 2u);
  auto dim = sized<metate_dim_description>();
  ASSERT_OK(metate_kernel_dim_info(kernel, 0, &dim));
  EXPECT_STREQ(dim.name, "n");
  EXPECT_EQ(std::tuple(dim.slot, dim.min, dim.max, dim.multiple), std::tuple(1u, 8, 64, 8));
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_kernel_dim_info(kernel, 2, &dim),
               "expected less than 2 dims, got 2");
  EXPECT_FAILS(METATE_E_NULL, metate_kernel_dim_info(kernel, 0, nullptr), "'info'");
  const metate_kernel *plain = nullptr;
  ASSERT_OK(metate_module_find_kernel(module, "plain", &plain));
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_kernel_dim_info(plain, 0, &dim),
               "expected less than 0 dims, got 0");
}

TEST_F(DimsTest, LaunchesCheckThem) {
  EXPECT_OK(launch(16, 3, 5, 16));
  EXPECT_EQ(seen[1].i, 16);
  EXPECT_EQ(seen[6].i, 5);
  EXPECT_OK(launch(64, 3, 0, 64));
  const auto refused = METATE_E_INVALID_ARGUMENT;
  EXPECT_FAILS(
      refused, launch(12, 3, 5, 12),
      "kernel 'dims' argument 0 'x': dimension 0 (n): expected 8 to 64, a multiple of 8, got 12");
  EXPECT_FAILS(refused, launch(0, 3, 5, 0), "dimension 0 (n): expected 8 to 64");
  EXPECT_FAILS(refused, launch(72, 3, 5, 72), "dimension 0 (n): expected 8 to 64");
  EXPECT_FAILS(refused, launch(16, 4, 5, 16), "argument 0 'x': dimension 1: expected 3, got 4");
  EXPECT_FAILS(
      refused, launch(16, 3, 5, 24),
      "argument 1 'y': dimension 1 (n): expected 16, as dimension 0 of argument 0 'x', got 24");
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, launch(-8, 3, 5, -8), "expected at least 0, got -8");
}

TEST_F(DimsTest, PlansSayExactBytesAndTheMost) {
  metate_planned_pool pools[2];
  auto plan = sized<metate_plan>();
  plan.pools = pools;
  plan.pool_count = 2;
  plan.pool_size = sizeof pools[0];
  ASSERT_OK(launch(16, 3, 5, 16));
  ASSERT_OK(metate_kernel_plan(kernel, arguments, 2, &plan));
  EXPECT_EQ(pools[0].bytes, 128u);
  EXPECT_EQ(pools[0].maximum, 320u); // 10 + 4 * 64, in steps of 64
  EXPECT_STREQ(pools[0].memory, "");
  EXPECT_EQ(pools[1].bytes, 320u);
  EXPECT_EQ(pools[1].maximum, UINT64_MAX) << "nothing bounds m";
  EXPECT_STREQ(pools[1].memory, "sram");
  ASSERT_OK(metate_kernel_plan(kernel, nullptr, 0, &plan));
  EXPECT_EQ(pools[0].bytes, 320u);
  EXPECT_EQ(pools[1].bytes, UINT64_MAX);
  plan.pool_size = 32;
  EXPECT_FAILS(METATE_E_VERSION, metate_kernel_plan(kernel, nullptr, 0, &plan), "plan->pool_size");
}

TEST_F(DimsTest, ExtentsBeyond32Bits) {
  const int64_t n = METATE_EXTENT_OF_DIM(0), large = int64_t(1) << 40;
  ModuleSpec made;
  made.name = "long";
  made.kernels = {{"named", {arrayOf("x", 1, {n})}, 0, METATE_NONE, {}, {{"n", 8, large, 8, 1}}},
                  {"open", {arrayOf("x", 1, {})}},
                  {"long", {arrayOf("x", 1, {})}},
                  {"fixed", {arrayOf("x", 1, {large})}}};
  made.kernels[2].arguments[0].flags = METATE_ARGUMENT_LONG;
  Bytes bytes = descriptor(made);
  metate_module *opened = nullptr;
  const metate_entry four[] = {remember, remember, remember, remember};
  ASSERT_OK(metate_module_open_static(device, bytes.data(), bytes.size(), four, 4, &opened));
  const int64_t everywhere = 0;
  auto launchOf = [&](const char *name, int64_t extent) {
    const metate_kernel *found = nullptr;
    EXPECT_OK(metate_module_find_kernel(opened, name, &found));
    metate_array array = arrays[0];
    array.rank = 1;
    array.shape = &extent;
    array.strides = &everywhere; // one element is all of them
    metate_argument argument = arguments[0];
    argument.value.array = &array;
    return metate_kernel_launch(found, &argument, 1);
  };
  for (const char *name : {"named", "long", "fixed"}) {
    EXPECT_OK(launchOf(name, large));
    EXPECT_EQ(seen[1].i, large);
  }
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, launchOf("named", large + 8), "8 to 1099511627776");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, launchOf("named", large - 4), "a multiple of 8");
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, launchOf("open", large), "at most 2147483647, got",
               "default_ip=i64");
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, launchOf("long", METATE_LARGEST_EXTENT + 1), "2^63 bytes");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, launchOf("fixed", large - 1), "expected 1099511627776");
  ASSERT_OK(metate_module_close(opened));
}

TEST_F(DimsTest, DamagedDescriptorsAreRefused) {
  using Head = metate_descriptor *;
  auto dim = [](Head head, Bytes &bytes, uint32_t index) {
    return bytes.at<metate_dim_info>(head->dims.offset) + index;
  };
  auto y = [](Head head, Bytes &bytes) {
    return bytes.at<metate_argument_info>(head->arguments.offset) + 2;
  };
  auto kernelOf = [](Head head, Bytes &bytes) {
    return bytes.at<metate_kernel_info>(head->kernels.offset) + 1;
  };
  auto place = [](Head head, Bytes &bytes) {
    return bytes.at<metate_place_info>(head->places.offset);
  };
  const std::pair<const char *, std::function<void(Head, Bytes &)>> edits[] = {
      {"dims outside", [](Head head, Bytes &) { head->dims.count = 1000; }},
      {"a dim that is no kernel's", [](Head head, Bytes &) { head->dims.count = 1; }},
      {"no dims", [](Head head, Bytes &) { head->dims.count = 0; }},
      {"first dim", [&](Head h, Bytes &b) { kernelOf(h, b)->first_dim = 1; }},
      {"name", [&](Head h, Bytes &b) { dim(h, b, 0)->name = ~0u; }},
      {"no name", [&](Head h, Bytes &b) { dim(h, b, 0)->name = 0; }},
      {"kernel", [&](Head h, Bytes &b) { dim(h, b, 1)->kernel = 0; }},
      {"slot", [&](Head h, Bytes &b) { dim(h, b, 1)->slot = 7; }},
      {"slot outside", [&](Head h, Bytes &b) { dim(h, b, 1)->slot = ~0u; }},
      {"reserved", [&](Head h, Bytes &b) { dim(h, b, 0)->reserved = 1; }},
      {"min", [&](Head h, Bytes &b) { dim(h, b, 0)->min = -8; }},
      {"max", [&](Head h, Bytes &b) { dim(h, b, 0)->max = 0; }},
      {"large max", [&](Head h, Bytes &b) { dim(h, b, 0)->max = int64_t(1) << 62; }},
      {"multiple", [&](Head h, Bytes &b) { dim(h, b, 0)->multiple = 0; }},
      {"large multiple", [&](Head h, Bytes &b) { dim(h, b, 0)->multiple = INT64_MAX; }},
      {"no multiple between", [&](Head h, Bytes &b) { dim(h, b, 0)->multiple = 100; }},
      {"a dim that is not there", [&](Head h, Bytes &b) { y(h, b)->fixed[0] = -9; }},
      {"a dim far away", [&](Head h, Bytes &b) { y(h, b)->fixed[0] = INT64_MIN; }},
      {"dims out of order", [&](Head h, Bytes &b) { (y(h, b) - 1)->fixed[0] = -3; }},
      {"a dim that nobody has", [&](Head h, Bytes &b) { y(h, b)->fixed[0] = -1; }},
      {"places outside", [](Head head, Bytes &) { head->places.count = 1000; }},
      {"place of no pool", [&](Head h, Bytes &b) { place(h, b)->pool = 2; }},
      {"memory", [&](Head h, Bytes &b) { place(h, b)->memory = ~0u; }},
      {"no memory", [&](Head h, Bytes &b) { place(h, b)->memory = 0; }},
  };
  for (const auto &[name, edit] : edits) {
    Bytes bytes = head;
    edit(bytes.at<metate_descriptor>(0), bytes);
    sealDescriptor(bytes.data(), bytes.size());
    metate_module *opened = nullptr;
    EXPECT_EQ(METATE_E_CORRUPT,
              metate_module_open_static(device, bytes.data(), bytes.size(), entries, 2, &opened))
        << name;
  }
}

} // namespace
