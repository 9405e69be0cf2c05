// The allocator of a Python program's devices. Large memory that a launch gives back is kept for the next launch that asks for as much:
// new pages are zeroed by the system, which took a twelfth of a launch of mpm3d's scatter. Meanwhile the system may take the pages
// where others want them. It must not know what the memory is for.
#ifndef METATE_BINDINGS_RUNTIME_KEPTMEMORY_H
#define METATE_BINDINGS_RUNTIME_KEPTMEMORY_H

#include <cstddef>
#include <mutex>

#include "metate/metate_device.h"

namespace metate::python {

class KeptMemory {
public:
  KeptMemory() = default;
  KeptMemory(const KeptMemory &) = delete;
  KeptMemory &operator=(const KeptMemory &) = delete;
  ~KeptMemory();

  /// What they return lives until it is released; the object must live as long.
  metate_allocator hooks() { return {this, &allocate, &release}; }

private:
  /// Smaller memory is the C library's alone, larger memory is the system's again at once.
  static constexpr size_t leastBytes = size_t(16) << 20, mostBytes = size_t(256) << 20;
  static constexpr size_t mostBlocks = 4;

  static void *allocate(void *self, size_t bytes, size_t align);
  static void release(void *self, void *pointer, size_t bytes, size_t align);
  void *find(size_t bytes, size_t align);
  bool keep(void *pointer, size_t bytes);
  bool clear();

  struct Block {
    void *data;
    size_t bytes;
  };
  std::mutex mutex;
  Block kept[mostBlocks]; // the one that was given back last stands last
  size_t count = 0;
};

} // namespace metate::python

#endif
