// What launching a kernel and counting its slots have in common.
#ifndef METATE_RUNTIME_KERNEL_RUN_H
#define METATE_RUNTIME_KERNEL_RUN_H

#include "kernel/profile.h"
#include "print/print.h"
#include "tree/staged.h"

namespace metate {

inline metate_status checkCount(const metate_kernel &kernel, const metate_argument *arguments,
                                uint32_t count) {
  if (count != kernel.info->argument_count)
    return fail(METATE_E_INVALID_ARGUMENT, "kernel '%s': expected %u arguments, got %u",
                kernel.name, kernel.info->argument_count, count);
  if (count && !arguments)
    return fail(METATE_E_NULL, "kernel '%s': arguments is NULL", kernel.name);
  return METATE_OK;
}

inline metate_status pack(const metate_kernel &kernel, const metate_argument *arguments,
                          metate_slot *slots) {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i)
    METATE_TRY(packArgument(kernel, i, arguments[i], slots));
  if (kernel.writes && (kernel.info->flags & METATE_KERNEL_NO_ALIAS))
    return checkAlias(kernel, arguments);
  return METATE_OK;
}

// The host of one launch; `workers` = 0: as many as the device has.
inline metate_host hostOf(const metate_kernel &kernel, uint32_t workers, metate_failure &failure,
                          const uint32_t *interrupt) {
  metate_device &device = *kernel.device;
  failure.code = METATE_OK;
  failure.text = METATE_NONE;
  failure.detail = nullptr;
  failure.rank = 0;
  metate_host host{};
  host.struct_size = sizeof host;
  host.max_workers = workers;
  if (!host.max_workers ||
      (device.executor.worker_count && device.executor.worker_count < host.max_workers))
    host.max_workers = device.executor.worker_count;
  // A worker's pool is for a number of them; an executor that does not say its number has one.
  if (kernel.perWorker && (!host.max_workers || !device.executor.parallel_for))
    host.max_workers = 1;
  host.executor_self = device.executor.self;
  host.parallel_for = device.executor.parallel_for;
  if (device.sink.text) {
    host.print_self = &device;
    host.print = print::deliver;
  }
  host.failure = &failure;
  host.interrupt = interrupt;
  return host;
}

// Runs the code of a kernel, where it is a function of this process without asking its driver.
inline int32_t enter(const metate_kernel &kernel, const metate_slot *slots, void *const *pools,
                     const metate_host &host) {
  if (kernel.entry)
    return kernel.entry(slots, pools, &host);
  const TaskTimes *times = host.tasks ? Profile::of(*host.tasks).times() : nullptr;
  return kernel.device->driver->launch(
      kernel.device->machine, *kernel.code,
      {kernel.number, kernel.info->slot_count, slots, pools, &host, times});
}

// A launch from its begin to its end, as its module and its trees count it.
inline void countRunning(const metate_kernel &kernel, const metate_argument *arguments,
                         void (Uses::*count)()) {
  (kernel.uses->*count)();
  for (uint32_t i = 0; kernel.trees && i < kernel.info->argument_count; ++i)
    if (kernel.arguments[i].kind == METATE_ARGUMENT_TREE)
      (arguments[i].value.tree->uses.*count)();
}
class Running {
public:
  Running(const metate_kernel &kernel, const metate_argument *arguments)
      : kernel(kernel), arguments(arguments) {
    countRunning(kernel, arguments, &Uses::begin);
  }
  ~Running() { countRunning(kernel, arguments, &Uses::end); }

private:
  const metate_kernel &kernel;
  const metate_argument *arguments;
};

// ---- of launch.cpp

// How many workers the trees of a launch have room for; 0: as many as there are.
uint32_t workerBound(const metate_kernel &kernel, const metate_argument *arguments);
// No tree is exhausted from here on.
metate_status clearSticky(const metate_kernel &kernel, const metate_argument *arguments);
// The status and text of a launch that ended.
metate_status report(const metate_kernel &kernel, const metate_argument *arguments, int32_t code,
                     const metate_failure &failure);

} // namespace metate

#endif
