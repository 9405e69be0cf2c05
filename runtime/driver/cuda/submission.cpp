// Graphs of a chain of kernels. Nodes are given new parameters where a launch has others than the one before.
#include "driver/cuda/submission.h"

#include <cstring>

namespace metate::cuda {

// Making a graph takes as long as some twenty tasks do.
static constexpr uint32_t launchesBefore = 8;
// A graph of the host's may have another number of turns each time.
static constexpr uint32_t mostGraphs = 4;

template <typename T> static T *allocate(Cuda &cuda, uint32_t count) {
  return static_cast<T *>(
      cuda.allocator.allocate(cuda.allocator.self, count * sizeof(T), alignof(T)));
}

template <typename T> static void giveBack(Cuda &cuda, T *&list, uint32_t count) {
  if (list)
    cuda.allocator.release(cuda.allocator.self, list, count * sizeof(T), alignof(T));
  list = nullptr;
}

bool Submission::countLaunch() {
  if (isDeclined || isMade())
    return isMade();
  return ++launches > launchesBefore;
}

void Submission::giveUp(Cuda &cuda) {
  if (executable)
    cuda.api.graphExecutableDestroy(executable);
  if (graph)
    cuda.api.graphDestroy(graph);
  graph = executable = nullptr;
  giveBack(cuda, nodes, nodeCount);
  giveBack(cuda, slots, slotCount);
  nodeCount = slotCount = launches = 0;
  isDeclined = isDeclined || graphs >= mostGraphs;
}

void Submission::decline(Cuda &cuda) {
  isDeclined = true;
  giveUp(cuda);
}

metate_status Submission::refuse(Cuda &cuda, Result result, const char *function) {
  decline(cuda);
  return isFatal(result) ? check(cuda, result, function) : METATE_OK;
}

// ---- making it

metate_status Submission::begin(Cuda &cuda, uint32_t taskCount, uint32_t slotCount) {
  this->slotCount = slotCount;
  nodeCount = taskCount;
  ++graphs;
  nodes = allocate<Node>(cuda, nodeCount);
  slots = slotCount ? allocate<metate_slot>(cuda, slotCount) : nullptr;
  if (!nodes || (slotCount && !slots)) {
    decline(cuda);
    return METATE_OK;
  }
  rewind();
  Result result = cuda.api.graphCreate(&graph, 0);
  if (result == success)
    return METATE_OK;
  graph = nullptr;
  return refuse(cuda, result, "cuGraphCreate");
}

void Submission::keep(const TaskLaunch &task) {
  Node &node = nodes[next++];
  node.function = task.function;
  node.groups = task.groups;
  node.group = task.group;
  node.frame = task.frame;
  if (task.slotCount)
    memcpy(slots + nextSlot, task.slots, task.slotCount * sizeof(metate_slot));
  nextSlot += task.slotCount;
}

metate_status Submission::add(Cuda &cuda, const TaskLaunch &task) {
  if (graph && (next == nodeCount || task.slotCount > slotCount - nextSlot))
    giveUp(cuda); // more tasks than were counted
  if (!graph)
    return METATE_OK;
  void *before = next ? nodes[next - 1].node : nullptr;
  Result result = withNode(task, [&](const KernelNode &kernel) {
    return cuda.api.graphAddKernel(&nodes[next].node, graph, &before, next != 0, &kernel);
  });
  if (result != success)
    return refuse(cuda, result, "cuGraphAddKernelNode");
  keep(task);
  return METATE_OK;
}

metate_status Submission::end(Cuda &cuda) {
  if (next != nodeCount) // the host wanted an end
    giveUp(cuda);
  if (!graph)
    return METATE_OK;
  Result result = cuda.api.graphInstantiate(&executable, graph, 0);
  if (result == success)
    return METATE_OK;
  executable = nullptr;
  return refuse(cuda, result, "cuGraphInstantiateWithFlags");
}

// ---- launching it

bool Submission::isSame(const TaskLaunch &task) const {
  const Node &node = nodes[next];
  return node.groups == task.groups && node.group == task.group && node.frame == task.frame &&
         (!task.slotCount ||
          !memcmp(slots + nextSlot, task.slots, task.slotCount * sizeof(metate_slot)));
}

metate_status Submission::offer(Cuda &cuda, const TaskLaunch &task, bool *fits) {
  *fits = next < nodeCount && nodes[next].function == task.function;
  if (!*fits)
    return METATE_OK;
  if (!isSame(task)) {
    Result result = withNode(task, [&](const KernelNode &kernel) {
      return cuda.api.graphSetKernel(executable, nodes[next].node, &kernel);
    });
    *fits = result == success;
    if (!*fits)
      return refuse(cuda, result, "cuGraphExecKernelNodeSetParams");
  }
  keep(task);
  return METATE_OK;
}

metate_status Submission::submit(Cuda &cuda, bool *fits) {
  *fits = next == nodeCount;
  if (!*fits)
    return METATE_OK;
  Result result = cuda.api.graphLaunch(executable, cuda.stream);
  *fits = result == success;
  return *fits ? METATE_OK : refuse(cuda, result, "cuGraphLaunch");
}

} // namespace metate::cuda
