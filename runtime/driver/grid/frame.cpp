// The frame's beginning, written and read.
#include "driver/grid/frame.h"

#include <cstddef>
#include <cstring>

namespace metate::grid {

uint64_t writeHead(Head *head, const Places &places, void *const *pools, uint32_t poolCount) {
  memset(head->bytes, 0, sizeof head->bytes);
  uint64_t address = places.head + frameOffset;
  metate_grid_frame &frame = head->frame;
  frame.host = address + offsetof(metate_grid_frame, own);
  frame.status = METATE_OK;
  frame.ring = places.ring;
  frame.own.failure =
      reinterpret_cast<metate_failure *>(uintptr_t(address + offsetof(metate_grid_frame, failure)));
  frame.own.interrupt = reinterpret_cast<const uint32_t *>(uintptr_t(places.interrupt));
  frame.failure.text = METATE_NONE;
  uint32_t first = mostPools - poolCount;
  for (uint32_t i = 0; i < poolCount; ++i)
    head->pools[first + i] = reinterpret_cast<uintptr_t>(pools[i]);
  frame.pools = poolCount ? places.head + first * sizeof(uint64_t) : 0;
  return first * sizeof(uint64_t);
}

int32_t outcomeOf(const metate_grid_frame &frame, const metate_host *host) {
  const metate_failure &failure = frame.failure;
  if (failure.code == METATE_OK)
    return int32_t(frame.status);
  if (host && host->failure) {
    *host->failure = failure;
    host->failure->detail = nullptr; // an address on the device
    if (failure.rank > METATE_MAX_RANK)
      host->failure->rank = METATE_MAX_RANK;
  }
  return int32_t(frame.status != METATE_OK ? frame.status : failure.code);
}

} // namespace metate::grid
