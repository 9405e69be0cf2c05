// What the files of the library that stands for libcuda share: its stream, and how a call begins.
#ifndef METATE_TESTS_FAKE_CUDA_STREAM_H
#define METATE_TESTS_FAKE_CUDA_STREAM_H

#include "fake_cuda.h"

#include <deque>
#include <functional>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT fake_cuda_control fake_cuda;

namespace fake {

enum { invalidValue = 1, noMemory = 2, invalidContext = 201, invalidPtx = 218, notFound = 500 };

extern std::deque<std::function<void()>> stream;
extern float clockNow; // milliseconds

// All of the stream happens.
void finish();
// A call's own failure, or 0.
int enter(const char *name, bool needsContext);

} // namespace fake

#define ENTER(needsContext)                                                                        \
  if (int failed = fake::enter(__func__, needsContext))                                            \
  return failed

#endif
