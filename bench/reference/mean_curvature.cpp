// Hand-written peers of the demo's `smooth` kernel (examples/demo/kernels.py): one step of mean-curvature
// flow on a sparse grid of 8^3 leaves. The data structure is as lean as it gets: a dense table of leaf
// numbers and leaves of 512 floats. Two variants, both without a per-access lookup:
//
//   hoisted  the 27 leaves around a leaf are fetched once, then a plain loop over its cells
//   tile     as hoisted, and the leaf with its halo is copied into a tile of 10^3 first, so that the loop
//            over a row is free of branches and vectorises
//
// Built as a shared library by bench/run with clang and g++; must not know Metate.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr float band = 3.0f, timeStep = 0.1f;
using Leaf = std::array<float, 512>;

struct Grid {
  int blocks;
  std::vector<std::int32_t> coordinates; // [leaf][3], in leaves
  std::vector<std::int32_t> table;       // [blocks^3]: leaf number, 0 = the background leaf
  std::vector<Leaf> from, to;            // leaf 0 is all background
};

inline float update(float c, float x0, float x1, float y0, float y1, float z0, float z1, float xy,
                    float xz, float yz) {
  float dx = (x1 - x0) * 0.5f, dy = (y1 - y0) * 0.5f, dz = (z1 - z0) * 0.5f;
  float dxx = x0 + x1 - 2.0f * c, dyy = y0 + y1 - 2.0f * c, dzz = z0 + z1 - 2.0f * c;
  float x2 = dx * dx, y2 = dy * dy, z2 = dz * dz;
  float along = dxx * (y2 + z2) + dyy * (x2 + z2) + dzz * (x2 + y2);
  float across = 0.5f * (dx * dy * xy + dx * dz * xz + dy * dz * yz);
  float value = c + timeStep * (along - across) / (x2 + y2 + z2 + 1e-6f);
  return std::min(std::max(value, -band), band);
}

using Neighbours = std::array<const float *, 27>;

Neighbours neighboursOf(const Grid &grid, int leaf) {
  Neighbours found;
  const std::int32_t *at = &grid.coordinates[3 * leaf];
  for (int n = 0; n < 27; ++n) {
    int i = at[0] + n / 9 - 1, j = at[1] + n / 3 % 3 - 1, k = at[2] + n % 3 - 1;
    bool inside =
        i >= 0 && j >= 0 && k >= 0 && i < grid.blocks && j < grid.blocks && k < grid.blocks;
    found[n] = grid.from[inside ? grid.table[(i * grid.blocks + j) * grid.blocks + k] : 0].data();
  }
  return found;
}

void stepHoisted(Grid &grid, int leaf) {
  Neighbours around = neighboursOf(grid, leaf);
  auto at = [&](int i, int j, int k) {
    int n = ((i + 8) >> 3) * 9 + ((j + 8) >> 3) * 3 + ((k + 8) >> 3);
    return around[n][(i & 7) * 64 + (j & 7) * 8 + (k & 7)];
  };
  const float *own = around[13];
  float *to = grid.to[leaf].data();
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 8; ++k) {
        float c = own[i * 64 + j * 8 + k], value = c;
        if (std::fabs(c) < band) {
          float xy =
              at(i + 1, j + 1, k) + at(i - 1, j - 1, k) - at(i + 1, j - 1, k) - at(i - 1, j + 1, k);
          float xz =
              at(i + 1, j, k + 1) + at(i - 1, j, k - 1) - at(i + 1, j, k - 1) - at(i - 1, j, k + 1);
          float yz =
              at(i, j + 1, k + 1) + at(i, j - 1, k - 1) - at(i, j + 1, k - 1) - at(i, j - 1, k + 1);
          value = update(c, at(i - 1, j, k), at(i + 1, j, k), at(i, j - 1, k), at(i, j + 1, k),
                         at(i, j, k - 1), at(i, j, k + 1), xy, xz, yz);
        }
        to[i * 64 + j * 8 + k] = value;
      }
}

void stepTile(Grid &grid, int leaf) {
  Neighbours around = neighboursOf(grid, leaf);
  constexpr int row = 10, plane = 10 * row;
  float tile[10 * plane];
  for (int x = -1; x < 9; ++x)
    for (int y = -1; y < 9; ++y) {
      const float *const *leaves = &around[((x + 8) >> 3) * 9 + ((y + 8) >> 3) * 3];
      int offset = (x & 7) * 64 + (y & 7) * 8;
      float *to = tile + (x + 1) * plane + (y + 1) * row;
      to[0] = leaves[0][offset + 7];
      std::memcpy(to + 1, leaves[1] + offset, 8 * sizeof(float));
      to[9] = leaves[2][offset];
    }
  float *to = grid.to[leaf].data();
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const float *first = tile + (i + 1) * plane + (j + 1) * row + 1;
#pragma omp simd simdlen(8)
      for (int k = 0; k < 8; ++k) {
        const float *c = first + k;
        float xy = c[plane + row] + c[-plane - row] - c[plane - row] - c[row - plane];
        float xz = c[plane + 1] + c[-plane - 1] - c[plane - 1] - c[1 - plane];
        float yz = c[row + 1] + c[-row - 1] - c[row - 1] - c[1 - row];
        float value = update(*c, c[-plane], c[plane], c[-row], c[row], c[-1], c[1], xy, xz, yz);
        to[i * 64 + j * 8 + k] = std::fabs(*c) < band ? value : *c;
      }
    }
}

} // namespace

extern "C" {

// values f32[count][512], coordinates i32[count][3] in leaves, a grid of blocks^3 leaves.
Grid *reference_create(int blocks, int count, const std::int32_t *coordinates,
                       const float *values) {
  auto grid = std::make_unique<Grid>();
  grid->blocks = blocks;
  grid->coordinates.assign(3, 0);
  grid->coordinates.insert(grid->coordinates.end(), coordinates, coordinates + 3 * count);
  grid->table.assign(std::size_t(blocks) * blocks * blocks, 0);
  grid->from.resize(count + 1);
  grid->from[0].fill(band);
  for (int n = 0; n < count; ++n) {
    const std::int32_t *at = coordinates + 3 * n;
    grid->table[(at[0] * blocks + at[1]) * blocks + at[2]] = n + 1;
    std::memcpy(grid->from[n + 1].data(), values + 512 * std::size_t(n), 512 * sizeof(float));
  }
  grid->to = grid->from;
  return grid.release();
}

// One step on `threads` threads, always from the values given at creation; variant 0 = hoisted, 1 = tile.
void reference_step(Grid *grid, int variant, int threads) {
  int leaves = int(grid->from.size()) - 1;
  auto work = [&](int part) {
    int begin = 1 + leaves * std::int64_t(part) / threads,
        end = 1 + leaves * std::int64_t(part + 1) / threads;
    for (int leaf = begin; leaf < end; ++leaf)
      variant ? stepTile(*grid, leaf) : stepHoisted(*grid, leaf);
  };
  std::vector<std::thread> workers;
  for (int part = 1; part < threads; ++part)
    workers.emplace_back(work, part);
  work(0);
  for (std::thread &worker : workers)
    worker.join();
}

// The leaves' values after the last step, f32[count][512].
void reference_read(const Grid *grid, float *values) {
  std::memcpy(values, grid->to[1].data(), (grid->to.size() - 1) * 512 * sizeof(float));
}

void reference_destroy(Grid *grid) { delete grid; }
}
