// Launching: what arguments are checked for, what a kernel is given, and what its end is reported
// as.
#include "fixture.h"

#include <cfloat>
#include <chrono>

using namespace metate::test;
using metate::sized;

namespace {

metate_argument scalarArgument(uint32_t dtype, uint64_t bits) {
  metate_argument argument{};
  argument.kind = METATE_ARGUMENT_SCALAR;
  argument.dtype = dtype;
  argument.rows = argument.columns = 1;
  argument.value.bits = bits;
  return argument;
}
metate_argument f32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return scalarArgument(METATE_F32, 0xdead00000000ull | bits); // the high bytes do not matter
}
metate_argument treeArgument(metate_tree *tree) {
  metate_argument argument{};
  argument.kind = METATE_ARGUMENT_TREE;
  argument.value.tree = tree;
  return argument;
}
metate_argument arrayArgument(const metate_array &array) {
  metate_argument argument{};
  argument.kind = METATE_ARGUMENT_NDARRAY;
  argument.value.array = &array;
  return argument;
}

class LaunchTest : public Runtime {
protected:
  Bytes head = descriptor(testModuleSpec());
  metate_module *module = nullptr;
  std::string printed;

  void SetUp() override {
    metate_print_sink sink{this, [](void *self, const char *text, size_t bytes) {
                             static_cast<LaunchTest *>(self)->printed.append(text, bytes);
                           }};
    auto hooks = sized<metate_device_hooks>();
    hooks.print = &sink;
    ASSERT_OK(metate_device_open(&hooks, &device));
    ASSERT_OK(metate_module_open_static(device, head.data(), head.size(), metate_test_entries,
                                        TEST_KERNELS, &module));
  }
  void TearDown() override {
    EXPECT_OK(metate_module_close(module)); // trees live on without their module
    Runtime::TearDown();
  }
  const metate_kernel *kernel(const char *name) {
    const metate_kernel *found = nullptr;
    EXPECT_OK(metate_module_find_kernel(module, name, &found));
    return found;
  }
  const metate_type *type(const char *name) {
    const metate_type *found = nullptr;
    EXPECT_OK(metate_module_find_type(module, name, &found));
    return found;
  }
  metate_status launch(const char *name, std::vector<metate_argument> arguments) {
    return metate_kernel_launch(kernel(name), arguments.data(), uint32_t(arguments.size()));
  }
};

} // namespace

TEST_F(LaunchTest, twoInstancesGoThroughOneKernel) {
  metate_tree *f = make(type("ab_aos")), *g = make(type("ab_aos"));
  ASSERT_OK(launch("fill", {treeArgument(f), f32(1)}));
  ASSERT_OK(launch("fill", {treeArgument(g), f32(-2)}));
  uint32_t a = member(type("ab_aos"), "a");
  for (int64_t i = 0; i < 15; ++i)
    for (int64_t j = 0; j < 15; ++j) {
      float expected = (i + j) % 7 == 0 ? float(i * 15 + j) : 0;
      EXPECT_EQ(read<float>(f, a, {i, j}), expected);
      EXPECT_EQ(read<float>(g, a, {i, j}), -2 * expected);
    }
  EXPECT_OK(check(f));
}

TEST_F(LaunchTest, aosAndSoaHoldTheSame) {
  metate_tree *f = make(type("ab_aos")), *g = make(type("ab_soa"));
  ASSERT_OK(launch("fill", {treeArgument(f), f32(1)}));
  ASSERT_OK(launch("copy", {treeArgument(f), treeArgument(g)}));
  EXPECT_OK(check(g));
  struct Vec {
    float x, y, z;
  };
  uint32_t b = member(type("ab_soa"), "b");
  EXPECT_EQ(read<Vec>(g, b, {3, 4}).z, 3.0f);
  EXPECT_EQ(read<Vec>(g, b, {3, 5}).z, 0.0f);
}

