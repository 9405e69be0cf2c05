// What every executor shares: how a loop is cut into chunks, and a worker's way through them. It
// follows the hook's contract (abi/metate/abi/kernel.h) and knows nothing of threads.
#ifndef METATE_RUNTIME_EXECUTOR_JOB_H
#define METATE_RUNTIME_EXECUTOR_JOB_H

#include "metate/abi/kernel.h"

#include <atomic>

namespace metate::executor {

// Chunks for each worker: enough that one slow chunk does not leave the others waiting for long,
// few enough that a chunk's start (about a microsecond) does not show.
constexpr int64_t chunksPerWorker = 8;

// One call of parallel_for. A worker number is a seat in the job, not a thread's: it is below
// `workers` whichever threads come, and a thread that never comes leaves its chunks to the others.
struct Job {
  int64_t count, step;
  uint32_t workers;
  metate_task_body body;
  void *context;
  std::atomic<int64_t> next{0};
  std::atomic<int32_t> status{METATE_OK};

  Job(int64_t count, int64_t grain, uint32_t workers, metate_task_body body, void *context)
      : count(count), step(grain < 1 ? 1 : grain), workers(workers), body(body), context(context) {
    // At most as many workers as chunks of the least size.
    int64_t chunks = count / step > 0 ? count / step : 1;
    if (chunks < int64_t(workers))
      this->workers = uint32_t(chunks);
    int64_t even = count / (int64_t(this->workers) * chunksPerWorker);
    if (this->workers == 1)
      step = count;
    else if (even > step)
      step = even;
  }

  // Takes chunks until none is left or one failed. Each of the job's workers runs it once.
  void work(uint32_t worker) {
    while (status.load(std::memory_order_relaxed) == METATE_OK) {
      int64_t begin = next.load(std::memory_order_relaxed);
      do {
        if (begin >= count)
          return;
      } while (!next.compare_exchange_weak(begin, count - begin < step ? count : begin + step,
                                           std::memory_order_relaxed));
      int64_t end = count - begin < step ? count : begin + step;
      int32_t result = body(context, begin, end, worker);
      int32_t expected = METATE_OK;
      if (result != METATE_OK)
        status.compare_exchange_strong(expected, result, std::memory_order_relaxed);
    }
  }
};

// How many workers a call gets of the executor's; max_workers 0 = no limit.
inline uint32_t workersFor(uint32_t available, uint32_t max_workers) {
  return max_workers && max_workers < available ? max_workers : available;
}

} // namespace metate::executor

#endif
