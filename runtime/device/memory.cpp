// Memory objects: the device's allocator, reserved address space, or the caller's bytes.
#include "device/device.h"
#include "support/checked.h"

#include <cstring>

enum class Origin { allocated, reserved, wrapped };

struct metate_memory {
  metate_device *device;
  uint8_t *data;
  uint64_t bytes;
  uint64_t align;
  Origin origin;
};

using namespace metate;

static metate_status publish(metate_device *device, const metate_memory &value,
                             metate_memory **memory) {
  metate_memory *made = device->make<metate_memory>(value);
  if (!made)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes", sizeof(metate_memory));
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
  void *data = device->allocate(bytes, align);
  if (!data)
    return fail(METATE_E_OUT_OF_MEMORY,
                "metate_memory_create: the allocator refused %llu bytes aligned to %llu",
                show(bytes), show(align));
  metate_status status = publish(
      device, {device, static_cast<uint8_t *>(data), bytes, align, Origin::allocated}, memory);
  if (status != METATE_OK)
    device->release(data, bytes, align);
  return status;
}

metate_status metate_memory_reserve(metate_device *device, uint64_t bytes, metate_memory **memory) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(memory);
  Checked rounded = Checked(bytes ? bytes : 1).alignedTo(os::pageBytes());
  void *data = rounded.fitsIn(SIZE_MAX) ? os::reserve(rounded.value()) : nullptr;
  if (!data)
    return fail(METATE_E_OUT_OF_MEMORY, "metate_memory_reserve: the system refused %llu bytes",
                show(bytes));
  metate_status status = publish(
      device, {device, static_cast<uint8_t *>(data), rounded.value(), 0, Origin::reserved}, memory);
  if (status != METATE_OK)
    os::release(data, rounded.value());
  return status;
}

metate_status metate_memory_wrap(metate_device *device, void *data, uint64_t bytes,
                                 metate_memory **memory) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(data);
  METATE_REQUIRE(memory);
  return publish(device, {device, static_cast<uint8_t *>(data), bytes, 0, Origin::wrapped}, memory);
}

metate_status metate_memory_describe(const metate_memory *memory, metate_memory_info *info) {
  METATE_REQUIRE(memory);
  METATE_REQUIRE_STRUCT(info);
  info->reserved = 0;
  info->data = memory->data;
  info->bytes = memory->bytes;
  return METATE_OK;
}

static metate_status checkSpan(const char *function, const metate_memory *memory, uint64_t offset,
                               uint64_t bytes) {
  if (inRange(offset, bytes, memory->bytes))
    return METATE_OK;
  return fail(METATE_E_OUT_OF_RANGE, "%s: offset %llu and %llu bytes leave the memory's %llu bytes",
              function, show(offset), show(bytes), show(memory->bytes));
}

metate_status metate_memory_read(const metate_memory *memory, uint64_t offset, void *to,
                                 uint64_t bytes) {
  METATE_REQUIRE(memory);
  METATE_REQUIRE(to);
  METATE_TRY(checkSpan(__func__, memory, offset, bytes));
  memcpy(to, memory->data + offset, bytes);
  return METATE_OK;
}

metate_status metate_memory_write(metate_memory *memory, uint64_t offset, const void *from,
                                  uint64_t bytes) {
  METATE_REQUIRE(memory);
  METATE_REQUIRE(from);
  METATE_TRY(checkSpan(__func__, memory, offset, bytes));
  memcpy(memory->data + offset, from, bytes);
  return METATE_OK;
}

metate_status metate_memory_destroy(metate_memory *memory) {
  METATE_REQUIRE(memory);
  metate_device *device = memory->device;
  uint64_t begin = reinterpret_cast<uintptr_t>(memory->data);
  {
    os::Lock lock(device->boundMutex);
    if (device->bound.overlaps(begin, begin + memory->bytes))
      return fail(METATE_E_BUSY, "metate_memory_destroy: a tree is still bound in the memory: "
                                 "unbind it first");
  }
  if (memory->origin == Origin::allocated)
    device->release(memory->data, memory->bytes, memory->align);
  else if (memory->origin == Origin::reserved)
    os::release(memory->data, memory->bytes);
  device->drop(memory);
  device->live.fetch_sub(1, std::memory_order_release);
  return METATE_OK;
}
