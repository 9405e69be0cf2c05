// What every driver must do alike. Each test runs the same calls on the host's CPU and on a device whose memory the host
// cannot reach (elsewhere.cpp), and compares what they give.
#include "fixture.h"

#include <random>

using namespace metate::test;
using metate::sized;

namespace {

struct Shape {
  const char *name;
  std::vector<Node> branches;
};

std::vector<Shape> shapes() {
  auto x = [] { return withBackground<int32_t>(place("x", METATE_I32), {7}); };
  return {
      {"dense", {dense("d", "ij", {6, 5}, {x(), place("s", METATE_I8)})}},
      {"pointer dense", {pointer("p", "ij", {4, 4}, {dense("d", "ij", {3, 3}, {x()})})}},
      {"pointer bitmasked",
       {pointer("p", "ij", {3, 4}, {bitmasked("b", "ij", {5, 3}, {x(), place("s", METATE_I8)})})}},
      {"lists",
       {pointer("p", "i", {6}, {dynamic("l", "j", 40, 4, {dense("d", "k", {3}, {x()})})})}},
      {"hash", {hash("h", "ij", {bitmasked("b", "ij", {2, 2}, {x()})})}},
      {"large slots", {pointer("p", "i", {3}, {dense("d", "j", {20000}, {x()})})}},
  };
}

// One device with one tree on it, of each driver.
struct Side {
  metate_device *device = nullptr;
  metate_type *type = nullptr;
  metate_tree *tree = nullptr;
};

class DriverTest : public ::testing::Test {
protected:
  Side here, there;
  std::mt19937 random{7};

  void SetUp() override {
    ASSERT_OK(metate_device_open_driver("cpu", nullptr, &here.device));
    ASSERT_OK(metate_device_open_driver("elsewhere", nullptr, &there.device));
  }
  void TearDown() override {
    for (Side *side : {&here, &there}) {
      drop(*side);
      EXPECT_OK(metate_device_close(side->device));
    }
  }
  void drop(Side &side) {
    if (side.tree)
      EXPECT_OK(metate_tree_unbind(side.tree));
    if (side.type)
      EXPECT_OK(metate_type_close(side.type));
    side.tree = nullptr;
    side.type = nullptr;
  }
  void make(const Shape &shape) {
    Bytes blob = typeBlob(shape.branches, shape.name);
    metate_capacity entry{"h", 200};
    auto wanted = sized<metate_capacities>();
    wanted.entries = &entry;
    for (Side *side : {&here, &there}) {
      drop(*side);
      ASSERT_OK(
          metate_type_open_blob(side->device, blob.data(), blob.size(), shape.name, &side->type));
      uint32_t level;
      wanted.count = metate_type_find_level(side->type, "h", &level) == METATE_OK;
      ASSERT_OK(metate_tree_new(side->type, &wanted, &side->tree));
    }
  }
  // The call gives the same status on both, and says the same of it.
  template <typename Call> metate_status same(const Call &call) {
    metate_status status = call(here);
    std::string text = metate_last_error();
    EXPECT_EQ(status, call(there)) << text << " / " << metate_last_error();
    if (status != METATE_OK)
      EXPECT_EQ(text, metate_last_error());
    return status;
  }

  metate_level_description level(const Side &side, uint32_t index) {
    auto found = sized<metate_level_description>();
    EXPECT_OK(metate_type_level(side.type, index, &found));
    return found;
  }
  uint32_t levelCount() {
    auto info = sized<metate_type_description>();
    EXPECT_OK(metate_type_describe(here.type, &info));
    return info.level_count;
  }
  metate_tree_description describe(const Side &side) {
    auto info = sized<metate_tree_description>();
    EXPECT_OK(metate_tree_describe(side.tree, &info));
    return info;
  }

