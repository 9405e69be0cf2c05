// Which addresses are a device's own: the pieces of memory that a driver gave out.
#ifndef METATE_RUNTIME_DRIVER_GRID_RANGES_H
#define METATE_RUNTIME_DRIVER_GRID_RANGES_H

#include "metate/metate.h"

namespace metate::grid {

struct Range {
  uint64_t begin = 0, end = 0;
  void *owner = nullptr; // the driver's own
};

// Disjoint ranges in the order of their addresses. Not for two threads at once.
class Ranges {
public:
  explicit Ranges(const metate_allocator &allocator) : memory(allocator) {}
  ~Ranges();
  Ranges(const Ranges &) = delete;
  Ranges &operator=(const Ranges &) = delete;

  // False when memory ran out.
  bool insert(Range range);
  // The range that an address lies in; an empty one.
  Range find(uint64_t address) const;
  bool holds(uint64_t address, uint64_t bytes) const;
  // Does one of them share a byte with [begin, end)?
  bool meets(uint64_t begin, uint64_t end) const;
  void remove(uint64_t begin);
  const Range *begin() const { return ranges; }
  const Range *end() const { return ranges + count; }

private:
  uint32_t firstAfter(uint64_t address) const; // the first that ends behind it

  metate_allocator memory;
  Range *ranges = nullptr;
  uint32_t count = 0, capacity = 0;
};

} // namespace metate::grid

#endif
