// Binding, resetting, reading, writing, enumerating and checking trees.
#include "fixture.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace metate::test;
using metate::sized;

namespace {
class TreeTest : public Runtime {
protected:
  uint64_t size(const metate_type *type) {
    uint64_t bytes = 0, align = 0;
    EXPECT_OK(metate_type_size(type, nullptr, &bytes, &align));
    return bytes;
  }
  metate_tree *bind(const metate_type *type, void *memory, uint64_t bytes,
                    uint32_t flags = METATE_BIND_RESET) {
    metate_tree *tree = nullptr;
    EXPECT_OK(metate_tree_bind(type, memory, bytes, nullptr, flags, &tree));
    if (tree)
      trees.push_back(tree);
    return tree;
  }
};

// What a map holds at a key, or zero: the background.
template <typename T>
T valueOr(const std::map<std::vector<int64_t>, T> &map, std::vector<int64_t> key) {
  auto at = map.find(key);
  return at == map.end() ? T(0) : at->second;
}
} // namespace

TEST_F(TreeTest, bindErrorsSayWhatIsNeeded) {
  metate_type *type = open(abAos(), "ab_aos");
  uint64_t bytes = size(type);
  Memory memory(bytes + 64);
  auto *start = static_cast<char *>(memory.data);
  metate_tree *tree = nullptr;
  auto bindAt = [&](void *at, uint64_t count, uint32_t flags = METATE_BIND_RESET) {
    return metate_tree_bind(type, at, count, nullptr, flags, &tree);
  };
  EXPECT_FAILS(METATE_E_TOO_SMALL, bindAt(start, bytes - 1), "ab_aos", "12224", "12223");
  EXPECT_FAILS(METATE_E_MISALIGNED, bindAt(start + 8, bytes), "ab_aos", "64", "8 bytes past");
  EXPECT_FAILS(METATE_E_NULL, bindAt(nullptr, bytes), "'memory'");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, bindAt(start, bytes, 1u << 20), "flags");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, bindAt(start, bytes, METATE_BIND_READ_ONLY), "ADOPT");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, bindAt(start, bytes, METATE_BIND_ZEROED), "RESET");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               bindAt(start, bytes, METATE_BIND_ADOPT | METATE_BIND_RESET), "ADOPT");
  EXPECT_FAILS(METATE_E_CORRUPT, bindAt(start, bytes, METATE_BIND_ADOPT), "magic");
  EXPECT_EQ(tree, nullptr) << "out-parameters are written on success only";
}

TEST_F(TreeTest, doubleBindIsRefusedUntilUnbind) {
  metate_type *type = open(abAos());
  uint64_t bytes = size(type);
  Memory memory(bytes * 2);
  auto *start = static_cast<char *>(memory.data);
  metate_tree *first = bind(type, start, bytes), *second = nullptr;
  for (uint64_t shift : {uint64_t(0), uint64_t(64), bytes - 64})
    EXPECT_FAILS(METATE_E_ALREADY_BOUND,
                 metate_tree_bind(type, start + shift, bytes, nullptr, METATE_BIND_RESET, &second),
                 "live tree");
  metate_tree *beside = bind(type, start + bytes, bytes);
  unbind(first);
  bind(type, start, bytes);
  unbind(beside);
  bind(type, start + bytes, bytes);
}

TEST_F(TreeTest, manyBindingsStaySorted) {
  metate_type *type = open(abAos());
  uint64_t bytes = size(type);
  constexpr int count = 100;
  Memory memory(bytes * count);
  std::vector<int> order(count);
  for (int i = 0; i < count; ++i)
    order[i] = i;
  std::mt19937 random(7);
  std::shuffle(order.begin(), order.end(), random);
  for (int i : order)
    bind(type, static_cast<char *>(memory.data) + i * bytes, bytes);
  metate_tree *tree = nullptr;
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(METATE_E_ALREADY_BOUND,
              metate_tree_bind(type, static_cast<char *>(memory.data) + i * bytes, bytes, nullptr,
                               METATE_BIND_RESET, &tree));
}

