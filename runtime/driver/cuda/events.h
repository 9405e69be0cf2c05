// Events of a launch whose times somebody asks for: one before the first task, one behind each.
#ifndef METATE_RUNTIME_DRIVER_CUDA_EVENTS_H
#define METATE_RUNTIME_DRIVER_CUDA_EVENTS_H

#include "driver/cuda/cuda.h"
#include "driver/grid/times.h"

namespace metate::cuda {

// Within a session. Nothing is done where nobody asks.
class Events {
public:
  Events(Cuda &cuda, grid::Times &times) : cuda(cuda), times(times) {}
  ~Events();
  Events(const Events &) = delete;
  Events &operator=(const Events &) = delete;

  metate_status create(uint32_t tasks);
  // The next one, into the stream.
  metate_status record();
  // Once the stream was waited for.
  metate_status read();

private:
  Cuda &cuda;
  grid::Times &times;
  void **list = nullptr;
  uint32_t room = 0, created = 0, recorded = 0;
};

} // namespace metate::cuda

#endif
