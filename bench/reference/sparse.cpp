// B7: a 7-point stencil over the active cells of a grid of leaves of 8 x 8 x 8 f32 with a mask. A
// leaf's six neighbours are looked up once, then rows of eight are done at a time; a full leaf
// needs no mask.
#include "reference.h"

#include <array>
#include <cstring>
#include <immintrin.h>
#include <vector>

namespace {

struct alignas(64) Leaf {
  std::array<float, 512> values{};
  std::array<std::uint8_t, 64> mask{}; // a byte a row
  int at[3] = {};
  bool full = false;
};

void storeMasked(float *to, const float *value, std::uint8_t mask) {
#ifdef __AVX512VL__
  _mm256_mask_storeu_ps(to, mask, _mm256_loadu_ps(value));
#else
  for (int k = 0; k < 8; ++k)
    to[k] = mask >> k & 1 ? value[k] : to[k];
#endif
}

class Stencil : public Reference {
public:
  explicit Stencil(const Setup &setup)
      : blocks(int(setup.numbers[0]) / 8), count(std::int64_t(setup.numbers[1])),
        cells(static_cast<const std::int32_t *>(setup.inputs[0])), table(blocks * blocks * blocks) {
    const float *values = static_cast<const float *>(setup.inputs[1]);
    leaves.emplace_back(); // what is read where there is no leaf
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int32_t *cell = cells + 3 * c;
      std::int32_t &number = table[index(cell[0] >> 3, cell[1] >> 3, cell[2] >> 3)];
      if (!number) {
        number = std::int32_t(leaves.size());
        leaves.emplace_back();
        for (int d = 0; d < 3; ++d)
          leaves.back().at[d] = cell[d] >> 3;
      }
      leaves[number].values[local(cell)] = values[c];
      leaves[number].mask[local(cell) >> 3] |= std::uint8_t(1 << (cell[2] & 7));
    }
    for (Leaf &leaf : leaves) {
      leaf.full = true;
      for (std::uint8_t row : leaf.mask)
        leaf.full = leaf.full && row == 0xff;
    }
    results.resize(leaves.size());
  }

  void step() override {
    parallelBlocks(std::int64_t(leaves.size()) - 1, 32, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin + 1; n < end + 1; ++n)
        leaves[n].full ? apply<true>(leaves[n], results[n]) : apply<false>(leaves[n], results[n]);
    });
  }

  void read(void *const *outputs) override {
    float *to = static_cast<float *>(outputs[0]);
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int32_t *cell = cells + 3 * c;
      to[c] = results[table[index(cell[0] >> 3, cell[1] >> 3, cell[2] >> 3)]][local(cell)];
    }
  }

private:
  int index(int i, int j, int k) const { return (i * blocks + j) * blocks + k; }
  static int local(const std::int32_t *cell) {
    return (cell[0] & 7) * 64 + (cell[1] & 7) * 8 + (cell[2] & 7);
  }

  const float *neighbour(const Leaf &leaf, int axis, int side) const {
    int at[3] = {leaf.at[0], leaf.at[1], leaf.at[2]};
    at[axis] += side;
    if (at[axis] < 0 || at[axis] >= blocks)
      return leaves[0].values.data();
    return leaves[table[index(at[0], at[1], at[2])]].values.data();
  }

  template <bool full> void apply(const Leaf &leaf, std::array<float, 512> &to) const {
    const float *own = leaf.values.data(), *around[3][2];
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side)
        around[axis][side] = neighbour(leaf, axis, 2 * side - 1);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        int row = 64 * i + 8 * j;
        std::uint8_t mask = leaf.mask[8 * i + j];
        if (!full && !mask)
          continue;
        const float *up = i > 0 ? own + row - 64 : around[0][0] + row + 448;
        const float *down = i < 7 ? own + row + 64 : around[0][1] + row - 448;
        const float *left = j > 0 ? own + row - 8 : around[1][0] + row + 56;
        const float *right = j < 7 ? own + row + 8 : around[1][1] + row - 56;
        float line[10];
        line[0] = around[2][0][row + 7], line[9] = around[2][1][row];
        std::memcpy(line + 1, own + row, 8 * sizeof(float));
        float value[8];
        for (int k = 0; k < 8; ++k)
          value[k] = 0.4f * line[k + 1] +
                     0.1f * (up[k] + down[k] + left[k] + right[k] + line[k] + line[k + 2]);
        if (full)
          std::memcpy(to.data() + row, value, sizeof value);
        else
          storeMasked(to.data() + row, value, mask);
      }
  }

  int blocks;
  std::int64_t count;
  const std::int32_t *cells;
  std::vector<std::int32_t> table;
  std::vector<Leaf> leaves;
  std::vector<std::array<float, 512>> results;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  return setup.variant == 0 && named(setup, "stencil") ? std::make_unique<Stencil>(setup) : nullptr;
}

} // namespace

METATE_REFERENCES(make)
