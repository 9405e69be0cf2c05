// The oneTBB executor: a task arena of its own for each executor, so that two executors in one
// process do not meet. It knows the hook's contract (abi/metate/abi/kernel.h) and nothing of
// kernels.
#include "metate/metate_tbb.h"

#include "executor/job.h"

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

int32_t parallelFor(void *self, int64_t count, int64_t grain, uint32_t max_workers,
                    metate_task_body body, void *context) {
  if (count <= 0)
    return METATE_OK;
  if (count / 2 < grain) // less than two chunks
    return body(context, 0, count, 0);
  auto &executor = *static_cast<Executor *>(self);
  metate::executor::Job job(
      count, grain, metate::executor::workersFor(executor.workers, max_workers), body, context);
  if (job.workers == 1)
    return body(context, 0, count, 0);
  try {
    executor.arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<uint32_t>(0, job.workers, 1),
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