TEST_F(LaunchTest, printsGoToTheSink) {
  metate_tree *f = make(type("ab_aos"));
  uint32_t a = member(type("ab_aos"), "a"), b = member(type("ab_aos"), "b");
  ASSERT_OK(write(f, a, {7, 11}, 0.1f));
  ASSERT_OK(write(f, b, {7, 11}, std::array<float, 3>{1, -3, 1e20f}));
  ASSERT_OK(launch("run1", {treeArgument(f)}));
  EXPECT_NE(printed.find("I= [7, 11]  a*b= [0.1, -0.3, 1e+19]\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("I= [5, 10]  a*b= [0.0, 0.0, 0.0]\n"), std::string::npos);
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 25);
}

TEST_F(LaunchTest, aProfilerIsToldOfLaunches) {
  struct Told {
    int launches = 0;
    uint64_t took = 0, bytes = 0;
    std::string name;
  } told;
  metate_profiler profiler{};
  EXPECT_EQ(metate_device_profile(device, &profiler), METATE_E_NULL);
  EXPECT_NE(std::string(metate_last_error()).find("profiler->launch"), std::string::npos);
  profiler.self = &told;
  profiler.launch = [](void *self, const metate_kernel *kernel, uint64_t begin, uint64_t end,
                       uint64_t bytes) {
    auto info = sized<metate_kernel_description>();
    ASSERT_OK(metate_kernel_describe(kernel, &info));
    auto &told = *static_cast<Told *>(self);
    ++told.launches;
    told.took = end - begin;
    told.bytes = bytes;
    told.name = info.name;
  };
  ASSERT_OK(metate_device_profile(device, &profiler));
  metate_tree *f = make(type("ab_aos"));
  ASSERT_OK(launch("fill", {treeArgument(f), f32(1)}));
  EXPECT_EQ(told.launches, 1);
  EXPECT_EQ(told.name, "fill");
  EXPECT_LT(told.took, 10'000'000'000u);
  EXPECT_EQ(told.bytes, 0u); // its tree has pools
  ASSERT_OK(metate_device_profile(device, nullptr));
  ASSERT_OK(launch("fill", {treeArgument(f), f32(1)}));
  EXPECT_EQ(told.launches, 1);
}

TEST_F(LaunchTest, argumentsArePackedAsTheAbiSays) {
  float v[3] = {1.5f, -2, 3};
  double m[4] = {1, 2, 3, 1e300}, out[9] = {};
  int64_t nine = 9;
  metate_array view{out, METATE_F64, 1, 0, 0, &nine, nullptr};
  metate_argument vector{METATE_ARGUMENT_VECTOR, METATE_F32, 3, 1, {}};
  vector.value.elements = v;
  metate_argument matrix{METATE_ARGUMENT_VECTOR, METATE_F64, 2, 2, {}};
  matrix.value.elements = m;
  // An i8 of -5 and a boolean, with garbage above their bytes.
  ASSERT_OK(launch("echo", {vector, matrix, scalarArgument(METATE_I8, 0x12345678000000fb),
                            scalarArgument(METATE_U1, 0xff02), arrayArgument(view)}));
  const double expected[9] = {1.5, -2, 3, 1, 2, 3, 1e300, -5, 1};
  for (int k = 0; k < 9; ++k)
    EXPECT_EQ(out[k], expected[k]) << k;
}

TEST_F(LaunchTest, stridesAreKept) {
  float x[10], y[20];
  for (int k = 0; k < 10; ++k)
    x[k] = float(k);
  std::fill(y, y + 20, 1.0f);
  int64_t five = 5, two = 2, minus = -1;
  metate_array xs{x + 9, METATE_F32, 1, METATE_ARRAY_READ_ONLY, 0, &five, &minus};
  metate_array ys{y, METATE_F32, 1, 0, 0, &five, &two};
  ASSERT_OK(launch("axpy", {arrayArgument(xs), arrayArgument(ys), f32(10)}));
  EXPECT_EQ(y[0], 91.0f);
  EXPECT_EQ(y[1], 1.0f);
  EXPECT_EQ(y[8], 51.0f);
}

TEST_F(LaunchTest, wrongArgumentsAreNamed) {
  metate_tree *aos = make(type("ab_aos")), *soa = make(type("ab_soa"));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, launch("fill", {}), "'fill'", "expected 2", "got 0");
  EXPECT_FAILS(METATE_E_NULL, metate_kernel_launch(kernel("fill"), nullptr, 2), "'fill'");
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, launch("fill", {treeArgument(soa), f32(1)}), "'fill'",
               "argument 0 'f'", "expected a tree of type 'ab_aos'", "got a tree of type 'ab_soa'");
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, launch("fill", {f32(1), f32(1)}), "'f'", "got f32");
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH,
               launch("fill", {treeArgument(aos), scalarArgument(METATE_F64, 0)}), "'scale'",
               "expected f32", "got f64");
  EXPECT_FAILS(METATE_E_NULL, launch("fill", {treeArgument(nullptr), f32(1)}), "'f'", "NULL");
  metate_argument strange{};
  strange.kind = 77;
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, launch("fill", {treeArgument(aos), strange}), "77");
  float v[3] = {};
  metate_argument vector{METATE_ARGUMENT_VECTOR, METATE_F32, 4, 1, {}};
  vector.value.elements = v;
  double out[9];
  int64_t nine = 9;
  metate_array view{out, METATE_F64, 1, 0, 0, &nine, nullptr};
  auto echo = [&](metate_argument first) {
    return launch("echo", {first, first, first, first, arrayArgument(view)});
  };
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, echo(vector), "'v'", "expected vector(3, f32)",
               "got vector(4, f32)");
  vector.rows = 3;
  vector.value.elements = nullptr;
  EXPECT_FAILS(METATE_E_NULL, echo(vector), "'v'");
}