TEST_F(TreeTest, unresetTreesAreRefused) {
  metate_type *type = open(abAos());
  Memory memory(size(type));
  metate_tree *tree = bind(type, memory.data, memory.size, 0);
  float value;
  int64_t at[2] = {0, 0};
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_read(tree, 3, at, 2, &value, 4), "reset");
  ASSERT_OK(metate_tree_reset(tree));
  EXPECT_OK(metate_tree_read(tree, 3, at, 2, &value, 4));
  EXPECT_EQ(value, 0);
}

TEST_F(TreeTest, inactiveCellsReadTheBackground) {
  metate_type *type = open(nestedBlob());
  metate_tree *tree = make(type);
  uint32_t d = member(type, "d");
  EXPECT_EQ(read<float>(tree, d, {31, 0, 5}), 2.5f);
  EXPECT_EQ(active(tree, d, {31, 0, 5}), 0u);
  ASSERT_OK(write(tree, d, {31, 0, 5}, 7.0f));
  EXPECT_EQ(read<float>(tree, d, {31, 0, 5}), 7.0f);
  EXPECT_EQ(read<float>(tree, d, {30, 0, 5}), 2.5f) << "the rest of the new slot is background";
  EXPECT_EQ(active(tree, d, {30, 1, 4}), 1u);
  EXPECT_EQ(active(tree, d, {29, 1, 4}), 0u);
  EXPECT_EQ(stats(tree, 0).used, 1u);
  EXPECT_EQ(stats(tree, 1).used, 1u);
  EXPECT_EQ(active(tree, 1, {3, 0, 0}), 1u) << "pointer0's own cells";
  EXPECT_EQ(active(tree, 2, {15, 0, 2}), 1u) << "pointer1's own cells";
  EXPECT_EQ(active(tree, 2, {14, 0, 2}), 0u);
  EXPECT_OK(check(tree));
}

TEST_F(TreeTest, activateAtALevelReachesThatLevel) {
  metate_type *type = open(nestedBlob());
  metate_tree *tree = make(type);
  int64_t at[3] = {2, 1, 3};
  ASSERT_OK(metate_tree_activate(tree, 1, at, 3));
  EXPECT_EQ(stats(tree, 0).used, 1u);
  EXPECT_EQ(stats(tree, 1).used, 0u);
  EXPECT_OK(check(tree));
}

TEST_F(TreeTest, accessErrorsNameLevelAndBounds) {
  metate_type *type = open(abAos(), "ab");
  metate_tree *tree = make(type);
  float value = 0;
  int64_t at[2] = {3, 15};
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_tree_read(tree, 3, at, 2, &value, 4), "'a'",
               "coordinate 1", "14", "15");
  at[1] = -1;
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_tree_write(tree, 3, at, 2, &value, 4), "-1");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_read(tree, 3, at, 3, &value, 4),
               "2 coordinates", "got 3");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_read(tree, 3, at, 2, &value, 8), "4 bytes",
               "got 8");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_read(tree, 1, at, 2, &value, 4),
               "'pointer0'");
  EXPECT_FAILS(METATE_E_OUT_OF_RANGE, metate_tree_read(tree, 77, at, 2, &value, 4), "77");
}

TEST_F(TreeTest, booleansAreZeroOrOne) {
  metate_tree *tree = make(open(nestedBlob()));
  EXPECT_OK(write(tree, 5, {0, 0, 0}, uint8_t(1)));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, write(tree, 5, {0, 0, 0}, uint8_t(2)), "'n'", "got 2");
}