  // Active cells with their values, of one level.
  std::pair<std::vector<int64_t>, std::vector<uint8_t>> cells(const Side &side, uint32_t index) {
    auto own = level(side, index);
    bool member = own.kind == METATE_LEVEL_PLACE;
    uint64_t count = 0;
    EXPECT_OK(metate_tree_cells(side.tree, index, 0, nullptr, nullptr, &count));
    std::pair<std::vector<int64_t>, std::vector<uint8_t>> found;
    found.first.resize(count * own.path_rank + 1);
    found.second.resize(member ? count * own.cell_bytes + 1 : 1);
    EXPECT_OK(metate_tree_cells(side.tree, index, count, found.first.data(),
                                member ? found.second.data() : nullptr, &count));
    return found;
  }
  void expectSame() {
    for (const Side *side : {&here, &there}) {
      auto info = describe(*side);
      ASSERT_OK(metate_tree_check(side->type, info.block, info.bytes));
    }
    for (uint32_t index = 0; index < levelCount(); ++index)
      ASSERT_EQ(cells(here, index), cells(there, index));
    auto mine = describe(here), other = describe(there);
    EXPECT_EQ(mine.topology_version, other.topology_version);
    EXPECT_EQ(mine.status, other.status);
    EXPECT_EQ(mine.slots_needed, other.slots_needed);
    for (uint32_t pool = 0; pool < mine.pool_count; ++pool) {
      auto a = sized<metate_pool_stats>(), b = sized<metate_pool_stats>();
      ASSERT_OK(metate_tree_stats(here.tree, pool, &a));
      ASSERT_OK(metate_tree_stats(there.tree, pool, &b));
      EXPECT_EQ(a.used, b.used);
      EXPECT_EQ(a.high_water, b.high_water);
    }
  }

  int64_t below(int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random);
  }
  std::vector<int64_t> coordinates(const metate_level_description &own) {
    std::vector<int64_t> at;
    for (uint32_t k = 0; k < own.path_rank; ++k)
      at.push_back(own.shape[k] ? below(own.shape[k]) : below(16) - 8);
    return at;
  }
  void step(int round) {
    uint32_t index = 1 + uint32_t(below(levelCount() - 1));
    auto own = level(here, index);
    auto at = coordinates(own);
    uint32_t count = own.path_rank;
    int64_t choice = below(10);
    if (own.kind == METATE_LEVEL_PLACE && choice < 7) {
      std::vector<uint8_t> value(own.cell_bytes, uint8_t(round)), got(own.cell_bytes), back = got;
      same([&](const Side &side) {
        return metate_tree_write(side.tree, index, at.data(), count, value.data(), value.size());
      });
      at = coordinates(own);
      EXPECT_OK(metate_tree_read(here.tree, index, at.data(), count, got.data(), got.size()));
      EXPECT_OK(metate_tree_read(there.tree, index, at.data(), count, back.data(), back.size()));
      EXPECT_EQ(got, back);
    } else if (own.kind == METATE_LEVEL_DYNAMIC) {
      uint64_t reached[2] = {}, length[2] = {};
      at.erase(at.begin() + (own.axes[0] == own.path_axes[count - 1] ? count - 1 : 0));
      same([&](const Side &side) {
        return choice < 6 ? metate_tree_append(side.tree, index, at.data(), count - 1,
                                               &reached[&side == &there])
                          : metate_tree_deactivate(side.tree, index, at.data(), count - 1);
      });
      EXPECT_EQ(reached[0], reached[1]);
      same([&](const Side &side) {
        return metate_tree_length(side.tree, index, at.data(), count - 1, &length[&side == &there]);
      });
      EXPECT_EQ(length[0], length[1]);
    } else {
      same([&](const Side &side) {
        return choice < 5 ? metate_tree_activate(side.tree, index, at.data(), count)
                          : metate_tree_deactivate(side.tree, index, at.data(), count);
      });
    }
    if (below(60) == 0)
      same([&](const Side &side) { return metate_tree_deactivate_all(side.tree, index); });
    if (below(40) == 0)
      same([&](const Side &side) { return metate_tree_sort(side.tree); });
    if (below(40) == 0)
      same([&](const Side &side) { return metate_tree_trim(side.tree); });
  }
};

} // namespace

