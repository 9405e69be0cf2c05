// A device: the host's hooks, what lives on it, and which memory is bound. There are no globals, so
// whatever must be known across objects is known here.
#ifndef METATE_RUNTIME_DEVICE_DEVICE_H
#define METATE_RUNTIME_DEVICE_DEVICE_H

#include "device/spares.h"
#include "support/status.h"

#include <atomic>
#include <new>
#include <utility>

namespace metate {

// The byte ranges of live trees, sorted, disjoint.
class BoundRanges {
public:
  // False when memory ran out; *overlaps says whether [begin, end) meets a range already there.
  bool insert(const metate_allocator &allocator, uint64_t begin, uint64_t end, bool *overlaps);
  void remove(uint64_t begin);
  bool overlaps(uint64_t begin, uint64_t end) const;
  void clear(const metate_allocator &allocator);

private:
  struct Range {
    uint64_t begin, end;
  };
  // The first range that ends after `begin`.
  uint64_t firstAfter(uint64_t begin) const;

  Range *ranges = nullptr;
  uint64_t count = 0;
  uint64_t capacity = 0;
};

// What a driver's open() made, of the devices that share it; the last one closes it.
struct Machine {
  metate_allocator allocator; // of the device that it was opened for
  void *self = nullptr;       // the driver's own
  std::atomic<uint32_t> devices{1};
};

} // namespace metate

struct metate_device {
  metate_allocator allocator;
  metate_executor executor;
  metate_print_sink sink;
  metate_profiler profiler{}; // launch NULL: nobody asks
  const metate::Driver *driver = nullptr;
  metate::Machine *shared = nullptr;
  void *machine = nullptr; // the driver's own, shared->self
  std::atomic<uint32_t> live{0};
  metate::os::Mutex printMutex;
  metate::os::Mutex boundMutex;
  metate::BoundRanges bound; // guarded by boundMutex
  metate::os::Mutex stagedMutex{
      /*recursive=*/true}; // held while the host works on a copy of memory that lies elsewhere
  metate::Spares spares;

  void *allocate(uint64_t bytes, uint64_t align) {
    return allocator.allocate(allocator.self, bytes ? bytes : 1, align);
  }
  void release(void *pointer, uint64_t bytes, uint64_t align) {
    if (pointer)
      allocator.release(allocator.self, pointer, bytes ? bytes : 1, align);
  }
  // Memory of the driver's for a launch, and its end; a region without bytes was none.
  metate_status borrow(uint64_t bytes, uint64_t align, metate::Region *region) {
    return spares.take(*driver, machine, bytes, align, region);
  }
  void giveBack(const metate::Region &region) {
    if (region.bytes)
      spares.give(*driver, machine, region);
  }
  // NULL when the allocator refuses.
  template <typename T, typename... Arguments> T *make(Arguments &&...arguments) {
    void *place = allocate(sizeof(T), alignof(T));
    return place ? new (place) T(std::forward<Arguments>(arguments)...) : nullptr;
  }
  template <typename T> void drop(T *object) {
    if (!object)
      return;
    object->~T();
    release(object, sizeof(T), alignof(T));
  }
};

namespace metate {

// An array of plain values in the device's memory, freed at the end of its scope.
template <typename T> class Array {
public:
  explicit Array(metate_device &device) : device(device) {}
  ~Array() { device.release(items, length * sizeof(T), alignof(T)); }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  // Zero-filled; a status with a text when the allocator refuses.
  metate_status allocate(uint64_t count) {
    uint64_t bytes = 0;
    void *place = nullptr;
    if (!__builtin_mul_overflow(count, sizeof(T), &bytes))
      place = device.allocate(bytes, alignof(T));
    if (!place)
      return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %llu items of %zu bytes",
                  static_cast<unsigned long long>(count), sizeof(T));
    __builtin_memset(place, 0, bytes);
    items = static_cast<T *>(place);
    length = count;
    return METATE_OK;
  }
  void clear() {
    device.release(items, length * sizeof(T), alignof(T));
    items = nullptr;
    length = 0;
  }
  T *data() { return items; }
  const T *data() const { return items; }
  uint64_t size() const { return length; }
  T &operator[](uint64_t index) { return items[index]; }
  const T &operator[](uint64_t index) const { return items[index]; }
  T *begin() { return items; }
  T *end() { return items + length; }

private:
  metate_device &device;
  T *items = nullptr;
  uint64_t length = 0;
};

// Bytes of a device's memory, wherever they lie.
inline metate_status readRegion(const metate_device &device, const Region &region, uint64_t offset,
                                void *to, uint64_t bytes) {
  if (!region.host)
    return device.driver->read(device.machine, region.address + offset, to, bytes);
  __builtin_memcpy(to, region.host + offset, bytes);
  return METATE_OK;
}
inline metate_status writeRegion(const metate_device &device, const Region &region, uint64_t offset,
                                 const void *from, uint64_t bytes) {
  if (!region.host)
    return device.driver->write(device.machine, region.address + offset, from, bytes);
  __builtin_memcpy(region.host + offset, from, bytes);
  return METATE_OK;
}

inline unsigned long long show(uint64_t value) { return value; }

} // namespace metate

#endif
