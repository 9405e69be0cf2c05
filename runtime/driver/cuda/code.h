// A module's code on the device "cuda".
#ifndef METATE_RUNTIME_DRIVER_CUDA_CODE_H
#define METATE_RUNTIME_DRIVER_CUDA_CODE_H

#include "driver/cuda/submission.h"
#include "driver/grid/payload.h"

namespace metate::cuda {

struct Loaded {
  explicit Loaded(const metate_allocator &allocator) : payload(allocator) {}
  grid::Payload payload;
  void *module = nullptr;
  void **functions = nullptr; // in the order of the tasks
  uint32_t count = 0;
  Submission *submissions = nullptr; // of each kernel
};

} // namespace metate::cuda

#endif
