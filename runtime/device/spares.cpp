// A list of a few regions: the smallest one that fits is taken, the one that was not used for longest goes.
#include "device/spares.h"

#include "support/checked.h"

#include <cstring>

namespace metate {

// Sizes that are asked of the driver: a quarter of a power of two apart, so that arrays that grow a little find what was there.
static uint64_t roundedUp(uint64_t bytes) {
  constexpr uint64_t least = 4096;
  if (bytes <= least)
    return least;
  uint64_t step = uint64_t(1) << (61 - __builtin_clzll(bytes));
  Checked rounded = Checked(bytes).alignedTo(step);
  return rounded.fitsIn(UINT64_MAX) ? rounded.value() : bytes;
}

metate_status Spares::take(const Driver &driver, void *machine, uint64_t bytes, uint64_t align,
                           Region *region) {
  uint64_t rounded = roundedUp(bytes);
  {
    os::Lock lock(mutex);
    uint32_t best = count;
    for (uint32_t i = 0; i < count; ++i)
      if (regions[i].bytes >= bytes && regions[i].bytes / 2 <= rounded &&
          regions[i].address % align == 0 &&
          (best == count || regions[i].bytes < regions[best].bytes))
        best = i;
    if (best < count) {
      *region = regions[best];
      --count;
      memmove(regions + best, regions + best + 1, (count - best) * sizeof *regions);
      return METATE_OK;
    }
  }
  metate_status status = driver.create(machine, rounded, align, region);
  return status == METATE_OK || !clear(driver, machine)
             ? status
             : driver.create(machine, bytes, align, region);
}

void Spares::give(const Driver &driver, void *machine, const Region &region) {
  Region oldest;
  {
    os::Lock lock(mutex);
    if (count < most) {
      regions[count++] = region;
      return;
    }
    oldest = regions[0];
    memmove(regions, regions + 1, (most - 1) * sizeof *regions);
    regions[most - 1] = region;
  }
  driver.release(machine, oldest);
}

bool Spares::clear(const Driver &driver, void *machine) {
  os::Lock lock(mutex);
  bool isAny = count != 0;
  while (count)
    driver.release(machine, regions[--count]);
  return isAny;
}

} // namespace metate
