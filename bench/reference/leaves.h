// Grids of leaves of 8 x 8 x 8 f32 with a mask, and the arithmetic of a leaf's rows of eight: what the hand-written sparse
// programs share. Inactive cells of a leaf hold the background, 0.
#pragma once

#include "reference.h"

#include <array>
#include <immintrin.h>
#include <vector>

struct alignas(64) Leaf {
  std::array<float, 512> values{};
  std::array<std::uint8_t, 64> mask{}; // a byte a row
  int at[3] = {};
  bool full = false;
};

// A dense table of the leaves' numbers; leaf 0 is what is read where there is none.
struct LeafGrid {
  // Of `count` active cells, i32[count, 3] and their values.
  LeafGrid(int blocks, std::int64_t count, const std::int32_t *cells, const float *values)
      : blocks(blocks), count(count), cells(cells), table(std::size_t(blocks) * blocks * blocks) {
    leaves.emplace_back();
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
  }

  std::size_t index(int i, int j, int k) const {
    return (std::size_t(i) * blocks + j) * blocks + k;
  }
  static int local(const std::int32_t *cell) {
    return (cell[0] & 7) * 64 + (cell[1] & 7) * 8 + (cell[2] & 7);
  }
  std::int32_t number(const std::int32_t *cell) const {
    return table[index(cell[0] >> 3, cell[1] >> 3, cell[2] >> 3)];
  }

  const float *neighbour(const Leaf &leaf, int axis, int side) const {
    int at[3] = {leaf.at[0], leaf.at[1], leaf.at[2]};
    at[axis] += side;
    if (at[axis] < 0 || at[axis] >= blocks)
      return leaves[0].values.data();
    return leaves[table[index(at[0], at[1], at[2])]].values.data();
  }

  int blocks;
  std::int64_t count;
  const std::int32_t *cells;
  std::vector<std::int32_t> table;
  std::vector<Leaf> leaves;
};

// How a row goes back into its leaf. `background` stores all eight, 0 where the mask has none: what those cells hold
// already.
enum class Store { whole, masked, blended, background };

#if defined(__AVX2__)

inline __m256i lanesOf(std::uint8_t mask) {
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask), bits), bits);
}

template <Store how> void storeRow(float *to, __m256 value, std::uint8_t mask) {
  if constexpr (how == Store::whole) {
    _mm256_store_ps(to, value);
  } else if constexpr (how == Store::masked) {
#ifdef __AVX512VL__
    _mm256_mask_store_ps(to, mask, value);
#else
    _mm256_maskstore_ps(to, lanesOf(mask), value);
#endif
  } else if constexpr (how == Store::blended) {
    __m256 old = _mm256_load_ps(to);
    _mm256_store_ps(to, _mm256_blendv_ps(old, value, _mm256_castsi256_ps(lanesOf(mask))));
  } else {
    _mm256_store_ps(to, _mm256_and_ps(value, _mm256_castsi256_ps(lanesOf(mask))));
  }
}

#endif
