// B9: reads of a grid of leaves of 8 x 8 x 8 f32 behind a dense table: single ones, 27 around a cell, along rays.
#include "leaves.h"

#include <bit>

namespace {

class Reads : public Reference {
public:
  explicit Reads(const Setup &setup)
      : grid(int(setup.numbers[0]) / 8, std::int64_t(setup.numbers[1]),
             static_cast<const std::int32_t *>(setup.inputs[0]),
             static_cast<const float *>(setup.inputs[1])) {}

protected:
  const float *address(const std::int32_t *cell) const {
    return &grid.leaves[grid.number(cell)].values[LeafGrid::local(cell)];
  }
  float value(int i, int j, int k) const {
    std::int32_t cell[3] = {i, j, k};
    return *address(cell);
  }

  LeafGrid grid;
};

class AtPlaces : public Reads {
public:
  explicit AtPlaces(const Setup &setup)
      : Reads(setup), count(std::int64_t(setup.numbers[2])), at(3 * count, setup.inputs[2]),
        out(count, nullptr) {}

  void read(void *const *outputs) override { out.copyTo(outputs[0]); }

protected:
  std::int64_t count;
  Buffer<std::int32_t> at;
  Buffer<float> out;
};

// `ahead`: the addresses of a block of reads are made and asked for before any is read.
template <bool ahead> class Single : public AtPlaces {
public:
  using AtPlaces::AtPlaces;

  void step() override {
    parallelBlocks(count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      if constexpr (ahead) {
        constexpr std::int64_t block = 32;
        const float *from[block];
        for (std::int64_t first = begin; first < end; first += block) {
          std::int64_t size = std::min(block, end - first);
          for (std::int64_t q = 0; q < size; ++q)
            _mm_prefetch(from[q] = address(&at[3 * (first + q)]), _MM_HINT_T0);
          for (std::int64_t q = 0; q < size; ++q)
            out[first + q] = *from[q];
        }
      } else {
        for (std::int64_t q = begin; q < end; ++q)
          out[q] = *address(&at[3 * q]);
      }
    });
  }
};

template <bool once> class Gather : public AtPlaces {
public:
  using AtPlaces::AtPlaces;

  void step() override {
    parallelBlocks(count, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t q = begin; q < end; ++q)
        out[q] = once ? fromLeaves(&at[3 * q]) : plain(&at[3 * q]);
    });
  }

private:
  float plain(const std::int32_t *cell) const {
    float total = 0;
    for (int a = -1; a <= 1; ++a)
      for (int b = -1; b <= 1; ++b)
        for (int c = -1; c <= 1; ++c)
          total += value(cell[0] + a, cell[1] + b, cell[2] + c);
    return total;
  }

  // A cell inside of its leaf has all of them there; else of each line along the first two axes' cells its leaves are
  // looked up, the one before and the one after only at the ends.
  float fromLeaves(const std::int32_t *cell) const {
    int k = cell[2] & 7;
    bool inside = ((cell[0] + 1) & 7) > 1 && ((cell[1] + 1) & 7) > 1 && ((cell[2] + 1) & 7) > 1;
    float total = 0;
    const float *own = address(cell) - k;
    for (int a = -1; a <= 1; ++a)
      for (int b = -1; b <= 1; ++b) {
        const float *line = own + 64 * a + 8 * b;
        if (!inside) {
          std::int32_t start[3] = {cell[0] + a, cell[1] + b, cell[2] - k};
          line = address(start);
        }
        total += line[k];
        total += k > 0 ? line[k - 1] : value(cell[0] + a, cell[1] + b, cell[2] - 1);
        total += k < 7 ? line[k + 1] : value(cell[0] + a, cell[1] + b, cell[2] + 1);
      }
    return total;
  }
};

class March : public Reads {
public:
  explicit March(const Setup &setup)
      : Reads(setup), n(int(setup.numbers[0])), band(int(setup.numbers[2])),
        image(int(setup.numbers[3])), depth(std::size_t(image) * image, nullptr) {}

  void step() override {
    parallelBlocks(image, 4, [&](std::int64_t begin, std::int64_t end) {
      for (int u = int(begin); u < end; ++u)
        for (int v = 0; v < image; ++v)
          depth[std::size_t(u) * image + v] = shoot(2 * u - image + 1, 2 * v - image + 1);
    });
  }

  void read(void *const *outputs) override { depth.copyTo(outputs[0]); }

private:
  int shoot(int across, int up) const {
    for (int k = 0; k < n;) {
      float distance =
          value(n / 2 + (across * k >> shift), n / 2 + (up * k >> shift), k) + float(band);
      if (distance < 0.5f)
        return k;
      k += std::max(1, int(distance));
    }
    return -1;
  }

  int n, band, image;
  // 2 * image is a power of two: a shift divides, and rounds down.
  int shift = std::bit_width(unsigned(image));
  Buffer<std::int32_t> depth;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (named(setup, "single") && setup.variant == 0)
    return std::make_unique<Single<false>>(setup);
  if (named(setup, "single") && setup.variant == 1)
    return std::make_unique<Single<true>>(setup);
  if (named(setup, "gather") && setup.variant == 0)
    return std::make_unique<Gather<false>>(setup);
  if (named(setup, "gather") && setup.variant == 1)
    return std::make_unique<Gather<true>>(setup);
  if (named(setup, "march") && setup.variant == 0)
    return std::make_unique<March>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
