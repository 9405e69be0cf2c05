// Damaged tree blocks: check refuses them or everything in them can be read consistently; even a
// block that is adopted unchecked never leads a reading function outside its memory.
#include "damage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace metate::test;
using metate::sized;

namespace {

struct Block {
  metate_type *type = nullptr;
  std::vector<uint8_t> bytes;
};

class BlockDamage : public ::testing::Test {
protected:
  metate_device *device = nullptr;
  Random random;
  std::vector<Block> blocks;

  void SetUp() override {
    ASSERT_EQ(METATE_OK, metate_device_open(nullptr, &device));
    add(typeBlob({pointer("outer", "ijk", {4, 4, 4},
                          {pointer("inner", "ijk", {4, 4, 4},
                                   {dense("d", "ijk", {2, 2, 2},
                                          {withBackground<float>(place("x", METATE_F32), {1.5f}),
                                           place("on", METATE_U1)})})})},
                 "nested"));
    add(abSoa());
    add(typeBlob({pointer("p", "i", {4},
                          {bitmasked("b", "i", {40},
                                     {withBackground<float>(place("x", METATE_F32), {1.5f}),
                                      place("on", METATE_U1)})})},
                 "masked"));
    add(typeBlob({pointer("p", "i", {3},
                          {dynamic("l", "j", 20, 4,
                                   {withBackground<float>(place("x", METATE_F32), {1.5f})})})},
                 "lists"));
    add(typeBlob(
        {pointer("p", "i", {4},
                 {bitmasked(
                     "b", "i", {10},
                     {bitStruct(32,
                                {shared({quantFloat("u", 5, 9, true, METATE_F32),
                                         quantFloat("v", 5, 9, true, METATE_F32)}),
                                 withBackground<uint8_t>(quantInt("n", 3, false, METATE_U8), {5})},
                                5u << 23),
                      quantArray("q", "j", {7}, 16, quantFixed("f", 5, true, 0.5, METATE_F32))})})},
        "words"));
    add(typeBlob({bitmasked("b", "k", {3},
                            {hash("h", "ij", {dense("d", "i", {4}, {place("x", METATE_I32)})})})},
                 "table"));
  }
  void TearDown() override {
    for (Block &block : blocks)
      EXPECT_EQ(METATE_OK, metate_type_close(block.type));
    EXPECT_EQ(METATE_OK, metate_device_close(device));
  }

  // A block with some cells active and, as after a lost race, a slot on the free list.
  void add(const Bytes &blob) {
    Block block;
    ASSERT_EQ(METATE_OK, metate_type_open_blob(device, blob.data(), blob.size(), "t", &block.type));
    auto wanted = sized<metate_capacities>();
    wanted.workers = 2;
    metate_capacity few{"h", 14};
    uint32_t known;
    wanted.count = metate_type_find_level(block.type, "h", &known) == METATE_OK;
    wanted.entries = &few;
    uint64_t bytes, align;
    ASSERT_EQ(METATE_OK, metate_type_size(block.type, &wanted, &bytes, &align));
    Exact memory(bytes);
    metate_tree *tree = nullptr;
    ASSERT_EQ(METATE_OK,
              metate_tree_bind(block.type, memory.data, bytes, &wanted, METATE_BIND_RESET, &tree));
    auto info = sized<metate_type_description>();
    metate_type_describe(block.type, &info);
    for (int n = 0; n < 12; ++n) {
      auto level = sized<metate_level_description>();
      metate_type_level(block.type, info.level_count - 1, &level);
      int64_t at[METATE_MAX_AXES];
      for (uint32_t k = 0; k < level.path_rank; ++k)
        at[k] = level.shape[k] ? int64_t(random.below(uint64_t(level.shape[k])))
                               : int64_t(random.below(40)) - 20;
      ASSERT_EQ(METATE_OK, metate_tree_activate(tree, level.index, at, level.path_rank));
    }
    auto *pool = reinterpret_cast<metate_pool *>(memory.data + sizeof(metate_tree_header));
    pool->high_water += 1;
    pool->free_head = (uint64_t(3) << 32) | pool->high_water;
    ASSERT_EQ(METATE_OK, metate_tree_check(block.type, memory.data, bytes)) << metate_last_error();
    ASSERT_EQ(METATE_OK, metate_tree_unbind(tree));
    block.bytes.assign(memory.data, memory.data + bytes);
    blocks.push_back(std::move(block));
  }

