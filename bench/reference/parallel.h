// How the hand-written programs share a loop between threads: OpenMP where the compiler was asked
// for it, oneTBB otherwise. Chunks are contiguous, as each program's memory was first touched.
#pragma once

#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#else
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#endif

inline int threadCount = 1;

// Calls body(begin, end, part) for `threadCount` contiguous parts of [0, count), each on a thread
// of its own.
template <typename Body> void parallelParts(std::int64_t count, Body body) {
  auto part = [&](int number) {
    body(count * number / threadCount, count * (number + 1) / threadCount, number);
  };
#ifdef _OPENMP
#pragma omp parallel num_threads(threadCount)
  part(omp_get_thread_num());
#else
  tbb::parallel_for(0, threadCount, part, tbb::static_partitioner());
#endif
}

// Calls body(begin, end) for blocks of `grain` of [0, count), handed out as threads become free.
template <typename Body> void parallelBlocks(std::int64_t count, std::int64_t grain, Body body) {
  std::int64_t blocks = (count + grain - 1) / grain;
  auto block = [&](std::int64_t number) {
    std::int64_t end = (number + 1) * grain;
    body(number * grain, end < count ? end : count);
  };
#ifdef _OPENMP
#pragma omp parallel for num_threads(threadCount) schedule(dynamic, 1)
  for (std::int64_t number = 0; number < blocks; ++number)
    block(number);
#else
  tbb::parallel_for(std::int64_t(0), blocks, block, tbb::simple_partitioner());
#endif
}