TEST_F(DriverTest, randomHostCallsGiveTheSame) {
  for (const Shape &shape : shapes()) {
    SCOPED_TRACE(shape.name);
    make(shape);
    for (int round = 1; round <= 200 && !HasFailure(); ++round) {
      step(round);
      if (round % 25 == 0)
        expectSame();
    }
    ASSERT_EQ(same([](const Side &side) { return metate_tree_reset(side.tree); }), METATE_OK);
    expectSame();
  }
}

TEST_F(DriverTest, membersGoToArraysAndBack) {
  make(shapes()[2]);
  uint32_t x = 0;
  ASSERT_OK(metate_type_find_member(here.type, "x", &x));
  uint64_t values = 15 * 12;
  std::vector<int32_t> wanted(values), a(values), b(values);
  for (uint64_t i = 0; i < values; ++i)
    wanted[i] = int32_t(i);
  for (int round = 0; round < 60; ++round)
    step(round);
  same([&](const Side &side) {
    return metate_tree_write_dense(side.tree, x, wanted.data(), values * 4);
  });
  ASSERT_OK(metate_tree_read_dense(here.tree, x, a.data(), values * 4));
  ASSERT_OK(metate_tree_read_dense(there.tree, x, b.data(), values * 4));
  EXPECT_EQ(a, b);
  int32_t one = 5;
  same([&](const Side &side) { return metate_tree_fill(side.tree, x, &one, 4); });
  expectSame();
}

TEST_F(DriverTest, treesMoveAndAreSaved) {
  for (const Shape &shape : shapes()) {
    SCOPED_TRACE(shape.name);
    make(shape);
    for (int round = 1; round <= 40; ++round)
      step(round);
    ASSERT_EQ(same([](const Side &side) {
                return metate_tree_migrate(side.tree, nullptr, 0, nullptr, 0);
              }),
              METATE_OK);
    expectSame();
    std::string path = ::testing::TempDir() + "/driver_test.tree";
    ASSERT_OK(metate_tree_save(there.tree, path.c_str()));
    Side loaded = there;
    ASSERT_OK(metate_tree_load(there.type, path.c_str(), nullptr, 0, &loaded.tree));
    for (uint32_t index = 0; index < levelCount(); ++index)
      EXPECT_EQ(cells(here, index), cells(loaded, index));
    ASSERT_OK(metate_tree_unbind(loaded.tree));
    metate_tree *mapped = nullptr;
    EXPECT_FAILS(
        METATE_E_INVALID_ARGUMENT,
        metate_tree_load(there.type, path.c_str(), nullptr, METATE_BIND_READ_ONLY, &mapped),
        "of the device's");
    std::remove(path.c_str());
  }
}

TEST_F(DriverTest, memoryIsReadAndWrittenThroughTheDriver) {
  for (const Side *side : {&here, &there}) {
    metate_memory *memory = nullptr;
    ASSERT_OK(metate_memory_create(side->device, 100, 0, &memory));
    auto info = sized<metate_memory_info>();
    ASSERT_OK(metate_memory_describe(memory, &info));
    EXPECT_EQ(info.elsewhere, side == &there);
    uint32_t value = 0x12345678, got = 0;
    ASSERT_OK(metate_memory_write(memory, 8, &value, 4));
    ASSERT_OK(metate_memory_read(memory, 8, &got, 4));
    EXPECT_EQ(got, value);
    EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_memory_read(memory, 97, &got, 4), "97");
    if (side == &there) {
      EXPECT_DEATH(*static_cast<volatile uint32_t *>(info.data) = 1, "");
    }
    ASSERT_OK(metate_memory_destroy(memory));
  }
}

