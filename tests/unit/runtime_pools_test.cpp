// Pools of a launch: what the plan says, the caller's memory and the allocator's, and what is refused.
#include "fixture.h"

#include <array>

using namespace metate::test;
using metate::sized;

namespace {

// An executor that runs chunks in turns, as three workers.
int32_t inTurns(void *, int64_t count, int64_t, uint32_t workers, metate_task_body body,
                void *context) {
  for (int64_t at = 0; at < count; ++at)
    if (int32_t code = body(context, at, at + 1, uint32_t(at) % workers))
      return code;
  return METATE_OK;
}

// Counts what it gave, and fails from the refused-th request on.
struct Counting {
  int64_t live = 0, given = 0, refused = INT64_MAX;
  metate_allocator hooks{this,
                         [](void *self, size_t bytes, size_t align) -> void * {
                           auto &own = *static_cast<Counting *>(self);
                           if (++own.given > own.refused)
                             return nullptr;
                           ++own.live;
                           return std::aligned_alloc(align, (bytes + align - 1) / align * align);
                         },
                         [](void *self, void *pointer, size_t, size_t) {
                           --static_cast<Counting *>(self)->live;
                           std::free(pointer);
                         }};
};

class PoolsTest : public ::testing::Test {
protected:
  Counting memory;
  Bytes head = descriptor(testModuleSpec());
  metate_device *device = nullptr;
  metate_module *module = nullptr;
  const metate_kernel *kernel = nullptr;
  std::array<uint64_t, 5> out{};
  int64_t n = 5;
  metate_array view{out.data(), METATE_U64, 1, 0, 0, &n, nullptr};
  metate_argument argument{};
  alignas(64) unsigned char scratch[1040 + 64]; // of 5 elements: 1000 + 5 * 8
  alignas(64) unsigned char tiles[3 * 64 + 64];

  void open(uint32_t workers) {
    metate_executor executor{nullptr, inTurns, workers, 0};
    auto hooks = sized<metate_device_hooks>();
    hooks.allocator = &memory.hooks;
    hooks.executor = workers ? &executor : nullptr;
    ASSERT_OK(metate_device_open(&hooks, &device));
    ASSERT_OK(metate_module_open_static(device, head.data(), head.size(), metate_test_entries,
                                        TEST_KERNELS, &module));
    ASSERT_OK(metate_module_find_kernel(module, "pools", &kernel));
    argument.kind = METATE_ARGUMENT_NDARRAY;
    argument.value.array = &view;
  }
  void TearDown() override {
    EXPECT_OK(metate_module_close(module));
    EXPECT_OK(metate_device_close(device));
    EXPECT_EQ(memory.live, 0);
  }
  metate_status launch(metate_pool_memory first, metate_pool_memory second) {
    const metate_pool_memory pools[] = {first, second};
    auto options = sized<metate_launch_options>();
    options.pool_count = 2;
    options.pools = pools;
    return metate_kernel_launch_with(kernel, &argument, 1, &options);
  }
};

} // namespace

TEST_F(PoolsTest, planSaysExactSizes) {
  open(3);
  metate_planned_pool pools[2];
  auto plan = sized<metate_plan>();
  plan.pool_size = sizeof(metate_planned_pool);
  ASSERT_OK(metate_kernel_plan(kernel, &argument, 1, &plan));
  EXPECT_EQ(plan.pool_count, 2u);
  plan.pools = pools;
  ASSERT_OK(metate_kernel_plan(kernel, &argument, 1, &plan));
  EXPECT_EQ(plan.max_workers, 3u);
  EXPECT_STREQ(pools[0].name, "scratch");
  EXPECT_EQ(pools[0].kind, uint32_t(METATE_POOL_LAUNCH));
  EXPECT_EQ(pools[0].bytes, 1000u + 5 * 8);
  EXPECT_EQ(pools[0].align, 8u);
  EXPECT_STREQ(pools[1].name, "tile");
  EXPECT_EQ(pools[1].kind, uint32_t(METATE_POOL_WORKER));
  EXPECT_EQ(pools[1].bytes, 3u * 64); // 40 bytes at multiples of 64
  EXPECT_EQ(pools[1].align, 64u);
}