TEST_F(LaunchTest, wrongArraysAreNamed) {
  alignas(8) float x[8] = {}, y[8] = {};
  int64_t n = 8, negative = -1;
  int64_t shape2[2] = {2, 4};
  auto axpy = [&](metate_array xs, metate_array ys) {
    return launch("axpy", {arrayArgument(xs), arrayArgument(ys), f32(1)});
  };
  metate_array good{x, METATE_F32, 1, 0, 0, &n, nullptr}, other = good;
  other.data = y;
  EXPECT_OK(axpy(good, other));
  metate_array bad = good;
  bad.dtype = METATE_F64;
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, axpy(bad, other), "'x'",
               "expected a 1-dimensional array of f32", "got a 1-dimensional array of f64");
  bad = good;
  bad.rank = 2;
  bad.shape = shape2;
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, axpy(good, bad), "'y'", "got a 2-dimensional");
  bad = good;
  bad.data = nullptr;
  EXPECT_FAILS(METATE_E_NULL, axpy(bad, other), "'x'", "data");
  bad.shape = nullptr;
  EXPECT_FAILS(METATE_E_NULL, axpy(bad, other), "'x'", "shape");
  bad = good;
  bad.shape = &negative;
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, axpy(bad, other), "'x'", "-1");
  bad = good;
  bad.data = reinterpret_cast<char *>(x) + 2;
  EXPECT_FAILS(METATE_E_MISALIGNED, axpy(bad, other), "'x'", "4 bytes");
  bad = other;
  bad.flags = METATE_ARRAY_READ_ONLY;
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, axpy(good, bad), "'y'", "read-only");
  int64_t huge = INT64_MAX;
  bad = good;
  bad.shape = &huge;
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, axpy(bad, other), "'x'", "2^63");
  huge = int64_t(1) << 31; // shapes are 32-bit inside kernels: never a silently shorter loop
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, axpy(bad, other), "'x'", "dimension 0", "2147483647",
               "got 2147483648");
  metate_argument none{};
  none.kind = METATE_ARGUMENT_NDARRAY;
  EXPECT_FAILS(METATE_E_NULL, launch("axpy", {none, none, f32(1)}), "'x'");
}

TEST_F(LaunchTest, fixedExtentsAndContiguityAreChecked) {
  float v[3] = {};
  double m[4] = {}, out[18];
  metate_argument vector{METATE_ARGUMENT_VECTOR, METATE_F32, 3, 1, {}};
  vector.value.elements = v;
  metate_argument matrix{METATE_ARGUMENT_VECTOR, METATE_F64, 2, 2, {}};
  matrix.value.elements = m;
  auto echo = [&](int64_t extent, int64_t stride) {
    metate_array view{out, METATE_F64, 1, 0, 0, &extent, &stride};
    return launch("echo", {vector, matrix, scalarArgument(METATE_I8, 0),
                           scalarArgument(METATE_U1, 0), arrayArgument(view)});
  };
  EXPECT_OK(echo(9, 1));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, echo(8, 1), "'out'", "dimension 0", "expected 9",
               "got 8");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, echo(9, 2), "'out'", "stride", "got 2");
}

