// The tasks of a launch as one submission: a CUDA graph, for a kernel that is launched again and again. A launch into a stream takes some
// three microseconds of the host's for each task, more than many tasks take.
#ifndef METATE_RUNTIME_DRIVER_CUDA_SUBMISSION_H
#define METATE_RUNTIME_DRIVER_CUDA_SUBMISSION_H

#include "driver/cuda/cuda.h"
#include "metate/abi/grid.h"

namespace metate::cuda {

// A task, with what it is given.
struct TaskLaunch {
  void *function;
  uint32_t groups, group, sharedBytes;
  const metate_slot *slots;
  uint32_t slotCount;
  uint64_t frame; // its address
};

// Calls `use` with a KernelNode of the task.
template <typename Use> auto withNode(const TaskLaunch &task, Use use) {
  static constexpr metate_slot none{};
  uint64_t frame = task.frame;
  void *parameters[] = {const_cast<metate_slot *>(task.slotCount ? task.slots : &none), &frame};
  return use(KernelNode{task.function, task.groups, 1, 1, task.group, 1, 1, task.sharedBytes,
                        parameters, nullptr});
}

// Of one kernel. All within sessions of one device; release it in one. What the driver refuses is launched task by task.
class Submission {
public:
  // Before each launch: is the kernel launched often enough?
  bool countLaunch();
  // Is there a graph? Then a launch rewinds, offers its tasks in order, and submits.
  bool isMade() const { return executable != nullptr; }

  // Making the graph, of so many tasks and slots, all in all.
  metate_status begin(Cuda &cuda, uint32_t tasks, uint32_t slots);
  metate_status add(Cuda &cuda, const TaskLaunch &task);
  metate_status end(Cuda &cuda);

  void rewind() { next = nextSlot = 0; }
  // `fits`: false where the graph has other tasks; give it up then.
  metate_status offer(Cuda &cuda, const TaskLaunch &task, bool *fits);
  metate_status submit(Cuda &cuda, bool *fits);

  // There is no graph any more; one may be made again.
  void giveUp(Cuda &cuda);
  // Nor ever again.
  void decline(Cuda &cuda);

private:
  struct Node {
    void *node, *function;
    uint32_t groups, group;
    uint64_t frame;
  };
  bool isSame(const TaskLaunch &task) const;
  void keep(const TaskLaunch &task);
  metate_status refuse(Cuda &cuda, Result result, const char *function);

  void *graph = nullptr, *executable = nullptr;
  Node *nodes = nullptr;
  metate_slot *slots = nullptr; // of all nodes, one after the other
  uint32_t nodeCount = 0, slotCount = 0;
  uint32_t next = 0, nextSlot = 0;
  uint32_t launches = 0, graphs = 0; // until one was made; made so far
  bool isDeclined = false;
};

} // namespace metate::cuda

#endif
