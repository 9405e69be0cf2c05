// Taking, checking and giving back the pools of a launch.
#include "kernel/pools.h"

namespace metate {

static const char *nameOf(const metate_kernel &kernel, uint32_t index) {
  return kernel.description().text(kernel.pools[index].name);
}

Pools::~Pools() {
  for (uint32_t i = 0; i < count; ++i)
    if (!kernel.device->driver->reaches && taken[i].bytes)
      kernel.device->driver->release(kernel.device->machine, taken[i]);
    else
      kernel.device->giveBack(taken[i]);
}

// Memory of the caller's must not be what the kernel reads or writes otherwise.
metate_status Pools::check(const metate_argument *arguments, const metate_launch_options &options) {
  if (options.pool_count != kernel.poolCount)
    return fail(METATE_E_INVALID_ARGUMENT, "kernel '%s': pool_count: expected %u, got %u",
                kernel.name, kernel.poolCount, options.pool_count);
  METATE_REQUIRE(options.pools);
  for (uint32_t i = 0; i < options.pool_count; ++i) {
    const metate_pool_memory &one = options.pools[i];
    if (!one.data)
      continue;
    uint64_t begin = reinterpret_cast<uintptr_t>(one.data);
    Extent extent{begin, begin + one.bytes};
    if (extent.end < begin)
      return fail(METATE_E_INVALID_ARGUMENT, "kernel '%s': pool '%s' wraps around", kernel.name,
                  nameOf(kernel, i));
    uint32_t met = argumentWithin(kernel, arguments, extent);
    if (met != METATE_NONE)
      return fail(METATE_E_ALIAS, "kernel '%s': pool '%s' overlaps argument %u '%s'", kernel.name,
                  nameOf(kernel, i), met, kernel.argumentName(met));
    for (uint32_t j = 0; j < i; ++j) {
      uint64_t other = reinterpret_cast<uintptr_t>(options.pools[j].data);
      if (other && extent.begin < other + options.pools[j].bytes && other < extent.end)
        return fail(METATE_E_ALIAS, "kernel '%s': pool '%s' overlaps pool '%s'", kernel.name,
                    nameOf(kernel, i), nameOf(kernel, j));
    }
  }
  return METATE_OK;
}

metate_status Pools::takeOne(uint32_t index, uint64_t bytes, const metate_pool_memory *given) {
  uint64_t align = kernel.pools[index].align;
  if (given && given->data) {
    if (given->bytes < bytes)
      return fail(METATE_E_TOO_SMALL,
                  "kernel '%s': pool '%s': expected at least %llu bytes, got %llu", kernel.name,
                  nameOf(kernel, index), show(bytes), show(given->bytes));
    if (reinterpret_cast<uintptr_t>(given->data) % align)
      return fail(METATE_E_MISALIGNED,
                  "kernel '%s': pool '%s': expected an address aligned to %llu bytes", kernel.name,
                  nameOf(kernel, index), show(align));
    places[index] = given->data;
    taken[index] = {};
    return METATE_OK;
  }
  // The driver is never asked for nothing, which would look like memory of the caller's.
  metate_device &device = *kernel.device;
  Region region;
  uint64_t asked = bytes ? bytes : align;
  auto give = [&] {
    return device.driver->reaches ? device.borrow(asked, align, &region)
                                  : device.driver->create(device.machine, asked, align, &region);
  };
  if (bytes == UINT64_MAX || give() != METATE_OK)
    return fail(METATE_E_OUT_OF_MEMORY,
                "kernel '%s': the allocator refused %llu bytes for pool '%s'", kernel.name,
                show(bytes), nameOf(kernel, index));
  places[index] = reinterpret_cast<void *>(uintptr_t(region.address));
  taken[index] = region;
  return METATE_OK;
}

metate_status Pools::take(const metate_argument *arguments, const metate_slot *slots,
                          uint32_t workers, const metate_launch_options *options) {
  bool isGiven = options && options->pool_count;
  if (isGiven)
    METATE_TRY(check(arguments, *options));
  if (kernel.poolCount > few) {
    METATE_TRY(morePlaces.allocate(kernel.poolCount));
    METATE_TRY(moreTaken.allocate(kernel.poolCount));
    places = morePlaces.data();
    taken = moreTaken.data();
  }
  for (; count < kernel.poolCount; ++count) {
    uint64_t bytes = metate_pool_total(&kernel.pools[count], slots, workers);
    METATE_TRY(takeOne(count, bytes, isGiven ? &options->pools[count] : nullptr));
  }
  return METATE_OK;
}

} // namespace metate
