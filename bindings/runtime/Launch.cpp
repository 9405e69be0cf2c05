#include "Launch.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>

namespace metate::python {
namespace {

using namespace std::chrono_literals;

// How often the main thread asks for signals. A person does not notice, and a
// program whose other threads run Python loses little: taking the GIL from them
// can cost 5 ms.
constexpr auto between = 50ms;

// What a chunk should take: long beside the microsecond that it costs to get
// one, short beside `between`.
constexpr auto shortChunk = 500us;
constexpr auto longChunk = 4ms;

std::atomic<unsigned long> mainThread{0};
// Initial-exec: one instruction, and these eight bytes always find room.
thread_local Launch *innermost __attribute__((tls_model("initial-exec"))) = nullptr;

bool isMainThread() {
  return PyThread_get_thread_ident() == mainThread.load(std::memory_order_relaxed);
}

} // namespace

void watchMainThread() {
  nb::object main = nb::module_::import_("threading").attr("main_thread")();
  mainThread.store(nb::cast<unsigned long>(main.attr("ident")), std::memory_order_relaxed);
  // In a child, the thread that forked is the main one.
  pthread_atfork(nullptr, nullptr,
                 [] { mainThread.store(PyThread_get_thread_ident(), std::memory_order_relaxed); });
}

Launch::Launch(double timeout) : isWatched(isMainThread()), timeout(timeout), outer(innermost) {
  innermost = this;
}

Launch::~Launch() { innermost = outer; }

Launch *Launch::current() { return innermost && innermost->isWatched ? innermost : nullptr; }

bool Launch::isBrief() { return innermost && innermost->keepsLock; }

int32_t Launch::run(const metate_kernel *kernel, const metate_argument *arguments, uint32_t count,
                    Way way, std::span<const metate_pool_memory> pools) {
  metate_launch_options options{};
  options.struct_size = sizeof options;
  options.pool_count = uint32_t(pools.size());
  options.pools = pools.data();
  options.interrupt = &word;
  keepsLock = way == Way::Brief;
  if (!keepsLock)
    state = PyEval_SaveThread();
  int32_t status;
  if (way == Way::Beside && (isWatched || timeout > 0)) {
    status = runBeside(kernel, arguments, count, options);
  } else {
    status = metate_kernel_launch_with(kernel, arguments, count, &options);
    if (status != METATE_OK)
      message = metate_last_error();
  }
  if (state)
    PyEval_RestoreThread(state);
  return status;
}

int32_t Launch::reserve(const metate_tree *tree, const metate_kernel *kernel,
                        const metate_argument *arguments, uint32_t count, uint32_t pools,
                        uint32_t *slots) {
  state = PyEval_SaveThread();
  int32_t status = metate_tree_reserve_for(tree, kernel, arguments, count, pools, slots);
  if (status != METATE_OK)
    message = metate_last_error();
  PyEval_RestoreThread(state);
  return status;
}

/// The kernel on a thread of its own, the handlers and the clock on this one.
int32_t Launch::runBeside(const metate_kernel *kernel, const metate_argument *arguments,
                          uint32_t count, const metate_launch_options &options) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int32_t status = METATE_OK;
  auto work = [&] {
    int32_t result = metate_kernel_launch_with(kernel, arguments, count, &options);
    std::lock_guard<std::mutex> lock(mutex);
    status = result;
    if (result != METATE_OK)
      message = metate_last_error(); // each thread has its own
    done = true;
    changed.notify_one();
  };
  std::thread runner;
  try {
    runner = std::thread(work);
  } catch (const std::system_error &error) {
    message = std::string("a debug kernel runs on a thread of its own: the system refused one: ") +
              error.what();
    return METATE_E_OUT_OF_MEMORY;
  }
  std::unique_lock<std::mutex> lock(mutex);
  auto begun = Clock::now();
  while (!changed.wait_for(lock, between, [&] { return done; })) {
    lock.unlock();
    if (isWatched && !raised)
      runHandlers();
    if (timeout > 0 && !timedOut && Clock::now() - begun > std::chrono::duration<double>(timeout)) {
      timedOut = true;
      std::atomic_ref<uint32_t>(word).store(1, std::memory_order_relaxed);
    }
    lock.lock();
  }
  lock.unlock();
  runner.join();
  return status;
}

void Launch::runHandlers() {
  bool isReleased = state;
  if (isReleased)
    PyEval_RestoreThread(state);
  if (PyErr_CheckSignals() != 0) {
    raised = true;
    std::atomic_ref<uint32_t>(word).store(1, std::memory_order_relaxed);
  }
  if (isReleased)
    state = PyEval_SaveThread();
}

bool Launch::proceed(Clock::time_point now) {
  if (lastLook == Clock::time_point())
    lastLook = now;
  if (raised || now - lastLook < between)
    return !raised;
  runHandlers();
  lastLook = Clock::now();
  return !raised;
}

namespace {

/// A task that its workers share out among themselves.
struct Task {
  const metate_task_body body;
  void *const context;
  const int64_t count, grain, most; // most: iterations of a chunk at most
  std::atomic<int64_t> next{0}, step;
  std::atomic<int32_t> status{METATE_OK};

  void fail(int32_t code) {
    int32_t none = METATE_OK;
    status.compare_exchange_strong(none, code);
  }

  /// One chunk after the other, until none is left or one failed.
  void work(uint32_t worker) {
    Launch *launch = Launch::current();
    auto before = Launch::Clock::now();
    while (status.load(std::memory_order_relaxed) == METATE_OK) {
      int64_t size = step.load(std::memory_order_relaxed);
      int64_t begin = next.fetch_add(size, std::memory_order_relaxed);
      if (begin >= count)
        return;
      int32_t code = body(context, begin, std::min(begin + size, count), worker);
      if (code != METATE_OK)
        return fail(code);
      auto now = Launch::Clock::now();
      if (now - before < shortChunk && size < most)
        step.store(std::min(2 * size, most), std::memory_order_relaxed);
      else if (now - before > longChunk && size > grain)
        step.store(std::max(size / 2, grain), std::memory_order_relaxed);
      if (launch && !launch->proceed(now))
        return fail(METATE_E_INTERRUPTED);
      before = now;
    }
  }
};

} // namespace

int32_t runInChunks(const metate_executor &pool, int64_t count, int64_t grain, uint32_t workers,
                    metate_task_body body, void *context) {
  grain = std::max<int64_t>(grain, 1);
  if (count <= 0)
    return METATE_OK;
  if (workers > 1 &&
      !pool.parallel_for) // one worker does not ask, while another thread may be starting the pool
    workers = 1;
  if (workers > 1 && count / 2 < grain) // too short for interrupts and for waking somebody
    return pool.parallel_for(pool.self, count, grain, workers, body, context);
  if (count <= grain)
    return body(context, 0, count, 0);
  workers = uint32_t(std::min<int64_t>(workers, count / grain));
  // Eight chunks a worker at least: a slow one does not leave the others waiting for long.
  int64_t most = std::max(grain, workers > 1 ? count / (8 * int64_t(workers)) : count);
  Task task{body, context, count, grain, most, {}, grain};
  if (workers <= 1) {
    task.work(0);
    return task.status.load();
  }
  auto worker = [](void *self, int64_t begin, int64_t end, uint32_t) -> int32_t {
    for (int64_t number = begin; number < end; ++number)
      static_cast<Task *>(self)->work(uint32_t(number));
    return METATE_OK;
  };
  int32_t status = pool.parallel_for(pool.self, workers, 1, workers, worker, &task);
  return status != METATE_OK ? status : task.status.load();
}

} // namespace metate::python
