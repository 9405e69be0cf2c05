// B7: over the active cells of a grid of leaves of 8 x 8 x 8 f32 with a mask, a 7-point stencil and a copy. A leaf's six
// neighbours are looked up once, then rows of eight are done at a time; a full leaf needs no mask.
#include "leaves.h"

#include <cstring>

namespace {

class Sparse : public Reference {
public:
  explicit Sparse(const Setup &setup)
      : grid(int(setup.numbers[0]) / 8, std::int64_t(setup.numbers[1]),
             static_cast<const std::int32_t *>(setup.inputs[0]),
             static_cast<const float *>(setup.inputs[1])),
        results(grid.leaves.size()) {}

  void read(void *const *outputs) override {
    float *to = static_cast<float *>(outputs[0]);
    for (std::int64_t c = 0; c < grid.count; ++c) {
      const std::int32_t *cell = grid.cells + 3 * c;
      to[c] = resultOf(cell)[LeafGrid::local(cell)];
    }
  }

protected:
  struct alignas(64) Values : std::array<float, 512> {};

  virtual const float *resultOf(const std::int32_t *cell) const {
    return results[grid.number(cell)].data();
  }

  template <typename Body> void forEachLeaf(Body body) const {
    parallelBlocks(std::int64_t(grid.leaves.size()) - 1, 32,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t n = begin + 1; n < end + 1; ++n)
                       body(n);
                   });
  }

  LeafGrid grid;
  std::vector<Values> results;
};

struct Around {
  Around(const LeafGrid &grid, const Leaf &leaf) {
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side)
        at[axis][side] = grid.neighbour(leaf, axis, 2 * side - 1);
  }
  const float *at[3][2];
};

// Rows in plain loops, that the compiler vectorises.
class PlainStencil : public Sparse {
public:
  using Sparse::Sparse;

  void step() override {
    forEachLeaf([&](std::int64_t n) {
      grid.leaves[n].full ? apply<true>(grid.leaves[n], results[n].data())
                          : apply<false>(grid.leaves[n], results[n].data());
    });
  }

private:
  template <bool full> void apply(const Leaf &leaf, float *to) const {
    const Around around(grid, leaf);
    const float *own = leaf.values.data();
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        int row = 64 * i + 8 * j;
        std::uint8_t mask = leaf.mask[8 * i + j];
        if (!full && !mask)
          continue;
        const float *up = i > 0 ? own + row - 64 : around.at[0][0] + row + 448;
        const float *down = i < 7 ? own + row + 64 : around.at[0][1] + row - 448;
        const float *left = j > 0 ? own + row - 8 : around.at[1][0] + row + 56;
        const float *right = j < 7 ? own + row + 8 : around.at[1][1] + row - 56;
        float line[10];
        line[0] = around.at[2][0][row + 7], line[9] = around.at[2][1][row];
        std::memcpy(line + 1, own + row, 8 * sizeof(float));
        float value[8];
        for (int k = 0; k < 8; ++k)
          value[k] = 0.4f * line[k + 1] +
                     0.1f * (up[k] + down[k] + left[k] + right[k] + line[k] + line[k + 2]);
        for (int k = 0; k < 8; ++k)
          to[row + k] = full || mask >> k & 1 ? value[k] : to[row + k];
      }
  }
};

#if defined(__AVX2__)