// Random writes against a map, over a tree with several kinds of members.
TEST_F(TreeTest, behavesLikeAMap) {
  // Members of one slot at different resolutions: x and m under d, t under e, s in the slot itself.
  Bytes blob = typeBlob(
      {pointer("p", "ik", {5, 3},
               {dense("d", "ij", {3, 7}, {place("x", METATE_I64), place("m", METATE_F64, 2, 2)}),
                place("s", METATE_U16), dense("e", "i", {2}, {place("t", METATE_F32)})}),
       dense("flat", "j", {6}, {place("y", METATE_I8)})},
      "map");
  metate_type *type = open(blob);
  metate_tree *tree = make(type);
  uint32_t x = member(type, "x"), s = member(type, "s"), y = member(type, "y");
  std::mt19937 random(11);
  std::map<std::vector<int64_t>, int64_t> xs;
  std::map<std::vector<int64_t>, uint16_t> ss;
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  for (int round = 0; round < 300; ++round) {
    int64_t i = below(15), j = below(7), k = below(3), value = int64_t(random());
    ASSERT_OK(write(tree, x, {i, j, k}, value));
    xs[{i, j, k}] = value;
    i = below(5), k = below(3);
    ASSERT_OK(write(tree, s, {i, k}, uint16_t(value)));
    ss[{i, k}] = uint16_t(value);
    ASSERT_OK(write(tree, y, {below(6)}, int8_t(1)));
  }
  for (int64_t i = 0; i < 15; ++i)
    for (int64_t k = 0; k < 3; ++k) {
      if (i < 5) {
        EXPECT_EQ(read<uint16_t>(tree, s, {i, k}), (valueOr(ss, {i, k})));
      }
      for (int64_t j = 0; j < 7; ++j)
        EXPECT_EQ(read<int64_t>(tree, x, {i, j, k}), (valueOr(xs, {i, j, k})));
    }
  // Every member lists its own coordinates.
  for (auto [level, per] :
       {std::pair(x, 21u), std::pair(s, 1u), std::pair(member(type, "t"), 2u)}) {
    uint64_t count = 0;
    ASSERT_OK(metate_tree_cells(tree, level, 0, nullptr, nullptr, &count));
    EXPECT_EQ(count, stats(tree, 0).used * per);
    std::vector<int64_t> at(count * 3);
    ASSERT_OK(metate_tree_cells(tree, level, count, at.data(), nullptr, &count));
    auto about = sized<metate_level_description>();
    ASSERT_OK(metate_type_level(type, level, &about));
    for (uint64_t n = 0; n < count; ++n) {
      uint32_t on = 0;
      ASSERT_OK(metate_tree_is_active(tree, level, at.data() + n * about.path_rank, about.path_rank,
                                      &on));
      EXPECT_EQ(on, 1u);
    }
  }
  EXPECT_OK(check(tree));
  uint64_t bytes = 15 * 7 * 3;
  std::vector<int64_t> dense(bytes);
  ASSERT_OK(metate_tree_read_dense(tree, x, dense.data(), bytes * 8));
  for (auto &[at, value] : xs)
    EXPECT_EQ(dense[size_t((at[0] * 7 + at[1]) * 3 + at[2])], value);
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_read_dense(tree, x, dense.data(), 8), "2520");
}

// Dense arrays reach the active cells alone, at every resolution and in every order of levels.
TEST_F(TreeTest, writesDenseArraysToActiveCells) {
  Bytes blob = typeBlob(
      {pointer("p", "j", {4},
               {dense("a", "k", {5}, {dense("b", "ij", {9, 2}, {place("x", METATE_F32, 3, 1)})})}),
       dense("flat", "i", {6}, {place("on", METATE_U1), place("n", METATE_I64)})},
      "written");
  metate_type *type = open(blob);
  metate_tree *tree = make(type);
  uint32_t x = member(type, "x"), on = member(type, "on"), n = member(type, "n");
  ASSERT_OK(metate_tree_activate(tree, x, std::array<int64_t, 3>{0, 5, 0}.data(), 3)); // j 4 and 5
  using Cell = std::array<float, 3>;
  std::vector<Cell> all(9 * 8 * 5), back(all.size());
  for (size_t k = 0; k < all.size(); ++k)
    all[k] = {float(k), float(k) + 0.25f, -float(k)};
  ASSERT_OK(metate_tree_write_dense(tree, x, all.data(), all.size() * 12));
  ASSERT_OK(metate_tree_read_dense(tree, x, back.data(), back.size() * 12));
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 8; ++j)
      for (int64_t k = 0; k < 5; ++k) {
        size_t at = size_t((i * 8 + j) * 5 + k);
        Cell expected = j == 4 || j == 5 ? all[at] : Cell{};
        EXPECT_EQ(back[at], expected);
        EXPECT_EQ(read<Cell>(tree, x, {i, j, k}), expected);
      }
  EXPECT_EQ(stats(tree, 0).used, 1u);
  Cell same = {1, 2, 3};
  ASSERT_OK(metate_tree_fill(tree, x, same.data(), 12));
  EXPECT_EQ(read<Cell>(tree, x, {8, 4, 4}), same);
  EXPECT_EQ(read<Cell>(tree, x, {8, 3, 4}), Cell{});
  std::vector<uint8_t> truths = {1, 0, 1, 1, 0, 1};
  ASSERT_OK(metate_tree_write_dense(tree, on, truths.data(), 6));
  int64_t number = -7;
  ASSERT_OK(metate_tree_fill(tree, n, &number, 8));
  EXPECT_EQ(read<uint8_t>(tree, on, {1}), 0);
  EXPECT_EQ(read<uint8_t>(tree, on, {5}), 1);
  EXPECT_EQ(read<int64_t>(tree, n, {5}), -7);
  truths[3] = 2;
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_write_dense(tree, on, truths.data(), 6),
               "'on'", "got 2");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_fill(tree, on, &truths[3], 1), "got 2");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_write_dense(tree, on, truths.data(), 5),
               "6 bytes", "got 5");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_fill(tree, n, &number, 4), "8 bytes");
  EXPECT_OK(check(tree));
}

