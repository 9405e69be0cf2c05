// The protocol of protocol/metate/protocol/tree.h from many workers at once, as tasks of kernels follow
// it: activations, appends, deactivations, stores and reads of any cells; then the collection that
// ends a task. Whatever the order was, the block is sound, and the next task finds slots again.
#include "level_model.h"

#include "metate/protocol/tree.h"

#include <barrier>
#include <thread>

using namespace metate::test;
using metate::sized;

#if defined(__SANITIZE_THREAD__)
#define METATE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define METATE_TSAN 1
#endif
#endif

namespace {

constexpr uint32_t workers = 4;

struct Race {
  const char *name;
  std::vector<Node> branches;
  std::vector<metate_capacity> capacities;
};

Node seven() { return withBackground<int32_t>(place("x", METATE_I32), {7}); }

std::vector<Race> races() {
  return {
      {"pointer", {pointer("p", "ij", {4, 4}, {dense("d", "ij", {2, 2}, {seven()})})}, {{"p", 16}}},
      {"bitmasked", {bitmasked("b", "i", {70}, {seven()})}, {}},
      {"pointer bitmasked",
       {pointer("p", "i", {5}, {bitmasked("b", "i", {40}, {seven()})})},
       {{"p", 5}}},
      {"pointer pointer bitmasked",
       {pointer("p", "i", {3}, {pointer("q", "i", {3}, {bitmasked("b", "i", {33}, {seven()})})})},
       {{"p", 3}, {"q", 9}}},
      {"bitmasked pointer",
       {bitmasked("b", "i", {8}, {pointer("p", "i", {4}, {seven()})})},
       {{"p", 32}}},
      {"dynamic", {dynamic("l", "i", 300, 8, {seven()})}, {}},
      {"pointer dynamic", {pointer("p", "i", {4}, {dynamic("l", "j", 90, 7, {seven()})})}, {}},
      {"dynamic pointer", {dynamic("l", "i", 12, 2, {pointer("p", "j", {3}, {seven()})})}, {}},
      {"hash", {hash("h", "ij", {seven()})}, {{"h", 300}}},
      {"hash bitmasked", {hash("h", "i", {bitmasked("b", "i", {5}, {seven()})})}, {{"h", 60}}},
      {"pointer hash", {pointer("p", "k", {3}, {hash("h", "i", {seven()})})}, {{"h", 200}}},
      {"bitmasked hash", {bitmasked("b", "k", {3}, {hash("h", "i", {seven()})})}, {{"h", 200}}},
      {"dynamic hash", {dynamic("l", "k", 5, 1, {hash("h", "i", {seven()})})}, {{"h", 200}}},
      {"exhausted",
       {pointer("p", "i", {50}, {dynamic("l", "j", 40, 4, {seven()})})},
       {{"p", 20}, {"l", 60}}},
      {"exhausted, in runs",
       {pointer("p", "ij", {40, 10}, {pointer("q", "i", {3}, {seven()})})},
       {{"p", 260}, {"q", 300}}},
      {"exhausted hash", {hash("h", "i", {bitmasked("b", "i", {3}, {seven()})})}, {{"h", 20}}},
  };
}

class ProtocolTest : public Runtime {
protected:
  metate_tree *bindRace(const Race &race) {
    metate_type *type = open(typeBlob(race.branches, race.name), race.name);
    auto wanted = sized<metate_capacities>();
    wanted.workers = workers;
    wanted.count = uint32_t(race.capacities.size());
    wanted.entries = race.capacities.data();
    return make(type, &wanted);
  }

  static metate_view viewOf(metate_tree *tree) {
    auto about = describe(tree);
    auto info = sized<metate_type_description>();
    metate_type_describe(about.type, &info);
    return {static_cast<uint8_t *>(about.block), static_cast<const metate_tree_type *>(info.blob),
            nullptr, nullptr, 0};
  }
};

// One worker of a task: operations at random cells of random levels.
class Worker {
public:
  Worker(const metate_view &view, const LevelModel &levels, uint32_t number, unsigned seed)
      : view(view), model(levels), number(number), random(seed * 131 + number) {
    this->view.worker = number;
  }

  void run(int operations) {
    for (int n = 0; n < operations; ++n)
      step();
  }
  uint64_t wrong = 0;

private:
  metate_view view;
  const LevelModel &model;
  uint32_t number;
  std::mt19937 random;

  int64_t below(int64_t count) { return int64_t(random() % uint64_t(count)); }

  void step() {
    uint32_t level = 1 + uint32_t(below(int64_t(model.levels.size()) - 1));
    const auto &own = model.levels[level];
    int64_t along[METATE_MAX_AXES] = {};
    for (uint32_t k = 0; k < own.path_rank; ++k)
      along[own.path_axes[k]] = own.shape[k] ? below(own.shape[k]) : below(16) - 8;
    switch (below(6)) {
    case 0:
      return deactivate(level, along);
    case 1:
      return append(level, along);
    case 2:
      return read(level, along);
    default:
      return store(level, along);
    }
  }

