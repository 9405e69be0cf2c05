// Opening, describing and closing devices, and the registry of bound memory.
#include "device/device.h"

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

static metate_status checkHooks(const metate_device_hooks &hooks) {
  if (hooks.allocator && (!hooks.allocator->allocate || !hooks.allocator->release))
    return failNull("metate_device_open", "hooks->allocator->allocate or ->release");
  if (hooks.executor && !hooks.executor->parallel_for)
    return failNull("metate_device_open", "hooks->executor->parallel_for");
  if (hooks.print && !hooks.print->text)
    return failNull("metate_device_open", "hooks->print->text");
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
  METATE_TRY(checkHooks(*hooks));
  metate_allocator allocator{nullptr, os::allocate, os::deallocate};
  if (hooks->allocator)
    allocator = *hooks->allocator;
  void *place = allocator.allocate(allocator.self, sizeof(metate_device), alignof(metate_device));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "metate_device_open: the allocator refused %zu bytes",
                sizeof(metate_device));
  metate_device *opened = new (place) metate_device();
  opened->allocator = allocator;
  opened->executor = hooks->executor ? *hooks->executor : metate_executor{};
  opened->sink = hooks->print ? *hooks->print : metate_print_sink{};
  opened->machine = cpu::detect();
  *device = opened;
  return METATE_OK;
}

metate_status metate_device_describe(const metate_device *device, metate_device_info *info) {
  METATE_REQUIRE(device);
  METATE_REQUIRE_STRUCT(info);
  metate_device_info filled{};
  filled.struct_size = sizeof filled;
  filled.arch = device->machine.arch;
  filled.level = device->machine.level;
  filled.worker_count = device->executor.parallel_for ? device->executor.worker_count : 1;
  filled.live_objects = device->live.load(std::memory_order_relaxed);
  cpu::nameOf(device->machine, filled.name, sizeof filled.name);
  *info = filled;
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
  device->~metate_device();
  allocator.release(allocator.self, device, sizeof(metate_device), alignof(metate_device));
  return METATE_OK;
}