// Components that lie apart are one array of elements.
TEST_F(TreeTest, copiesMembersTogether) {
  Bytes blob =
      typeBlob({dense("a", "ij", {40, 30}, {place("x", METATE_F32)}),
                dense("b", "ij", {40, 30}, {place("y", METATE_F32)}),
                dense("c", "ij", {40, 30}, {place("z", METATE_F64)}),
                pointer("p", "ij", {8, 6}, {dense("d", "ij", {5, 5}, {place("w", METATE_F32)})}),
                dense("e", "ij", {30, 40}, {place("v", METATE_F32)})},
               "together");
  metate_type *type = open(blob);
  metate_tree *tree = make(type);
  uint32_t x = member(type, "x"), y = member(type, "y"), z = member(type, "z");
  uint32_t w = member(type, "w"), v = member(type, "v");
  ASSERT_OK(metate_tree_activate(tree, w, std::array<int64_t, 2>{7, 12}.data(), 2));
  using Three = std::array<float, 3>;
  std::vector<Three> all(1200), back(1200);
  for (size_t k = 0; k < all.size(); ++k)
    all[k] = {float(k), -float(k), 0.5f * float(k)};
  std::array<uint32_t, 3> levels = {y, v, x};
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_tree_write_members(tree, levels.data(), 3, all.data(), 1200 * 12),
               "one shape and type");
  levels = {y, x, w}; // one of them below a pool
  ASSERT_OK(metate_tree_write_members(tree, levels.data(), 3, all.data(), 1200 * 12));
  ASSERT_OK(metate_tree_read_members(tree, levels.data(), 3, back.data(), 1200 * 12));
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < 30; ++j) {
      Three expected = all[size_t(i * 30 + j)];
      EXPECT_EQ(read<float>(tree, y, {i, j}), expected[0]);
      EXPECT_EQ(read<float>(tree, x, {i, j}), expected[1]);
      expected[2] = i / 5 == 1 && j / 5 == 2 ? expected[2] : 0;
      EXPECT_EQ(read<float>(tree, w, {i, j}), expected[2]);
      EXPECT_EQ(back[size_t(i * 30 + j)], expected);
    }
  std::array<uint32_t, 2> mixed = {x, z}, pair = {y, x};
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_tree_read_members(tree, mixed.data(), 2, back.data(), 1200 * 12),
               "'x' and 'z'");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_tree_read_members(tree, pair.data(), 2, back.data(), 12), "9600 bytes");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_tree_read_members(tree, pair.data(), 0, back.data(), 0), "a member or more");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT,
               metate_tree_write_members(tree, pair.data(), 0, back.data(), 0), "a member or more");
  std::vector<std::array<float, 2>> two(1200); // both in the root cell: piece by piece
  ASSERT_OK(metate_tree_read_members(tree, pair.data(), 2, two.data(), 9600));
  for (size_t k = 0; k < two.size(); ++k)
    EXPECT_EQ(two[k], (std::array<float, 2>{all[k][0], all[k][1]}));
  std::swap(pair[0], pair[1]);
  ASSERT_OK(metate_tree_write_members(tree, pair.data(), 2, two.data(), 9600));
  EXPECT_EQ(read<float>(tree, y, {39, 29}), all[1199][1]);
  EXPECT_EQ(read<float>(tree, x, {39, 29}), all[1199][0]);
}

