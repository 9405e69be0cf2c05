// B9 with OpenVDB: reads through a value accessor, one a range of places or rays, or from the tree without one.
#include "vdb.h"

#include <tbb/blocked_range.h>

#include <bit>

namespace {

using openvdb::Coord;
using openvdb::FloatTree;
using Accessor = openvdb::tree::ValueAccessor<const FloatTree>;

class Reads : public VdbReference {
public:
  explicit Reads(const Setup &setup)
      : tree(treeOf(std::int64_t(setup.numbers[1]),
                    static_cast<const std::int32_t *>(setup.inputs[0]),
                    static_cast<const float *>(setup.inputs[1]))) {}

protected:
  // Calls body(q, accessor) for q of [0, count).
  template <typename Body> void forEach(std::int64_t count, std::int64_t grain, Body body) const {
    using Range = tbb::blocked_range<std::int64_t>;
    tbb::parallel_for(Range(0, count, grain), [&](const Range &range) {
      Accessor accessor(*tree);
      for (std::int64_t q = range.begin(); q < range.end(); ++q)
        body(q, accessor);
    });
  }

  openvdb::FloatTree::Ptr tree;
};

template <bool around, bool cached> class AtPlaces : public Reads {
public:
  explicit AtPlaces(const Setup &setup)
      : Reads(setup), count(std::int64_t(setup.numbers[2])), at(3 * count, setup.inputs[2]),
        out(count, nullptr) {}

  void step() override {
    forEach(count, 1 << 12, [&](std::int64_t q, Accessor &accessor) {
      Coord cell(&at[3 * q]);
      if constexpr (cached)
        out[q] = valueAt(accessor, cell);
      else
        out[q] = valueAt(*tree, cell);
    });
  }

  void read(void *const *outputs) override { out.copyTo(outputs[0]); }

private:
  template <typename From> static float valueAt(const From &from, const Coord &cell) {
    if (!around)
      return from.getValue(cell);
    float total = 0;
    for (int a = -1; a <= 1; ++a)
      for (int b = -1; b <= 1; ++b)
        for (int c = -1; c <= 1; ++c)
          total += from.getValue(cell.offsetBy(a, b, c));
    return total;
  }

  std::int64_t count;
  Buffer<std::int32_t> at;
  Buffer<float> out;
};

class March : public Reads {
public:
  explicit March(const Setup &setup)
      : Reads(setup), n(int(setup.numbers[0])), band(int(setup.numbers[2])),
        image(int(setup.numbers[3])), depth(std::size_t(image) * image, nullptr) {}

  void step() override {
    forEach(image, 4, [&](std::int64_t u, Accessor &accessor) {
      for (int v = 0; v < image; ++v)
        depth[std::size_t(u) * image + v] =
            shoot(accessor, 2 * int(u) - image + 1, 2 * v - image + 1);
    });
  }

  void read(void *const *outputs) override { depth.copyTo(outputs[0]); }

private:
  int shoot(const Accessor &x, int across, int up) const {
    for (int k = 0; k < n;) {
      Coord cell(n / 2 + (across * k >> shift), n / 2 + (up * k >> shift), k);
      float distance = x.getValue(cell) + float(band);
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
    return std::make_unique<AtPlaces<false, true>>(setup);
  if (named(setup, "single") && setup.variant == 1)
    return std::make_unique<AtPlaces<false, false>>(setup);
  if (named(setup, "gather") && setup.variant == 0)
    return std::make_unique<AtPlaces<true, true>>(setup);
  if (named(setup, "gather") && setup.variant == 1)
    return std::make_unique<AtPlaces<true, false>>(setup);
  if (named(setup, "march") && setup.variant == 0)
    return std::make_unique<March>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
