// The executor of std::thread: threads of its own that look for work for a while, then sleep. The
// calling thread always works, and it can finish a job alone, so that calls from inside a task and
// from any number of threads end whatever the others do. It knows the hook's contract
// (abi/metate/abi/kernel.h) and nothing of kernels.
//
// To wake a thread costs some 10 us, to be helped by one that is awake about half of one. So a loop
// of two chunks and more wakes whom it needs; a shorter one is shared with whoever is awake, in pieces
// of a chunk, and wakes threads only where many such loops follow one another closely.
#include "metate/metate_threads.h"

#include "executor/job.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

namespace {

using metate::executor::Job;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A thread looks for the next job that long before it sleeps: loops follow one another closely in
// most programs.
constexpr auto looking = 100us;
// Looks between two readings of the clock: less than a microsecond.
constexpr int looks = 16;
// A thread that waits for something short, and has waited that long, was kept from its core by
// somebody else.
constexpr auto kept = 200us;
// For how long short loops are then left to their callers: at first, and at most.
constexpr auto quietFirst = 32ms, quietMost = 1000ms;
// So many short loops in a row that began within `looking` of one another wake a thread.
constexpr uint32_t manyInARow = 16;
// Whoever wakes others wakes two, and each of them two more.
constexpr uint32_t branches = 2;
// A piece of a short loop is at least this part of a chunk.
constexpr int64_t pieces = 16;
// So many workers share a short loop at most: each one is told by a line of memory that all of them ask for.
constexpr uint32_t mostOfShort = 8;
// Who waits that long lets others have the core: one of them may be who is waited for.
constexpr auto stubborn = 20us;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Threads that are made meanwhile get no signals from elsewhere.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    // What a thread does to itself, and what samples it.
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
      sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;

private:
  sigset_t before;
};

#if defined(__linux__)
// Where the calling thread or the process's first one may run: either may be bound to less than the other.
cpu_set_t placesOfProcess() {
  cpu_set_t first, own;
  CPU_ZERO(&first);
  CPU_ZERO(&own);
  sched_getaffinity(getpid(), sizeof first, &first);
  sched_getaffinity(0, sizeof own, &own);
  CPU_OR(&own, &own, &first);
  return own;
}
#endif

// The number of cores' time that a container has, rounded up; 0: it is not bounded.
uint32_t quotaOfContainer() {
#if defined(__linux__)
  auto numbers = [](const char *path, long long *first, long long *second) {
    FILE *file = std::fopen(path, "re");
    int read = file ? std::fscanf(file, "%lld %lld", first, second) : 0;
    if (file)
      std::fclose(file);
    return read;
  };
  long long quota = 0, period = 0, none = 0;
  if (numbers("/sys/fs/cgroup/cpu.max", &quota, &period) == 2 ||
      (numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota, &none) == 1 &&
       numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period, &none) == 1))
    return quota > 0 && period > 0 ? uint32_t((quota + period - 1) / period) : 0;
#endif
  return 0;
}

int64_t nanoseconds(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}
int64_t now() { return nanoseconds(Clock::now().time_since_epoch()); }

// A job that is open to helpers. Whoever takes a ticket below `wanted` has a seat, and the caller
// waits for it; any other has nothing to do with the job.
struct Slot {
  alignas(64) std::atomic<uint64_t> ticket{0}; // wanted << 32 | how many were taken; 0: closed
  Job *job = nullptr;                          // on the caller's stack
  // Helpers that have left. A line of its own: threads that look read the one above.
  alignas(64) std::atomic<uint32_t> done{0};
  std::atomic<bool> isAwaited{false};

  void open(Job &of, uint32_t helpers) {
    job = &of;
    done.store(0, std::memory_order_relaxed);
    // Before the look for sleepers, as they look the other way.
    ticket.store(uint64_t(helpers) << 32);
  }
  // How many helpers there were, or are.
  uint32_t close() {
    uint64_t last = ticket.exchange(0, std::memory_order_acq_rel);
    return std::min(uint32_t(last), uint32_t(last >> 32));
  }
  static bool isFree(uint64_t seen) { return uint32_t(seen) < uint32_t(seen >> 32); }
  bool isOpen() const { return isFree(ticket.load()); }
  // The worker's number; 0: no seat is free.
  uint32_t take() {
    if (!isOpen())
      return 0;
    uint64_t seen = ticket.fetch_add(1, std::memory_order_acq_rel);
    return isFree(seen) ? uint32_t(seen) + 1 : 0;
  }
};