TEST_F(TreeTest, cellsListsTheActiveOnes) {
  metate_type *type = open(nestedBlob());
  metate_tree *tree = make(type);
  uint32_t d = member(type, "d");
  uint64_t count = 99;
  ASSERT_OK(metate_tree_cells(tree, d, 0, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
  ASSERT_OK(write(tree, d, {4, 5, 6}, 1.0f));
  ASSERT_OK(write(tree, d, {31, 31, 31}, 2.0f));
  ASSERT_OK(metate_tree_cells(tree, d, 0, nullptr, nullptr, &count));
  ASSERT_EQ(count, 16u);
  std::vector<int64_t> at(count * 3);
  std::vector<float> values(count);
  ASSERT_OK(metate_tree_cells(tree, d, count, at.data(), values.data(), &count));
  std::set<std::vector<int64_t>> seen;
  for (size_t n = 0; n < count; ++n) {
    EXPECT_TRUE(seen.insert({at[n * 3], at[n * 3 + 1], at[n * 3 + 2]}).second);
    EXPECT_EQ(values[n], read<float>(tree, d, {at[n * 3], at[n * 3 + 1], at[n * 3 + 2]}));
  }
  EXPECT_TRUE(seen.count({4, 5, 6}) && seen.count({5, 4, 7}) && seen.count({30, 31, 30}));
  // Fewer than there are: that many, and the count of all.
  at.assign(at.size(), -7);
  ASSERT_OK(metate_tree_cells(tree, d, 3, at.data(), nullptr, &count));
  EXPECT_EQ(count, 16u);
  EXPECT_EQ(at[9], -7);
  // The cells of the pool level itself.
  ASSERT_OK(metate_tree_cells(tree, 2, 16, at.data(), nullptr, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ((std::vector<int64_t>(at.begin(), at.begin() + 6)),
            (std::vector<int64_t>{2, 2, 3, 15, 15, 15}));
}

TEST_F(TreeTest, resetClearsAndCountsTopology) {
  metate_type *type = open(nestedBlob());
  Memory memory(size(type));
  metate_tree *tree = bind(type, memory.data, memory.size);
  uint32_t d = member(type, "d");
  std::set<uint64_t> versions{describe(tree).topology_version};
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(write(tree, d, {1, 1, 1}, 9.0f));
    EXPECT_TRUE(versions.insert(describe(tree).topology_version).second);
    ASSERT_OK(write(tree, d, {0, 1, 1}, 9.0f));
    EXPECT_FALSE(versions.insert(describe(tree).topology_version).second);
    ASSERT_OK(metate_tree_reset(tree));
    EXPECT_TRUE(versions.insert(describe(tree).topology_version).second);
    EXPECT_EQ(read<float>(tree, d, {1, 1, 1}), 2.5f);
    EXPECT_EQ(stats(tree, 0).high_water, 0u);
    EXPECT_OK(check(tree));
  }
}

TEST_F(TreeTest, blocksMoveAndAreAdopted) {
  metate_type *type = open(nestedBlob());
  uint64_t bytes = size(type);
  Memory memory(bytes), other(bytes);
  metate_tree *tree = bind(type, memory.data, memory.size);
  uint32_t d = member(type, "d");
  ASSERT_OK(write(tree, d, {7, 8, 9}, 3.0f));
  std::memcpy(other.data, memory.data, bytes);
  metate_tree *moved = bind(type, other.data, bytes, METATE_BIND_ADOPT);
  ASSERT_OK(write(tree, d, {7, 8, 9}, 4.0f));
  EXPECT_EQ(read<float>(moved, d, {7, 8, 9}), 3.0f);
  ASSERT_OK(write(moved, d, {0, 0, 0}, 5.0f));
  EXPECT_OK(check(moved));
  metate_type *wrong = open(abAos(), "ab");
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, metate_tree_check(wrong, other.data, bytes), "ab");
  EXPECT_FAILS(METATE_E_TOO_SMALL, metate_tree_check(type, other.data, bytes - 64), "expected");
  EXPECT_FAILS(METATE_E_TOO_SMALL, metate_tree_check(type, other.data, 100), "expected");
}

TEST_F(TreeTest, readOnlyMemoryIsNeverWritten) {
  metate_type *type = open(nestedBlob());
  uint64_t bytes = size(type);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  metate_tree *tree = bind(type, memory, bytes);
  uint32_t d = member(type, "d");
  ASSERT_OK(write(tree, d, {7, 8, 9}, 3.0f));
  unbind(tree);
  ASSERT_EQ(0, mprotect(memory, bytes, PROT_READ));
  tree = bind(type, memory, bytes, METATE_BIND_ADOPT | METATE_BIND_READ_ONLY);
  EXPECT_EQ(read<float>(tree, d, {7, 8, 9}), 3.0f);
  EXPECT_EQ(read<float>(tree, d, {0, 0, 9}), 2.5f);
  EXPECT_OK(check(tree));
  uint64_t count;
  EXPECT_OK(metate_tree_cells(tree, d, 0, nullptr, nullptr, &count));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, write(tree, d, {7, 8, 9}, 1.0f), "read-only");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_reset(tree), "read-only");
  int64_t at[3] = {0, 0, 0};
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_activate(tree, d, at, 3), "read-only");
  unbind(tree);
  munmap(memory, bytes);
}