TEST_F(LaunchTest, overlapWithAWrittenArgumentIsRefused) {
  float x[24] = {};
  int64_t n = 8, two = 2, minus = -1, zero = 0;
  auto axpy = [&](float *from, float *to, const int64_t *stride = nullptr,
                  int64_t *count = nullptr) {
    metate_array xs{from, METATE_F32, 1, 0, 0, count ? count : &n, stride};
    metate_array ys{to, METATE_F32, 1, 0, 0, count ? count : &n, nullptr};
    return launch("axpy", {arrayArgument(xs), arrayArgument(ys), f32(1)});
  };
  EXPECT_FAILS(METATE_E_ALIAS, axpy(x, x), "'axpy'", "'y'", "'x'");
  EXPECT_FAILS(METATE_E_ALIAS, axpy(x, x + 7), "'y'");
  EXPECT_OK(axpy(x, x + 8));
  EXPECT_OK(axpy(x + 8, x));
  EXPECT_FAILS(METATE_E_ALIAS, axpy(x, x + 10, &two), "'y'");
  EXPECT_OK(axpy(x + 8, x, &two));
  EXPECT_FAILS(METATE_E_ALIAS, axpy(x + 15, x + 4, &minus), "'y'");
  EXPECT_OK(axpy(x + 7, x + 8, &minus));
  EXPECT_OK(axpy(x, x, nullptr, &zero)) << "nothing overlaps nothing";
  // Without the flag the kernel takes overlapping arguments: read twice is fine anywhere.
  metate_tree *tree = make(type("ab_soa"));
  metate_tree *aos = make(type("ab_aos"));
  EXPECT_OK(launch("copy", {treeArgument(aos), treeArgument(tree)}));
}

TEST_F(LaunchTest, exhaustionNamesKernelArgumentAndLevel) {
  metate_capacity entry{"pointer0", 4};
  auto wanted = sized<metate_capacities>();
  wanted.workers = 1;
  wanted.count = 1;
  wanted.entries = &entry;
  metate_tree *small = make(type("ab_aos"), &wanted);
  EXPECT_FAILS(METATE_E_CAPACITY, launch("fill", {treeArgument(small), f32(1)}), "'fill'", "'f'",
               "'pointer0'", "at least 5", "capacity is 4");
  uint32_t a = member(type("ab_aos"), "a");
  EXPECT_EQ(read<float>(small, a, {0, 7}), 7.0f) << "other writes are done";
  // The sticky status is the launch's own: a kernel that only needs what is there succeeds.
  ASSERT_OK(metate_tree_reset(small));
  EXPECT_EQ(launch("fill", {treeArgument(small), f32(1)}), METATE_E_CAPACITY);
  EXPECT_OK(launch("run1", {treeArgument(small)}));
}

TEST_F(LaunchTest, failedAssertsCarryPlaceAndText) {
  int32_t x[3] = {1, 2, 3};
  int64_t n = 3;
  metate_array view{x, METATE_I32, 1, 0, 0, &n, nullptr};
  EXPECT_OK(launch("check_positive", {arrayArgument(view)}));
  x[2] = 0;
  EXPECT_FAILS(METATE_E_ASSERT, launch("check_positive", {arrayArgument(view)}), "kernels.py:34:5",
               "'check_positive'", "x must be positive");
}

// In the place of fail_with: an entry that records what the test says.
static metate_failure recorded;
static int32_t record(const metate_slot *, void *const *, const metate_host *host) {
  *host->failure = recorded;
  return int32_t(recorded.code);
}

TEST_F(LaunchTest, recordedFailuresAreTold) {
  metate_entry entries[TEST_KERNELS];
  std::copy_n(metate_test_entries, int(TEST_KERNELS), entries);
  entries[TEST_FAIL] = record;
  metate_module *other = nullptr;
  ASSERT_OK(
      metate_module_open_static(device, head.data(), head.size(), entries, TEST_KERNELS, &other));
  const metate_kernel *kernel = nullptr;
  ASSERT_OK(metate_module_find_kernel(other, "fail_with", &kernel));
  metate_argument argument = scalarArgument(METATE_I32, 0);
  // Of text 1: "kernels.py", 34, 5, "x must be positive".
  auto launched = [&](uint32_t code, uint32_t text, uint32_t rank) {
    recorded.code = code;
    recorded.text = text;
    recorded.rank = rank;
    return metate_kernel_launch(kernel, &argument, 1);
  };
  for (int k = 0; k < METATE_MAX_RANK; ++k) {
    recorded.index[k] = 10 - k;
    recorded.shape[k] = k == 1 ? -1 : 8;
  }
  EXPECT_FAILS(
      METATE_E_OUT_OF_RANGE, launched(METATE_E_OUT_OF_RANGE, 1, 3),
      "kernels.py:34:5: kernel 'fail_with': index out of range: x must be positive[10, 9, 8] "
      "of shape (8, *, 8)");
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, launched(METATE_E_OUT_OF_RANGE, 1, 1), "[10] of shape (8,)");
  EXPECT_FAILS(
      METATE_E_OUT_OF_RANGE, launched(METATE_E_OUT_OF_RANGE, 1, 99),
      "[10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1] of shape (8, *, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8)");
  EXPECT_FAILS(METATE_E_DIVISION_BY_ZERO, launched(METATE_E_DIVISION_BY_ZERO, METATE_NONE, 0),
               "kernel 'fail_with': division by zero");
  EXPECT_FAILS(METATE_E_CAPACITY, launched(METATE_E_CAPACITY, 1, 2),
               "[10, 9]: a pool is exhausted");
  EXPECT_FAILS(METATE_E_BUSY, launched(METATE_E_BUSY, 1, 0), "it stopped with METATE_E_BUSY");
  EXPECT_FAILS(METATE_E_INTERNAL, launched(77, 1, 0), "77");
  std::string longer(4000, 'x');
  recorded.detail = longer.c_str();
  EXPECT_FAILS(METATE_E_ASSERT, launched(METATE_E_ASSERT, 1, 0), "xxxx");
  recorded.detail = nullptr;
  EXPECT_OK(metate_module_close(other));
}

