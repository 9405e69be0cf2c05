// How many bytes OpenVDB holds for given active voxels; called by bench/narrow_band.py, times nothing.
#include "vdb.h"

extern "C" void vdb_memory(std::int64_t count, const std::int32_t *cells, const float *values,
                           double *found) {
  openvdb::initialize();
  openvdb::FloatTree::Ptr tree = treeOf(count, cells, values);
  found[0] = double(tree->memUsage());
  found[1] = double(tree->activeVoxelCount());
  found[2] = double(tree->leafCount());
}