TEST_F(PoolsTest, withoutAnExecutorThereIsOneWorker) {
  open(0);
  metate_planned_pool pools[2];
  auto plan = sized<metate_plan>();
  plan.pool_size = sizeof(metate_planned_pool);
  plan.pool_count = 2;
  plan.pools = pools;
  ASSERT_OK(metate_kernel_plan(kernel, &argument, 1, &plan));
  EXPECT_EQ(plan.max_workers, 1u);
  EXPECT_EQ(pools[1].bytes, 64u);
}

TEST_F(PoolsTest, theAllocatorGivesWhatTheCallerDoesNot) {
  open(3);
  int64_t before = memory.given;
  ASSERT_OK(metate_kernel_launch(kernel, &argument, 1));
  EXPECT_EQ(memory.given, before + 2);
  EXPECT_EQ(out[0] % 8, 0u);
  EXPECT_EQ(out[1] % 64, 0u);
  EXPECT_EQ(out[2], 3u);
  ASSERT_OK(launch({scratch, 1040}, {nullptr, 0}));
  EXPECT_EQ(memory.given, before + 3);
  EXPECT_EQ(out[0], reinterpret_cast<uintptr_t>(scratch));
}

TEST_F(PoolsTest, theCallersMemoryIsUsedToItsLastByteAndNoFurther) {
  open(3);
  std::memset(scratch, 1, sizeof scratch);
  std::memset(tiles, 1, sizeof tiles);
  int64_t before = memory.given;
  ASSERT_OK(launch({scratch, 1040}, {tiles, 3 * 64}));
  EXPECT_EQ(memory.given, before);
  EXPECT_EQ(out[0], reinterpret_cast<uintptr_t>(scratch));
  EXPECT_EQ(out[1], reinterpret_cast<uintptr_t>(tiles));
  EXPECT_EQ(out[3], 7u);
  EXPECT_EQ(out[4], 9u);
  EXPECT_EQ(scratch[1040], 1);
  EXPECT_EQ(tiles[3 * 64], 1);
}

TEST_F(PoolsTest, wrongMemoryIsRefused) {
  open(3);
  EXPECT_FAILS(METATE_E_TOO_SMALL, launch({scratch, 1039}, {tiles, 192}), "'scratch'", "1040",
               "1039");
  EXPECT_FAILS(METATE_E_TOO_SMALL, launch({scratch, 1040}, {tiles, 191}), "'tile'", "192", "191");
  EXPECT_FAILS(METATE_E_MISALIGNED, launch({scratch, 1040}, {tiles + 8, 192}), "'tile'", "64");
  EXPECT_FAILS(METATE_E_ALIAS, launch({out.data(), 1040}, {tiles, 192}), "'scratch'", "'out'");
  EXPECT_FAILS(METATE_E_ALIAS, launch({scratch, 1040}, {scratch + 1024, 192}), "'tile'",
               "'scratch'");
  auto options = sized<metate_launch_options>();
  options.pool_count = 1;
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_kernel_launch_with(kernel, &argument, 1, &options),
               "expected 2", "got 1");
  options.pool_count = 2;
  EXPECT_FAILS(METATE_E_NULL, metate_kernel_launch_with(kernel, &argument, 1, &options), "pools");
  EXPECT_EQ(out[0], 0u); // nothing ran
}

TEST_F(PoolsTest, aRefusedPoolGivesTheOthersBack) {
  open(3);
  memory.refused = memory.given + 1;
  EXPECT_FAILS(METATE_E_OUT_OF_MEMORY, metate_kernel_launch(kernel, &argument, 1), "'tile'", "192");
  memory.refused = INT64_MAX;
}