class Executor {
public:
  explicit Executor(uint32_t workers) : workers(workers) {
    threads.reserve(workers - 1);
    SignalsBlocked blocked; // they are the program's own threads' to handle
    try {
      while (threads.size() + 1 < workers)
        threads.emplace_back([this] { serve(); });
    } catch (...) { // no thread, or no memory for one
      if (threads.empty())
        throw;
    }
    started.store(uint32_t(threads.size()), std::memory_order_relaxed);
  }
  ~Executor() { stop(); }
  Executor(const Executor &) = delete;

  int32_t run(int64_t count, int64_t grain, uint32_t limit, metate_task_body body, void *context) {
    bool isShort = count / 2 < grain;
    int64_t least = isShort ? std::max<int64_t>(grain / pieces, 1) : grain;
    uint32_t wanted = uint32_t(std::min<int64_t>(limit, count / std::max<int64_t>(least, 1)));
    if (isShort && wanted > 1)
      wanted = 1 + helpersOfShort(std::min(wanted, mostOfShort) - 1);
    int seat = wanted > 1 ? own() : -1;
    if (seat < 0)
      return body(context, 0, count, 0);
    Job job(count, least, wanted, body, context, isShort ? 2 : metate::executor::chunksPerWorker);
    Slot &slot = slots[seat];
    uint64_t bit = uint64_t(1) << seat;
    slot.open(job, job.workers - 1);
    if (!(opened.load(std::memory_order_relaxed) & bit))
      opened.fetch_or(bit);
    if (!isShort)
      wake(job.workers - 1);
    int64_t begun = isShort ? now() : 0;
    job.work(0);
    if (seat) // the first slot is nearly every call's
      opened.fetch_and(~bit);
    wait(slot, slot.close(), begun);
    owned.fetch_and(~bit, std::memory_order_release);
    return job.status.load(std::memory_order_relaxed);
  }

  // A forked process has the caller's thread alone, and the mutex as it was: there is nobody to wake or to wait for.
  bool isHome() const { return getpid() == home; }

  const uint32_t workers;

private:
  // The number of a slot for one call; -1: all are others', who have all threads.
  int own() {
    uint64_t seen = owned.load(std::memory_order_relaxed);
    while (~seen) {
      int seat = std::countr_one(seen);
      if (owned.compare_exchange_weak(seen, seen | uint64_t(1) << seat, std::memory_order_acquire,
                                      std::memory_order_relaxed))
        return seat;
    }
    return -1;
  }

  // How many threads are awake for a short loop that has work for `helpers`. Many such loops in a row
  // wake them, one a loop.
  uint32_t helpersOfShort(uint32_t helpers) {
    if (quietUntil.load(std::memory_order_relaxed)) {
      if (now() < quietUntil.load(std::memory_order_relaxed))
        return 0;
      quietUntil.store(0, std::memory_order_relaxed);
    }
    uint32_t asleep = sleeping.load(std::memory_order_relaxed);
    uint32_t there = started.load(std::memory_order_relaxed);
    uint32_t awake = there - std::min(asleep, there);
    if (awake >= helpers || !asleep)
      return std::min(awake, helpers);
    int64_t begun = now(), before = lastShort.exchange(begun, std::memory_order_relaxed);
    if (begun - before > nanoseconds(looking))
      inARow.store(0, std::memory_order_relaxed);
    else if (inARow.fetch_add(1, std::memory_order_relaxed) >= manyInARow)
      wake(1);
    return awake;
  }

  // Somebody else wants the cores. The longer that goes on, the longer short loops keep to their callers.
  void beQuiet() {
    int64_t time = now();
    if (time < quietUntil.load(std::memory_order_relaxed))
      return; // another one has seen the same
    int64_t since = lastKept.exchange(time, std::memory_order_relaxed);
    int64_t span = quiet.load(std::memory_order_relaxed);
    span = time - since > 8 * span ? nanoseconds(quietFirst)
                                   : std::min(2 * span, nanoseconds(quietMost));
    quiet.store(span, std::memory_order_relaxed);
    quietUntil.store(time + span, std::memory_order_relaxed);
  }

  void wake(uint32_t wanted) {
    if (!sleeping.load() || !isHome())
      return;
    {
      std::lock_guard lock(mutex);
      wanted = std::min(wanted, sleeping.load());
      sleeping -= wanted;
      woken += wanted;
    }
    for (wanted = std::min(wanted, branches); wanted; --wanted)
      work.notify_one();
  }

  // Until all helpers have left: whoever is inside is at its last chunk. `begun`: when a short loop did; 0: another one.
  void wait(Slot &slot, uint32_t helpers, int64_t begun) {
    auto haveLeft = [&] { return slot.done.load() == helpers; };
    if (haveLeft())
      return;
    int64_t since = now(), waited = 0;
    do {
      for (int k = 0; k < looks; ++k, pause())
        if (haveLeft())
          return;
      if (waited > nanoseconds(stubborn))
        std::this_thread::yield();
      waited = now() - since;
    } while (waited < nanoseconds(kept) && !haveLeft());
    if (!haveLeft()) {
      std::unique_lock lock(mutex);
      slot.isAwaited.store(true);
      left.wait(lock, haveLeft);
      slot.isAwaited.store(false);
    }
    // Not where the loop was longer than it was said to be: the caller's own part took as long.
    if (begun && now() - since > nanoseconds(kept) + (since - begun))
      beQuiet();
  }

