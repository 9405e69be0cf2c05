// Every kind of level through metate.hpp: accessors, activity, lists, active cells, in the host's own memory.
#include "fixture.h"

#include <array>
#include <map>

using namespace metate::test;

namespace {

class CppLevels : public Runtime {
protected:
  metate::TreeType type(std::vector<Node> branches) {
    return metate::TreeType(open(typeBlob(branches, "t")));
  }
};

Node halves() { return withBackground<float>(place("x", METATE_F32), {1.5f}); }

using Held = std::map<std::vector<int64_t>, float>;

Held held(const metate::Tree &tree) {
  auto cells = tree.cells<float>("x");
  EXPECT_EQ(cells.values.size(), cells.size());
  Held found;
  for (size_t n = 0; n < cells.size(); ++n) {
    auto at = cells.at(n);
    EXPECT_EQ(tree.read<float>("x", at), cells.values[n]);
    EXPECT_TRUE(tree.is_active("x", at));
    found[{at.begin(), at.end()}] = cells.values[n];
  }
  EXPECT_EQ(found.size(), cells.size()) << "each cell once";
  return found;
}

} // namespace

TEST_F(CppLevels, cellsComeAndGo) {
  const std::vector<std::vector<Node>> nestings = {
      {bitmasked("s", "ij", {8, 40}, {halves()})},
      {pointer("s", "ij", {8, 40}, {halves()})},
      {pointer("p", "ij", {2, 4}, {bitmasked("s", "ij", {4, 10}, {halves()})})},
      {dense("d", "i", {8}, {bitmasked("s", "j", {40}, {halves()})})},
      {hash("s", "ij", {halves()})},
      {hash("h", "ij", {bitmasked("s", "ij", {4, 8}, {halves()})})},
      {pointer("p", "ij", {2, 4},
               {pointer("q", "j", {5}, {bitmasked("s", "ij", {4, 2}, {halves()})})})},
  };
  for (const auto &branches : nestings) {
    metate::TreeType shape = type(branches);
    metate::Capacities capacities({}, 2);
    if (branches[0].kind == METATE_LEVEL_HASH) // a small table
      capacities = metate::Capacities({{branches[0].name.c_str(), 20}}, 2);
    Memory memory(shape.size(capacities));
    metate::Tree tree = shape.bind(memory.data, memory.size, capacities);
    EXPECT_EQ(held(tree), Held{});
    tree.write("x", {7, 39}, 2.0f);
    tree.write("x", {0, 3}, 3.0f);
    tree.activate("x", {1, 5});
    EXPECT_EQ(held(tree), (Held{{{7, 39}, 2.0f}, {{0, 3}, 3.0f}, {{1, 5}, 1.5f}}));
    tree.deactivate("s", {0, 3});
    EXPECT_FALSE(tree.is_active("s", {0, 3}));
    EXPECT_EQ(tree.read<float>("x", {0, 3}), 1.5f);
    tree.fill("x", 4.0f);
    EXPECT_EQ(held(tree), (Held{{{7, 39}, 4.0f}, {{1, 5}, 4.0f}}));
    EXPECT_EQ(tree.cells("s").size(), 2u);
    EXPECT_TRUE(tree.check().ok()) << metate_last_error();
    tree.deactivate_all();
    tree.trim();
    EXPECT_EQ(held(tree), Held{});
    for (const metate_pool_stats &pool : tree.stats())
      EXPECT_EQ(pool.used, 0u);
  }
}

TEST_F(CppLevels, negativeCoordinates) {
  metate::TreeType shape = type({hash("h", "ij", {dense("d", "i", {4}, {halves()})})});
  metate::Tree tree = shape.make(metate::Capacities{{{"h", 9}}});
  tree.write("x", {-1, -2000000000}, 2.0f);
  EXPECT_EQ(tree.cells("h").coordinates, (std::vector<int64_t>{-1, -2000000000}));
  EXPECT_EQ(held(tree), (Held{{{-4, -2000000000}, 1.5f},
                              {{-3, -2000000000}, 1.5f},
                              {{-2, -2000000000}, 1.5f},
                              {{-1, -2000000000}, 2.0f}}));
  EXPECT_TRUE(tree.is_active("h", {-1, -2000000000}));
}

TEST_F(CppLevels, lists) {
  metate::TreeType shape = type({pointer("p", "i", {4}, {dynamic("l", "j", 20, 4, {halves()})})});
  metate::Tree tree = shape.make();
  EXPECT_EQ(tree.length("l", {2}), 0u);
  for (uint64_t n = 0; n < 9; ++n) {
    uint64_t index = tree.append("l", {2});
    EXPECT_EQ(index, n);
    tree.write("x", {2, int64_t(index)}, float(n));
  }
  EXPECT_EQ(tree.length("l", {2}), 9u);
  EXPECT_EQ(tree.stats().at(1).used, 3u); // chunks
  EXPECT_EQ(held(tree).size(), 9u);
  EXPECT_EQ(held(tree)[(std::vector<int64_t>{2, 8})], 8.0f);
  for (uint64_t n = 9; n < 20; ++n)
    tree.append("l", {2});
  EXPECT_EQ(tree.try_append("l", {2}).status().code, METATE_E_CAPACITY);
  tree.deactivate("l", {2});
  EXPECT_EQ(tree.length("l", {2}), 0u);
  EXPECT_EQ(tree.read<float>("x", {2, 8}), 1.5f);
  EXPECT_EQ(held(tree), Held{});
}

TEST_F(CppLevels, whatIsRefused) {
  metate::TreeType shape = type({pointer("p", "i", {4}, {halves(), place("on", METATE_U1)})});
  metate::Tree tree = shape.make();
  tree.write("on", {3}, true);
  EXPECT_EQ(tree.cells<uint8_t>("on").values, std::vector<uint8_t>{1});
  EXPECT_EQ(tree.try_cells<double>("x").status().code, METATE_E_INVALID_ARGUMENT);
  EXPECT_NE(tree.try_cells<double>("x").status().text.find("values of 8 bytes"), std::string::npos);
  EXPECT_EQ(tree.try_cells<float>("p").status().code, METATE_E_INVALID_ARGUMENT);
  EXPECT_EQ(tree.try_cells("q").status().code, METATE_E_NOT_FOUND);
  EXPECT_EQ(tree.try_activate("p", {9}).code, METATE_E_OUT_OF_RANGE);
  EXPECT_EQ(tree.try_is_active("p", {1, 2}).status().code, METATE_E_INVALID_ARGUMENT);
}
