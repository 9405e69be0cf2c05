// Memory of a device that launches borrow: what one gives back the next one of that size gets, without asking the driver. It must not
// know what the memory is for.
#ifndef METATE_RUNTIME_DEVICE_SPARES_H
#define METATE_RUNTIME_DEVICE_SPARES_H

#include "driver/driver.h"
#include "os/os.h"

namespace metate {

class Spares {
public:
  // At least these bytes, more than none. A launch that has not ended may still use them: what reads and writes them waits for it.
  metate_status take(const Driver &driver, void *machine, uint64_t bytes, uint64_t align,
                     Region *region);
  void give(const Driver &driver, void *machine, const Region &region);
  // Gives everything back to the driver. False where there was nothing.
  bool clear(const Driver &driver, void *machine);

private:
  static constexpr uint32_t most = 32;

  os::Mutex mutex;
  Region regions[most]; // the one that was given back last stands last
  uint32_t count = 0;
};

} // namespace metate

#endif
