// Opening, describing and closing devices, and the registry of bound memory.
#include "device/device.h"
#include "driver/plugin.h"

#include <cstdio>
#include <cstring>

namespace metate {

uint64_t BoundRanges::firstAfter(uint64_t begin) const {
  uint64_t low = 0, high = count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (ranges[middle].end > begin)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

bool BoundRanges::overlaps(uint64_t begin, uint64_t end) const {
  uint64_t index = firstAfter(begin);
  return index < count && ranges[index].begin < end;
}

bool BoundRanges::insert(const metate_allocator &allocator, uint64_t begin, uint64_t end,
                         bool *meets) {
  *meets = overlaps(begin, end);
  if (*meets)
    return true;
  if (count == capacity) {
    uint64_t larger = capacity ? capacity * 2 : 16;
    void *place = allocator.allocate(allocator.self, larger * sizeof(Range), alignof(Range));
    if (!place)
      return false;
    if (ranges) {
      memcpy(place, ranges, count * sizeof(Range));
      allocator.release(allocator.self, ranges, capacity * sizeof(Range), alignof(Range));
    }
    ranges = static_cast<Range *>(place);
    capacity = larger;
  }
  uint64_t index = firstAfter(begin);
  memmove(ranges + index + 1, ranges + index, (count - index) * sizeof(Range));
  ranges[index] = {begin, end};
  ++count;
  return true;
}

void BoundRanges::remove(uint64_t begin) {
  uint64_t index = firstAfter(begin);
  if (index == count || ranges[index].begin != begin)
    return;
  --count;
  memmove(ranges + index, ranges + index + 1, (count - index) * sizeof(Range));
}

void BoundRanges::clear(const metate_allocator &allocator) {
  if (ranges)
    allocator.release(allocator.self, ranges, capacity * sizeof(Range), alignof(Range));
  ranges = nullptr;
  count = capacity = 0;
}

static metate_status checkHooks(const char *function, const metate_device_hooks &hooks) {
  if (hooks.allocator && (!hooks.allocator->allocate || !hooks.allocator->release))
    return failNull(function, "hooks->allocator->allocate or ->release");
  if (hooks.executor && !hooks.executor->parallel_for)
    return failNull(function, "hooks->executor->parallel_for");
  if (hooks.print && !hooks.print->text)
    return failNull(function, "hooks->print->text");
  return METATE_OK;
}

static metate_status findDriver(const char *name, const Driver **found) {
  char known[128] = "none";
  size_t used = 0;
  for (const Driver *const *driver = drivers; *driver; ++driver) {
    if (strcmp((*driver)->name, name) == 0) {
      *found = *driver;
      return METATE_OK;
    }
    if (used < sizeof known)
      used += size_t(
          snprintf(known + used, sizeof known - used, "%s'%s'", used ? ", " : "", (*driver)->name));
  }
  return fail(METATE_E_UNSUPPORTED,
              "metate_device_open_driver: driver: expected one of this libmetate's (%s), got '%s'",
              known, name);
}

static metate_status openMachine(const metate_allocator &allocator, const Driver &driver,
                                 const void *options, Machine **machine) {
  void *place = allocator.allocate(allocator.self, sizeof(Machine), alignof(Machine));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes for a device",
                sizeof(Machine));
  auto *opened = new (place) Machine{allocator};
  metate_status status = driver.open(allocator, options, &opened->self);
  if (status != METATE_OK) {
    allocator.release(allocator.self, opened, sizeof(Machine), alignof(Machine));
    return status;
  }
  *machine = opened;
  return METATE_OK;
}

static void leaveMachine(const Driver &driver, Machine *machine) {
  if (machine->devices.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  driver.close(machine->self);
  metate_allocator allocator = machine->allocator;
  machine->~Machine();
  allocator.release(allocator.self, machine, sizeof(Machine), alignof(Machine));
}

// On the machine of another device, or on one that is opened for it.
static metate_status open(const char *function, const Driver &driver, const void *options,
                          Machine *machine, const metate_device_hooks &hooks,
                          metate_device **device) {
  METATE_TRY(checkHooks(function, hooks));
  metate_allocator allocator{nullptr, os::allocate, os::deallocate};
  if (hooks.allocator)
    allocator = *hooks.allocator;
  void *place = allocator.allocate(allocator.self, sizeof(metate_device), alignof(metate_device));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "%s: the allocator refused %zu bytes", function,
                sizeof(metate_device));
  metate_device *opened = new (place) metate_device();
  opened->allocator = allocator;
  opened->executor = hooks.executor ? *hooks.executor : metate_executor{};
  opened->sink = hooks.print ? *hooks.print : metate_print_sink{};
  opened->driver = &driver;
  metate_status status = METATE_OK;
  if (machine)
    machine->devices.fetch_add(1, std::memory_order_relaxed);
  else
    status = openMachine(allocator, driver, options, &machine);
  if (status != METATE_OK) {
    opened->~metate_device();
    allocator.release(allocator.self, opened, sizeof(metate_device), alignof(metate_device));
    return status;
  }
  opened->shared = machine;
  opened->machine = machine->self;
  *device = opened;
  return METATE_OK;
}

} // namespace metate

