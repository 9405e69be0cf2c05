#include "driver/grid/times.h"

#include "driver/grid/expression.h"
#include "driver/grid/frame.h"
#include "driver/grid/runs.h"

namespace metate::grid {

static int64_t iterationsOf(const Section &section, const metate_grid_task &task,
                            const metate_slot *slots) {
  if (task.group == 1)
    return 1;
  int64_t iterations = evaluate(section.steps() + task.first_step, task.step_count, slots);
  return iterations > 0 ? iterations : 0;
}

static constexpr uint32_t mostTasks = 1 << 16;

uint32_t Times::tasks(const Section &section, const metate_grid_kernel &kernel) const {
  uint32_t count = 0, runCount = 0;
  if (!launch.times)
    return 0;
  Runs runs(section, kernel, launch.slots, 0, interruptOf(launch.host));
  for (Run run; runs.next(&run); count += run.kernel->task_count)
    if (++runCount > mostTasks || count + uint64_t(run.kernel->task_count) > mostTasks)
      return 0;
  return runs.wereInterrupted() ? 0 : count;
}

// The first one of a kernel, or of all kernels of a graph: from there its tasks are numbered.
static uint32_t firstTaskOf(const Section &section, const metate_grid_kernel &kernel) {
  uint32_t first = kernel.node_count ? UINT32_MAX : kernel.first_task;
  for (uint32_t i = 0; i < kernel.node_count; ++i) {
    const metate_grid_node &node = section.nodes()[kernel.first_node + i];
    if (node.kernel != METATE_NONE && section.kernels()[node.kernel].first_task < first)
      first = section.kernels()[node.kernel].first_task;
  }
  return first;
}

Times::~Times() {
  if (list)
    allocator.release(allocator.self, list, count * sizeof(uint64_t), alignof(uint64_t));
}

metate_status Times::allocate(uint32_t tasks) {
  if (!tasks)
    return METATE_OK;
  void *place = allocator.allocate(allocator.self, (tasks + uint64_t(1)) * sizeof(uint64_t),
                                   alignof(uint64_t));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for the times of %u tasks",
                tasks);
  list = static_cast<uint64_t *>(place);
  count = tasks + 1;
  return METATE_OK;
}

void Times::tell(const Section &section, const metate_grid_kernel &kernel) const {
  const uint32_t first = firstTaskOf(section, kernel);
  uint32_t at = 0;
  Runs runs(section, kernel, launch.slots, 0, nullptr);
  for (Run run; list && runs.next(&run);)
    for (uint32_t i = 0; i < run.kernel->task_count; ++i, ++at) {
      const uint32_t number = run.kernel->first_task + i;
      const metate_grid_task &task = section.tasks()[number];
      launch.times->task(launch.times->self, number - first, task.line,
                         iterationsOf(section, task, run.slots), list[count - 1] - list[at],
                         list[count - 1] - list[at + 1]);
    }
}

} // namespace metate::grid
