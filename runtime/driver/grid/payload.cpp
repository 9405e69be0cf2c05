// Copying and verifying a payload.
#include "driver/grid/payload.h"

#include "driver/grid/frame.h"

#include <cstring>

namespace metate::grid {

static constexpr size_t payloadAlign = 64; // images keep theirs

Payload::~Payload() {
  if (bytes)
    memory.release(memory.self, bytes, size, payloadAlign);
  if (poolCounts)
    memory.release(memory.self, poolCounts, kernels * sizeof(uint32_t), alignof(uint32_t));
}

metate_status Payload::open(const Descriptor &descriptor, uint32_t variant, Span payload) {
  if (payload.bytes < sizeof(metate_grid))
    return verifySection(descriptor, payload);
  bytes = static_cast<uint8_t *>(memory.allocate(memory.self, payload.bytes, payloadAlign));
  if (!bytes)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %llu bytes for a payload",
                static_cast<unsigned long long>(payload.bytes));
  size = payload.bytes;
  memcpy(bytes, payload.data, size);
  METATE_TRY(verifySection(descriptor, {bytes, size}));
  tables = Section(bytes);
  for (uint32_t i = 0; i < tables.header().prints.count; ++i)
    if (tables.prints()[i].part_count > longest)
      longest = tables.prints()[i].part_count;
  return countPools(descriptor, variant);
}

metate_status Payload::countPools(const Descriptor &descriptor, uint32_t variant) {
  uint32_t count = descriptor.header().kernels.count;
  if (!count)
    return METATE_OK;
  poolCounts = static_cast<uint32_t *>(
      memory.allocate(memory.self, count * sizeof(uint32_t), alignof(uint32_t)));
  if (!poolCounts)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for %u kernels", count);
  kernels = count;
  for (uint32_t i = 0; i < count; ++i) {
    const metate_kernel_info &kernel = descriptor.kernels()[i];
    poolCounts[i] = 0;
    for (uint32_t k = 0; k < kernel.pool_count; ++k) {
      uint32_t whose = descriptor.pools()[kernel.first_pool + k].variant;
      poolCounts[i] += whose == METATE_NONE || whose == variant;
    }
    if (poolCounts[i] > mostPools)
      return fail(METATE_E_UNSUPPORTED, "kernel '%s': it plans %u pools, of which a device has %u",
                  descriptor.text(kernel.name), poolCounts[i], mostPools);
  }
  return METATE_OK;
}

} // namespace metate::grid
