// The oneTBB executor: a task arena of its own for each executor, so that two executors in one
// process do not meet. It knows the hook's contract (abi/metate/abi/kernel.h) and nothing of
// kernels.
#include "metate/metate_tbb.h"

#include <atomic>
#include <memory>
#include <new>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <optional>

namespace {

struct Executor {
  // oneTBB starts no more threads than the process has cores unless it is told to: only an executor
  // that asks for more raises that limit, for as long as it lives.
  std::optional<tbb::global_control> limit;
  tbb::task_arena arena;
  uint32_t workers;

  Executor(uint32_t workers, uint32_t cores) : arena(int(workers)), workers(workers) {
    if (workers > cores)
      limit.emplace(tbb::global_control::max_allowed_parallelism, workers);
    arena.initialize();
  }
};

// Chunks for each worker: enough that one slow chunk does not leave the others waiting for long,
// few enough that a chunk's start (about a microsecond) does not show.
constexpr int64_t chunksPerWorker = 8;

struct Job {
  int64_t count, step;
  metate_task_body body;
  void *context;
  std::atomic<int64_t> next{0};
  std::atomic<int32_t> status{METATE_OK};

  // Takes chunks until none is left or one failed. Each of the job's workers runs it once.
  void work(uint32_t worker) {
    while (status.load(std::memory_order_relaxed) == METATE_OK) {
      int64_t begin = next.fetch_add(step, std::memory_order_relaxed);
      if (begin >= count)
        return;
      int64_t end = count - begin < step ? count : begin + step;
      int32_t result = body(context, begin, end, worker);
      int32_t expected = METATE_OK;
      if (result != METATE_OK)
        status.compare_exchange_strong(expected, result);
    }
  }
};

int32_t parallelFor(void *self, int64_t count, int64_t grain, uint32_t max_workers,
                    metate_task_body body, void *context) {
  if (count <= 0)
    return METATE_OK;
  auto &executor = *static_cast<Executor *>(self);
  uint32_t workers = executor.workers;
  if (max_workers && max_workers < workers)
    workers = max_workers;
  if (grain < 1)
    grain = 1;
  // At most as many workers as chunks of the least size.
  int64_t chunks = count / grain > 0 ? count / grain : 1;
  if (chunks < int64_t(workers))
    workers = uint32_t(chunks);
  if (workers == 1)
    return body(context, 0, count, 0);
  int64_t step = count / (int64_t(workers) * chunksPerWorker);
  Job job{count, step > grain ? step : grain, body, context};
  // A worker number is a task's, not a thread's: it is below max_workers whichever threads come,
  // and a thread that never comes leaves its chunks to the others.
  try {
    executor.arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<uint32_t>(0, workers, 1),
          [&](const tbb::blocked_range<uint32_t> &range) {
            for (uint32_t worker = range.begin(); worker < range.end(); ++worker)
              job.work(worker);
          },
          tbb::simple_partitioner());
    });
  } catch (...) {
    return METATE_E_OUT_OF_MEMORY; // oneTBB had no memory for its tasks; no exception crosses the C
                                   // ABI
  }
  return job.status.load();
}

} // namespace

metate_status metate_tbb_executor_create(uint32_t threads, metate_executor *executor) {
  if (!executor)
    return METATE_E_NULL;
  uint32_t cores = uint32_t(tbb::info::default_concurrency());
  if (threads == 0)
    threads = cores;
  try {
    auto made = std::make_unique<Executor>(threads, cores);
    *executor = {made.release(), parallelFor, threads, 0};
  } catch (const std::bad_alloc &) {
    return METATE_E_OUT_OF_MEMORY;
  } catch (...) {
    return METATE_E_INTERNAL;
  }
  return METATE_OK;
}

void metate_tbb_executor_destroy(metate_executor *executor) {
  if (!executor)
    return;
  delete static_cast<Executor *>(executor->self);
  *executor = metate_executor{};
}
