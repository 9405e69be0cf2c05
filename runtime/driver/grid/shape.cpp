// Expressions of iterations, and workgroups for them. Expressions were verified: no step is looked at twice.
#include "driver/grid/shape.h"

namespace metate::grid {

namespace {

int64_t divide(int64_t a, int64_t b, bool upwards) {
  if (b == 0)
    return 0;
  if (b == -1) // the least number has no opposite: it wraps around
    return int64_t(0 - uint64_t(a));
  int64_t quotient = a / b;
  return quotient + (upwards && a % b && (a < 0) == (b < 0));
}

int64_t apply(uint32_t operation, int64_t a, int64_t b) {
  switch (operation) {
  case METATE_GRID_ADD:
    return int64_t(uint64_t(a) + uint64_t(b));
  case METATE_GRID_SUB:
    return int64_t(uint64_t(a) - uint64_t(b));
  case METATE_GRID_MUL:
    return int64_t(uint64_t(a) * uint64_t(b));
  case METATE_GRID_MIN:
    return a < b ? a : b;
  case METATE_GRID_MAX:
    return a > b ? a : b;
  default:
    return divide(a, b, operation == METATE_GRID_CEIL_DIV);
  }
}

} // namespace

int64_t evaluate(const metate_grid_step *steps, uint32_t count, const metate_slot *slots) {
  int64_t stack[METATE_GRID_MAX_DEPTH] = {};
  uint32_t depth = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const metate_grid_step &step = steps[i];
    switch (step.operation) {
    case METATE_GRID_CONSTANT:
      stack[depth++] = step.value;
      break;
    case METATE_GRID_SLOT:
      stack[depth++] = slots[step.value].i;
      break;
    case METATE_GRID_SLOT_I32:
      stack[depth++] = int32_t(slots[step.value].u);
      break;
    default:
      --depth;
      stack[depth - 1] = apply(step.operation, stack[depth - 1], stack[depth]);
    }
  }
  return stack[0];
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
  uint64_t groups = wanted / group + (wanted % group != 0);
  if (groups > most / group)
    groups = most / group;
  return {groups ? uint32_t(groups) : 1, group};
}

} // namespace metate::grid