using namespace metate;

metate_status metate_device_open(const metate_device_hooks *hooks, metate_device **device) {
  METATE_REQUIRE(device);
  metate_device_hooks none{};
  none.struct_size = sizeof none;
  if (!hooks)
    hooks = &none;
  METATE_REQUIRE_STRUCT(hooks);
  return open(__func__, *drivers[0], nullptr, nullptr, *hooks, device);
}

metate_status metate_device_open_driver(const char *driver, const metate_device_hooks *hooks,
                                        metate_device **device) {
  METATE_REQUIRE(driver);
  METATE_REQUIRE(device);
  metate_device_hooks none{};
  none.struct_size = sizeof none;
  if (!hooks)
    hooks = &none;
  METATE_REQUIRE_STRUCT(hooks);
  const Driver *found = nullptr;
  METATE_TRY(findDriver(driver, &found));
  return open(__func__, *found, nullptr, nullptr, *hooks, device);
}

metate_status metate_device_open_beside(const metate_device *other,
                                        const metate_device_hooks *hooks, metate_device **device) {
  METATE_REQUIRE(other);
  METATE_REQUIRE(device);
  metate_device_hooks none{};
  none.struct_size = sizeof none;
  if (!hooks)
    hooks = &none;
  METATE_REQUIRE_STRUCT(hooks);
  return open(__func__, *other->driver, nullptr, other->shared, *hooks, device);
}

metate_status metate_device_open_plugin(const Driver *driver, uint64_t version, const void *options,
                                        const metate_device_hooks *hooks, metate_device **device) {
  METATE_REQUIRE(driver);
  METATE_REQUIRE(device);
  if (version != pluginVersion)
    return fail(
        METATE_E_VERSION,
        "the driver's library is of another version than libmetate: expected %llx, got %llx",
        show(pluginVersion), show(version));
  metate_device_hooks none{};
  none.struct_size = sizeof none;
  if (!hooks)
    hooks = &none;
  METATE_REQUIRE_STRUCT(hooks);
  return open(driver->name, *driver, options, nullptr, *hooks, device);
}

void *metate_device_machine(const metate_device *device, const Driver *driver) {
  return device->driver == driver ? device->machine : nullptr;
}

metate_status metate_device_fail(metate_status status, const char *text) {
  return fail(status, "%s", text);
}

metate_status metate_device_wait(metate_device *device) {
  METATE_REQUIRE(device);
  return device->driver->wait ? device->driver->wait(device->machine) : METATE_OK;
}

metate_status metate_device_describe(const metate_device *device, metate_device_info *info) {
  METATE_REQUIRE(device);
  METATE_REQUIRE_STRUCT(info);
  metate_device_info filled{};
  filled.struct_size = sizeof filled;
  filled.worker_count = device->executor.parallel_for ? device->executor.worker_count : 1;
  filled.live_objects = device->live.load(std::memory_order_relaxed);
  device->driver->describe(device->machine, &filled);
  *info = filled;
  return METATE_OK;
}

metate_status metate_device_inspect(const metate_device *device, metate_machine_info *info) {
  METATE_REQUIRE(device);
  METATE_REQUIRE_STRUCT(info);
  metate_machine_info filled{};
  filled.struct_size = sizeof filled;
  METATE_TRY(device->driver->inspect(device->machine, &filled));
  *info = filled;
  return METATE_OK;
}

metate_status metate_device_profile(metate_device *device, const metate_profiler *profiler) {
  METATE_REQUIRE(device);
  if (profiler)
    METATE_REQUIRE(profiler->launch);
  device->profiler = profiler ? *profiler : metate_profiler{};
  return METATE_OK;
}

metate_status metate_device_close(metate_device *device) {
  METATE_REQUIRE(device);
  uint32_t live = device->live.load(std::memory_order_acquire);
  if (live)
    return fail(METATE_E_BUSY,
                "metate_device_close: %u objects of the device are still open: close its trees, "
                "types, modules and memories first",
                live);
  metate_allocator allocator = device->allocator;
  device->bound.clear(allocator);
  device->spares.clear(*device->driver, device->machine);
  leaveMachine(*device->driver, device->shared);
  device->~metate_device();
  allocator.release(allocator.self, device, sizeof(metate_device), alignof(metate_device));
  return METATE_OK;
}