// Rows in registers: a row's neighbours along itself are its own values, turned by a lane.
template <Store how> class RowStencil : public Sparse {
public:
  using Sparse::Sparse;

  void step() override {
    forEachLeaf([&](std::int64_t n) {
      grid.leaves[n].full ? apply<Store::whole>(grid.leaves[n], results[n].data())
                          : apply<how>(grid.leaves[n], results[n].data());
    });
  }

private:
  template <Store store> void apply(const Leaf &leaf, float *to) const {
    const Around around(grid, leaf);
    const float *own = leaf.values.data();
    const __m256i up1 = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    const __m256i down1 = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    for (int i = 0; i < 8; ++i) {
      const float *before = i > 0 ? own - 64 : around.at[0][0] + 448;
      const float *after = i < 7 ? own + 64 : around.at[0][1] - 448;
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        int row = 64 * i + 8 * j;
        std::uint8_t mask = leaf.mask[8 * i + j];
        if (store != Store::whole && !mask)
          continue;
        __m256 line = _mm256_load_ps(own + row);
        __m256 left = _mm256_load_ps(j > 0 ? own + row - 8 : around.at[1][0] + row + 56);
        __m256 right = _mm256_load_ps(j < 7 ? own + row + 8 : around.at[1][1] + row - 56);
        __m256 low = _mm256_blend_ps(_mm256_permutevar8x32_ps(line, up1),
                                     _mm256_broadcast_ss(around.at[2][0] + row + 7), 1);
        __m256 high = _mm256_blend_ps(_mm256_permutevar8x32_ps(line, down1),
                                      _mm256_broadcast_ss(around.at[2][1] + row), 128);
        __m256 planes = _mm256_add_ps(_mm256_load_ps(before + row), _mm256_load_ps(after + row));
        __m256 sum = _mm256_add_ps(_mm256_add_ps(planes, _mm256_add_ps(left, right)),
                                   _mm256_add_ps(low, high));
        __m256 value =
            _mm256_fmadd_ps(_mm256_set1_ps(0.1f), sum, _mm256_mul_ps(_mm256_set1_ps(0.4f), line));
        storeRow<store>(to + row, value, mask);
      }
    }
  }
};

// y = x. `second`: y is a grid of its own, whose leaves are looked up and whose cells become active.
template <Store how, bool second> class Copy : public Sparse {
public:
  explicit Copy(const Setup &setup) : Sparse(setup) {
    if (second) {
      other = std::make_unique<LeafGrid>(grid);
      for (Leaf &leaf : other->leaves) {
        leaf.values.fill(0.0f);
        leaf.mask.fill(0);
      }
    }
  }

  void step() override {
    forEachLeaf([&](std::int64_t n) {
      const Leaf &from = grid.leaves[n];
      float *to = results[n].data();
      if constexpr (second) {
        Leaf &leaf = other->leaves[other->table[grid.index(from.at[0], from.at[1], from.at[2])]];
        to = leaf.values.data();
        activate(leaf, from);
      }
      from.full ? copy<Store::whole>(from, to) : copy<how>(from, to);
    });
  }

private:
  static void activate(Leaf &leaf, const Leaf &from) {
    for (int word = 0; word < 64; word += 8) {
      std::uint64_t mine, theirs;
      std::memcpy(&mine, &leaf.mask[word], 8);
      std::memcpy(&theirs, &from.mask[word], 8);
      if (theirs & ~mine) {
        mine |= theirs;
        std::memcpy(&leaf.mask[word], &mine, 8);
      }
    }
  }

  template <Store store> static void copy(const Leaf &from, float *to) {
    for (int row = 0; row < 64; ++row)
      if (store == Store::whole || from.mask[row])
        storeRow<store>(to + 8 * row, _mm256_load_ps(&from.values[8 * row]), from.mask[row]);
  }

  const float *resultOf(const std::int32_t *cell) const override {
    return second ? other->leaves[other->number(cell)].values.data() : Sparse::resultOf(cell);
  }

  std::unique_ptr<LeafGrid> other;
};

template <template <Store> class Program>
std::unique_ptr<Reference> withStore(int variant, const Setup &setup) {
  switch (variant) {
  case 0:
    return std::make_unique<Program<Store::masked>>(setup);
  case 1:
    return std::make_unique<Program<Store::blended>>(setup);
  case 2:
    return std::make_unique<Program<Store::background>>(setup);
  default:
    return nullptr;
  }
}

template <Store how> using CopyBeside = Copy<how, false>;
template <Store how> using CopyAcross = Copy<how, true>;

#endif

std::unique_ptr<Reference> make(const Setup &setup) {
  if (named(setup, "stencil") && setup.variant == 0)
    return std::make_unique<PlainStencil>(setup);
#if defined(__AVX2__)
  if (named(setup, "stencil"))
    return withStore<RowStencil>(setup.variant - 1, setup);
  if (named(setup, "copy_beside"))
    return withStore<CopyBeside>(setup.variant, setup);
  if (named(setup, "copy_across"))
    return withStore<CopyAcross>(setup.variant, setup);
#endif
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
