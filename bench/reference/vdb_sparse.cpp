// B7 with OpenVDB, as its documentation shows such loops: leaves of the result in parallel, active voxels by iterator,
// reads through a value accessor. Variants: an accessor and offsets; its 7-point stencil object; for the copy leaf to leaf.
#include "vdb.h"

#include <openvdb/math/Stencils.h>

namespace {

using openvdb::Coord;
using openvdb::FloatGrid;
using openvdb::FloatTree;
using Leaf = FloatTree::LeafNodeType;

class Sparse : public VdbReference {
public:
  explicit Sparse(const Setup &setup)
      : count(std::int64_t(setup.numbers[1])),
        cells(static_cast<const std::int32_t *>(setup.inputs[0])),
        from(FloatGrid::create(treeOf(count, cells, static_cast<const float *>(setup.inputs[1])))),
        to(std::make_shared<FloatTree>(from->tree(), 0.0f, openvdb::TopologyCopy())), leaves(*to) {}

  void read(void *const *outputs) override {
    openvdb::tree::ValueAccessor<const FloatTree> accessor(*to);
    for (std::int64_t c = 0; c < count; ++c)
      static_cast<float *>(outputs[0])[c] = accessor.getValue(Coord(cells + 3 * c));
  }

protected:
  // Calls body(leaf, state) for every leaf of the result; make() gives a range of them its state.
  template <typename Make, typename Body> void forEachLeaf(Make make, Body body) {
    tbb::parallel_for(leaves.leafRange(), [&](const auto &range) {
      auto state = make();
      for (auto leaf = range.begin(); leaf; ++leaf)
        body(*leaf, state);
    });
  }

  auto reading() const {
    return [this] { return openvdb::tree::ValueAccessor<const FloatTree>(from->constTree()); };
  }

  std::int64_t count;
  const std::int32_t *cells;
  FloatGrid::Ptr from;
  FloatTree::Ptr to;
  openvdb::tree::LeafManager<FloatTree> leaves;
};

class AccessorStencil : public Sparse {
public:
  using Sparse::Sparse;

  void step() override {
    forEachLeaf(reading(), [](Leaf &leaf, auto &x) {
      for (auto cell = leaf.cbeginValueOn(); cell; ++cell) {
        const Coord c = cell.getCoord();
        float around = x.getValue(c.offsetBy(-1, 0, 0)) + x.getValue(c.offsetBy(1, 0, 0)) +
                       x.getValue(c.offsetBy(0, -1, 0)) + x.getValue(c.offsetBy(0, 1, 0)) +
                       x.getValue(c.offsetBy(0, 0, -1)) + x.getValue(c.offsetBy(0, 0, 1));
        leaf.setValueOnly(cell.pos(), 0.4f * x.getValue(c) + 0.1f * around);
      }
    });
  }
};

class ObjectStencil : public Sparse {
public:
  using Sparse::Sparse;

  void step() override {
    using Seven = openvdb::math::SevenPointStencil<FloatGrid>;
    forEachLeaf([this] { return Seven(*from); },
                [](Leaf &leaf, Seven &x) {
                  for (auto cell = leaf.cbeginValueOn(); cell; ++cell) {
                    x.moveTo(cell.getCoord());
                    float around = x.getValue<-1, 0, 0>() + x.getValue<1, 0, 0>() +
                                   x.getValue<0, -1, 0>() + x.getValue<0, 1, 0>() +
                                   x.getValue<0, 0, -1>() + x.getValue<0, 0, 1>();
                    leaf.setValueOnly(cell.pos(), 0.4f * x.getValue<0, 0, 0>() + 0.1f * around);
                  }
                });
  }
};

class AccessorCopy : public Sparse {
public:
  using Sparse::Sparse;

  void step() override {
    forEachLeaf(reading(), [](Leaf &leaf, auto &x) {
      for (auto cell = leaf.cbeginValueOn(); cell; ++cell)
        leaf.setValueOnly(cell.pos(), x.getValue(cell.getCoord()));
    });
  }
};

class LeafCopy : public Sparse {
public:
  using Sparse::Sparse;

  void step() override {
    forEachLeaf(reading(), [](Leaf &leaf, auto &x) {
      const Leaf *own = x.probeConstLeaf(leaf.origin());
      for (auto cell = leaf.cbeginValueOn(); cell; ++cell)
        leaf.setValueOnly(cell.pos(), own->getValue(cell.pos()));
    });
  }
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (named(setup, "stencil") && setup.variant == 0)
    return std::make_unique<AccessorStencil>(setup);
  if (named(setup, "stencil") && setup.variant == 1)
    return std::make_unique<ObjectStencil>(setup);
  if (named(setup, "copy") && setup.variant == 0)
    return std::make_unique<AccessorCopy>(setup);
  if (named(setup, "copy") && setup.variant == 1)
    return std::make_unique<LeafCopy>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
