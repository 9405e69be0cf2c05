// A sorted array of ranges.
#include "driver/grid/ranges.h"

#include <cstring>

namespace metate::grid {

Ranges::~Ranges() {
  if (ranges)
    memory.release(memory.self, ranges, capacity * sizeof(Range), alignof(Range));
}

uint32_t Ranges::firstAfter(uint64_t address) const {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (ranges[middle].end > address)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

bool Ranges::insert(Range range) {
  if (count == capacity) {
    uint32_t larger = capacity ? 2 * capacity : 16;
    void *place = memory.allocate(memory.self, larger * sizeof(Range), alignof(Range));
    if (!place)
      return false;
    if (ranges) {
      memcpy(place, ranges, count * sizeof(Range));
      memory.release(memory.self, ranges, capacity * sizeof(Range), alignof(Range));
    }
    ranges = static_cast<Range *>(place);
    capacity = larger;
  }
  uint32_t index = firstAfter(range.begin);
  memmove(ranges + index + 1, ranges + index, (count - index) * sizeof(Range));
  ranges[index] = range;
  ++count;
  return true;
}

Range Ranges::find(uint64_t address) const {
  uint32_t index = firstAfter(address);
  return index < count && ranges[index].begin <= address ? ranges[index] : Range();
}

bool Ranges::holds(uint64_t address, uint64_t bytes) const {
  Range found = find(address);
  return found.end && bytes <= found.end - address;
}

bool Ranges::meets(uint64_t begin, uint64_t end) const {
  uint32_t index = firstAfter(begin);
  return index < count && ranges[index].begin < end;
}

void Ranges::remove(uint64_t begin) {
  uint32_t index = firstAfter(begin);
  if (index == count || ranges[index].begin != begin)
    return;
  --count;
  memmove(ranges + index, ranges + index + 1, (count - index) * sizeof(Range));
}

} // namespace metate::grid
