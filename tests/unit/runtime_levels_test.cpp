// Every level and nesting under random operations from the host, against a model of maps; and the
// protocol itself from many workers at once: activations, appends, deactivations, then collection.
#include "level_model.h"

#include "metate/protocol/tree.h"

#include <barrier>
#include <thread>

using namespace metate::test;
using metate::sized;

namespace {

Node x(int32_t background = 7) {
  return withBackground<int32_t>(place("x", METATE_I32), {background});
}
Node small(const char *name) { return place(name, METATE_I8); }
// Members of words, which lose nothing of what is written here.
Node quantised(const char *name, uint32_t bits, int32_t background) {
  return withBackground<int32_t>(quantInt(name, bits, true, METATE_I32), {background});
}
Node word() {
  return bitStruct(64, {quantised("x", 32, 7), quantised("y", 12, -3)}, 7 | 0xffdull << 32);
}
Node array(std::string axes, std::vector<uint32_t> extents) {
  return quantArray("q", std::move(axes), std::move(extents), 64, quantised("z", 12, 5),
                    0x005005005005005ull);
}

struct Nesting {
  const char *name;
  std::vector<Node> branches;
};

std::vector<Nesting> nestings() {
  return {
      {"bitmasked", {bitmasked("b", "ij", {5, 7}, {x()})}},
      {"odd bitmasked", {bitmasked("b", "i", {65}, {small("s"), x(0)})}},
      {"pointer bitmasked",
       {pointer("p", "ij", {3, 4}, {bitmasked("b", "ij", {5, 3}, {x(), small("s")})})}},
      {"dense bitmasked dense",
       {dense("d", "i", {3}, {bitmasked("b", "ij", {2, 9}, {dense("e", "j", {3}, {x()})})})}},
      {"bitmasked pointer bitmasked",
       {bitmasked("b", "i", {4},
                  {pointer("p", "ij", {2, 3}, {bitmasked("c", "j", {5}, {x()})}), small("s")})}},
      {"dynamic", {dynamic("l", "i", 50, 8, {x()})}},
      {"one chunk", {dynamic("l", "i", 33, 33, {x(0)})}},
      {"chunks of one", {dynamic("l", "i", 9, 1, {x(0), small("s")})}},
      {"pointer dynamic dense",
       {pointer("p", "i", {6}, {dynamic("l", "j", 40, 16, {dense("d", "k", {3}, {x()})})})}},
      {"dense dynamic pointer",
       {dense("d", "i", {4}, {dynamic("l", "j", 12, 5, {pointer("p", "k", {3}, {x()})})})}},
      {"bitmasked dynamic bitmasked",
       {bitmasked("b", "i", {5}, {dynamic("l", "j", 20, 4, {bitmasked("c", "k", {3}, {x()})})})}},
      {"dynamic dynamic", {dynamic("l", "i", 7, 2, {dynamic("m", "j", 9, 4, {x()})})}},
      {"hash", {hash("h", "ij", {x()})}},
      {"hash dense", {hash("h", "ij", {dense("d", "ij", {4, 3}, {x(), small("s")})})}},
      {"hash pointer bitmasked",
       {hash("h", "ij", {pointer("p", "ij", {2, 2}, {bitmasked("b", "ij", {3, 3}, {x()})})})}},
      {"bitmasked hash",
       {bitmasked("b", "k", {6}, {hash("h", "ij", {dense("d", "i", {2}, {x()})})})}},
      {"pointer hash dynamic",
       {pointer("p", "k", {5}, {hash("h", "i", {dynamic("l", "j", 20, 4, {x()})})})}},
      {"hash hash", {hash("h", "i", {hash("g", "j", {x(0)})})}},
      {"dynamic hash", {dynamic("l", "i", 6, 2, {hash("h", "j", {x()})})}},
      {"large slots",
       {pointer("p", "i", {3}, {dense("d", "j", {20000}, {bitmasked("b", "k", {2}, {x()})})})}},
      {"large lists", {dense("e", "j", {2}, {dynamic("l", "i", 60000, 30000, {x()})})}},
      {"words", {dense("d", "i", {5}, {word(), array("j", {7})})}},
      {"pointer words", {pointer("p", "ij", {3, 4}, {array("ij", {3, 5}), word()})}},
      {"bitmasked words",
       {bitmasked("b", "ij", {4, 9}, {word()}), bitmasked("c", "ij", {2, 3}, {array("j", {6})})}},
      {"pointer bitmasked words",
       {pointer("p", "i", {3},
                {dense("d", "j", {2}, {bitmasked("b", "i", {35}, {word()})}), array("k", {11})})}},
      {"dynamic words", {dynamic("l", "i", 30, 4, {word(), array("j", {6})})}},
      {"hash words", {hash("h", "ij", {word(), array("ij", {2, 3})})}},
      {"branches",
       {pointer("p", "i", {4}, {bitmasked("b", "i", {3}, {x()})}),
        dense("d", "j", {5}, {small("s")}), hash("h", "ij", {small("t")}),
        dynamic("l", "i", 30, 7, {small("u")})}},
  };
}

class LevelsTest : public Runtime {
protected:
  std::mt19937 random{5};

