/* What a test and the library that stands for libcuda say to each other. The test opens the library as the driver does, and finds
 * `fake_cuda`. */
#ifndef METATE_TESTS_FAKE_CUDA_H
#define METATE_TESTS_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_OWN, FAKE_OTHER_CONTEXT, FAKE_MANAGED, FAKE_POOL };

typedef struct fake_cuda_control {
  int initResult; /* of cuInit */
  int version, devices, major, minor, threadsPerBlock;
  const char
      *failing; /* the function that fails from the call `failAfter` on, counted down; NULL: none */
  int failAfter, failResult;
  /* What was called, since the test has set it to zero. */
  int launches, submissions, updates, waits, allocations, uploads, questions;
  unsigned grid, block, shared; /* of the last launch */
  int lastImage;                /* 1: text, 2: binary */
  void *lastStream;
  /* What a launch takes by the events' clock: a millisecond, and this for each invocation. */
  float millisecondsEach;
  int liveEvents;
  int liveGraphs, isCapturing, priority;
  int liveAllocations, livePinned, liveStreams, liveModules, liveContexts, pushed;
  int isLost; /* the error that stays */
  int crash;  /* what a kernel that crashes makes of it */
  /* Memory that is not the driver's, by FAKE_*. */
  uint64_t (*allocate)(size_t bytes, int kind);
  void (*release)(uint64_t address);
  void (*reset)(void);
} fake_cuda_control;

#endif
