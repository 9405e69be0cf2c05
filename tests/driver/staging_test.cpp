// Arrays of the host's in launches on a device that does not reach them. Each launch is made on the host's CPU as well, with arrays
// in memory that held the same: all bytes must be the same afterwards. The driver `elsewhere` refuses launches with arrays that are
// not in its memory.
#include "elsewhere.h"
#include "fixture.h"
#include "metate/abi/reservation.h"

#include <random>

using namespace metate::test;
using metate::sized;

namespace staging {

using Values = std::vector<int32_t>;

// An array of rank 2 as a kernel's slots have it.
struct View {
  int32_t *data;
  int64_t rows, columns, rowStep, columnStep;
  explicit View(const metate_slot *slots)
      : data(static_cast<int32_t *>(slots[0].p)), rows(slots[1].i), columns(slots[2].i),
        rowStep(slots[3].i), columnStep(slots[4].i) {}
  int32_t &at(int64_t i, int64_t j) const { return data[i * rowStep + j * columnStep]; }
};

// Wraps around, as kernels' sums do.
int32_t plus(int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }

// mix(x read, y read and written, z written in part) -> i64: in order, so that arrays which overlap have one result. It fails at a
// value of 1000.
int32_t mix(const metate_slot *slots, void *const *, const metate_host *) {
  View x(slots), y(slots + 5), z(slots + 10);
  int64_t sum = 0;
  auto &result = *static_cast<int64_t *>(slots[15].p);
  for (int64_t i = 0; i < x.rows; ++i)
    for (int64_t j = 0; j < x.columns; ++j) {
      sum += x.at(i, j);
      if (x.at(i, j) == 1000)
        return METATE_E_ASSERT;
      if (y.rows && y.columns)
        y.at(i % y.rows, j % y.columns) =
            plus(y.at(i % y.rows, j % y.columns), plus(x.at(i, j), 1));
      if (z.rows && z.columns && (i + j) % 3)
        z.at(i % z.rows, j % z.columns) = int32_t(sum);
    }
  result = sum;
  return METATE_OK;
}

// Writes to the host's memory while the kernel runs, as another thread might.
int32_t *meddled = nullptr;
int32_t meddle(const metate_slot *slots, void *const *, const metate_host *) {
  for (int64_t i = 0; i < slots[1].i; ++i)
    static_cast<int32_t *>(slots[0].p)[i * slots[2].i] += 1;
  if (meddled)
    *meddled = 77;
  return METATE_OK;
}

// fill(f, x) and its slice, which counts as many slots as x[0] says.
int32_t fillBy(const metate_slot *, void *const *, const metate_host *) { return METATE_OK; }
int32_t countBy(const metate_slot *slots, void *const *, const metate_host *) {
  auto *counted = static_cast<metate_reservation *>(slots[4].p);
  metate_reservation_missing(counted)[0] += uint64_t(*static_cast<const int32_t *>(slots[1].p));
  return METATE_OK;
}

const metate_entry entries[] = {mix, meddle, fillBy, countBy};

ModuleSpec moduleSpec() {
  const uint32_t read = METATE_ACCESS_READ, write = METATE_ACCESS_WRITE;
  auto array = [](const char *name, uint32_t rank, uint32_t access) {
    ArgumentSpec spec{name, METATE_ARGUMENT_NDARRAY, METATE_I32};
    spec.rank = rank;
    spec.access = access;
    return spec;
  };
  ArgumentSpec result{"result", METATE_ARGUMENT_NDARRAY, METATE_I64};
  result.access = write;
  result.flags = METATE_ARGUMENT_RESULT;
  ArgumentSpec tree{"f", METATE_ARGUMENT_TREE};
  tree.access = write | METATE_ACCESS_ACTIVATE;
  ArgumentSpec counts{"counts", METATE_ARGUMENT_SCALAR, METATE_I64};
  ModuleSpec spec;
  spec.name = "staging";
  spec.types = {{"ab_aos", abAos()}};
  spec.kernels = {
      {"mix",
       {array("x", 2, read), array("y", 2, read | write), array("z", 2, write), result},
       METATE_KERNEL_HAS_RESULT},
      {"meddle", {array("x", 1, read | write)}},
      {"fill", {tree, array("x", 1, read)}},
      {"fill.reserve", {tree, array("x", 1, read), counts}, METATE_KERNEL_SLICE},
  };
  spec.variants = testModuleSpec().variants;
  return spec;
}

metate_argument argumentOf(const metate_array &array) {
  metate_argument argument{};
  argument.kind = METATE_ARGUMENT_NDARRAY;
  argument.value.array = &array;
  return argument;
}

// An array somewhere in a buffer.
struct Placed {
  uint32_t buffer;
  int64_t first, shape[2], strides[2];
  metate_array array(std::vector<Values> &buffers) const {
    metate_array made{};
    made.data = buffers[buffer].data() + first;
    made.dtype = METATE_I32;
    made.rank = 2;
    made.shape = shape;
    made.strides = strides;
    return made;
  }
};

class StagingTest : public ::testing::Test {
protected:
  metate_device *here = nullptr, *there = nullptr;
  Bytes head = descriptor(moduleSpec());
  metate_module *modules[2] = {};
  std::mt19937 random{11};

