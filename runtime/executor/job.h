// What every executor shares: how a loop is cut into chunks, and a worker's way through them. It
// follows the hook's contract (abi/metate/abi/kernel.h) and knows nothing of threads.
#ifndef METATE_RUNTIME_EXECUTOR_JOB_H
#define METATE_RUNTIME_EXECUTOR_JOB_H

#include "metate/abi/kernel.h"

#include <atomic>

namespace metate::executor {

// Chunks for each worker, at most: enough that one slow chunk does not leave the others waiting for long,
// few enough that a chunk's start (about a microsecond) does not show.
constexpr int64_t chunksPerWorker = 8;

// Stretches that workers start in, at most; more workers share them.
constexpr uint32_t mostStretches = 64;

// One call of parallel_for. A worker number is a seat in the job, not a thread's: it is below
// `workers` whichever threads come, and a thread that never comes leaves its chunks to the others.
// Each worker starts in a stretch of its own, the same one for loops of equal size, so that it finds
// in its cache what it left there; then it helps the others.
struct Job {
  int64_t count, step;
  uint32_t workers, stretches;
  metate_task_body body;
  void *context;
  std::atomic<int32_t> status{METATE_OK};

  Job(int64_t count, int64_t grain, uint32_t workers, metate_task_body body, void *context,
      int64_t chunksPerWorker = executor::chunksPerWorker)
      : count(count), step(grain < 1 ? 1 : grain), workers(workers), body(body), context(context) {
    // At most as many workers as chunks of the least size, and as many chunks for each of them.
    int64_t chunks = count / step > 0 ? count / step : 1;
    if (chunks < int64_t(workers))
      this->workers = uint32_t(chunks);
    int64_t each = chunks / int64_t(this->workers),
            limit = this->workers == 1 ? 1 : chunksPerWorker;
    chunks = (each < limit ? each : limit) * int64_t(this->workers);
    step = count / chunks + (count % chunks != 0);
    stretches = this->workers < mostStretches ? this->workers : mostStretches;
    chunks = count / step + (count % step != 0);
    for (uint32_t k = 0; k < stretches; ++k) {
      cursors[k].next = chunks * k / stretches; // nobody else has seen the job
      cursors[k].end = chunks * (k + 1) / stretches;
    }
  }

  // Takes chunks until none is left or one failed. Each of the job's workers runs it once.
  void work(uint32_t worker) {
    for (uint32_t k = 0; k < stretches; ++k)
      workAlong(cursors[(worker + k) % stretches], worker);
  }

private:
  struct alignas(64) Cursor { // a cache line each
    int64_t next, end;        // `next` is changed by all, with std::atomic_ref
  };
  Cursor cursors
      [mostStretches]; // those of the stretches alone are set: a short loop has no time for the rest

  void workAlong(Cursor &cursor, uint32_t worker) {
    std::atomic_ref<int64_t> next(cursor.next);
    while (status.load(std::memory_order_relaxed) == METATE_OK) {
      if (next.load(std::memory_order_relaxed) >= cursor.end)
        return;
      int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= cursor.end)
        return;
      int64_t begin = chunk * step, end = count - begin < step ? count : begin + step;
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