  // A helper's life.
  void serve() {
#if defined(__linux__)
    sched_setaffinity(0, sizeof places,
                      &places); // not only where the thread that made it is bound to
#endif
    int64_t since = now(); // of the last loop
    while (look(since) || sleep(since)) {
      for (uint64_t seen = opened.load(); seen; seen &= seen - 1) {
        Slot &slot = slots[std::countr_zero(seen)];
        uint32_t worker = slot.take();
        if (!worker)
          continue;
        slot.job->work(worker);
        slot.done.fetch_add(1);
        since = now();
        if (slot.isAwaited.load()) {
          std::lock_guard lock(mutex);
          left.notify_all();
        }
      }
    }
  }

  // Whether any job has a seat.
  bool isWanted() const {
    for (uint64_t seen = opened.load(); seen; seen &= seen - 1)
      if (slots[std::countr_zero(seen)].isOpen())
        return true;
    return false;
  }

  // Looks for a job, not for ever.
  bool look(int64_t since) {
    int64_t last = now();
    while (!stopping.load(std::memory_order_relaxed)) {
      for (int k = 0; k < looks; ++k, pause())
        if (isWanted())
          return true;
      int64_t time = now();
      if (time - last > nanoseconds(kept)) {
        beQuiet();
        return false;
      }
      if (time - since > nanoseconds(looking))
        return false;
      last = time;
    }
    return false;
  }

  // Until it is woken; false: for good.
  bool sleep(int64_t &since) {
    std::unique_lock lock(mutex);
    ++sleeping;
    if (isWanted() && !stopping) { // opened since, by somebody who saw nobody asleep
      --sleeping;
    } else {
      work.wait(lock, [&] { return woken || stopping; });
      if (woken)
        --woken; // whoever woke it took it off the sleepers
      uint32_t next = std::min(woken, branches);
      lock.unlock();
      for (; next; --next)
        work.notify_one();
    }
    since = now();
    return !stopping;
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

  alignas(64) std::atomic<uint64_t> opened{0}; // slots that helpers look at
  alignas(64) std::atomic<uint64_t> owned{0};  // slots that are some call's
  alignas(64) Slot slots[64];
  alignas(64) std::mutex mutex;
  std::condition_variable work;      // `woken` is not 0
  std::condition_variable left;      // a job's helper left it
  std::atomic<uint32_t> sleeping{0}; // changed under the mutex
  uint32_t woken = 0;                // of those that slept: they are to go on
  std::atomic<bool> stopping{false};
  // Of short loops: when the last one found too few awake, how many did in a row; when somebody else last kept a
  // thread from its core, and what follows from it.
  std::atomic<int64_t> lastShort{0}, lastKept{0}, quiet{nanoseconds(quietFirst)}, quietUntil{0};
  std::atomic<uint32_t> inARow{0};
  std::atomic<uint32_t> started{0}; // threads; fewer than workers - 1 where the system refused some
  const pid_t home = getpid();
#if defined(__linux__)
  const cpu_set_t places = placesOfProcess();
#endif
  std::vector<std::thread> threads;
};

int32_t parallelFor(void *self, int64_t count, int64_t grain, uint32_t max_workers,
                    metate_task_body body, void *context) {
  if (count <= 0)
    return METATE_OK;
  auto &executor = *static_cast<Executor *>(self);
  return executor.run(count, grain < 1 ? 1 : grain,
                      metate::executor::workersFor(executor.workers, max_workers), body, context);
}

} // namespace

uint32_t metate_threads_cores(void) {
  uint32_t cores = std::max(std::thread::hardware_concurrency(), 1u); // 0: the system does not say
#if defined(__linux__)
  cpu_set_t places = placesOfProcess();
  if (int count = CPU_COUNT(&places)) // 0: more cores than the set has room for
    cores = uint32_t(count);
#endif
  uint32_t quota = quotaOfContainer();
  return quota && quota < cores ? quota : cores;
}

metate_status metate_threads_executor_create(uint32_t threads, metate_executor *executor) {
  if (!executor)
    return METATE_E_NULL;
  if (threads == 0)
    threads = metate_threads_cores();
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
  auto *self = static_cast<Executor *>(executor->self);
  if (self && self->isHome())
    delete self; // what another process has made stays
  *executor = metate_executor{};
}