  int64_t below(int64_t count) { return int64_t(random() % uint64_t(count)); }

  Coordinates coordinates(const metate_level_description &level, uint32_t skip = METATE_NONE) {
    Coordinates at;
    for (uint32_t k = 0; k < level.path_rank; ++k) {
      if (k == skip)
        continue;
      if (level.shape[k]) {
        at.push_back(below(std::min<int64_t>(level.shape[k], below(8) ? 40 : level.shape[k])));
        continue;
      }
      const int64_t ends[] = {INT32_MIN, INT32_MAX, -1, 0};
      at.push_back(below(20) ? below(24) - 12 : ends[below(4)]);
    }
    return at;
  }

  void compare(metate_tree *tree, const LevelModel &model) {
    ASSERT_OK(check(tree));
    for (uint32_t level = 0; level < model.levels.size(); ++level)
      if (model.hasActivity(level) || model.levels[level].kind == METATE_LEVEL_PLACE)
        compareCells(tree, model, level);
    for (uint32_t pool = 0; pool < describe(tree).pool_count; ++pool) {
      uint32_t level = stats(tree, pool).level;
      const auto *blob = static_cast<const metate_tree_type *>(typeInfo(tree).blob);
      const auto *records = reinterpret_cast<const metate_level *>(blob + 1);
      EXPECT_EQ(stats(tree, pool).used, model.slots(level, records[level].slot_cells));
    }
  }

  metate_type_description typeInfo(const metate_tree *tree) {
    auto info = sized<metate_type_description>();
    EXPECT_OK(metate_type_describe(describe(tree).type, &info));
    return info;
  }

  void compareCells(metate_tree *tree, const LevelModel &model, uint32_t level) {
    const auto &own = model.levels[level];
    bool valued = own.kind == METATE_LEVEL_PLACE && own.dtype == METATE_I32;
    uint64_t count = 0, again = 0;
    ASSERT_OK(metate_tree_cells(tree, level, 0, nullptr, nullptr, &count));
    std::vector<int64_t> at(count * own.path_rank + 1);
    std::vector<int32_t> values(count + 1);
    ASSERT_OK(
        metate_tree_cells(tree, level, count, at.data(), valued ? values.data() : nullptr, &again));
    ASSERT_EQ(count, again);
    std::set<Coordinates> seen;
    int32_t background = 0;
    if (valued)
      std::memcpy(&background, own.background, 4);
    uint64_t step = count > 3000 ? 97 : 1; // large leaves: some of the cells
    for (uint64_t n = 0; n < count; n += step) {
      Coordinates where(at.begin() + int64_t(n * own.path_rank),
                        at.begin() + int64_t((n + 1) * own.path_rank));
      ASSERT_TRUE(seen.insert(where).second) << "a cell is listed twice";
      ASSERT_TRUE(model.isActive(level, where));
      if (!valued)
        continue;
      auto known = model.values.find({level, where});
      ASSERT_EQ(values[n], known == model.values.end() ? background : known->second);
    }
    if (step > 1)
      return;
    for (const auto &[owner, where] : model.active) {
      if (owner == level) {
        ASSERT_TRUE(seen.count(where));
      }
    }
    for (const auto &[key, value] : model.values) {
      if (key.first == level) {
        ASSERT_TRUE(seen.count(key.second));
      }
    }
  }