TEST_F(DriverTest, blocksAreBoundCheckedAndAdoptedInMemoryOfTheDevice) {
  Bytes blob = abAos();
  ASSERT_OK(metate_type_open_blob(there.device, blob.data(), blob.size(), "t", &there.type));
  uint64_t bytes = 0, align = 0;
  ASSERT_OK(metate_type_size(there.type, nullptr, &bytes, &align));
  metate_memory *memory = nullptr;
  ASSERT_OK(metate_memory_create(there.device, bytes, align, &memory));
  auto info = sized<metate_memory_info>();
  ASSERT_OK(metate_memory_describe(memory, &info));
  // Never zero by luck.
  std::vector<uint8_t> garbage(bytes, 0xa5);
  ASSERT_OK(metate_memory_write(memory, 0, garbage.data(), bytes));
  ASSERT_OK(
      metate_tree_bind(there.type, info.data, bytes, nullptr, METATE_BIND_RESET, &there.tree));
  ASSERT_OK(metate_tree_check(there.type, info.data, bytes));
  uint32_t a = 0;
  ASSERT_OK(metate_type_find_member(there.type, "a", &a));
  const int64_t at[] = {3, 9};
  float value = 2.5f, got = 0;
  ASSERT_OK(metate_tree_write(there.tree, a, at, 2, &value, 4));
  ASSERT_OK(metate_tree_unbind(there.tree));
  there.tree = nullptr;
  ASSERT_OK(
      metate_tree_bind(there.type, info.data, bytes, nullptr, METATE_BIND_ADOPT, &there.tree));
  ASSERT_OK(metate_tree_read(there.tree, a, at, 2, &got, 4));
  EXPECT_EQ(got, value);
  // A damaged pool is found where it lies.
  uint32_t wrong = 77;
  ASSERT_OK(metate_memory_write(memory, sizeof(metate_tree_header) + offsetof(metate_pool, used),
                                &wrong, 4));
  EXPECT_FAILS(METATE_E_CORRUPT, metate_tree_check(there.type, info.data, bytes), "pointer0");
  EXPECT_FAILS(METATE_E_BUSY, metate_memory_destroy(memory), "still bound");
  ASSERT_OK(metate_tree_unbind(there.tree));
  there.tree = nullptr;
  ASSERT_OK(metate_memory_destroy(memory));
  // Memory of the host's is none of the device's.
  std::vector<uint64_t> foreign(bytes / 8 + 8);
  void *aligned =
      reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(foreign.data()) + 63) / 64 * 64);
  EXPECT_FAILS(
      METATE_E_INVALID_ARGUMENT,
      metate_tree_bind(there.type, aligned, bytes, nullptr, METATE_BIND_RESET, &there.tree),
      "of the device's");
}

namespace {

class DriverLaunchTest : public DriverTest {
protected:
  Bytes head = descriptor(testModuleSpec());
  metate_module *modules[2] = {};

  void SetUp() override {
    DriverTest::SetUp();
    for (Side *side : {&here, &there})
      ASSERT_OK(metate_module_open_static(side->device, head.data(), head.size(),
                                          metate_test_entries, TEST_KERNELS,
                                          &modules[side == &there]));
  }
  void TearDown() override {
    for (metate_module *module : modules)
      EXPECT_OK(metate_module_close(module));
    DriverTest::TearDown();
  }
  const metate_kernel *kernel(const Side &side, const char *name) {
    const metate_kernel *found = nullptr;
    EXPECT_OK(metate_module_find_kernel(modules[&side == &there], name, &found));
    return found;
  }
  void makeAos(const metate_capacities *capacities) {
    Bytes blob = abAos();
    for (Side *side : {&here, &there}) {
      drop(*side);
      ASSERT_OK(metate_type_open_blob(side->device, blob.data(), blob.size(), "t", &side->type));
      ASSERT_OK(metate_tree_new(side->type, capacities, &side->tree));
    }
  }
  static metate_argument treeArgument(metate_tree *tree) {
    metate_argument argument{};
    argument.kind = METATE_ARGUMENT_TREE;
    argument.value.tree = tree;
    return argument;
  }
  metate_status fill(const Side &side, metate_tree *tree) {
    metate_argument arguments[2] = {treeArgument(tree), {}};
    arguments[1].kind = METATE_ARGUMENT_SCALAR;
    arguments[1].dtype = METATE_F32;
    arguments[1].rows = arguments[1].columns = 1;
    arguments[1].value.bits = 0x3f800000;
    return metate_kernel_launch(kernel(side, "fill"), arguments, 2);
  }
};

} // namespace

