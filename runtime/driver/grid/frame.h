// The beginning of a launch's frame: what a driver writes there before the first task and reads from it after the last one. It must
// not know where the frame lies, nor how bytes get there.
#ifndef METATE_RUNTIME_DRIVER_GRID_FRAME_H
#define METATE_RUNTIME_DRIVER_GRID_FRAME_H

#include "driver/driver.h"
#include "metate/abi/grid.h"

namespace metate::grid {

// More pools than any kernel plans.
constexpr uint32_t mostPools = 448;

// The memory of a launch begins with a Head: the pools' addresses end where the frame begins, so that what a launch writes is one
// piece. The kernel's values stand behind it.
struct Head {
  uint64_t pools[mostPools];
  union {
    metate_grid_frame frame;
    uint8_t bytes[METATE_GRID_VALUES];
  };
};
constexpr uint64_t frameOffset = sizeof(uint64_t) * mostPools;
static_assert(sizeof(Head) == frameOffset + METATE_GRID_VALUES && frameOffset % 64 == 0);

// Bytes of a launch's memory.
inline uint64_t launchBytes(const metate_grid_kernel &kernel) {
  return frameOffset + kernel.frame_bytes;
}

// Addresses on the device; 0: there is none.
struct Places {
  uint64_t head = 0; // of the launch's memory
  uint64_t ring = 0; // of a metate_grid_ring
  uint64_t interrupt = 0;
};

// Fills the frame's beginning, and the pools before it. Returns the offset in the head from which on it was written.
uint64_t writeHead(Head *head, const Places &places, void *const *pools, uint32_t poolCount);

// A launch's status, of the frame that it left; what a task recorded goes to the host's record.
int32_t outcomeOf(const metate_grid_frame &frame, const metate_host *host);

// Of a launch whose runs ended early, unless one of them failed.
inline int32_t outcomeOf(int32_t status, bool wasInterrupted) {
  return status == METATE_OK && wasInterrupted ? int32_t(METATE_E_INTERRUPTED) : status;
}

// Does the host want the launch to stop?
inline const uint32_t *interruptOf(const metate_host *host) {
  return host ? host->interrupt : nullptr;
}
inline bool isInterrupted(const metate_host *host) {
  return host && host->interrupt && __atomic_load_n(host->interrupt, __ATOMIC_RELAXED);
}

} // namespace metate::grid

#endif
