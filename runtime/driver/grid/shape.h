// How many invocations a task gets in a launch.
#ifndef METATE_RUNTIME_DRIVER_GRID_SHAPE_H
#define METATE_RUNTIME_DRIVER_GRID_SHAPE_H

#include "driver/grid/section.h"

namespace metate::grid {

struct Shape {
  uint32_t groups, group;
  uint64_t invocations() const { return uint64_t(groups) * group; }
};

// A driver's bounds, in invocations: `most` that it starts for a task, and how many where only the device knows the iterations.
struct Bounds {
  uint32_t most, unknown;
};

// At least one workgroup, whole ones: functions go on until no iteration is left, or do nothing.
Shape shapeOf(const Section &section, const metate_grid_task &task, const metate_slot *slots,
              Bounds bounds);

} // namespace metate::grid

#endif
