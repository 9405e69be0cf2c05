// B8 with OpenVDB, whose trees are grown by one thread. Variants: leaves are touched by one thread, then filled by all;
// each thread touches leaves of a tree of its own, and those are merged.
#include "vdb.h"

#include <tbb/parallel_reduce.h>

namespace {

using openvdb::Coord;
using openvdb::FloatTree;
using Leaf = FloatTree::LeafNodeType;

enum class Kind { refill, unchanged, halve, dilate, dilateUnchanged };

template <Kind kind, bool merged> class Topology : public VdbReference {
public:
  explicit Topology(const Setup &setup)
      : blocks(int(setup.numbers[0]) / 8), count(std::int64_t(setup.numbers[1])),
        leaves(static_cast<const std::int32_t *>(setup.inputs[0])), tree(0.0f) {}

  void step() override {
    if (kind == Kind::refill || kind == Kind::dilate)
      tree.clear();
    if constexpr (merged)
      grow();
    else
      touch(tree, 0, count);
    if (kind < Kind::dilate && !merged)
      fill();
    if (kind == Kind::halve)
      halve();
  }

  void read(void *const *outputs) override {
    for (std::size_t at = 0; at < std::size_t(blocks) * blocks * blocks; ++at) {
      int place = int(at);
      Coord origin(8 * (place / (blocks * blocks)), 8 * (place / blocks % blocks),
                   8 * (place % blocks));
      const Leaf *leaf = tree.probeConstLeaf(origin);
      static_cast<std::uint8_t *>(outputs[0])[at] = leaf != nullptr;
      static_cast<std::int32_t *>(outputs[1])[at] = leaf ? int(leaf->onVoxelCount()) : 0;
    }
  }

private:
  static void write(Leaf &leaf) {
    leaf.fill(1.0f);
    leaf.setValuesOn();
  }

  void touch(FloatTree &to, std::int64_t begin, std::int64_t end) const {
    openvdb::tree::ValueAccessor<FloatTree> accessor(to);
    for (std::int64_t l = begin; l < end; ++l) {
      Coord origin(8 * leaves[3 * l], 8 * leaves[3 * l + 1], 8 * leaves[3 * l + 2]);
      if constexpr (kind >= Kind::dilate) {
        for (int n = 0; n < 27; ++n)
          accessor.touchLeaf(
              origin.offsetBy(8 * (n / 9 - 1), 8 * (n / 3 % 3 - 1), 8 * (n % 3 - 1)));
      } else {
        Leaf *leaf = accessor.touchLeaf(origin);
        if constexpr (merged)
          write(*leaf);
      }
    }
  }

  void grow() {
    using Range = tbb::blocked_range<std::int64_t>;
    auto grown = tbb::parallel_reduce(
        Range(0, count, 1024), std::shared_ptr<FloatTree>(),
        [&](const Range &range, std::shared_ptr<FloatTree> to) {
          if (!to)
            to = std::make_shared<FloatTree>(0.0f);
          touch(*to, range.begin(), range.end());
          return to;
        },
        [](std::shared_ptr<FloatTree> a, std::shared_ptr<FloatTree> b) {
          if (!a)
            return b;
          if (b)
            a->merge(*b);
          return a;
        });
    if (grown)
      tree.merge(*grown);
  }

  void fill() {
    openvdb::tree::LeafManager<FloatTree> manager(tree);
    manager.foreach ([](Leaf &leaf, std::size_t) { write(leaf); });
  }

  void halve() {
    openvdb::tree::LeafManager<FloatTree> manager(tree);
    manager.foreach ([](Leaf &leaf, std::size_t) {
      for (openvdb::Index at = 0; at < 256; ++at)
        leaf.setValueOff(at, 0.0f);
    });
  }

  int blocks;
  std::int64_t count;
  const std::int32_t *leaves;
  FloatTree tree;
};

template <Kind kind> std::unique_ptr<Reference> makeKind(const Setup &setup) {
  if (setup.variant == 0)
    return std::make_unique<Topology<kind, false>>(setup);
  // Merging is for new leaves only: where one is there already its values would stay.
  if (setup.variant == 1 && (kind == Kind::refill || kind == Kind::dilate))
    return std::make_unique<Topology<kind, true>>(setup);
  return nullptr;
}

std::unique_ptr<Reference> make(const Setup &setup) {
  if (named(setup, "refill"))
    return makeKind<Kind::refill>(setup);
  if (named(setup, "unchanged"))
    return makeKind<Kind::unchanged>(setup);
  if (named(setup, "halve"))
    return makeKind<Kind::halve>(setup);
  if (named(setup, "dilate"))
    return makeKind<Kind::dilate>(setup);
  if (named(setup, "dilate_unchanged"))
    return makeKind<Kind::dilateUnchanged>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
