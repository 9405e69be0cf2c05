// B8: a grid of leaves of 8 x 8 x 8 f32, with a mask or without: a table of leaf numbers and a pool that grows. Clearing
// forgets the leaves; one that comes back is zeroed. Two threads that want the same leaf agree by compare-exchange.
#include "reference.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstring>

namespace {

struct Dense {
  std::array<float, 512> values;
  void activateAll() {}
  void deactivateHalf() {}
  int count() const { return 512; }
};

struct Masked {
  std::array<float, 512> values;
  std::array<std::uint64_t, 8> mask; // a word a plane
  void activateAll() { mask.fill(~std::uint64_t(0)); }
  void deactivateHalf() {
    std::memset(mask.data(), 0, sizeof mask / 2);
    std::memset(values.data(), 0, sizeof values / 2);
  }
  int count() const {
    int active = 0;
    for (std::uint64_t word : mask)
      active += std::popcount(word);
    return active;
  }
};

template <typename Leaf> class Grid {
public:
  explicit Grid(int blocks)
      : blocks(blocks), table(std::size_t(blocks) * blocks * blocks, nullptr),
        pool(std::size_t(blocks) * blocks * blocks) {}

  void clear() {
    std::memset(static_cast<void *>(table.get()), 0, table.size() * sizeof(std::int32_t));
    used.store(0);
  }

  // The leaf at a place; made, and zeroed, when there is none.
  Leaf &leaf(int i, int j, int k) {
    std::atomic_ref<std::int32_t> link(table[(std::size_t(i) * blocks + j) * blocks + k]);
    std::int32_t number = link.load(std::memory_order_acquire);
    if (number == 0 && link.compare_exchange_strong(number, -1)) {
      number = used.fetch_add(1) + 1;
      std::memset(static_cast<void *>(&pool[number - 1]), 0, sizeof pool[0]);
      link.store(number, std::memory_order_release);
    }
    while (number == -1)
      number = link.load(std::memory_order_acquire);
    return pool[number - 1];
  }

  bool active(std::size_t at) const { return table[at] != 0; }
  int cells(std::size_t at) const { return table[at] ? pool[table[at] - 1].count() : 0; }
  std::size_t size() const { return table.size(); }

private:
  int blocks;
  Buffer<std::int32_t> table;
  Buffer<Leaf> pool;
  std::atomic<std::int32_t> used = 0;
};

enum class Kind { refill, unchanged, halve, dilate, dilateUnchanged };

template <Kind kind, typename Leaf> class Topology : public Reference {
public:
  explicit Topology(const Setup &setup)
      : count(std::int64_t(setup.numbers[1])), leaves(3 * count, setup.inputs[0]),
        grid(int(setup.numbers[0]) / 8) {}

  void step() override {
    if (kind == Kind::refill || kind == Kind::dilate)
      grid.clear();
    forEachLeaf(kind >= Kind::dilate ? activateAround : write);
    if (kind == Kind::halve)
      forEachLeaf([](Grid<Leaf> &grid, const std::int32_t *at) {
        grid.leaf(at[0], at[1], at[2]).deactivateHalf();
      });
  }

  // Which leaves are active, and how many cells of each.
  void read(void *const *outputs) override {
    for (std::size_t at = 0; at < grid.size(); ++at) {
      static_cast<std::uint8_t *>(outputs[0])[at] = grid.active(at);
      static_cast<std::int32_t *>(outputs[1])[at] = grid.cells(at);
    }
  }

private:
  template <typename Body> void forEachLeaf(Body body) {
    parallelBlocks(count, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t l = begin; l < end; ++l)
        body(grid, &leaves[3 * l]);
    });
  }

  static void write(Grid<Leaf> &grid, const std::int32_t *at) {
    Leaf &leaf = grid.leaf(at[0], at[1], at[2]);
    leaf.values.fill(1.0f);
    leaf.activateAll();
  }

  static void activateAround(Grid<Leaf> &grid, const std::int32_t *at) {
    for (int n = 0; n < 27; ++n)
      grid.leaf(at[0] + n / 9 - 1, at[1] + n / 3 % 3 - 1, at[2] + n % 3 - 1);
  }

  std::int64_t count;
  Buffer<std::int32_t> leaves;
  Grid<Leaf> grid;
};

template <typename Leaf> std::unique_ptr<Reference> makeWith(const Setup &setup) {
  if (named(setup, "refill"))
    return std::make_unique<Topology<Kind::refill, Leaf>>(setup);
  if (named(setup, "unchanged"))
    return std::make_unique<Topology<Kind::unchanged, Leaf>>(setup);
  if (named(setup, "halve"))
    return std::make_unique<Topology<Kind::halve, Leaf>>(setup);
  if (named(setup, "dilate"))
    return std::make_unique<Topology<Kind::dilate, Leaf>>(setup);
  if (named(setup, "dilate_unchanged"))
    return std::make_unique<Topology<Kind::dilateUnchanged, Leaf>>(setup);
  return nullptr;
}

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant > 0)
    return nullptr;
  return setup.numbers[2] ? makeWith<Masked>(setup) : makeWith<Dense>(setup);
}

} // namespace

METATE_REFERENCES(make)