  void SetUp() override {
    ASSERT_OK(metate_device_open_driver("cpu", nullptr, &here));
    ASSERT_OK(metate_device_open_driver("elsewhere", nullptr, &there));
    for (metate_device *device : {here, there})
      ASSERT_OK(metate_module_open_static(device, head.data(), head.size(), entries,
                                          std::size(entries), &modules[device == there]));
  }
  void TearDown() override {
    for (metate_module *module : modules)
      EXPECT_OK(metate_module_close(module));
    for (metate_device *device : {here, there})
      EXPECT_OK(metate_device_close(device));
  }
  const metate_kernel *kernel(bool isThere, const char *name) {
    const metate_kernel *found = nullptr;
    EXPECT_OK(metate_module_find_kernel(modules[isThere], name, &found));
    return found;
  }
  int64_t below(int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random);
  }

  // A view of any part, in either direction along each axis; of one that is written no two indices lead to one element.
  Placed place(const std::vector<Values> &buffers, int64_t most, bool isWritten) {
    Placed made{uint32_t(below(int64_t(buffers.size()))), 0, {}, {}};
    auto &[rows, columns] = made.shape;
    auto &[rowStep, columnStep] = made.strides;
    int64_t size = int64_t(buffers[made.buffer].size());
    bool fits = false;
    while (!fits) {
      rows = below(most);
      columns = below(most);
      columnStep = 1 + below(3) % 2;
      rowStep = columnStep * (columns ? columns : 1) + below(4);
      if (!isWritten && below(6) == 0)
        rowStep = 0;
      if (below(3) == 0) {
        std::swap(rows, columns);
        std::swap(rowStep, columnStep);
      }
      fits = rows == 0 || columns == 0 ||
             (rows - 1) * rowStep + (columns - 1) * columnStep + 1 <= size / 2;
    }
    int64_t reach = rows && columns ? (rows - 1) * rowStep + (columns - 1) * columnStep : 0;
    made.first = below(size - reach);
    for (int k = 0; k < 2; ++k)
      if (below(3) == 0) {
        made.first += made.shape[k] ? (made.shape[k] - 1) * made.strides[k] : 0;
        made.strides[k] = -made.strides[k];
      }
    made.first = rows && columns ? made.first : 0;
    return made;
  }

  metate_status launch(bool isThere, const Placed (&placed)[3], std::vector<Values> &buffers,
                       int64_t *result) {
    metate_array arrays[4];
    metate_argument arguments[4];
    for (int k = 0; k < 3; ++k)
      arrays[k] = placed[k].array(buffers);
    arrays[3] = {};
    arrays[3].data = result;
    arrays[3].dtype = METATE_I64;
    for (int k = 0; k < 4; ++k)
      arguments[k] = argumentOf(arrays[k]);
    return metate_kernel_launch(kernel(isThere, "mix"), arguments, 4);
  }
  void compareLaunches(std::vector<Values> buffers, int64_t most, int rounds) {
    for (Values &values : buffers)
      for (int32_t &value : values)
        value = int32_t(below(1001)); // sometimes one is what the kernel fails at
    std::vector<Values> copies = buffers;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      Placed placed[] = {place(buffers, most, false), place(buffers, most, true),
                         place(buffers, most, true)};
      int64_t results[2] = {-1, -1};
      metate_status status = launch(false, placed, buffers, &results[0]);
      ASSERT_EQ(status, launch(true, placed, copies, &results[1])) << metate_last_error();
      ASSERT_EQ(results[0], results[1]);
      ASSERT_EQ(buffers, copies);
    }
  }
};

} // namespace staging

using staging::StagingTest;
using staging::Values;

TEST_F(StagingTest, arraysThatMayOverlapHoldTheSame) {
  compareLaunches({Values(600)}, 12, 500);
  compareLaunches({Values(300), Values(300), Values(5000)}, 12, 500);
}

