#include "driver/cuda/events.h"

namespace metate::cuda {

Events::~Events() {
  for (uint32_t i = 0; i < created; ++i)
    cuda.api.eventDestroy(list[i]);
  if (list)
    cuda.allocator.release(cuda.allocator.self, list, room * sizeof(void *), alignof(void *));
}

metate_status Events::create(uint32_t tasks) {
  METATE_TRY(times.allocate(tasks));
  if (!times.marks())
    return METATE_OK;
  room = tasks + 1;
  list = static_cast<void **>(
      cuda.allocator.allocate(cuda.allocator.self, room * sizeof(void *), alignof(void *)));
  if (!list)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for %u events", room);
  for (; created < room; ++created)
    METATE_TRY(check(cuda, cuda.api.eventCreate(&list[created], 0), "cuEventCreate"));
  return METATE_OK;
}

metate_status Events::record() {
  if (!list)
    return METATE_OK;
  return check(cuda, cuda.api.eventRecord(list[recorded++], cuda.stream), "cuEventRecord");
}

// From one event to the next: a float has few digits.
metate_status Events::read() {
  if (!list)
    return METATE_OK;
  uint64_t *marks = times.marks();
  marks[0] = 0;
  for (uint32_t i = 1; i < recorded; ++i) {
    float milliseconds = 0;
    METATE_TRY(check(cuda, cuda.api.eventElapsed(&milliseconds, list[i - 1], list[i]),
                     "cuEventElapsedTime"));
    marks[i] = marks[i - 1] + (milliseconds > 0 ? uint64_t(double(milliseconds) * 1e6) : 0);
  }
  return METATE_OK;
}

} // namespace metate::cuda