TEST_F(DriverLaunchTest, kernelsActivateCells) {
  makeAos(nullptr);
  EXPECT_EQ(same([&](const Side &side) { return fill(side, side.tree); }), METATE_OK);
  expectSame();
  EXPECT_GT(describe(there).topology_version, 1u);
}

TEST_F(DriverLaunchTest, exhaustionIsReported) {
  metate_capacity entry{"pointer0", 4};
  auto wanted = sized<metate_capacities>();
  wanted.workers = 1;
  wanted.count = 1;
  wanted.entries = &entry;
  makeAos(&wanted);
  EXPECT_EQ(same([&](const Side &side) { return fill(side, side.tree); }), METATE_E_CAPACITY);
  EXPECT_EQ(describe(there).exhausted_pool, 0u);
  EXPECT_GE(describe(there).slots_needed, 5u);
  expectSame();
}

TEST_F(DriverLaunchTest, treesAndEntriesStayOnTheirDevice) {
  makeAos(nullptr);
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, fill(there, here.tree), "another device", "'cpu'",
               "'elsewhere'");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, fill(here, there.tree), "another device");
  auto info = sized<metate_kernel_description>();
  ASSERT_OK(metate_kernel_describe(kernel(there, "fill"), &info));
  metate_entry entry = nullptr;
  EXPECT_FAILS(METATE_E_UNSUPPORTED,
               metate_kernel_direct(kernel(there, "fill"), info.signature, &entry), "launch it");
  EXPECT_OK(metate_kernel_direct(kernel(here, "fill"), info.signature, &entry));
}

TEST_F(DriverLaunchTest, treesGoToDevicesOnTheirMachine) {
  makeAos(nullptr);
  metate_device *beside = nullptr, *apart = nullptr;
  ASSERT_OK(metate_device_open_beside(there.device, nullptr, &beside));
  ASSERT_OK(metate_device_open_driver("elsewhere", nullptr, &apart));
  Bytes blob = abAos();
  for (metate_device *device : {beside, apart}) {
    metate_type *type = nullptr;
    metate_tree *tree = nullptr;
    ASSERT_OK(metate_type_open_blob(device, blob.data(), blob.size(), "t", &type));
    ASSERT_OK(metate_tree_new(type, nullptr, &tree));
    if (device == beside)
      EXPECT_OK(fill(there, tree));
    else
      EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, fill(there, tree), "another device");
    EXPECT_EQ(metate_device_close(device), METATE_E_BUSY); // of its own objects
    ASSERT_OK(metate_tree_unbind(tree));
    ASSERT_OK(metate_type_close(type));
    ASSERT_OK(metate_device_close(device));
  }
  EXPECT_OK(fill(there, there.tree)); // the machine is still open
}

TEST_F(DriverLaunchTest, payloadsOfFilesAreLoaded) {
  metate_module *module = nullptr;
  ASSERT_OK(metate_module_open_file(there.device, METATE_TEST_FILE, 0, &module));
  std::swap(module, modules[1]);
  EXPECT_OK(metate_module_close(module));
  makeAos(nullptr);
  EXPECT_EQ(same([&](const Side &side) { return fill(side, side.tree); }), METATE_OK);
  expectSame();
}

TEST_F(DriverTest, unknownDriversAreNamed) {
  metate_device *device = nullptr;
  EXPECT_FAILS(METATE_E_UNSUPPORTED, metate_device_open_driver("abacus", nullptr, &device),
               "'abacus'", "'cpu'", "'elsewhere'");
  auto info = sized<metate_device_info>();
  ASSERT_OK(metate_device_describe(there.device, &info));
  EXPECT_STREQ(info.name, "elsewhere");
  EXPECT_EQ(info.arch, 0u);
}