TEST_F(TreeTest, exhaustionIsAStatusThatSays) {
  metate_type *type = open(abAos());
  metate_capacity entry{"pointer0", 2};
  auto wanted = sized<metate_capacities>();
  wanted.workers = 1;
  wanted.count = 1;
  wanted.entries = &entry;
  metate_tree *tree = make(type, &wanted);
  EXPECT_OK(write(tree, 3, {0, 0}, 1.0f));
  EXPECT_OK(write(tree, 3, {5, 0}, 1.0f));
  EXPECT_EQ(describe(tree).status, unsigned(METATE_OK));
  // The third sits in the slack slot: kept, and reported as too much.
  EXPECT_OK(write(tree, 3, {10, 0}, 1.0f));
  EXPECT_EQ(describe(tree).status, unsigned(METATE_E_CAPACITY));
  EXPECT_FAILS(METATE_E_CAPACITY, write(tree, 3, {0, 5}, 1.0f), "'pointer0'", "at least 3",
               "capacity is 2");
  EXPECT_EQ(read<float>(tree, 3, {0, 5}), 0.0f);
  EXPECT_EQ(read<float>(tree, 3, {10, 0}), 1.0f);
  EXPECT_OK(check(tree));
  EXPECT_OK(metate_tree_reset(tree));
  EXPECT_EQ(describe(tree).status, unsigned(METATE_OK));
}

TEST_F(TreeTest, newTreesTouchLittle) {
  metate_type *type =
      open(typeBlob({pointer("outer", "ijk", {64, 64, 64},
                             {pointer("inner", "ijk", {16, 16, 16},
                                      {dense("d", "ijk", {8, 8, 8}, {place("x", METATE_F32)})})})},
                    "volume"));
  metate_tree *tree = make(type);
  EXPECT_GT(describe(tree).bytes, uint64_t(1) << 30);
  uint32_t x = member(type, "x");
  ASSERT_OK(write(tree, x, {8191, 0, 4000}, 1.0f));
  EXPECT_EQ(read<float>(tree, x, {8191, 0, 4000}), 1.0f);
  EXPECT_EQ(read<float>(tree, x, {0, 0, 4000}), 0.0f);
  EXPECT_EQ(stats(tree, 0).capacity, 64u * 64 * 64) << "the small pool has its natural maximum";
}

// Under an address-space limit a tree takes a part of what is left, so that several fit.
TEST_F(TreeTest, newTreesRespectTheAddressSpaceLimit) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow needs more than any limit";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer's shadow needs more than any limit";
#endif
#endif
  metate_type *type =
      open(typeBlob({pointer("outer", "ijk", {256, 256, 256},
                             {dense("d", "ijk", {16, 16, 16}, {place("x", METATE_F32)})})},
                    "volume"));
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{uint64_t(4) << 30, uint64_t(4) << 30};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
      _exit(1);
    for (int n = 0; n < 4; ++n) {
      metate_tree *tree = nullptr;
      if (metate_tree_new(type, nullptr, &tree) != METATE_OK)
        _exit(2);
      uint64_t bytes = describe(tree).bytes;
      if (bytes > (uint64_t(4) << 30) / 8 || bytes < (uint64_t(1) << 28))
        _exit(3);
      if (write(tree, 3, {4095, 4095, 4095}, 1.0f) != METATE_OK)
        _exit(4);
    }
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(TreeTest, fitFillsTheCallersMemory) {
  metate_type *type = open(nestedBlob());
  Memory memory(100000);
  metate_tree *tree = bind(type, memory.data, memory.size, METATE_BIND_RESET | METATE_BIND_FIT);
  EXPECT_LE(describe(tree).bytes, 100000u);
  EXPECT_GT(describe(tree).bytes, 99000u);
  EXPECT_EQ(describe(tree).workers, METATE_DEFAULT_WORKERS);
}