  // All bits of the order, the highest first: of all axes the highest bit, the next one, ...; a list's
  // own coordinate last.
  static std::vector<bool> orderOf(const metate_level &level, const uint32_t *key) {
    std::vector<bool> bits;
    bool isList = level.kind == METATE_LEVEL_DYNAMIC;
    auto add = [&](uint32_t k, int bit) { bits.push_back((key[k] ^ 0x80000000u) >> bit & 1); };
    for (int bit = 31; bit >= 0; --bit)
      for (uint32_t k = 0; k < level.coordinate_count; ++k)
        if (!isList || level.path_axes[k] != level.axes[0])
          add(k, bit);
    for (uint32_t k = 0; isList && k < level.coordinate_count; ++k)
      for (int bit = 31; bit >= 0 && level.path_axes[k] == level.axes[0]; --bit)
        add(k, bit);
    return bits;
  }

  // Active slots are 1 to n, in order. `pools` of the block itself: nothing here asks libmetate.
  void expectInOrder(const metate_tree *tree) {
    auto *block = static_cast<uint8_t *>(describe(tree).block);
    const auto *pools = reinterpret_cast<metate_pool *>(block + sizeof(metate_tree_header));
    const auto *levels = reinterpret_cast<const metate_level *>(
        static_cast<const metate_tree_type *>(typeInfo(tree).blob) + 1);
    for (uint32_t pool = 0; pool < describe(tree).pool_count; ++pool) {
      const metate_level &level = levels[stats(tree, pool).level];
      auto record = [&](uint32_t slot) {
        return reinterpret_cast<uint32_t *>(block + pools[pool].meta_offset) +
               slot * (metate_record_bytes(&level) / 4);
      };
      ASSERT_EQ(pools[pool].high_water, pools[pool].used);
      for (uint32_t slot = 1; slot <= pools[pool].physical; ++slot)
        ASSERT_EQ(record(slot)[0] != 0, slot <= pools[pool].used);
      for (uint32_t slot = 2; slot <= pools[pool].used; ++slot)
        ASSERT_LT(orderOf(level, record(slot - 1) + 2), orderOf(level, record(slot) + 2));
    }
  }

  // What moves is numbers, nothing else; sorting what is in order moves nothing.
  void sort(metate_tree *tree, uint64_t *moves) {
    uint64_t before = describe(tree).topology_version;
    ASSERT_OK(metate_tree_sort(tree));
    uint64_t after = describe(tree).topology_version;
    *moves += after - before;
    ASSERT_LE(after - before, 1u);
    expectInOrder(tree);
    uint64_t bytes = describe(tree).bytes;
    std::vector<uint8_t> copy(bytes);
    std::memcpy(copy.data(), describe(tree).block, bytes);
    ASSERT_OK(metate_tree_sort(tree));
    ASSERT_EQ(std::memcmp(copy.data(), describe(tree).block, bytes), 0);
    // Not even where it has to look.
    ++static_cast<metate_tree_header *>(describe(tree).block)->topology;
    ASSERT_OK(metate_tree_sort(tree));
    ASSERT_EQ(describe(tree).topology_version, after + 1);
    expectInOrder(tree);
  }

