// One launch that a profiler is told of. It must not change what the launch does.
#ifndef METATE_RUNTIME_KERNEL_PROFILE_H
#define METATE_RUNTIME_KERNEL_PROFILE_H

#include "kernel/kernel.h"

namespace metate {

class Profile {
public:
  // The launch begins now.
  explicit Profile(const metate_kernel &kernel);
  // What the entry tells of its tasks to; NULL: the profiler does not ask. It lives as long as this object.
  const metate_task_hooks *tasks() const { return kernel.device->profiler.task ? &hooks : nullptr; }
  // Of the hooks of a launch, which are always a profile's.
  static const Profile &of(const metate_task_hooks &hooks) {
    return *static_cast<const Profile *>(hooks.self);
  }
  // What a driver tells of tasks to, where they do not run in this process.
  const TaskTimes *times() const { return &onDevice; }
  // The launch has ended.
  void end(const metate_argument *arguments) const;

private:
  static void beginTask(void *self, uint32_t task, uint32_t line, int64_t iterations);
  static void endTask(void *self, uint32_t task);
  static void tellTask(void *self, uint32_t task, uint32_t line, int64_t iterations, uint64_t begun,
                       uint64_t ended);

  const metate_kernel &kernel;
  metate_task_hooks hooks;
  TaskTimes onDevice;
  uint64_t told = 0; // when a driver began to tell
  uint64_t begin;
  uint64_t taskBegin = 0; // of the task that runs: they follow one another
  uint32_t taskLine = 0;
  int64_t taskIterations = 0;
};

} // namespace metate

#endif
