// WrittenGrid as a grid of OpenVDB: for the files that include OpenVDB's headers.
#pragma once

#include "Grids.h"

#include <openvdb/openvdb.h>

namespace metate::vdb {

openvdb::GridBase::Ptr makeGrid(const WrittenGrid &given);

/// Appends `count` voxels from `corner`, `extent` cells along each axis, that all hold `value`.
template <typename Value>
void appendTile(FoundGrid &found, const int32_t (&corner)[3], const int64_t (&extent)[3],
                const Value &value) {
  auto *bytes = reinterpret_cast<const uint8_t *>(&value);
  for (int64_t i = 0; i < extent[0]; ++i)
    for (int64_t j = 0; j < extent[1]; ++j)
      for (int64_t k = 0; k < extent[2]; ++k) {
        found.coordinates.insert(
            found.coordinates.end(),
            {int32_t(corner[0] + i), int32_t(corner[1] + j), int32_t(corner[2] + k)});
        found.values.insert(found.values.end(), bytes, bytes + sizeof(Value));
      }
}

} // namespace metate::vdb