  // The thread sanitizer takes plain fills and stores for what they are: there each bitmasked cell
  // and each value is one worker's.
  bool isMine(const int64_t *along) {
#ifdef METATE_TSAN
    uint64_t sum = 0;
    for (uint32_t axis = 0; axis < METATE_MAX_AXES; ++axis)
      sum += uint64_t(along[axis] + 64) * (axis + 1);
    return sum % workers == number;
#else
    (void)along;
    return number < workers;
#endif
  }

  void store(uint32_t level, const int64_t *along) {
    uint8_t *cell = metate_view_cell(&view, level, along, METATE_VIEW_ACTIVATE);
    if (cell && model.levels[level].kind == METATE_LEVEL_PLACE && isMine(along))
      __atomic_store_n(reinterpret_cast<int32_t *>(cell), 1000 + int32_t(below(9)),
                       __ATOMIC_RELAXED);
  }

  void read(uint32_t level, const int64_t *along) {
    const uint8_t *cell = metate_view_cell(&view, level, along, METATE_VIEW_FIND);
    if (!cell || model.levels[level].kind != METATE_LEVEL_PLACE || !isMine(along))
      return;
    int32_t value = __atomic_load_n(reinterpret_cast<const int32_t *>(cell), __ATOMIC_RELAXED);
    wrong += value != 7 && (value < 1000 || value > 1008);
  }

  void append(uint32_t level, const int64_t *along) {
    if (model.levels[level].kind != METATE_LEVEL_DYNAMIC)
      return;
    uint64_t linear = 0;
    uint32_t key[METATE_MAX_AXES];
    uint8_t *list = metate_view_container(&view, level, along, METATE_VIEW_ACTIVATE, &linear);
    metate_view_key(metate_view_level(&view, level), along, key);
    if (list)
      metate_view_append(&view, level, list, key);
  }

  void deactivate(uint32_t level, const int64_t *along) {
    uint64_t linear = 0;
    uint32_t key[METATE_MAX_AXES], kind = model.levels[level].kind;
    if (!model.hasActivity(level) || (kind == METATE_LEVEL_BITMASKED && !isMine(along)))
      return;
#ifdef METATE_TSAN
    if (below(4))
      return;
#endif
    uint8_t *container = metate_view_container(&view, level, along, METATE_VIEW_FIND, &linear);
    metate_view_key(metate_view_level(&view, level), along, key);
    if (container)
      metate_view_deactivate(&view, level, container, linear, key);
  }
};

} // namespace

TEST_F(ProtocolTest, racesEndInSoundBlocks) {
  for (const Race &race : races()) {
    SCOPED_TRACE(race.name);
    metate_tree *tree = bindRace(race);
    metate_view view = viewOf(tree);
    LevelModel levels(describe(tree).type);
    for (unsigned round = 0; round < 60; ++round) {
      metate_view_header(&view)->epoch += 1; // as a task that changes what it walks
      std::barrier start(workers);
      std::vector<Worker> all;
      for (uint32_t number = 0; number < workers; ++number)
        all.emplace_back(view, levels, number, round);
      std::vector<std::thread> threads;
      for (Worker &worker : all)
        threads.emplace_back([&] {
          start.arrive_and_wait();
          worker.run(300);
        });
      for (std::thread &thread : threads)
        thread.join();
      for (const Worker &worker : all)
        EXPECT_EQ(worker.wrong, 0u);
      metate_view_collect(&view, 1);
      metate_view_settle(&view);
      ASSERT_OK(check(tree)) << "round " << round;
      if (round % 8 == 7) {
        ASSERT_OK(metate_tree_deactivate_all(tree, 0));
        ASSERT_OK(check(tree));
        for (uint32_t pool = 0; pool < describe(tree).pool_count; ++pool)
          ASSERT_EQ(stats(tree, pool).used, 0u) << "every slot comes back";
      }
    }
    unbind(tree);
  }
}

