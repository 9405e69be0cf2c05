// Concurrent activation: pools at exactly their capacity never fail, nobody writes the ambient
// slot, and an exhausted pool loses nothing but what did not fit.
#include "fixture.h"

#include <sys/mman.h>

#include <barrier>
#include <random>
#include <thread>

using namespace metate::test;
using metate::sized;

namespace {

constexpr uint32_t racers = 8;

// Slots of one page each in both pools, so that an ambient slot can be mapped read-only alone.
Bytes pagedBlob() {
  return typeBlob({pointer("outer", "ij", {3, 3},
                           {pointer("inner", "ij", {32, 32},
                                    {dense("leaf", "ij", {32, 32}, {place("x", METATE_I32)})})})},
                  "paged");
}

// The cells that the race activates: one in each inner block of two outer ones.
std::vector<std::array<int64_t, 2>> racedCells() {
  std::vector<std::array<int64_t, 2>> cells;
  for (int64_t i = 0; i < 2 * 32; ++i)
    for (int64_t j = 0; j < 32; j += 2)
      cells.push_back({i * 32 + i % 32, j * 32 + j % 32});
  return cells;
}

class ActivationTest : public Runtime {
protected:
  char *region = nullptr;
  uint64_t regionBytes = 0;

  void TearDown() override {
    Runtime::TearDown();
    if (region)
      munmap(region, regionBytes);
  }

