// Memory objects: the device's allocator, reserved address space, or the caller's bytes.
#include "device/device.h"
#include "support/checked.h"

#include <cstdio>

struct metate_memory {
  metate_device *device;
  metate::Region region;
};

using namespace metate;

// What a driver refused, with the function that was called.
static metate_status failBy(const char *function, metate_status status) {
  char text[256];
  snprintf(text, sizeof text, "%s", metate_last_error());
  return fail(status, "%s: %s", function, text);
}

static metate_status publish(metate_device *device, const Region &region, metate_memory **memory) {
  auto *made = device->make<metate_memory>(metate_memory{device, region});
  if (!made) {
    device->driver->release(device->machine, region);
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes", sizeof(metate_memory));
  }
  device->live.fetch_add(1, std::memory_order_relaxed);
  *memory = made;
  return METATE_OK;
}

metate_status metate_memory_create(metate_device *device, uint64_t bytes, uint64_t align,
                                   metate_memory **memory) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(memory);
  if (!align)
    align = METATE_BLOCK_ALIGN;
  if (!isPowerOfTwo(align) || align > (uint64_t(1) << 30))
    return fail(METATE_E_INVALID_ARGUMENT,
                "metate_memory_create: align: expected a power of two up to 2^30, got %llu",
                show(align));
  Region region;
  metate_status status = device->driver->create(device->machine, bytes, align, &region);
  if (status != METATE_OK && device->spares.clear(*device->driver, device->machine))
    status = device->driver->create(device->machine, bytes, align, &region);
  return status == METATE_OK ? publish(device, region, memory) : failBy(__func__, status);
}

metate_status metate_memory_reserve(metate_device *device, uint64_t bytes, metate_memory **memory) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(memory);
  Region region;
  metate_status status = device->driver->reserve(device->machine, bytes, &region);
  if (status != METATE_OK && device->spares.clear(*device->driver, device->machine))
    status = device->driver->reserve(device->machine, bytes, &region);
  return status == METATE_OK ? publish(device, region, memory) : failBy(__func__, status);
}

metate_status metate_memory_wrap(metate_device *device, void *data, uint64_t bytes,
                                 metate_memory **memory) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(data);
  METATE_REQUIRE(memory);
  Region region;
  metate_status status = device->driver->wrap(device->machine, data, bytes, &region);
  return status == METATE_OK ? publish(device, region, memory) : failBy(__func__, status);
}

metate_status metate_memory_describe(const metate_memory *memory, metate_memory_info *info) {
  METATE_REQUIRE(memory);
  METATE_REQUIRE_STRUCT(info);
  info->elsewhere = !memory->region.host;
  info->data = reinterpret_cast<void *>(uintptr_t(memory->region.address));
  info->bytes = memory->region.bytes;
  return METATE_OK;
}

static metate_status checkSpan(const char *function, const metate_memory *memory, uint64_t offset,
                               uint64_t bytes) {
  if (inRange(offset, bytes, memory->region.bytes))
    return METATE_OK;
  return fail(METATE_E_OUT_OF_RANGE, "%s: offset %llu and %llu bytes leave the memory's %llu bytes",
              function, show(offset), show(bytes), show(memory->region.bytes));
}

metate_status metate_memory_read(const metate_memory *memory, uint64_t offset, void *to,
                                 uint64_t bytes) {
  METATE_REQUIRE(memory);
  METATE_REQUIRE(to);
  METATE_TRY(checkSpan(__func__, memory, offset, bytes));
  return readRegion(*memory->device, memory->region, offset, to, bytes);
}

metate_status metate_memory_write(metate_memory *memory, uint64_t offset, const void *from,
                                  uint64_t bytes) {
  METATE_REQUIRE(memory);
  METATE_REQUIRE(from);
  METATE_TRY(checkSpan(__func__, memory, offset, bytes));
  return writeRegion(*memory->device, memory->region, offset, from, bytes);
}

metate_status metate_memory_destroy(metate_memory *memory) {
  METATE_REQUIRE(memory);
  metate_device *device = memory->device;
  uint64_t begin = memory->region.address;
  {
    os::Lock lock(device->boundMutex);
    if (device->bound.overlaps(begin, begin + memory->region.bytes))
      return fail(METATE_E_BUSY, "metate_memory_destroy: a tree is still bound in the memory: "
                                 "unbind it first");
  }
  device->driver->release(device->machine, memory->region);
  device->drop(memory);
  device->live.fetch_sub(1, std::memory_order_release);
  return METATE_OK;
}
