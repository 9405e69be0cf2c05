// A payload that was verified, kept as long as its code: what a launch asks of it.
#ifndef METATE_RUNTIME_DRIVER_GRID_PAYLOAD_H
#define METATE_RUNTIME_DRIVER_GRID_PAYLOAD_H

#include "driver/grid/section.h"

namespace metate::grid {

class Payload {
public:
  explicit Payload(const metate_allocator &allocator) : memory(allocator) {}
  ~Payload();
  Payload(const Payload &) = delete;
  Payload &operator=(const Payload &) = delete;

  // Copies the payload of a variant and verifies it.
  metate_status open(const Descriptor &descriptor, uint32_t variant, Span payload);

  const Section &section() const { return tables; }
  // How many pools the kernel plans in this variant.
  uint32_t poolCount(uint32_t kernel) const { return poolCounts[kernel]; }
  // The longest print statement's.
  uint32_t mostParts() const { return longest; }
  const metate_allocator &allocator() const { return memory; }

private:
  metate_status countPools(const Descriptor &descriptor, uint32_t variant);

  metate_allocator memory;
  Section tables;
  uint8_t *bytes = nullptr;
  uint64_t size = 0;
  uint32_t *poolCounts = nullptr;
  uint32_t kernels = 0;
  uint32_t longest = 0;
};

} // namespace metate::grid

#endif