  void step(metate_tree *tree, LevelModel &model, int round) {
    uint32_t level = 1 + uint32_t(below(int64_t(model.levels.size()) - 1));
    const auto &own = model.levels[level];
    Coordinates at = coordinates(own);
    uint32_t count = own.path_rank, active = 9;
    int choice = int(below(20));
    bool list = own.kind == METATE_LEVEL_DYNAMIC;
    if (choice < 8) {
      if (own.kind == METATE_LEVEL_PLACE && own.dtype == METATE_I32) {
        ASSERT_OK(metate_tree_write(tree, level, at.data(), count, &round, 4));
        model.write(level, at, round);
      } else {
        ASSERT_OK(metate_tree_activate(tree, level, at.data(), count));
        model.activate(level, at);
      }
    } else if (choice < 12 && list) {
      Coordinates holder = coordinates(own, model.listAxis(level));
      uint64_t index = 0, length = 0;
      if (model.length(level, holder) < int64_t(own.extents[0])) {
        ASSERT_OK(metate_tree_append(tree, level, holder.data(), count - 1, &index));
        ASSERT_EQ(int64_t(index), model.append(level, holder));
      } else {
        EXPECT_FAILS(METATE_E_CAPACITY,
                     metate_tree_append(tree, level, holder.data(), count - 1, &index), "full");
      }
      ASSERT_OK(metate_tree_length(tree, level, holder.data(), count - 1, &length));
      ASSERT_EQ(int64_t(length), model.length(level, holder));
    } else if (choice < 17 && model.hasActivity(level)) {
      if (list)
        at = coordinates(own, model.listAxis(level));
      ASSERT_OK(metate_tree_deactivate(tree, level, at.data(), uint32_t(at.size())));
      model.deactivate(level, at);
    } else if (choice == 17 && below(10) == 0) {
      uint32_t which = below(2) ? level : 0;
      if (own.kind == METATE_LEVEL_PLACE)
        which = 0;
      ASSERT_OK(metate_tree_deactivate_all(tree, which));
      model.deactivateAll(which);
    }
    at = coordinates(own);
    ASSERT_OK(metate_tree_is_active(tree, level, at.data(), count, &active));
    ASSERT_EQ(active, uint32_t(model.isActive(level, at)));
  }
};

} // namespace

TEST_F(LevelsTest, behaveLikeMaps) {
  int moved = 0; // nestings of which a sort has moved slots
  for (const Nesting &nesting : nestings()) {
    SCOPED_TRACE(nesting.name);
    metate_type *type = open(typeBlob(nesting.branches, nesting.name), nesting.name);
    ASSERT_NE(type, nullptr);
    metate_capacity entries[] = {{"h", 900}, {"g", 900}};
    auto wanted = sized<metate_capacities>();
    uint32_t level;
    wanted.count = metate_type_find_level(type, "g", &level) == METATE_OK   ? 2
                   : metate_type_find_level(type, "h", &level) == METATE_OK ? 1
                                                                            : 0;
    wanted.entries = entries;
    metate_tree *tree = make(type, &wanted);
    ASSERT_NE(tree, nullptr);
    LevelModel model(type);
    uint64_t moves = 0;
    for (int round = 1; round <= 1500; ++round) {
      step(tree, model, round);
      if (round % 150 == 70)
        sort(tree, &moves);
      if (round % 50 == 0 || round % 150 == 70)
        compare(tree, model);
      if (HasFatalFailure())
        return;
    }
    moved += moves > 0;
    ASSERT_OK(metate_tree_deactivate_all(tree, 0));
    model.deactivateAll(0);
    compare(tree, model);
    unbind(tree);
  }
  EXPECT_GE(moved, 15); // chunks of one list alone stay in order
}

