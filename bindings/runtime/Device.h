// A device with the executor and the print sink that Python programs get.
//
// The executor is libmetate_threads where that library stands beside libmetate,
// else serial; how many threads it may use can change at any time. Its threads
// start with the first loop that they may share. Prints are gathered while a kernel runs and written to sys.stdout when its launch
// returns: workers never wait for the GIL.
#ifndef METATE_BINDINGS_RUNTIME_DEVICE_H
#define METATE_BINDINGS_RUNTIME_DEVICE_H

#include "BufferView.h"
#include "KeptMemory.h"
#include "Profile.h"
#include "Status.h"

#include <atomic>
#include <memory>
#include <mutex>

#include "metate/metate_threads.h"

namespace metate::python {

class Device {
public:
  /// threads: 0 = as many as the executor has. isProfiled: launches are timed. driver: "cpu", or one whose library
  /// stands beside libmetate. beside: a device of that driver, whose machine this one shares. Throws a Python exception.
  explicit Device(uint32_t threads, bool isProfiled = false, std::string driver = "cpu",
                  std::shared_ptr<Device> beside = nullptr);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  metate_device *get() const { return device; }
  /// Threads that kernels may use at once, the calling one included.
  uint32_t threads() const;
  /// 0, or more than the machine has: as many as it has. Kernels that are
  /// running keep what they have.
  void setThreads(uint32_t count) { threadLimit.store(count, std::memory_order_relaxed); }
  /// Seconds that a kernel of debug mode may run; 0: as long as it likes.
  double launchTimeout() const { return timeout.load(std::memory_order_relaxed); }
  void setLaunchTimeout(double seconds) { timeout.store(seconds, std::memory_order_relaxed); }
  /// Copies the bytes of one buffer to another one, by all threads. False where they are no such bytes (gaps, other sizes, read
  /// only, overlapping): nothing was done. Leaves no Python error.
  bool copy(PyObject *to, PyObject *from);
  /// "threads" or "serial".
  const char *executorName() const { return createPool ? "threads" : "serial"; }
  metate_device_info describe() const;
  metate_machine_info inspect() const;
  const std::string &driverName() const { return driver; }
  /// Have its kernels memory of their own, which the host does not reach?
  bool hasOwnMemory() const { return !runsOnHost; }
  /// Have both one machine, and so one memory?
  bool isBeside(const Device &other) const { return machine == other.machine; }
  /// Do its kernels reach the memory of CUDA's devices?
  bool isCuda() const { return runsOnCuda; }
  /// Does its driver look at a launch's word itself, on the thread that launched?
  bool looksAtWord() const { return runsOnSimt; }
  /// Returns when all that was launched has ended; the GIL must be held, and is released meanwhile. Throws.
  void wait();
  /// What launches took; null: they are not timed.
  Profile *profile() const { return timed.get(); }

  bool hasOutput() const { return pending.load(std::memory_order_acquire); }
  /// Writes what kernels printed to sys.stdout; the GIL must be held. Throws
  /// what write() raises.
  void flushOutput();

private:
  static int32_t parallelFor(void *self, int64_t count, int64_t grain, uint32_t maxWorkers,
                             metate_task_body body, void *context);
  static void print(void *self, const char *text, size_t bytes);
  void findPool();
  int32_t startPool();
  int32_t openBy(const metate_device_hooks &hooks);

  std::string driver;
  std::shared_ptr<KeptMemory>
      machine; // the same one in all devices on it: the machine's memory is from there
  bool runsOnHost = driver == "cpu";
  bool runsOnCuda = driver == "cuda";
  bool runsOnSimt = driver == "simt";
  metate_device *device = nullptr;
  std::atomic<uint32_t> threadLimit{0};
  std::atomic<double> timeout{0};
  uint32_t cores = 1;
  decltype(&metate_threads_executor_create) createPool = nullptr; // null: serial
  decltype(&metate_threads_executor_destroy) destroyPool = nullptr;
  std::once_flag poolStarted;
  metate_executor pool{}; // parallel_for null: not started, or it could not be
  std::unique_ptr<Profile> timed;
  std::mutex outputMutex;
  std::string output; // guarded by outputMutex
  std::atomic<bool> pending{false};
};

} // namespace metate::python

#endif