// The word comes to the kernel as it was given; NULL where there is none.
static const uint32_t *seenWord;
static int32_t look(const metate_slot *, void *const *, const metate_host *host) {
  seenWord = host->interrupt;
  return host->interrupt && *host->interrupt ? METATE_E_INTERRUPTED : METATE_OK;
}

TEST_F(LaunchTest, theInterruptWordIsTheLaunchsOwn) {
  metate_entry entries[TEST_KERNELS];
  std::copy_n(metate_test_entries, int(TEST_KERNELS), entries);
  entries[TEST_FAIL] = look;
  metate_module *other = nullptr;
  ASSERT_OK(
      metate_module_open_static(device, head.data(), head.size(), entries, TEST_KERNELS, &other));
  const metate_kernel *kernel = nullptr;
  ASSERT_OK(metate_module_find_kernel(other, "fail_with", &kernel));
  metate_argument argument = scalarArgument(METATE_I32, 0);
  uint32_t word = 0;
  EXPECT_OK(metate_kernel_launch_interruptible(kernel, &argument, 1, &word));
  EXPECT_EQ(seenWord, &word);
  word = 3;
  EXPECT_FAILS(METATE_E_INTERRUPTED,
               metate_kernel_launch_interruptible(kernel, &argument, 1, &word),
               "kernel 'fail_with': interrupted");
  EXPECT_OK(metate_kernel_launch(kernel, &argument, 1));
  EXPECT_EQ(seenWord, nullptr);
  EXPECT_EQ(metate::Kernel(kernel).try_launch_interruptible(&word, int32_t(0)).code,
            METATE_E_INTERRUPTED);
  EXPECT_FAILS(METATE_E_NULL, metate_kernel_launch_interruptible(nullptr, &argument, 1, &word),
               "kernel");
  EXPECT_OK(metate_module_close(other));
}

TEST_F(LaunchTest, otherCodesAreReported) {
  EXPECT_FAILS(METATE_E_INTERRUPTED,
               launch("fail_with", {scalarArgument(METATE_I32, METATE_E_INTERRUPTED)}),
               "'fail_with'", "interrupted");
  EXPECT_FAILS(METATE_E_INTERNAL, launch("fail_with", {scalarArgument(METATE_I32, 0xffffffff)}),
               "-1");
}

TEST_F(LaunchTest, resultsAreTheLastArgument) {
  double x[4] = {1, 2, 3, 4.5}, result = 0;
  int64_t n = 4;
  metate_array view{x, METATE_F64, 1, 0, 0, &n, nullptr};
  metate_array to{&result, METATE_F64, 0, 0, 0, nullptr, nullptr};
  ASSERT_OK(launch("total", {arrayArgument(view), arrayArgument(to)}));
  EXPECT_EQ(result, 10.5);
  auto info = sized<metate_kernel_description>();
  ASSERT_OK(metate_kernel_describe(kernel("total"), &info));
  EXPECT_EQ(info.flags, unsigned(METATE_KERNEL_HAS_RESULT));
  auto argument = sized<metate_argument_description>();
  ASSERT_OK(metate_kernel_argument_info(kernel("total"), 1, &argument));
  EXPECT_EQ(argument.flags, unsigned(METATE_ARGUMENT_RESULT));
}