// All slots of a pool in use, slack slots too: there is no free one to move through.
TEST_F(LevelsTest, fullPoolsAreSorted) {
  metate_type *type =
      open(typeBlob({pointer("p", "ij", {8, 8}, {dense("d", "ij", {3, 5}, {x()})})}, "full"));
  metate_capacity few{"p", 40};
  auto wanted = sized<metate_capacities>();
  wanted.workers = 1;
  wanted.count = 1;
  wanted.entries = &few;
  metate_tree *tree = make(type, &wanted);
  uint32_t xs = member(type, "x");
  std::vector<int64_t> leaves(64);
  for (int64_t n = 0; n < 64; ++n)
    leaves[size_t(n)] = n;
  std::shuffle(leaves.begin(), leaves.end(), random);
  for (size_t n = 0; n < 41; ++n) // the last one is beyond the capacity, in the slack slot
    (void)write(tree, xs, {leaves[n] / 8 * 3 + 1, leaves[n] % 8 * 5}, int32_t(leaves[n]));
  ASSERT_EQ(stats(tree, 0).used, 41u);
  uint64_t moves = 0;
  sort(tree, &moves);
  EXPECT_EQ(moves, 1u);
  ASSERT_OK(check(tree));
  for (size_t n = 0; n < 41; ++n) {
    int64_t at[2] = {leaves[n] / 8 * 3 + 1, leaves[n] % 8 * 5};
    int32_t value = -1;
    ASSERT_OK(metate_tree_read(tree, xs, at, 2, &value, 4));
    EXPECT_TRUE(value == int32_t(leaves[n]) || (n == 40 && value == 7));
  }
}

// What is taken back is returned by the trim that follows.
TEST_F(LevelsTest, sortingRefusesAndReturnsSlots) {
  metate_type *type =
      open(typeBlob({pointer("p", "i", {64}, {dense("d", "i", {4096}, {x()})})}, "rows"));
  metate_tree *tree = make(type);
  uint32_t xs = member(type, "x");
  for (int64_t n = 63; n >= 0; --n)
    ASSERT_OK(write(tree, xs, {n * 4096}, int32_t(n)));
  for (int64_t n = 0; n < 60; ++n) {
    int64_t at = n * 4096;
    ASSERT_OK(metate_tree_deactivate(tree, xs, &at, 1));
  }
  uint64_t moves = 0;
  sort(tree, &moves);
  EXPECT_EQ(stats(tree, 0).high_water, 4u);
  ASSERT_OK(metate_tree_trim(tree));
  ASSERT_OK(check(tree));
  for (int64_t n = 60; n < 64; ++n) {
    int64_t at = n * 4096;
    int32_t value = -1;
    ASSERT_OK(metate_tree_read(tree, xs, &at, 1, &value, 4));
    EXPECT_EQ(value, n);
  }
  // A link that leads elsewhere: nothing moves.
  ASSERT_OK(write(tree, xs, {0}, 1));
  auto *root = reinterpret_cast<uint32_t *>(
      static_cast<uint8_t *>(describe(tree).block) +
      static_cast<metate_tree_header *>(describe(tree).block)->root_offset);
  std::swap(root[0], root[60]);
  EXPECT_FAILS(METATE_E_CORRUPT, metate_tree_sort(tree), "link");
  std::swap(root[0], root[60]);
  ASSERT_OK(metate_tree_sort(tree));
  ASSERT_OK(check(tree));
  EXPECT_FAILS(METATE_E_NULL, metate_tree_sort(nullptr), "tree");
  uint64_t bytes = describe(tree).bytes;
  Memory copy(bytes);
  std::memcpy(copy.data, describe(tree).block, bytes);
  metate_tree *shown = nullptr;
  ASSERT_OK(metate_tree_bind(type, copy.data, bytes, nullptr,
                             METATE_BIND_ADOPT | METATE_BIND_READ_ONLY, &shown));
  trees.push_back(shown);
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_tree_sort(shown), "read-only");
}

