// The host's own work on many things, shared out among the workers of the device's executor.
#ifndef METATE_RUNTIME_DEVICE_CHUNKS_H
#define METATE_RUNTIME_DEVICE_CHUNKS_H

#include "device/device.h"

namespace metate {

// body(begin, end) over [0, count), by the device's executor where there are two chunks of `grain` or more. What a
// body does may be done again: it is, where the executor gives up.
template <typename Body>
void inChunks(const metate_device &device, int64_t count, int64_t grain, const Body &body) {
  const metate_executor &executor = device.executor;
  auto run = [](void *context, int64_t begin, int64_t end, uint32_t) -> int32_t {
    (*static_cast<const Body *>(context))(begin, end);
    return METATE_OK;
  };
  if (!executor.parallel_for || count < 2 * grain ||
      executor.parallel_for(executor.self, count, grain, executor.worker_count, run,
                            const_cast<Body *>(&body)) != METATE_OK)
    body(int64_t(0), count);
}

} // namespace metate

#endif
