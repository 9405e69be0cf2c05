// Workgroups for iterations.
#include "driver/grid/shape.h"

#include "driver/grid/expression.h"

namespace metate::grid {

// A workgroup clears each number of the memory that it shares, and gathers it: for each that an invocation has of them it has several
// iterations, beside which that does not count.
static uint64_t turnsOf(const metate_grid_task &task) {
  constexpr uint64_t turnsOfNumber = 4;
  uint64_t numbers = task.shared_bytes / (sizeof(uint32_t) * task.group);
  return task.shared_bytes && task.step_count ? turnsOfNumber * (numbers ? numbers : 1) : 1;
}

Shape shapeOf(const Section &section, const metate_grid_task &task, const metate_slot *slots,
              Bounds bounds) {
  if (task.group == 1)
    return {1, 1};
  uint64_t most = bounds.most;
  if (task.most_invocations && task.most_invocations < most)
    most = task.most_invocations;
  uint32_t group = task.group < most ? task.group : uint32_t(most);
  int64_t iterations = task.step_count
                           ? evaluate(section.steps() + task.first_step, task.step_count, slots)
                           : int64_t(bounds.unknown);
  uint64_t wanted = iterations > 0 ? uint64_t(iterations) : 0;
  uint64_t ofGroup = group * turnsOf(task);
  uint64_t groups = wanted / ofGroup + (wanted % ofGroup != 0);
  if (groups > most / group)
    groups = most / group;
  return {groups ? uint32_t(groups) : 1, group};
}

} // namespace metate::grid
