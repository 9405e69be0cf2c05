// Each executor of the build keeps the hook's contract, and launches go through it.
#include "fixture.h"
#include "metate/metate_threads.h"
#if METATE_TEST_TBB
#include "metate/metate_tbb.h"
#endif

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace metate::test;
using metate::sized;

namespace {
struct Kind {
  const char *name;
  metate_status (*create)(uint32_t, metate_executor *);
  void (*destroy)(metate_executor *);
};
constexpr Kind kinds[] = {
    {"threads", metate_threads_executor_create, metate_threads_executor_destroy},
#if METATE_TEST_TBB
    {"tbb", metate_tbb_executor_create, metate_tbb_executor_destroy},
#endif
};

class ExecutorTest : public ::testing::TestWithParam<Kind> {
protected:
  metate_executor executor{};
  void SetUp() override { ASSERT_EQ(METATE_OK, GetParam().create(4, &executor)); }
  void TearDown() override { GetParam().destroy(&executor); }

  template <typename Body> int32_t run(int64_t count, int64_t grain, uint32_t workers, Body body) {
    return executor.parallel_for(
        executor.self, count, grain, workers,
        [](void *context, int64_t begin, int64_t end, uint32_t worker) -> int32_t {
          return (*static_cast<Body *>(context))(begin, end, worker);
        },
        &body);
  }
};

INSTANTIATE_TEST_SUITE_P(All, ExecutorTest, ::testing::ValuesIn(kinds),
                         [](const auto &info) { return std::string(info.param.name); });
} // namespace

TEST_P(ExecutorTest, everyIterationRunsOnceInChunksOfTheGrain) {
  for (int64_t count : {0, 1, 5, 63, 1000, 100003})
    for (int64_t grain : {0, 1, 7, 500})
      for (uint32_t workers : {0u, 1u, 2u, 3u, 64u}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
        std::atomic<bool> sound{true};
        ASSERT_EQ(METATE_OK,
                  run(count, grain, workers, [&](int64_t begin, int64_t end, uint32_t w) {
                    if (w >= (workers && workers < 4 ? workers : 4) || begin >= end ||
                        (end - begin < grain && end != count && count / 2 >= grain))
                      sound = false;
                    for (int64_t i = begin; i < end; ++i)
                      ++visits[size_t(i)];
                    return METATE_OK;
                  }));
        EXPECT_TRUE(sound) << count << " " << grain << " " << workers;
        for (auto &visit : visits)
          ASSERT_EQ(visit, 1);
      }
}

TEST_P(ExecutorTest, workersAreNeverTwoAtOnce) {
  std::atomic<int> busy[4] = {};
  std::atomic<bool> clash{false};
  std::atomic<int> most{0}, now{0};
  run(4000, 1, 2, [&](int64_t begin, int64_t end, uint32_t worker) {
    if (busy[worker]++)
      clash = true;
    int running = ++now, seen = most;
    while (seen < running && !most.compare_exchange_weak(seen, running)) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(end - begin > 100 ? 50 : 5));
    --now;
    --busy[worker];
    return METATE_OK;
  });
  EXPECT_FALSE(clash);
  EXPECT_LE(most, 2);
}

TEST_P(ExecutorTest, theFirstFailureStopsTheRest) {
  std::atomic<int64_t> done{0};
  EXPECT_EQ(METATE_E_ASSERT, run(1000000, 10, 0, [&](int64_t begin, int64_t end, uint32_t) {
              done += end - begin;
              if (begin == 0)
                return METATE_E_ASSERT;
              // Who has the first iterations may lose its core before it returns.
              std::this_thread::sleep_for(std::chrono::microseconds(20));
              return METATE_OK;
            }));
  EXPECT_LT(done, 1000000);
}