  // Binds with exact capacities so that the ambient slot of `pool` fills a page, and protects it.
  metate_tree *bindProtected(const metate_type *type, const metate_capacities &wanted,
                             uint32_t pool) {
    const uint64_t page = 4096;
    uint64_t bytes = 0, align = 0;
    EXPECT_OK(metate_type_size(type, &wanted, &bytes, &align));
    regionBytes = bytes + 2 * page;
    region = static_cast<char *>(
        mmap(nullptr, regionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    // Bound once at the region's start to learn the offset, then where the slot meets a page.
    metate_tree *tree = nullptr;
    EXPECT_OK(metate_tree_bind(type, region, bytes, &wanted, METATE_BIND_RESET, &tree));
    uint64_t slots = reinterpret_cast<metate_pool *>(region + 128)[pool].slots_offset;
    EXPECT_OK(metate_tree_unbind(tree));
    char *block = region + (page - slots % page) % page;
    EXPECT_OK(metate_tree_bind(type, block, bytes, &wanted, METATE_BIND_RESET, &tree));
    trees.push_back(tree);
    EXPECT_EQ(0, mprotect(block + slots, page, PROT_READ));
    return tree;
  }

  // Every worker activates every cell, each in its own order; returns how many calls failed.
  uint64_t race(metate_tree *tree, const std::vector<std::array<int64_t, 2>> &cells,
                unsigned seed) {
    std::atomic<uint64_t> failed{0};
    std::barrier start(racers);
    std::vector<std::thread> threads;
    for (uint32_t worker = 0; worker < racers; ++worker)
      threads.emplace_back([&, worker] {
        auto order = cells;
        // Half of them go the same way: the most collisions.
        if (worker % 2)
          std::shuffle(order.begin(), order.end(), std::mt19937(seed + worker));
        start.arrive_and_wait();
        for (auto [i, j] : order) {
          int64_t at[2] = {i, j};
          int32_t value = int32_t(i * 100000 + j);
          // One worker writes each cell, all others activate it: only activation races.
          bool mine = uint64_t(i / 32 * 32 + j / 32) % racers == worker;
          failed += (mine ? metate_tree_write(tree, 4, at, 2, &value, sizeof value)
                          : metate_tree_activate(tree, 4, at, 2)) != METATE_OK;
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    return failed;
  }
};

} // namespace

TEST_F(ActivationTest, exactCapacityNeverFailsAndAmbientSlotsStayUntouched) {
  metate_type *type = open(pagedBlob());
  auto cells = racedCells();
  metate_capacity entries[] = {{"outer", 2}, {"inner", cells.size()}};
  auto wanted = sized<metate_capacities>();
  wanted.workers = racers;
  wanted.count = 2;
  wanted.entries = entries;
  for (uint32_t pool : {0u, 1u}) {
    metate_tree *tree = bindProtected(type, wanted, pool);
    for (unsigned round = 0; round < 6; ++round) {
      if (round) { // a reset writes the ambient slots, so each round binds anew
        unbind(tree);
        munmap(region, regionBytes);
        tree = bindProtected(type, wanted, pool);
      }
      EXPECT_EQ(race(tree, cells, round * 100 + pool), 0u);
      EXPECT_EQ(describe(tree).status, unsigned(METATE_OK));
      EXPECT_EQ(stats(tree, 0).used, 2u);
      EXPECT_EQ(stats(tree, 1).used, cells.size());
      for (auto [i, j] : cells)
        ASSERT_EQ(read<int32_t>(tree, 4, {i, j}), int32_t(i * 100000 + j));
      ASSERT_OK(check(tree));
    }
    unbind(tree);
    munmap(region, regionBytes);
    region = nullptr;
  }
}

TEST_F(ActivationTest, exhaustionKeepsEveryOtherWrite) {
  metate_type *type = open(pagedBlob());
  auto cells = racedCells();
  metate_capacity entries[] = {{"outer", 2}, {"inner", cells.size() - 40}};
  auto wanted = sized<metate_capacities>();
  wanted.workers = racers;
  wanted.count = 2;
  wanted.entries = entries;
  metate_tree *tree = make(type, &wanted);
  EXPECT_GT(race(tree, cells, 5), 0u);
  EXPECT_EQ(describe(tree).status, unsigned(METATE_E_CAPACITY));
  uint64_t written = 0;
  for (auto [i, j] : cells) {
    if (active(tree, 4, {i, j}))
      ++written;
    else
      EXPECT_EQ(read<int32_t>(tree, 4, {i, j}), 0);
  }
  EXPECT_GE(written, cells.size() - 40);
  EXPECT_LE(written, cells.size() - 40 + racers);
  EXPECT_EQ(stats(tree, 1).used, written);
  const auto *header = static_cast<metate_tree_header *>(describe(tree).block);
  EXPECT_EQ(header->status_level, 1u);
  EXPECT_GT(header->status_needed, cells.size() - 40);
  EXPECT_LE(header->status_needed, cells.size());
  EXPECT_OK(check(tree));
}

// Losers of a race give their slot back; the free list serves it again before the pool grows.
TEST_F(ActivationTest, freeSlotsAreUsedAgain) {
  metate_type *type = open(pagedBlob());
  metate_tree *tree = make(type);
  auto info = describe(tree);
  auto *pool = reinterpret_cast<metate_pool *>(static_cast<char *>(info.block) + 128) + 1;
  auto *records = reinterpret_cast<uint32_t *>(static_cast<char *>(info.block) + pool->meta_offset);
  // As two lost races leave it: slots 1 and 2 handed out and given back.
  pool->high_water = 2;
  pool->free_head = (uint64_t(4) << 32) | 2;
  records[2 * 4 + 1] = 1;
  ASSERT_OK(check(tree));
  ASSERT_OK(write(tree, 4, {0, 0}, 5));
  EXPECT_EQ(pool->high_water, 2u);
  EXPECT_EQ(uint32_t(pool->free_head), 1u);
  EXPECT_EQ(pool->free_head >> 32, 5u) << "every change of the head raises its tag";
  ASSERT_OK(write(tree, 4, {0, 40}, 6));
  ASSERT_OK(write(tree, 4, {0, 80}, 7));
  EXPECT_EQ(pool->high_water, 3u);
  EXPECT_EQ(read<int32_t>(tree, 4, {0, 0}), 5);
  EXPECT_EQ(read<int32_t>(tree, 4, {0, 40}), 6);
  EXPECT_OK(check(tree));
}
