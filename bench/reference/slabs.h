// Scatter without atomic operations: particles are put into slabs of four nodes along the first
// axis, so that what two slabs of the same colour touch (three nodes from a particle's first) does
// not overlap. All even slabs run side by side, then all odd ones.
#pragma once

#include "parallel.h"

#include <vector>

class Slabs {
public:
  Slabs(std::int64_t particles, int grid)
      : count(particles), slabs(grid / 4 + 1), starts(slabs + 1), slabOf(particles) {}

  // Calls place(p, k) for each particle, k its place in the order of slabs; firstNode(p) is its
  // first axis' first node. Stable, so that results do not depend on threads.
  template <typename FirstNode, typename Place> void sort(FirstNode firstNode, Place place) {
    std::vector<std::vector<std::int64_t>> counts(threadCount, std::vector<std::int64_t>(slabs));
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int part) {
      for (std::int64_t p = begin; p < end; ++p)
        ++counts[part][slabOf[p] = std::uint16_t(firstNode(p) >> 2)];
    });
    std::int64_t at = 0;
    for (int slab = 0; slab < slabs; ++slab) {
      starts[slab] = at;
      for (auto &part : counts) {
        std::int64_t own = part[slab];
        part[slab] = at;
        at += own;
      }
    }
    starts[slabs] = at;
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int part) {
      for (std::int64_t p = begin; p < end; ++p)
        place(p, counts[part][slabOf[p]]++);
    });
  }

  // Calls body(k) for every place; no two calls at a time for particles whose nodes overlap.
  template <typename Body> void forEach(Body body) const {
    for (int colour = 0; colour < 2; ++colour)
      parallelBlocks((slabs + 1 - colour) / 2, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n)
          for (std::int64_t k = starts[2 * n + colour]; k < starts[2 * n + colour + 1]; ++k)
            body(k);
      });
  }

private:
  std::int64_t count;
  int slabs;
  std::vector<std::int64_t> starts;
  std::vector<std::uint16_t> slabOf;
};