TEST_P(ExecutorTest, nestedAndConcurrentCallsFinish) {
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n)
    threads.emplace_back([&] {
      run(10, 1, 0, [&](int64_t begin, int64_t end, uint32_t) {
        for (int64_t i = begin; i < end; ++i)
          run(10, 1, 0, [&](int64_t b, int64_t e, uint32_t) {
            sum += e - b;
            return METATE_OK;
          });
        return METATE_OK;
      });
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(sum, 300);
}

TEST_P(ExecutorTest, rangesUpToTheLargestAreCut) {
  std::atomic<int64_t> sum{0}, last{0};
  const int64_t count = INT64_MAX - 3;
  ASSERT_EQ(METATE_OK, run(count, INT64_MAX / 3, 0, [&](int64_t begin, int64_t end, uint32_t) {
              sum += end - begin;
              if (end == count)
                last += 1;
              return METATE_OK;
            }));
  EXPECT_EQ(sum, count);
  EXPECT_EQ(last, 1);
}

TEST_P(ExecutorTest, workersMeet) {
  // Each of the four chunks waits for the others: they run at once, the caller's among them.
  std::atomic<int> here{0};
  std::mutex mutex;
  std::set<std::thread::id> threads;
  ASSERT_EQ(METATE_OK, run(4, 1, 4, [&](int64_t, int64_t, uint32_t) {
              {
                std::lock_guard lock(mutex);
                threads.insert(std::this_thread::get_id());
              }
              ++here;
              for (int spins = 0; here < 4 && spins < 10000; ++spins)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
              return METATE_OK;
            }));
  EXPECT_EQ(here, 4);
  EXPECT_EQ(threads.size(), 4u);
  EXPECT_TRUE(threads.count(std::this_thread::get_id()));
}

TEST_P(ExecutorTest, aLoopOfLessThanTwoChunksWakesNobody) {
  // Whoever has no core cannot go to sleep: on a busy machine not at once.
  std::atomic<int> chunks{0};
  for (int round = 0; round < 500 && chunks != 1; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    chunks = 0;
    ASSERT_EQ(METATE_OK, run(1000, 501, 0, [&](int64_t, int64_t, uint32_t) {
                ++chunks;
                return METATE_OK;
              }));
  }
  EXPECT_EQ(chunks, 1);
}

TEST_P(ExecutorTest, manyShortLoopsInARowAreSound) {
  for (int round = 0; round < 20000; ++round) {
    std::atomic<int64_t> sum{0};
    ASSERT_EQ(METATE_OK, run(100 + round % 7, 90, 0, [&](int64_t begin, int64_t end, uint32_t) {
                for (int64_t i = begin; i < end; ++i)
                  sum += i;
                return METATE_OK;
              }));
    int64_t n = 100 + round % 7;
    ASSERT_EQ(sum, n * (n - 1) / 2);
  }
}

TEST_P(ExecutorTest, aForkedProcessRunsItsLoopsAlone) {
  auto sumOf = [&] {
    std::atomic<int64_t> sum{0};
    int32_t status = run(1000, 1, 0, [&](int64_t begin, int64_t end, uint32_t) {
      for (int64_t i = begin; i < end; ++i)
        sum += i;
      return METATE_OK;
    });
    return status == METATE_OK ? sum.load() : -1;
  };
  ASSERT_EQ(sumOf(), 499500);
  if (std::string(GetParam().name) == "tbb")
    GTEST_SKIP() << "oneTBB's threads are asked for, and a forked process has none";
  for (int round = 0; round < 3; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20); // stuck
      bool isRight = sumOf() == 499500 && sumOf() == 499500;
      GetParam().destroy(&executor);
      _exit(isRight ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    ASSERT_EQ(sumOf(), 499500);
  }
}

TEST(ThreadsTest, whoeverIsAwakeTakesPartInShortLoops) {
  if (metate_threads_cores() < 2)
    GTEST_SKIP() << "one core: nobody is awake beside the caller";
  metate_executor executor{};
  ASSERT_EQ(METATE_OK, metate_threads_executor_create(2, &executor));
  // Many in a row wake a thread. Not at once where other programs have the cores.
  std::atomic<int> helped{0};
  auto body = [](void *context, int64_t, int64_t, uint32_t worker) -> int32_t {
    if (worker)
      ++*static_cast<std::atomic<int> *>(context);
    auto begun = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begun < std::chrono::microseconds(2)) {
    }
    return METATE_OK;
  };
  auto begun = std::chrono::steady_clock::now();
  while (!helped && std::chrono::steady_clock::now() - begun < std::chrono::seconds(60))
    ASSERT_EQ(METATE_OK, executor.parallel_for(executor.self, 1000, 600, 0, body, &helped));
  EXPECT_GT(helped, 0);
  metate_threads_executor_destroy(&executor);
}

TEST_P(ExecutorTest, itCanBeMadeAndDestroyedAnyTime) {
  EXPECT_EQ(METATE_E_NULL, GetParam().create(1, nullptr));
  GetParam().destroy(nullptr);
  for (uint32_t threads : {0u, 1u, 2u, 7u}) {
    metate_executor other{};
    ASSERT_EQ(METATE_OK, GetParam().create(threads, &other));
    EXPECT_EQ(other.worker_count, threads ? threads : other.worker_count);
    EXPECT_GE(other.worker_count, 1u);
    GetParam().destroy(&other);
    EXPECT_EQ(other.self, nullptr);
    GetParam().destroy(&other);
  }
}

TEST_P(ExecutorTest, kernelsRunThroughIt) {
  auto hooks = sized<metate_device_hooks>();
  hooks.executor = &executor;
  metate_device *device = nullptr;
  ASSERT_OK(metate_device_open(&hooks, &device));
  auto info = sized<metate_device_info>();
  ASSERT_OK(metate_device_describe(device, &info));
  EXPECT_EQ(info.worker_count, 4u);
  Bytes head = descriptor(testModuleSpec());
  metate_module *module = nullptr;
  ASSERT_OK(metate_module_open_static(device, head.data(), head.size(), metate_test_entries,
                                      TEST_KERNELS, &module));
  const metate_kernel *fill = nullptr;
  const metate_type *type = nullptr;
  ASSERT_OK(metate_module_find_kernel(module, "fill", &fill));
  ASSERT_OK(metate_module_find_type(module, "ab_aos", &type));
  metate_capacity entry{"pointer0", 9};
  auto wanted = sized<metate_capacities>();
  wanted.workers = 4;
  wanted.count = 1;
  wanted.entries = &entry;
  metate_tree *tree = nullptr;
  ASSERT_OK(metate_tree_new(type, &wanted, &tree));
  metate_argument arguments[2] = {};
  arguments[0].kind = METATE_ARGUMENT_TREE;
  arguments[0].value.tree = tree;
  arguments[1].kind = METATE_ARGUMENT_SCALAR;
  arguments[1].dtype = METATE_F32;
  float one = 1;
  std::memcpy(&arguments[1].value.bits, &one, 4);
  for (int round = 0; round < 300; ++round) {
    ASSERT_OK(metate_tree_reset(tree));
    ASSERT_OK(metate_kernel_launch(fill, arguments, 2));
    ASSERT_EQ(stats(tree, 0).used, 9u);
    ASSERT_OK(check(tree));
  }
  EXPECT_OK(metate_tree_unbind(tree));
  EXPECT_OK(metate_module_close(module));
  EXPECT_OK(metate_device_close(device));
}
