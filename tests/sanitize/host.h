// What the sanitizer tests share: the folder of instrumented modules, devices with threads of their
// own, and an executor whose chunks follow one another in time without any order that memory knows.
#ifndef METATE_TESTS_SANITIZE_HOST_H
#define METATE_TESTS_SANITIZE_HOST_H

#include "metate/metate.hpp"
#include "metate/metate_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace metate::test {

// The path of a module that make_modules.py built; "" when the tests were started without any.
inline std::string modulePath(const std::string &name) {
  const char *folder = std::getenv("METATE_SANITIZED_MODULES");
  return folder ? std::string(folder) + "/" + name + ".metate" : "";
}

#define METATE_NEED_MODULES()                                                                      \
  if (modulePath("").empty())                                                                      \
  GTEST_SKIP() << "METATE_SANITIZED_MODULES is not set: tests/sanitize/make_modules.py FOLDER "    \
                  "builds the modules, scripts/test sanitized-modules does both"

// A context: a device, its executor, and the module opened on it.
class Context {
public:
  explicit Context(const std::string &module, uint32_t workers = 4) : laplace(laplaceOf(module)) {
    if (metate_threads_executor_create(workers, &executor) != METATE_OK)
      throw std::runtime_error("no executor");
    open(module);
  }
  Context(const std::string &module, const metate_executor &borrowed)
      : laplace(laplaceOf(module)), executor(borrowed), borrowed(true) {
    open(module);
  }
  ~Context() {
    module.reset();
    device.reset();
    if (!borrowed)
      metate_threads_executor_destroy(&executor);
  }
  Context(const Context &) = delete;

  template <typename... Values> void run(const char *kernel, Values &&...values) const {
    if (Status status = tryRun(kernel, std::forward<Values>(values)...); !status)
      throw std::runtime_error(status.text);
  }
  template <typename... Values> Status tryRun(const char *kernel, Values &&...values) const {
    return module->kernel(kernel).try_launch(std::forward<Values>(values)...);
  }
  // The kernel that reads neighbours: one that leaves the tree, but in debug mode.
  const char *const laplace;
  std::string printed; // by kernels; read it between launches
  Kernel kernel(const char *name) const { return module->kernel(name); }
  Tree tree(const char *type) const { return module->tree_type(type).make(); }
  TreeType type(const char *name) const { return module->tree_type(name); }

private:
  static const char *laplaceOf(const std::string &module) {
    return module.find("-debug") == std::string::npos ? "laplace" : "laplace_inside";
  }
  void open(const std::string &path) {
    auto hooks = sized<metate_device_hooks>();
    hooks.executor = &executor;
    metate_print_sink sink{&printed, [](void *self, const char *text, size_t bytes) {
                             static_cast<std::string *>(self)->append(text, bytes);
                           }};
    hooks.print = &sink;
    device.emplace(Device::open(&hooks));
    module.emplace(Module::open(path.c_str(), *device));
  }
  metate_executor executor{};
  bool borrowed = false;
  std::optional<Device> device;
  std::optional<Module> module;
};

// "thread0" and "address-debug" as parts of tests' names.
inline std::string variantName(const std::string &module) {
  return module.back() == '0' ? "O0" : module.ends_with("debug") ? "debug" : "O2";
}

// Runs each chunk on a thread of its own, one after the other. The turn is passed on by relaxed
// atomics, so for the memory model the chunks are concurrent: whatever they share without a proper
// order is reported, on every run and on any machine.
inline int32_t inTurns(void *, int64_t count, int64_t grain, uint32_t max_workers,
                       metate_task_body body, void *context) {
  int64_t step = grain > 1 ? grain : 1, chunks = (count + step - 1) / step;
  if (count > 0 && chunks > 4) {
    chunks = 4;
    step = (count + 3) / 4;
    chunks = (count + step - 1) / step;
  }
  (void)max_workers; // one at a time, but each is another worker
  std::atomic<int64_t> turn{0};
  std::atomic<int32_t> status{METATE_OK};
  std::vector<std::thread> threads;
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    threads.emplace_back([&, chunk] {
      while (turn.load(std::memory_order_relaxed) != chunk)
        std::this_thread::yield();
      int64_t end = (chunk + 1) * step < count ? (chunk + 1) * step : count;
      int32_t result = body(context, chunk * step, end, uint32_t(chunk));
      if (result != METATE_OK)
        status.store(result, std::memory_order_relaxed);
      turn.store(chunk + 1, std::memory_order_relaxed);
    });
  for (std::thread &thread : threads)
    thread.join();
  return status.load(std::memory_order_relaxed);
}

inline metate_executor turnsExecutor() { return {nullptr, inTurns, 4, 0}; }

} // namespace metate::test

#endif
