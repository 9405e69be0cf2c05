// A driver in a library of its own, beside libmetate: what the two say to each other. The library exports functions that open
// devices (metate_cuda.h, ...), which hand their driver's table over; it may use `driver/driver.h` and `format/`, whose sources it
// compiles for itself. Both are of one version.
#ifndef METATE_RUNTIME_DRIVER_PLUGIN_H
#define METATE_RUNTIME_DRIVER_PLUGIN_H

#include "driver/driver.h"

namespace metate {

// Of the table: tables of other sizes are of other versions.
constexpr uint64_t pluginVersion = uint64_t(METATE_ABI_VERSION) << 32 | sizeof(Driver);

} // namespace metate

extern "C" {
// A device of the driver, with the hooks of metate_device_open; `options` go to the driver's open(). The table outlives the device.
METATE_API metate_status metate_device_open_plugin(const metate::Driver *driver, uint64_t version,
                                                   const void *options,
                                                   const metate_device_hooks *hooks,
                                                   metate_device **device);
// What the driver's open() made for the device; NULL: it is of another driver.
METATE_API void *metate_device_machine(const metate_device *device, const metate::Driver *driver);
// Of a driver that records: checks the arguments as a launch does and hands it to the driver with `into`. Nothing is copied: arrays and
// pools lie in the device's memory. The kernel's module and trees are busy from here on, until metate_kernel_forget.
METATE_API metate_status metate_kernel_record(metate_device *device, const metate_kernel *kernel,
                                              const metate_argument *arguments, uint32_t count,
                                              const metate_launch_options *options, void *into);
// The status and text of what a recorded launch left; of the arguments only trees are looked at.
METATE_API metate_status metate_kernel_report(const metate_kernel *kernel,
                                              const metate_argument *arguments, int32_t code,
                                              const metate_failure *failure);
METATE_API void metate_kernel_forget(const metate_kernel *kernel, const metate_argument *arguments);
// Sets the text of metate_last_error() and returns the status.
METATE_API metate_status metate_device_fail(metate_status status, const char *text);
}

#endif
