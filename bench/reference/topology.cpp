// B8: a grid of leaves of 8 x 8 x 8 f32: a table of leaf numbers and a pool that grows. Clearing
// forgets the leaves; one that comes back is zeroed. Two threads that want the same leaf agree by
// compare-exchange.
#include "reference.h"

#include <array>
#include <atomic>
#include <cstring>

namespace {

class Grid {
public:
  explicit Grid(int blocks)
      : blocks(blocks), table(std::size_t(blocks) * blocks * blocks, nullptr),
        pool(std::size_t(blocks) * blocks * blocks) {}

  void clear() {
    std::memset(static_cast<void *>(table.get()), 0, table.size() * sizeof(std::int32_t));
    used.store(0);
  }

  // The leaf at a place; made, and zeroed, when there is none.
  float *leaf(int i, int j, int k) {
    std::atomic_ref<std::int32_t> link(table[(std::size_t(i) * blocks + j) * blocks + k]);
    std::int32_t number = link.load(std::memory_order_acquire);
    if (number == 0 && link.compare_exchange_strong(number, -1)) {
      number = used.fetch_add(1) + 1;
      std::memset(static_cast<void *>(&pool[number - 1]), 0, sizeof pool[0]);
      link.store(number, std::memory_order_release);
    }
    while (number == -1)
      number = link.load(std::memory_order_acquire);
    return pool[number - 1].data();
  }

  bool active(std::size_t at) const { return table[at] != 0; }
  std::size_t size() const { return table.size(); }

private:
  int blocks;
  Buffer<std::int32_t> table;
  Buffer<std::array<float, 512>> pool;
  std::atomic<std::int32_t> used = 0;
};

enum class Kind { refill, unchanged, dilate, dilateUnchanged };

template <Kind kind> class Topology : public Reference {
public:
  explicit Topology(const Setup &setup)
      : count(std::int64_t(setup.numbers[1])), leaves(3 * count, setup.inputs[0]),
        grid(int(setup.numbers[0]) / 8) {}

  void step() override {
    if (kind == Kind::refill || kind == Kind::dilate)
      grid.clear();
    parallelBlocks(count, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t l = begin; l < end; ++l)
        kind >= Kind::dilate ? activateAround(&leaves[3 * l]) : write(&leaves[3 * l]);
    });
  }

  void read(void *const *outputs) override {
    for (std::size_t at = 0; at < grid.size(); ++at)
      static_cast<std::uint8_t *>(outputs[0])[at] = grid.active(at);
  }

private:
  void write(const std::int32_t *at) {
    float *to = grid.leaf(at[0], at[1], at[2]);
    for (int c = 0; c < 512; ++c)
      to[c] = 1.0f;
  }

  void activateAround(const std::int32_t *at) {
    for (int n = 0; n < 27; ++n)
      grid.leaf(at[0] + n / 9 - 1, at[1] + n / 3 % 3 - 1, at[2] + n % 3 - 1);
  }

  std::int64_t count;
  Buffer<std::int32_t> leaves;
  Grid grid;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant > 0)
    return nullptr;
  if (named(setup, "refill"))
    return std::make_unique<Topology<Kind::refill>>(setup);
  if (named(setup, "unchanged"))
    return std::make_unique<Topology<Kind::unchanged>>(setup);
  if (named(setup, "dilate"))
    return std::make_unique<Topology<Kind::dilate>>(setup);
  if (named(setup, "dilate_unchanged"))
    return std::make_unique<Topology<Kind::dilateUnchanged>>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