// One kind of damage at a time; check names what is wrong.
TEST_F(LevelsTest, checkFindsEveryDamage) {
  metate_type *type =
      open(typeBlob({pointer("p", "i", {4}, {bitmasked("b", "i", {37}, {x(), small("s")})}),
                     dense("e", "i", {2}, {dynamic("l", "j", 20, 4, {place("y", METATE_I32)})}),
                     bitmasked("c", "k", {3}, {hash("h", "i", {place("z", METATE_I32)})})},
                    "every"));
  metate_capacity few{"h", 12};
  auto wanted = sized<metate_capacities>();
  wanted.workers = 2;
  wanted.count = 1;
  wanted.entries = &few;
  uint64_t bytes = 0, align = 0;
  ASSERT_OK(metate_type_size(type, &wanted, &bytes, &align));
  Memory sound(bytes), damaged(bytes);
  metate_tree *tree = nullptr;
  ASSERT_OK(metate_tree_bind(type, sound.data, bytes, &wanted, METATE_BIND_RESET, &tree));
  trees.push_back(tree);
  uint32_t xs = member(type, "x"), ys = member(type, "y"), zs = member(type, "z");
  for (int64_t n : {0, 36, 40, 147})
    ASSERT_OK(write(tree, xs, {n}, int32_t(n)));
  ASSERT_OK(write(tree, ys, {1, 9}, 5));
  for (int64_t n = -5; n < 5; ++n)
    ASSERT_OK(write(tree, zs, {n, (n + 5) % 3}, int32_t(n)));
  int64_t gone[2] = {-5, 0};
  ASSERT_OK(metate_tree_deactivate(tree, zs, gone, 2));
  ASSERT_OK(check(tree));
  auto *base = static_cast<uint8_t *>(damaged.data);
  auto *header = reinterpret_cast<metate_tree_header *>(base);
  auto *pools = reinterpret_cast<metate_pool *>(header + 1); // p, l, h
  auto info = sized<metate_type_description>();
  ASSERT_OK(metate_type_describe(type, &info));
  const auto *levels =
      reinterpret_cast<const metate_level *>(static_cast<const metate_tree_type *>(info.blob) + 1);
  auto levelNamed = [&](const char *name) {
    uint32_t level = 0;
    EXPECT_OK(metate_type_find_level(type, name, &level));
    return level;
  };
  auto expect = [&](const char *text, auto edit) {
    std::memcpy(base, sound.data, bytes);
    edit();
    EXPECT_FAILS(METATE_E_CORRUPT, metate_tree_check(type, base, bytes), text);
  };
  auto *root = base + header->root_offset;
  std::memcpy(base, sound.data, bytes);
  root = base + header->root_offset;
  const metate_level &masked = levels[levelNamed("b")], &holder = levels[levelNamed("c")];
  uint8_t *slot = base + pools[0].slots_offset + levels[levelNamed("p")].slot_bytes; // slot 1
  auto *mask = reinterpret_cast<uint32_t *>(slot + masked.mask);
  auto *list = reinterpret_cast<uint32_t *>(root + levels[levelNamed("e")].offset +
                                            levels[levelNamed("e")].cell_bytes);
  auto *table = reinterpret_cast<uint32_t *>(base + pools[2].table_offset);
  auto *stamps = reinterpret_cast<uint32_t *>(root + holder.offset);
  auto record = [&](uint32_t pool, uint32_t number) {
    return reinterpret_cast<uint32_t *>(base + pools[pool].meta_offset) +
           number * (metate_record_bytes(&levels[levelNamed(pool == 0   ? "p"
                                                            : pool == 1 ? "l"
                                                                        : "h")]) /
                     4);
  };
  uint32_t first = 0;
  while (!table[first])
    ++first;
  uint32_t buckets = pools[2].table_buckets, empty = 0;
  while (table[empty] || table[(empty + buckets - 1) % buckets])
    ++empty; // one that nothing probes through

  expect("bits beyond its cells", [&] { mask[1] |= 1u << 30; });
  expect("an inactive cell is not background", [&] { mask[0] &= ~1u; });
  expect("an inactive cell is not background", [&] { slot[masked.cell_bytes * 7] ^= 1; });
  expect("longer than it can be", [&] { list[0] = 21; });
  expect("not all its chunks", [&] { list[0] = 13; });
  expect("not all its chunks", [&] { list[2] = 0; });
  expect("beyond its list's length", [&] { list[0] = 3; });
  expect("beyond its list's length", [&] { list[0] = 8; });
  expect("not background", [&] { list[0] = 9; });
  expect("two parents", [&] { list[3] = list[2]; });
  expect("leaves the pool", [&] { list[2] = 90; });
  expect("coordinates", [&] { std::swap(list[2], list[3]); });
  expect("coordinates", [&] { record(1, list[2])[2] ^= 1; });
  expect("have not been collected", [&] { pools[0].pending = 1; });
  expect("have not been collected", [&] { pools[2].tombs = 1; });
  expect("have not been collected", [&] { ++pools[2].orphans; });
  expect("number of links", [&] { table[first] = 0; });
  expect("leaves the pool", [&] { table[first] = METATE_TOMBSTONE; });
  expect("leaves the pool", [&] { table[empty] = 99; });
  expect("its table", [&] { table[empty] = table[first]; });
  expect("by its coordinates", [&] { std::swap(table[empty], table[first]); });
  expect("does not know it", [&] { record(2, table[first])[1] ^= 1; });
  auto *otherStamp =
      reinterpret_cast<uint32_t *>(reinterpret_cast<uint8_t *>(stamps) + holder.cell_bytes);
  expect("does not know it", [&] { std::swap(stamps[0], otherStamp[0]); });
  expect("two containers have one stamp", [&] {
    for (uint32_t n = 1; n <= pools[2].high_water; ++n) // its slots bear it: only the stamp tells
      if (record(2, n)[0] && record(2, n)[1] == stamps[0])
        record(2, n)[1] = otherStamp[0];
    stamps[0] = otherStamp[0];
  });
  expect("never given", [&] { stamps[0] = 5; });
  expect("never given", [&] { stamps[0] = 0x80000090u; });
  expect("by its coordinates", [&] {
    uint32_t *key = record(2, table[first]) + 2;
    do
      ++key[0]; // until the search for them begins elsewhere
    while (table[metate_view_home(key, 2, buckets)]);
  });
  expect("does not know it", [&] { record(2, table[first])[3] = 3; });
  expect("state", [&] { record(2, table[first])[0] = 0; });
  expect("state", [&] { record(2, 13)[0] = 1; });
  expect("free list",
         [&] { record(2, uint32_t(pools[2].free_head))[1] = uint32_t(pools[2].free_head); });
  expect("ambient", [&] { base[pools[0].slots_offset + masked.mask] = 1; });
  expect("put in order later", [&] { header->sorted = header->topology + 1; });
  expect("not in order", [&] { header->sorted = header->topology; }); // p is, the others are not
  expect("offsets", [&] { pools[2].table_buckets *= 2; });
}