TEST_F(LaunchTest, planBoundsTheWorkersByTheSlack) {
  auto wanted = sized<metate_capacities>();
  wanted.workers = 3;
  metate_tree *f = make(type("ab_aos"), &wanted);
  auto plan = sized<metate_plan>();
  metate_argument arguments[] = {treeArgument(f), f32(1)};
  ASSERT_OK(metate_kernel_plan(kernel("fill"), arguments, 2, &plan));
  EXPECT_EQ(plan.max_workers, 3u);
  ASSERT_OK(metate_kernel_plan(kernel("run1"), arguments, 1, &plan));
  EXPECT_EQ(plan.max_workers, 0u) << "reading needs no slack";
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_kernel_plan(kernel("run1"), arguments, 2, &plan),
               "expected 1");
}

TEST_F(LaunchTest, directPointersAreGuarded) {
  auto info = sized<metate_kernel_description>();
  ASSERT_OK(metate_kernel_describe(kernel("empty"), &info));
  metate_entry entry = nullptr;
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH,
               metate_kernel_direct(kernel("empty"), info.signature + 1, &entry), "'empty'",
               "signature");
  EXPECT_EQ(entry, nullptr);
  ASSERT_OK(metate_kernel_direct(kernel("empty"), info.signature, &entry));
  EXPECT_EQ(entry(nullptr, nullptr, nullptr), METATE_OK);
}

TEST_F(LaunchTest, readOnlyTreesRunReadingKernels) {
  uint64_t bytes, align;
  ASSERT_OK(metate_type_size(type("ab_aos"), nullptr, &bytes, &align));
  Memory memory(bytes);
  metate_tree *tree = nullptr;
  ASSERT_OK(
      metate_tree_bind(type("ab_aos"), memory.data, bytes, nullptr, METATE_BIND_RESET, &tree));
  ASSERT_OK(launch("fill", {treeArgument(tree), f32(1)}));
  ASSERT_OK(metate_tree_unbind(tree));
  ASSERT_OK(metate_tree_bind(type("ab_aos"), memory.data, bytes, nullptr,
                             METATE_BIND_ADOPT | METATE_BIND_READ_ONLY, &tree));
  trees.push_back(tree);
  std::vector<char> before(static_cast<char *>(memory.data),
                           static_cast<char *>(memory.data) + bytes);
  EXPECT_OK(launch("run1", {treeArgument(tree)}));
  EXPECT_EQ(std::memcmp(before.data(), memory.data, bytes), 0);
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, launch("fill", {treeArgument(tree), f32(1)}), "'f'",
               "read-only");
}

// A launch touches a tree's block only, and every device of this library reads the host's memory.
TEST_F(LaunchTest, treesOfAnotherDeviceAreTaken) {
  metate_device *other = nullptr;
  ASSERT_OK(metate_device_open(nullptr, &other));
  metate_type *there = nullptr;
  Bytes blob = abAos();
  ASSERT_OK(metate_type_open_blob(other, blob.data(), blob.size(), "t", &there));
  metate_tree *tree = nullptr, *own = nullptr;
  ASSERT_OK(metate_tree_new(there, nullptr, &tree));
  ASSERT_OK(metate_tree_new(type("ab_aos"), nullptr, &own));
  trees.push_back(own);
  for (metate_tree *each : {tree, own})
    EXPECT_OK(launch("fill", {treeArgument(each), f32(3)}));
  uint32_t a = member(there, "a");
  for (int64_t i = 0; i < 15; ++i)
    for (int64_t j = 0; j < 15; ++j)
      EXPECT_EQ(read<float>(tree, a, {i, j}), read<float>(own, a, {i, j}));
  EXPECT_OK(metate_tree_unbind(tree));
  EXPECT_OK(metate_type_close(there));
  EXPECT_OK(metate_device_close(other));
}

// A bound far above the measured cost (about 20 ns): it catches an allocation or a lock that
// slipped into the path, not a slow machine. The exact figure is bench's.
TEST_F(LaunchTest, launchesAreCheap) {
  const metate_kernel *empty = kernel("empty");
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i)
      metate_kernel_launch(empty, nullptr, 0);
    best = std::min(
        best,
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
            1000);
  }
  RecordProperty("nanoseconds", int(best));
  std::printf("launch of an empty kernel: %.0f ns\n", best);
  EXPECT_LT(best, 5000);
}