TEST_F(StagingTest, largeArraysHoldTheSame) {
  compareLaunches({Values(200000), Values(300000)}, 300, 40);
}

TEST_F(StagingTest, launchesBorrowMemoryAgain) {
  std::vector<Values> buffers{Values(100000), Values(100)};
  staging::Placed placed[] = {
      {0, 0, {100, 100}, {100, 1}}, {0, 40000, {200, 200}, {200, 1}}, {1, 0, {2, 2}, {2, 1}}};
  int64_t result = 0;
  ASSERT_OK(launch(true, placed, buffers, &result));
  uint64_t before = metate::elsewhereCreated();
  for (int turn = 0; turn < 20; ++turn)
    ASSERT_OK(launch(true, placed, buffers, &result));
  EXPECT_EQ(metate::elsewhereCreated(), before);
}

TEST_F(StagingTest, whatLiesBetweenElementsIsNotWritten) {
  Values values(9, 1);
  const int64_t shape[] = {3}, strides[] = {3};
  metate_array array{};
  array.data = values.data();
  array.dtype = METATE_I32;
  array.rank = 1;
  array.shape = shape;
  array.strides = strides;
  metate_argument argument = staging::argumentOf(array);
  staging::meddled = &values[4];
  ASSERT_OK(metate_kernel_launch(kernel(true, "meddle"), &argument, 1));
  EXPECT_EQ(values, (Values{2, 1, 1, 2, 77, 1, 2, 1, 1}));
  staging::meddled = nullptr;
}

TEST_F(StagingTest, arraysOfTheDeviceAreNotCopied) {
  metate_memory *memory = nullptr;
  ASSERT_OK(metate_memory_create(there, 40, 0, &memory));
  auto info = sized<metate_memory_info>();
  ASSERT_OK(metate_memory_describe(memory, &info));
  Values values(10, 3);
  ASSERT_OK(metate_memory_write(memory, 0, values.data(), 40));
  const int64_t shape[] = {10};
  metate_array array{};
  array.data = info.data;
  array.dtype = METATE_I32;
  array.rank = 1;
  array.shape = shape;
  metate_argument argument = staging::argumentOf(array);
  uint64_t before = metate::elsewhereCreated();
  ASSERT_OK(metate_kernel_launch(kernel(true, "meddle"), &argument, 1));
  EXPECT_EQ(metate::elsewhereCreated(), before);
  ASSERT_OK(metate_memory_read(memory, 0, values.data(), 40));
  EXPECT_EQ(values, Values(10, 4));
  ASSERT_OK(metate_memory_destroy(memory));
}

TEST_F(StagingTest, slicesReadArrays) {
  Bytes blob = abAos();
  Values values{5, 0};
  const int64_t shape[] = {2};
  metate_array array{};
  array.data = values.data();
  array.dtype = METATE_I32;
  array.rank = 1;
  array.shape = shape;
  for (bool isThere : {false, true}) {
    metate_type *type = nullptr;
    metate_tree *tree = nullptr;
    ASSERT_OK(metate_type_open_blob(isThere ? there : here, blob.data(), blob.size(), "t", &type));
    ASSERT_OK(metate_tree_new(type, nullptr, &tree));
    metate_argument arguments[2] = {{}, staging::argumentOf(array)};
    arguments[0].kind = METATE_ARGUMENT_TREE;
    arguments[0].value.tree = tree;
    uint32_t slots = 0;
    EXPECT_OK(metate_tree_reserve_for(tree, kernel(isThere, "fill"), arguments, 2, 1, &slots));
    EXPECT_EQ(slots, 5u);
    ASSERT_OK(metate_tree_unbind(tree));
    ASSERT_OK(metate_type_close(type));
  }
}

TEST_F(StagingTest, wrongArraysAreRefusedAsOnTheCpu) {
  Values values(10, 1);
  const int64_t shape[] = {4};
  metate_array array{};
  array.data = reinterpret_cast<char *>(values.data()) + 1;
  array.dtype = METATE_I32;
  array.rank = 1;
  array.shape = shape;
  metate_argument argument = staging::argumentOf(array);
  for (bool isThere : {false, true})
    EXPECT_FAILS(METATE_E_MISALIGNED, metate_kernel_launch(kernel(isThere, "meddle"), &argument, 1),
                 "'x'", "aligned to 4");
  array.data = values.data();
  array.flags = METATE_ARRAY_READ_ONLY;
  for (bool isThere : {false, true})
    EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
                 metate_kernel_launch(kernel(isThere, "meddle"), &argument, 1), "read-only");
}
