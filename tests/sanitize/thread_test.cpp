// Instrumented kernels under ThreadSanitizer: what may run at once is silent, what races is
// reported, and so is an activation whose orders are too weak. The death tests' exit code is
// ThreadSanitizer's own (66).
#include "host.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

using namespace metate::test;
using metate::Tree;

namespace {

constexpr int reported = 66;
constexpr const char *race = "ThreadSanitizer: data race";

class ThreadTest : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    METATE_NEED_MODULES();
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
  std::string path() const { return modulePath(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Modules, ThreadTest,
                         ::testing::Values("thread", "thread0", "thread-debug"),
                         [](const auto &info) { return variantName(info.param); });

// Everything that one context does by itself; returns the sum over its tree.
float exercise(const Context &context, int rounds) {
  Tree tree = context.tree("sparse"), other = context.tree("sparse"), deep = context.tree("deep");
  std::vector<float> sums(3), x(1000, 1.0f), y(1000), seen(1024);
  std::vector<int32_t> counts(4);
  for (int round = 0; round < rounds; ++round) {
    tree.reset();
    other.reset();
    deep.reset();
    context.run("fill", tree);
    context.run("count", tree, 2000);
    context.run("scale", tree, 2.0f);
    context.run(context.laplace, tree, other);
    context.run("grow", other);
    context.run("open_deep", deep, 512);
    context.run("read_deep", deep, seen);
    sums.assign(3, 0.0f);
    counts.assign(4, 0);
    context.run("reduce", tree, sums, counts);
    context.run("renumber", tree);
    context.run("axpy", 0.5f, x, y);
    EXPECT_TRUE(tree.check().ok() && other.check().ok() && deep.check().ok());
  }
  EXPECT_EQ(y[999], 0.5f * float(rounds));
  EXPECT_EQ(uint64_t(counts[0]), tree.stats()[0].used * 64);
  EXPECT_EQ(counts[1], 63);
  return sums[0];
}

} // namespace

TEST_P(ThreadTest, oneContext) {
  Context context(path());
  EXPECT_GT(exercise(context, 5), 0);
}

TEST_P(ThreadTest, chunksInTurnsShareNothingUnordered) {
  Context context(path(), turnsExecutor());
  EXPECT_GT(exercise(context, 1), 0);
}

namespace {

// Workers set, clear, append and read what shares words, lists, buckets and pools; again and again,
// so that slots come back from the free lists.
void mixLevels(const Context &context, int rounds) {
  Tree masked = context.tree("masked"), lists = context.tree("lists"),
       bins = context.type("bins").make({{"hash0", 2000}});
  std::vector<int32_t> sums(3);
  for (int round = 0; round < rounds; ++round) {
    sums.assign(3, 0);
    context.run("mix_masked", masked, sums);
    context.run("all_masked", masked, sums);
    EXPECT_EQ(sums[2], 256);
    context.run("drop_blocks", masked);
    EXPECT_TRUE(masked.check().ok());
    masked.reset();
    sums.assign(3, 0);
    context.run("mix_lists", lists, sums);
    context.run("all_lists", lists, sums);
    EXPECT_EQ(sums[0], 0);
    EXPECT_EQ(sums[2], 4096);
    EXPECT_TRUE(lists.check().ok());
    lists.reset();
    std::vector<int32_t> count(1), taken(256);
    context.run("mix_one", lists, count, taken);
    EXPECT_EQ(count[0], 256);
    EXPECT_EQ(std::accumulate(taken.begin(), taken.end(), 0), 256 * (5 + 2045) / 2);
    EXPECT_TRUE(lists.check().ok());
    lists.reset();
    sums.assign(3, 0);
    context.run("mix_bins", bins, sums);
    context.run("all_bins", bins, sums);
    EXPECT_TRUE(bins.check().ok());
  }
}

} // namespace

TEST_P(ThreadTest, everyLevelFromAllWorkers) {
  Context context(path());
  mixLevels(context, 5);
}

TEST_P(ThreadTest, everyLevelInTurns) {
  Context context(path(), turnsExecutor());
  mixLevels(context, 1);
}

namespace {

// What is below a level goes with its cell, while other workers are at work in it.
void mixNests(const Context &context, int rounds) {
  // Slots that are given up count until the loop ends: room for one an iteration.
  auto roomy = [&](const char *type, std::initializer_list<const char *> levels) {
    std::vector<metate_capacity> entries;
    for (const char *level : levels)
      entries.push_back({level, 5000});
    return context.type(type).make(metate::Capacities(entries));
  };
  Tree trees[] = {roomy("piles", {"pointer0", "dynamic1"}), roomy("gates", {"pointer1"}),
                  roomy("towers", {"pointer0", "pointer1"}), roomy("grids", {"hash0"}),
                  roomy("nests", {"pointer0", "hash1"})};
  const char *kernels[] = {"mix_piles", "mix_gates", "mix_towers", "mix_grids", "mix_nests"};
  std::vector<int32_t> sums(3);
  for (int round = 0; round < rounds; ++round) {
    for (int k = 0; k < 5; ++k) {
      context.run(kernels[k], trees[k], sums);
      EXPECT_TRUE(trees[k].check().ok()) << kernels[k] << ": " << trees[k].check().text;
    }
    sums.assign(3, 0);
    context.run("all_nested", trees[0], trees[1], trees[2], trees[3], trees[4], sums);
    EXPECT_GT(sums[1], 0);
    if (round == 1)
      for (Tree &tree : trees)
        tree.reset();
  }
}

} // namespace

TEST_P(ThreadTest, nestsFromAllWorkers) {
  Context context(path());
  mixNests(context, 4);
}

TEST_P(ThreadTest, nestsInTurns) {
  Context context(path(), turnsExecutor());
  mixNests(context, 2);
}

TEST_P(ThreadTest, fourThreadsOfFourContexts) {
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      Context context(path());
      float sum = exercise(context, 10);
      bad += sum != exercise(context, 5);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(bad, 0);
}

TEST_P(ThreadTest, fourContextsOnOneExecutor) {
  metate_executor executor{};
  ASSERT_EQ(METATE_OK, metate_threads_executor_create(4, &executor));
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      Context context(path(), executor);
      exercise(context, 5);
    });
  for (std::thread &thread : threads)
    thread.join();
  metate_threads_executor_destroy(&executor);
}

