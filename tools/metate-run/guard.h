// Memory that ends where a page begins that nobody may touch: what writes or reads behind it is stopped, and named.
#ifndef METATE_RUN_GUARD_H
#define METATE_RUN_GUARD_H

#include "metate/metate_device.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace metate::tool {

class GuardedMemory {
public:
  /// `align` is a power of two. Throws Error when the system has no memory.
  GuardedMemory(const std::string &name, uint64_t bytes, uint64_t align);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory &) = delete;
  GuardedMemory &operator=(const GuardedMemory &) = delete;
  uint8_t *data() const { return begin; }

private:
  uint8_t *begin = nullptr;
  void *mapping = nullptr;
  uint64_t mapped = 0;
};

/// An allocator of such memory, for trees and pools. Outlives the device that is opened with its hooks.
class GuardedAllocator {
public:
  metate_allocator hooks() { return {this, allocate, release}; }

private:
  static void *allocate(void *self, size_t bytes, size_t align);
  static void release(void *self, void *pointer, size_t bytes, size_t align);
  std::mutex lock;
  std::map<void *, std::unique_ptr<GuardedMemory>> memory;
};

/// From here on a touch of a guard page ends the process with 1 and a message that names the memory.
void watchGuards();

} // namespace metate::tool

#endif
