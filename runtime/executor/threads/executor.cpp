// The executor of std::thread: threads of its own that sleep until there is work. The calling thread
// always works, and it can finish a job alone, so that calls from inside a task and from any number
// of threads end whatever the others do. It knows the hook's contract (abi/metate/abi/kernel.h) and
// nothing of kernels.
#include "metate/metate_threads.h"

#include "executor/job.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using metate::executor::Job;

// How often a thread looks for what it waits for before it sleeps: some 20 us, about what it costs
// to be woken. Loops follow one another closely in most programs.
constexpr int looks = 400;

void pause() {
#if defined(__x86_64__)
  for (int k = 0; k < 2; ++k)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// A job that is open to helpers; it lives on its caller's stack. All of it is under the mutex, but
// for looks at the number of helpers.
struct Open {
  Job job;
  uint32_t seats = 1;               // worker numbers given away; 0 is the caller's
  std::atomic<uint32_t> helpers{0}; // threads inside, the caller not counted

  Open(int64_t count, int64_t grain, uint32_t workers, metate_task_body body, void *context)
      : job(count, grain, workers, body, context) {}
  Open *previous = nullptr, *next = nullptr;
  bool listed = false;
};

class Executor {
public:
  explicit Executor(uint32_t workers) : workers(workers) {
    threads.reserve(workers - 1);
    try {
      while (threads.size() + 1 < workers)
        threads.emplace_back([this] { serve(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Executor() { stop(); }
  Executor(const Executor &) = delete;

  int32_t run(Open &open) {
    {
      std::lock_guard lock(mutex);
      append(open);
      for (uint32_t wanted = open.job.workers - 1; wanted && sleeping; --wanted, --sleeping)
        work.notify_one();
    }
    open.job.work(0);
    std::unique_lock lock(mutex);
    remove(open);
    if (open.helpers == 0)
      return open.job.status.load(std::memory_order_relaxed);
    lock.unlock(); // whoever is inside is at its last chunk
    for (int k = 0; k < looks && open.helpers.load(std::memory_order_relaxed); ++k)
      pause();
    lock.lock(); // and what it wrote is seen
    left.wait(lock, [&] { return open.helpers == 0; });
    return open.job.status.load(std::memory_order_relaxed);
  }

  const uint32_t workers;

private:
  // Oldest first: a job that began earlier ends earlier.
  void append(Open &open) {
    open.previous = last;
    (last ? last->next : first) = &open;
    last = &open;
    open.listed = true;
    opened.fetch_add(1, std::memory_order_relaxed);
  }
  void remove(Open &open) {
    if (!open.listed)
      return;
    (open.previous ? open.previous->next : first) = open.next;
    (open.next ? open.next->previous : last) = open.previous;
    open.listed = false;
  }

  // A helper's life.
  void serve() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      if (!first && (lookedFor(lock) || stopping))
        continue;
      if (!first) {
        // Whoever wakes one takes it off the count. A wake-up without a reason leaves the count one
        // too high, which costs a notification to nobody.
        ++sleeping;
        work.wait(lock);
        continue;
      }
      Open &open = *first;
      uint32_t worker = open.seats++;
      if (open.seats == open.job.workers)
        remove(open);
      ++open.helpers;
      lock.unlock();
      open.job.work(worker);
      lock.lock();
      if (--open.helpers == 0)
        left.notify_all();
    }
  }

  // Looks for a job for a while, without the mutex; true if there may be one.
  bool lookedFor(std::unique_lock<std::mutex> &lock) {
    uint64_t seen = opened.load(std::memory_order_relaxed);
    lock.unlock();
    bool found = false;
    for (int k = 0; k < looks && !found; ++k) {
      pause();
      found = opened.load(std::memory_order_relaxed) != seen;
    }
    lock.lock();
    return found;
  }

  void stop() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    work.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  std::mutex mutex;
  std::condition_variable work; // a job was opened
  std::condition_variable left; // a job's last helper left it
  Open *first = nullptr, *last = nullptr;
  std::atomic<uint64_t> opened{0}; // how many jobs so far
  uint32_t sleeping = 0;
  bool stopping = false;
  std::vector<std::thread> threads;
};

int32_t parallelFor(void *self, int64_t count, int64_t grain, uint32_t max_workers,
                    metate_task_body body, void *context) {
  if (count <= 0)
    return METATE_OK;
  auto &executor = *static_cast<Executor *>(self);
  uint32_t workers = metate::executor::workersFor(executor.workers, max_workers);
  Open open(count, grain, workers, body, context);
  if (open.job.workers == 1)
    return body(context, 0, count, 0);
  return executor.run(open);
}

} // namespace

metate_status metate_threads_executor_create(uint32_t threads, metate_executor *executor) {
  if (!executor)
    return METATE_E_NULL;
  if (threads == 0)
    threads = std::thread::hardware_concurrency();
  if (threads == 0)
    threads = 1; // the system does not say
  try {
    auto made = std::make_unique<Executor>(threads);
    *executor = {made.release(), parallelFor, threads, 0};
  } catch (const std::bad_alloc &) {
    return METATE_E_OUT_OF_MEMORY;
  } catch (const std::system_error &) {
    return METATE_E_OUT_OF_MEMORY; // the system refused a thread
  } catch (...) {
    return METATE_E_INTERNAL;
  }
  return METATE_OK;
}

void metate_threads_executor_destroy(metate_executor *executor) {
  if (!executor)
    return;
  delete static_cast<Executor *>(executor->self);
  *executor = metate_executor{};
}