TEST_P(ThreadTest, fourThreadsOnOneContextWithTreesOfTheirOwn) {
  Context context(path());
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] { exercise(context, 10); });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_P(ThreadTest, oneTreeReadByAllAndWrittenApart) {
  Context context(path());
  Tree shared = context.tree("sparse");
  context.run("fill", shared);
  auto task = [&](int n) {
    Tree mine = context.tree("sparse");
    std::vector<float> sums(3);
    std::vector<int32_t> counts(4);
    for (int round = 0; round < 5; ++round) {
      if (n == 0)
        context.run("scale", shared, 1.5f); // a, which nobody else touches
      else if (n == 1)
        context.run("renumber", shared); // n, likewise
      else
        EXPECT_TRUE((shared.read<std::array<float, 3>>("v", {0, 0})[2] == 1.0f));
    }
  };
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back(task, n);
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      Tree mine = context.tree("sparse");
      context.run(context.laplace, shared, mine);
      EXPECT_TRUE(mine.check().ok());
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_P(ThreadTest, assertsFailOnManyWorkers) {
  for (bool turns : {false, true}) {
    std::optional<Context> context;
    turns ? context.emplace(path(), turnsExecutor()) : context.emplace(path());
    std::vector<float> x(10000, 5.0f);
    context->run("check_all", x, 6.0f);
    metate::Status status = context->tryRun("check_all", x, 4.0f);
    EXPECT_EQ(status.code, METATE_E_ASSERT);
    EXPECT_NE(status.text.find("too large"), std::string::npos) << status.text;
  }
}

TEST_P(ThreadTest, poolsRunOutOnManyWorkers) {
  for (bool turns : {false, true}) {
    std::optional<Context> context;
    turns ? context.emplace(path(), turnsExecutor()) : context.emplace(path());
    Tree tree = context->type("sparse").make(metate::Capacities({{"pointer0", 5}}, 4));
    for (int round = 0; round < 5; ++round) {
      metate::Status status = context->tryRun("fill", tree);
      EXPECT_EQ(status.code, METATE_E_CAPACITY);
      EXPECT_NE(status.text.find("level 'pointer0' needs at least"), std::string::npos)
          << status.text;
      tree.reset();
    }
  }
}

TEST_P(ThreadTest, printsComeFromManyWorkers) {
  for (bool turns : {false, true}) {
    std::optional<Context> context;
    turns ? context.emplace(path(), turnsExecutor()) : context.emplace(path());
    std::vector<float> x(10000, 5.0f);
    context->run("print_some", x);
    EXPECT_EQ(std::count(context->printed.begin(), context->printed.end(), '\n'), 100);
    EXPECT_NE(context->printed.find("x 9900 = 5.0\n"), std::string::npos) << context->printed;
  }
}

TEST_P(ThreadTest, launchesAreInterrupted) {
  Context context(path());
  std::vector<float> x(10000, 5.0f);
  uint32_t stop = 0;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    __atomic_store_n(&stop, 1u, __ATOMIC_RELAXED);
  });
  // Hours of work, if nobody interrupts it.
  metate::Status status =
      context.kernel("count_down").try_launch_interruptible(&stop, x, INT32_MAX / 100000);
  other.join();
  EXPECT_EQ(status.code, METATE_E_INTERRUPTED) << status.text;
}

