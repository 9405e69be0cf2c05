// One launch from Python, and how it ends early.
//
// Python runs signal handlers on the main thread only, and only when that
// thread asks. So the main thread asks while a kernel runs: between chunks of
// its parallel loops, or, of a kernel that looks at the host's word inside its
// loops, from a wait beside the thread that runs it. A handler that raises ends
// the launch: the word is set, and the exception is what the call raises.
#ifndef METATE_BINDINGS_RUNTIME_LAUNCH_H
#define METATE_BINDINGS_RUNTIME_LAUNCH_H

#include "Status.h"

#include <atomic>
#include <chrono>
#include <span>

namespace metate::python {

class Launch {
public:
  using Clock = std::chrono::steady_clock;

  /// timeout: seconds that a kernel of debug mode may run; 0: as long as it likes.
  explicit Launch(double timeout = 0);
  ~Launch();
  Launch(const Launch &) = delete;
  Launch &operator=(const Launch &) = delete;

  enum class Way {
    Plain,
    Beside, ///< the kernel looks at the word inside its loops, or its driver does meanwhile
    Brief,  ///< it is over before another thread would have got the GIL
  };
  /// Runs the kernel; the status. The GIL must be held: it is released
  /// meanwhile, but for brief ones. pools: memory for all that the kernel
  /// plans; none: the device's allocator gives it.
  int32_t run(const metate_kernel *kernel, const metate_argument *arguments, uint32_t count,
              Way way, std::span<const metate_pool_memory> pools = {});
  /// The same way, how many slots the launch would take: metate_tree_reserve_for.
  int32_t reserve(const metate_tree *tree, const metate_kernel *kernel,
                  const metate_argument *arguments, uint32_t count, uint32_t pools,
                  uint32_t *slots);
  /// The text of the status that run or reserve returned.
  const std::string &text() const { return message; }
  /// A signal handler raised: its exception is set.
  bool hasRaised() const { return raised; }
  /// It ran for longer than it may, and was asked to end.
  bool hasTimedOut() const { return timedOut; }

  /// The innermost launch of the calling thread, where that is the main thread
  /// and waits for it; else null.
  static Launch *current();
  /// Does the calling thread run a launch that keeps the GIL? It must not wait
  /// for others then, nor do their work meanwhile.
  static bool isBrief();
  /// Between two chunks, on the thread of current(): runs the handlers of
  /// signals that came. False once one of them has raised.
  bool proceed(Clock::time_point now);

private:
  /// Takes the GIL for the handlers, if it is released.
  void runHandlers();
  int32_t runBeside(const metate_kernel *kernel, const metate_argument *arguments, uint32_t count,
                    const metate_launch_options &options);

  uint32_t word = 0; // metate_host.interrupt: written atomically
  bool isWatched;    // by the main thread
  bool keepsLock = false;
  bool raised = false;
  bool timedOut = false;
  double timeout = 0;             // seconds; 0: none
  PyThreadState *state = nullptr; // while the GIL is released
  Launch *outer = nullptr;
  Clock::time_point lastLook{};
  std::string message;
};

/// Remembers the main thread; called once, with the GIL.
void watchMainThread();

/// A metate_parallel_for over `pool` (null hook: the calling thread alone) that
/// shares a task out in chunks of about a millisecond, so that an interrupt is
/// seen soon.
int32_t runInChunks(const metate_executor &pool, int64_t count, int64_t grain, uint32_t workers,
                    metate_task_body body, void *context);

} // namespace metate::python

#endif
