// Walking through a graph's nodes. They were verified: bodies lie within what is around them.
#include "driver/grid/runs.h"

#include "driver/grid/expression.h"

namespace metate::grid {

Runs::Runs(const Section &section, const metate_grid_kernel &kernel, const metate_slot *slots,
           uint64_t frame, const uint32_t *interrupt)
    : section(section), kernel(kernel), slots(slots), frame(frame), interrupt(interrupt),
      at(kernel.first_node), isDone(kernel.node_count != 0) {}

int64_t Runs::number(uint32_t operand) const {
  const metate_grid_operand &of = section.operands()[operand];
  return evaluate(section.steps() + of.first_step, of.step_count, slots, {turns, frame});
}

// Where a loop's body ends, its next turn begins, or what stands behind it. False: the host wants an end.
bool Runs::goRound() {
  while (depth && at == loops[depth - 1].end) {
    if (interrupt && __atomic_load_n(interrupt, __ATOMIC_RELAXED))
      return false;
    if (++turns[depth - 1] < loops[depth - 1].count)
      at = loops[depth - 1].begin;
    else
      --depth;
  }
  return true;
}

bool Runs::next(Run *run) {
  if (!isDone) {
    isDone = true;
    *run = {&kernel, slots};
    return true;
  }
  const uint32_t end = kernel.first_node + kernel.node_count;
  while (!stopped) {
    stopped = !goRound();
    if (stopped || at == end)
      return false;
    const metate_grid_node &node = section.nodes()[at++];
    if (node.kernel == METATE_NONE) {
      const int64_t count = number(node.first_operand);
      if (count > 0) {
        loops[depth] = {at, at + node.node_count, count};
        turns[depth++] = 0;
      } else {
        at += node.node_count;
      }
      continue;
    }
    const metate_grid_kernel &inner = section.kernels()[node.kernel];
    for (uint32_t i = 0; i < inner.slot_count; ++i)
      room[i].i = number(node.first_operand + i);
    *run = {&inner, room};
    return true;
  }
  return false;
}

} // namespace metate::grid