// A slot on the free list, as a worker leaves it that lost the race for a link.
static void addFreeSlot(const Tree &tree) {
  auto *block = reinterpret_cast<uint8_t *>(tree.block().data());
  auto *pool = reinterpret_cast<metate_pool *>(block + sizeof(metate_tree_header));
  uint32_t slot = ++pool->high_water;
  auto *record = reinterpret_cast<uint32_t *>(block + pool->meta_offset + slot * 16ull);
  record[0] = 0;
  record[1] = uint32_t(pool->free_head);
  pool->free_head = ((pool->free_head >> 32) + 1) << 32 | slot;
}

TEST_P(ThreadTest, slotsAreReusedDuringAWalk) {
  Context context(path(), turnsExecutor());
  Tree tree = context.tree("sparse");
  tree.write("n", {0, 0}, 1);
  for (int n = 0; n < 60; ++n)
    addFreeSlot(tree);
  ASSERT_TRUE(tree.check().ok()) << tree.check().text;
  // The first chunk opens the neighbour in a slot that a later chunk walks past.
  context.run("grow", tree);
  EXPECT_TRUE(tree.is_active("n", {8, 0}));
  EXPECT_EQ(tree.stats()[0].used, 2u);
  EXPECT_EQ(tree.stats()[0].high_water, 61u);
}

TEST_P(ThreadTest, racesAreReported) {
  auto run = [&](const char *kernel) {
    Context context(path(), turnsExecutor());
    if (std::string(kernel) == "racy_cell") {
      Tree tree = context.tree("sparse");
      context.run(kernel, tree);
    } else {
      std::vector<float> x(1000);
      context.run(kernel, x);
    }
    std::exit(0);
  };
  for (const char *kernel : {"racy_element", "racy_cell", "racy_mixed"}) {
    SCOPED_TRACE(kernel);
    // The report names the line of the Python source.
    EXPECT_EXIT(run(kernel), ::testing::ExitedWithCode(reported),
                std::string(race) + ".*\n.*\n.*kernels\\.py:[0-9]+");
  }
}

TEST(ThreadOrdersTest, weakOrdersOfAnActivationAreReported) {
  METATE_NEED_MODULES();
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  // Each leaf is opened by one chunk and used by all: what the link publishes is the slot's bytes.
  auto run = [](const std::string &module) {
    Context context(modulePath(module), turnsExecutor());
    Tree tree = context.tree("sparse"), deep = context.tree("deep");
    context.run("count", tree, 2000);
    context.run("open_deep", deep, 512);
    std::exit(0);
  };
  EXPECT_EXIT(run("thread"), ::testing::ExitedWithCode(0), "");
  int weak = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(modulePath("").substr(0, modulePath("").rfind('/')))) {
    std::string name = entry.path().stem();
    if (!name.starts_with("thread-weak-"))
      continue;
    SCOPED_TRACE(name);
    ++weak;
    EXPECT_EXIT(run(name), ::testing::ExitedWithCode(reported), race);
  }
  EXPECT_GE(weak, 1);
}