// Slots that lie in magazines are at every worker's disposal: a need of as many slots as there are never fails.
TEST_F(ProtocolTest, capacityIsEnough) {
  constexpr uint32_t cells = 333;
  for (const Node &level : {pointer("p", "i", {cells}, {seven()}), hash("h", "i", {seven()})}) {
    metate_tree *tree = bindRace({"full", {level}, {{level.name.c_str(), cells}}});
    for (unsigned round = 0; round < 100; ++round) {
      std::barrier start(workers);
      std::vector<std::thread> threads;
      for (uint32_t number = 0; number < workers; ++number)
        threads.emplace_back([&, number] {
          metate_view view = viewOf(tree);
          view.worker = number;
          start.arrive_and_wait();
          for (uint32_t n = 0; n < cells; ++n) { // all of the same cells, from other ends
            int64_t along[METATE_MAX_AXES] = {(n * (2 * number + 1) + round) % cells};
            if (number & 1)
              along[0] = cells - 1 - along[0];
            metate_view_cell(&view, 1, along, METATE_VIEW_ACTIVATE);
          }
        });
      for (std::thread &thread : threads)
        thread.join();
      metate_view view = viewOf(tree);
      metate_view_settle(&view);
      ASSERT_EQ(describe(tree).status, uint32_t(METATE_OK)) << "round " << round;
      ASSERT_OK(check(tree));
      ASSERT_EQ(stats(tree, 0).used, cells);
      ASSERT_OK(metate_tree_deactivate_all(tree, 0));
    }
    unbind(tree);
  }
}

// A cell below a hash level that was given up and made anew in one task shows nothing old.
TEST_F(ProtocolTest, nothingOldComesBackInOneTask) {
  for (bool masked : {false, true}) {
    Node below = hash("h", "i", {seven()});
    metate_tree *tree =
        bindRace({"again",
                  {masked ? bitmasked("b", "k", {2}, {below}) : pointer("b", "k", {2}, {below})},
                  {{"h", 20}}});
    metate_view view = viewOf(tree);
    int64_t first[METATE_MAX_AXES] = {5, 0, 1}, second[METATE_MAX_AXES] = {6, 0, 1};
    uint64_t linear = 0;
    auto value = [&](const int64_t *along, metate_view_mode mode) {
      return reinterpret_cast<int32_t *>(metate_view_cell(&view, 3, along, mode));
    };
    *value(first, METATE_VIEW_ACTIVATE) = 99;
    uint8_t *outer = metate_view_container(&view, 1, first, METATE_VIEW_FIND, &linear);
    ASSERT_NE(outer, nullptr);
    metate_view_deactivate(&view, 1, outer, 1, nullptr);
    EXPECT_EQ(value(first, METATE_VIEW_FIND), nullptr);
    *value(second, METATE_VIEW_ACTIVATE) = 5;
    EXPECT_EQ(value(first, METATE_VIEW_FIND), nullptr);
    metate_view_collect(&view, 0);
    EXPECT_OK(check(tree));
    EXPECT_EQ(value(first, METATE_VIEW_FIND), nullptr);
    ASSERT_NE(value(second, METATE_VIEW_FIND), nullptr);
    EXPECT_EQ(*value(second, METATE_VIEW_FIND), 5);
    EXPECT_EQ(*value(first, METATE_VIEW_ACTIVATE), 7);
    EXPECT_EQ(stats(tree, describe(tree).pool_count - 1).used, 2u);
  }
}

// Entry masks and lengths are what the live ones were; what a task changes leaves them alone.
TEST_F(ProtocolTest, snapshotsKeepWhatWasThere) {
  Node value = place("y", METATE_I32);
  metate_tree *tree = bindRace(
      {"entry",
       {pointer("p", "i", {3},
                {bitmasked("b", "i", {40}, {seven()}), dynamic("l", "j", 30, 4, {value})})},
       {}});
  metate_view view = viewOf(tree);
  uint64_t linear = 0;
  int64_t bit[METATE_MAX_AXES] = {45}, list[METATE_MAX_AXES] = {1, 9};
  metate_view_cell(&view, 2, bit, METATE_VIEW_ACTIVATE);
  metate_view_cell(&view, 4, list, METATE_VIEW_ACTIVATE);
  metate_view_snapshot(&view, 2);
  metate_view_snapshot(&view, 4);
  uint8_t *masked = metate_view_container(&view, 2, bit, METATE_VIEW_FIND, &linear);
  uint8_t *listed = metate_view_container(&view, 4, list, METATE_VIEW_FIND, &linear);
  ASSERT_TRUE(masked && listed);
  const uint32_t *mask = metate_view_mask(metate_view_level(&view, 2), masked);
  EXPECT_EQ(mask[0], 1u << 5);
  EXPECT_EQ(mask[2], 1u << 5);
  metate_view_deactivate(&view, 2, masked, 5, nullptr);
  metate_view_deactivate(&view, 4, listed, 0, nullptr);
  EXPECT_EQ(mask[0], 0u);
  EXPECT_EQ(mask[2], 1u << 5);
  EXPECT_EQ(reinterpret_cast<uint32_t *>(listed)[0], 0u);
  EXPECT_EQ(reinterpret_cast<uint32_t *>(listed)[1], 10u);
  metate_view_collect(&view, 0);
  EXPECT_OK(check(tree));
}
