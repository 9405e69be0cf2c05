#include "Device.h"

#include <dlfcn.h>

namespace metate::python {

Device::Device(uint32_t threads) {
  findPoolLibrary();
  setThreads(threads);
  metate_executor executor{this, &Device::parallelFor, 0, 0};
  metate_print_sink sink{this, &Device::print};
  metate_device_hooks hooks{sizeof(hooks), 0, nullptr, &executor, &sink};
  check(metate_device_open(&hooks, &device));
}

Device::~Device() {
  metate_device_close(device);
  for (auto &executor : pools)
    destroyPool(executor.get());
}

/// libmetate_tbb stands beside libmetate, or is not there: then kernels run serially. It is loaded,
/// not linked, so that neither libmetate nor this extension depends on oneTBB.
void Device::findPoolLibrary() {
  Dl_info here{};
  if (!dladdr(reinterpret_cast<void *>(&metate_abi_version), &here) || !here.dli_fname)
    return;
  std::string folder = here.dli_fname;
  folder.resize(folder.find_last_of('/') + 1);
  void *library = dlopen((folder + "libmetate_tbb.so").c_str(), RTLD_NOW | RTLD_LOCAL); // never closed: it has threads
  if (!library)
    return;
  createPool = reinterpret_cast<decltype(createPool)>(dlsym(library, "metate_tbb_executor_create"));
  destroyPool = reinterpret_cast<decltype(destroyPool)>(dlsym(library, "metate_tbb_executor_destroy"));
  if (!createPool || !destroyPool)
    throwNamed("RuntimeError_", folder + "libmetate_tbb.so: expected the executor of this version of libmetate",
               METATE_E_VERSION);
}

void Device::addPool(uint32_t workers) {
  auto executor = std::make_unique<metate_executor>();
  int32_t status = createPool(workers, executor.get());
  if (status != METATE_OK)
    throwNamed("RuntimeError_", "threads: libmetate_tbb could not start " + std::to_string(workers) + " threads",
               status);
  pools.push_back(std::move(executor));
  pool.store(pools.back().get(), std::memory_order_release);
}

void Device::setThreads(uint32_t count) {
  if (createPool && (pools.empty() || count > pools.back()->worker_count))
    addPool(count);
  threadLimit.store(count, std::memory_order_relaxed);
}

uint32_t Device::threads() const {
  const metate_executor *current = pool.load(std::memory_order_acquire);
  uint32_t available = current ? current->worker_count : 1;
  uint32_t limit = threadLimit.load(std::memory_order_relaxed);
  return limit && limit < available ? limit : available;
}

metate_device_info Device::describe() const {
  metate_device_info info{};
  info.struct_size = sizeof(info);
  check(metate_device_describe(device, &info));
  return info;
}

int32_t Device::parallelFor(void *self, int64_t count, int64_t grain, uint32_t maxWorkers,
                            metate_task_body body, void *context) {
  auto *device = static_cast<Device *>(self);
  uint32_t limit = device->threads();
  if (maxWorkers && maxWorkers < limit)
    limit = maxWorkers;
  if (limit == 1)
    return body(context, 0, count, 0);
  metate_executor *executor = device->pool.load(std::memory_order_acquire);
  return executor->parallel_for(executor->self, count, grain, limit, body, context);
}

void Device::print(void *self, const char *text, size_t bytes) {
  auto *device = static_cast<Device *>(self);
  std::lock_guard<std::mutex> lock(device->outputMutex);
  device->output.append(text, bytes);
  device->pending.store(true, std::memory_order_release);
}

void Device::flushOutput() {
  std::string text;
  {
    std::lock_guard<std::mutex> lock(outputMutex);
    text.swap(output);
    pending.store(false, std::memory_order_relaxed);
  }
  PyObject *sink = PySys_GetObject("stdout"); // borrowed
  if (!sink || sink == Py_None || text.empty())
    return;
  nb::object stream = nb::borrow(sink);
  PyObject *decoded = PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "replace");
  if (!decoded)
    throw nb::python_error();
  stream.attr("write")(nb::steal(decoded));
}

} // namespace metate::python
