// The runs of a graph as its table says, found a second way: by recursion, to the end or to a bound.
#ifndef METATE_TESTS_FUZZ_GRAPH_WALK_H
#define METATE_TESTS_FUZZ_GRAPH_WALK_H

#include "driver/grid/expression.h"
#include "driver/grid/section.h"

#include <vector>

namespace metate::fuzz {

class GraphWalk {
public:
  struct Run {
    const metate_grid_kernel *kernel;
    std::vector<metate_slot> slots;
  };

  // The host wants an end once there are `stopsAfter` runs; it is asked at the end of each turn.
  GraphWalk(const grid::Section &section, const metate_grid_kernel &kernel,
            const metate_slot *slots, uint64_t frame, uint32_t stopsAfter)
      : section(section), slots(slots), frame(frame), stopsAfter(stopsAfter) {
    if (kernel.node_count)
      walk(kernel.first_node, kernel.first_node + kernel.node_count);
    else
      found.push_back({&kernel, {slots, slots + kernel.slot_count}});
  }

  const std::vector<Run> &runs() const { return found; }
  bool isComplete() const { return steps <= mostSteps; }
  bool wasInterrupted() const { return stopped; }

private:
  static constexpr uint32_t mostSteps = 256;

  const grid::Section &section;
  const metate_slot *slots;
  uint64_t frame;
  uint32_t stopsAfter, steps = 0;
  std::vector<int64_t> turns;
  std::vector<Run> found;
  bool stopped = false;

  bool goesOn() const { return !stopped && isComplete(); }

  int64_t number(uint32_t index) const {
    const metate_grid_operand &operand = section.operands()[index];
    return grid::evaluate(section.steps() + operand.first_step, operand.step_count, slots,
                          {turns.data(), frame});
  }

  void walk(uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && goesOn();) {
      const metate_grid_node &node = section.nodes()[i++];
      if (++steps > mostSteps)
        return;
      if (node.kernel != METATE_NONE) {
        Run run{&section.kernels()[node.kernel], {}};
        for (uint32_t k = 0; k < run.kernel->slot_count; ++k)
          run.slots.push_back({.i = number(node.first_operand + k)});
        found.push_back(run);
        continue;
      }
      const int64_t count = number(node.first_operand);
      turns.push_back(0);
      for (; turns.back() < count && goesOn(); ++turns.back()) {
        walk(i, i + node.node_count);
        stopped |= isComplete() && found.size() >= stopsAfter;
      }
      turns.pop_back();
      i += node.node_count;
    }
  }
};

} // namespace metate::fuzz

#endif
