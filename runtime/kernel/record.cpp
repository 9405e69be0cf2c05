// Launches that a driver records: for a command buffer of the application's, which runs them later.
#include "driver/plugin.h"
#include "kernel/pools.h"

using namespace metate;

namespace {

// Of a recording nothing is copied: kernels reach each array where it is.
metate_status checkReached(const metate_kernel &kernel, const metate_argument *arguments) {
  const metate_device &device = *kernel.device;
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (kernel.arguments[i].kind != METATE_ARGUMENT_NDARRAY)
      continue;
    Extent extent = extentOf(arguments[i]);
    if (extent.begin == extent.end ||
        device.driver->reaches(device.machine, extent.begin, extent.end - extent.begin))
      continue;
    return fail(METATE_E_INVALID_ARGUMENT,
                "kernel '%s' argument %u '%s': expected memory of the device's, got the host's: a "
                "recording copies nothing",
                kernel.name, i, kernel.argumentName(i));
  }
  return METATE_OK;
}

// A pool of the device's allocator would live as long as this call.
metate_status checkPools(const metate_kernel &kernel, const metate_launch_options *options) {
  uint32_t given = 0;
  for (uint32_t i = 0; options && i < options->pool_count; ++i)
    given += options->pools && options->pools[i].data != nullptr;
  if (given >= kernel.poolCount)
    return METATE_OK;
  return fail(METATE_E_INVALID_ARGUMENT,
              "kernel '%s' plans %u pools: expected memory for each in metate_launch_options, got "
              "it for %u: a recording needs them until it is closed",
              kernel.name, kernel.poolCount, given);
}

metate_status recordPacked(const metate_kernel &kernel, const metate_argument *arguments,
                           const metate_slot *slots, const metate_launch_options *options,
                           void *into) {
  METATE_TRY(checkReached(kernel, arguments));
  METATE_TRY(checkPools(kernel, options));
  metate_failure failure;
  metate_host host = hostOf(kernel, workerBound(kernel, arguments), failure, nullptr);
  Pools pools(kernel);
  METATE_TRY(pools.take(arguments, slots, host.max_workers, options));
  if (kernel.activates)
    METATE_TRY(clearSticky(kernel, arguments));
  int32_t code = kernel.device->driver->launch(
      kernel.device->machine, *kernel.code,
      {kernel.number, kernel.info->slot_count, slots, pools.addresses(), &host, nullptr, into});
  return metate_status(code);
}

} // namespace

metate_status metate_kernel_record(metate_device *device, const metate_kernel *kernel,
                                   const metate_argument *arguments, uint32_t count,
                                   const metate_launch_options *options, void *into) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(kernel);
  METATE_REQUIRE(into);
  if (options)
    METATE_REQUIRE_STRUCT(options);
  METATE_TRY(checkCount(*kernel, arguments, count));
  METATE_TRY(checkCode(*kernel));
  if (kernel->device != device)
    return fail(METATE_E_INVALID_ARGUMENT,
                "kernel '%s': expected one of a module that was opened on the recording's device",
                kernel->name);
  Array<metate_slot> slots(*device);
  METATE_TRY(slots.allocate(kernel->info->slot_count));
  METATE_TRY(pack(*kernel, arguments, slots.data()));
  countRunning(*kernel, arguments, &Uses::begin);
  metate_status status = recordPacked(*kernel, arguments, slots.data(), options, into);
  if (status != METATE_OK)
    countRunning(*kernel, arguments, &Uses::end);
  return status;
}

metate_status metate_kernel_report(const metate_kernel *kernel, const metate_argument *arguments,
                                   int32_t code, const metate_failure *failure) {
  METATE_REQUIRE(kernel);
  METATE_REQUIRE(failure);
  metate_status status = report(*kernel, arguments, code, *failure);
  if (status == METATE_E_CAPACITY && kernel->activates)
    clearSticky(*kernel, arguments); // whoever runs it again asks again; the text is this call's
  return status;
}

void metate_kernel_forget(const metate_kernel *kernel, const metate_argument *arguments) {
  countRunning(*kernel, arguments, &Uses::end);
}
