// What the programs in OpenVDB's terms share: a grid of active cells, loops over leaves by as many threads as the others have.
#pragma once

#include "reference.h"

#include <openvdb/openvdb.h>
#include <openvdb/tree/LeafManager.h>
#include <tbb/global_control.h>

class VdbReference : public Reference {
public:
  VdbReference() : control(tbb::global_control::max_allowed_parallelism, std::size_t(threadCount)) {
    openvdb::initialize();
  }

private:
  tbb::global_control control;
};

// A tree of `count` active cells, i32[count, 3], with their values; consecutive cells of a leaf look it up once.
inline openvdb::FloatTree::Ptr treeOf(std::int64_t count, const std::int32_t *cells,
                                      const float *values) {
  auto tree = std::make_shared<openvdb::FloatTree>(0.0f);
  openvdb::tree::ValueAccessor<openvdb::FloatTree> accessor(*tree);
  for (std::int64_t c = 0; c < count; ++c)
    accessor.setValue(openvdb::Coord(cells + 3 * c), values[c]);
  return tree;
}