  // Header, pools, root cell (links), the used part of a pool's metadata or slots.
  void mutate(uint8_t *block) {
    const auto *header = reinterpret_cast<const metate_tree_header *>(block);
    const auto *pools = reinterpret_cast<const metate_pool *>(header + 1);
    const metate_pool pool = pools[random.below(header->pool_count)];
    uint64_t begin = 0, words = 0;
    switch (random.below(pool.table_buckets ? 7 : 6)) {
    case 0:
      words = sizeof *header / 4;
      break;
    case 1:
      begin = sizeof *header;
      words = header->pool_count * sizeof(metate_pool) / 4;
      break;
    case 2:
      begin = header->root_offset;
      words = 9;
      break;
    case 6:
      begin = pool.table_offset;
      words = pool.table_buckets;
      break;
    case 3:
    case 4:
      begin = pool.meta_offset;
      words = (pool.high_water + 1) * 4;
      break;
    default:
      begin = pool.slots_offset;
      words = 256;
    }
    words = std::min(words, (header->bytes - begin) / 4);
    uint8_t *at = block + begin + random.below(words) * 4;
    uint32_t old;
    std::memcpy(&old, at, 4);
    uint32_t value = uint32_t(random.nasty(old));
    std::memcpy(at, &value, 4);
  }
};

} // namespace

TEST_F(BlockDamage, checkedBlocksReadConsistently) {
  for (Block &block : blocks) {
    int accepted = 0;
    for (int round = 0; round < 2000; ++round) {
      Exact memory(block.bytes.size());
      std::memcpy(memory.data, block.bytes.data(), memory.bytes);
      std::vector<uint8_t> damaged = block.bytes;
      for (uint64_t changes = 1 + random.below(2); changes; --changes) {
        std::memcpy(memory.data, damaged.data(), memory.bytes);
        std::vector<uint8_t> fresh = block.bytes;
        mutate(fresh.data()); // the places come from an undamaged block
        for (size_t i = 0; i < fresh.size(); ++i)
          if (fresh[i] != block.bytes[i])
            damaged[i] = fresh[i];
      }
      std::memcpy(memory.data, damaged.data(), memory.bytes);
      metate_status checked = metate_tree_check(block.type, memory.data, memory.bytes);
      ASSERT_EQ(0, std::memcmp(memory.data, damaged.data(), memory.bytes)) << "check wrote";
      metate_tree *tree = nullptr;
      metate_status adopted = metate_tree_bind(block.type, memory.data, memory.bytes, nullptr,
                                               METATE_BIND_ADOPT, &tree);
      ASSERT_EQ(checked, adopted);
      if (adopted != METATE_OK)
        continue;
      ++accepted;
      EXPECT_EQ(readAll(tree), "") << "round " << round;
      EXPECT_EQ(METATE_OK, metate_tree_check(block.type, memory.data, memory.bytes));
      EXPECT_EQ(METATE_OK, metate_tree_unbind(tree));
    }
    std::printf("%d of 2000 changes were harmless\n", accepted);
    EXPECT_LT(accepted, 2000);
    EXPECT_GT(accepted, 0);
  }
}

TEST_F(BlockDamage, uncheckedBlocksStayInTheirMemory) {
  for (Block &block : blocks)
    for (int round = 0; round < 2000; ++round) {
      Exact memory(block.bytes.size());
      std::memcpy(memory.data, block.bytes.data(), memory.bytes);
      metate_tree *tree = nullptr;
      ASSERT_EQ(METATE_OK, metate_tree_bind(block.type, memory.data, memory.bytes, nullptr,
                                            METATE_BIND_ADOPT | METATE_BIND_TRUST, &tree));
      std::vector<uint8_t> damaged = block.bytes;
      mutate(damaged.data());
      std::memcpy(memory.data, damaged.data(), memory.bytes);
      readAll(tree); // may contradict itself: it must only come back
      int64_t zero[METATE_MAX_AXES] = {};
      for (uint32_t level = 1; level < 4; ++level) {
        auto about = sized<metate_level_description>();
        metate_type_level(block.type, level, &about);
        metate_tree_activate(tree, level, zero, about.path_rank);
        metate_tree_deactivate(tree, level, zero, about.path_rank);
      }
      metate_tree_sort(tree);
      metate_tree_deactivate_all(tree, 0);
      metate_tree_trim(tree);
      metate_tree_reset(tree); // trusts the block's counters, so it need not mend everything
      ASSERT_EQ(METATE_OK, metate_tree_unbind(tree));
      auto wanted = sized<metate_capacities>();
      wanted.workers = 2;
      metate_capacity few{"h", 14};
      uint32_t known;
      wanted.count = metate_type_find_level(block.type, "h", &known) == METATE_OK;
      wanted.entries = &few;
      ASSERT_EQ(METATE_OK, metate_tree_bind(block.type, memory.data, memory.bytes, &wanted,
                                            METATE_BIND_RESET, &tree));
      ASSERT_EQ(METATE_OK, metate_tree_check(block.type, memory.data, memory.bytes))
          << "binding anew mends any block: " << metate_last_error();
      ASSERT_EQ(METATE_OK, metate_tree_unbind(tree));
    }
}