TEST_F(TreeTest, treesOutliveTheirTypeHandle) {
  metate_type *type = nullptr;
  Bytes blob = abAos();
  ASSERT_OK(metate_type_open_blob(device, blob.data(), blob.size(), "t", &type));
  metate_tree *tree = make(type);
  ASSERT_OK(metate_type_close(type));
  ASSERT_OK(write(tree, 3, {4, 4}, 5.0f));
  EXPECT_EQ(read<float>(tree, 3, {4, 4}), 5.0f);
}

TEST_F(TreeTest, membersAtTheRootNeedNoCoordinates) {
  metate_type *type = open(typeBlob(
      {withBackground<int32_t>(place("count", METATE_I32), {-3}), place("v", METATE_F64, 3)},
      "0d"));
  metate_tree *tree = make(type);
  EXPECT_EQ(read<int32_t>(tree, 1, {}), -3);
  ASSERT_OK(write(tree, 1, {}, 8));
  EXPECT_EQ(read<int32_t>(tree, 1, {}), 8);
  uint64_t count = 0;
  ASSERT_OK(metate_tree_cells(tree, 1, 0, nullptr, nullptr, &count));
  EXPECT_EQ(count, 1u);
}

// What check must find in a block, one change at a time.
TEST_F(TreeTest, checkFindsDamage) {
  metate_type *type = open(nestedBlob());
  uint64_t bytes = size(type);
  Memory memory(bytes), damaged(bytes);
  metate_tree *tree = bind(type, memory.data, memory.size);
  uint32_t d = member(type, "d");
  for (int64_t i = 0; i < 6; ++i)
    ASSERT_OK(write(tree, d, {i * 5, i, i * 2}, float(i)));
  auto *header = static_cast<metate_tree_header *>(damaged.data);
  auto *pools = reinterpret_cast<metate_pool *>(header + 1);
  auto *base = static_cast<char *>(damaged.data);
  auto change = [&](auto edit) {
    std::memcpy(damaged.data, memory.data, bytes);
    edit();
    return metate_tree_check(type, damaged.data, bytes);
  };
  auto links = [&] { return reinterpret_cast<uint32_t *>(base + header->root_offset); };
  auto record = [&](uint32_t pool, uint32_t slot) {
    return reinterpret_cast<uint32_t *>(base + pools[pool].meta_offset + slot * 20);
  };
  EXPECT_OK(change([] {}));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { header->magic = 0; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { header->pool_count = 1; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { header->bytes -= 64; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { header->root_offset += 64; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { header->workers = 0; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { header->epoch = 0; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { header->status = 77; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { pools[1].slots_offset += 64; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { pools[1].physical += 1; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { pools[0].high_water = 5000; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { pools[0].high_water += 1; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { pools[0].used -= 1; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { pools[0].free_head = 1; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { pools[0].free_head = 79; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { links()[0] = 1000; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { links()[0] = 0; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { links()[1] = links()[0]; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { record(0, 1)[0] = 0; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { record(0, 1)[0] = 9; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { record(0, 1)[3] += 1; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { record(1, 300)[0] = 1; }));
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { base[pools[1].slots_offset] ^= 1; }))
      << "the ambient slot is background";
  EXPECT_EQ(METATE_E_CORRUPT, change([&] { base[pools[1].slots_offset + 64 + 4] = 2; }))
      << "a boolean is 0 or 1";
  EXPECT_OK(change([&] { base[pools[1].slots_offset + 64] ^= 1; })) << "values may be anything";
}
