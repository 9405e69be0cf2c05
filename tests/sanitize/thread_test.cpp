// Instrumented kernels under ThreadSanitizer: what may run at once is silent, what races is
// reported, and so is an activation whose orders are too weak. The death tests' exit code is
// ThreadSanitizer's own (66).
#include "host.h"

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

INSTANTIATE_TEST_SUITE_P(Modules, ThreadTest, ::testing::Values("thread", "thread0"),
                         [](const auto &info) {
                           return std::string(info.param) == "thread" ? "O2" : "O0";
                         });

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
    context.run("laplace", tree, other);
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

TEST_P(ThreadTest, fourThreadsOfFourContexts) {
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      Context context(path());
      float sum = exercise(context, 3);
      bad += sum != exercise(context, 2);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(bad, 0);
}

TEST_P(ThreadTest, fourThreadsOnOneContextWithTreesOfTheirOwn) {
  Context context(path());
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] { exercise(context, 2); });
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
      context.run("laplace", shared, mine);
      EXPECT_TRUE(mine.check().ok());
    });
  for (std::thread &thread : threads)
    thread.join();
}

// A slot on the free list, as a worker leaves it that lost the race for a link.
static void addFreeSlot(const Tree &tree) {
  auto *block = reinterpret_cast<uint8_t *>(tree.block().data());
  auto *pool = reinterpret_cast<metate_pool *>(block + sizeof(metate_tree_header));
  uint32_t slot = ++pool->high_water;
  auto *record = reinterpret_cast<uint32_t *>(block + pool->meta_offset + slot * 12ull);
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
  auto run = [](const char *module) {
    Context context(modulePath(module), turnsExecutor());
    Tree tree = context.tree("sparse"), deep = context.tree("deep");
    context.run("count", tree, 2000);
    context.run("open_deep", deep, 512);
    std::exit(0);
  };
  EXPECT_EXIT(run("thread"), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run("thread-weak-publish"), ::testing::ExitedWithCode(reported), race);
  EXPECT_EXIT(run("thread-weak-find"), ::testing::ExitedWithCode(reported), race);
}