// Where no slot is, the background: of a pool that is full nothing is left out, of lists some slots are not full.
TEST_F(LevelsTest, readsDenseArraysOfFullAndOtherPools) {
  Bytes blob = typeBlob({pointer("p", "i", {4}, {dense("d", "i", {2}, {place("x", METATE_F32)})}),
                         dynamic("l", "j", 6, 4, {place("y", METATE_F32)})},
                        "full");
  metate_type *type = open(blob);
  metate_tree *tree = make(type);
  uint32_t x = member(type, "x"), y = member(type, "y"), list = 0;
  ASSERT_OK(metate_type_find_level(type, "l", &list));
  std::vector<float> values(8);
  for (int64_t slots = 0; slots <= 4; ++slots) {
    std::fill(values.begin(), values.end(), 9.0f);
    ASSERT_OK(metate_tree_read_dense(tree, x, values.data(), 32));
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(values[size_t(i)], i / 2 < slots ? float(i + 1) : 0.0f);
    for (int64_t i = 2 * slots; slots < 4 && i < 2 * slots + 2; ++i)
      ASSERT_OK(write(tree, x, {i}, float(i + 1)));
  }
  for (int64_t length = 0; length <= 6; ++length) {
    std::fill(values.begin(), values.end(), 9.0f);
    ASSERT_OK(metate_tree_read_dense(tree, y, values.data(), 24));
    for (int64_t j = 0; j < 6; ++j)
      EXPECT_EQ(values[size_t(j)], j < length ? float(j + 1) : 0.0f);
    uint64_t cell = 0;
    if (length == 6)
      break;
    ASSERT_OK(metate_tree_append(tree, list, nullptr, 0, &cell));
    ASSERT_OK(write(tree, y, {length}, float(length + 1)));
  }
}
