// Opens the device, with its driver's library where it is not the CPU's, loads the executor if it is there, and carries
// prints to sys.stdout.
#include "Device.h"

#include "Launch.h"

#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace metate::python {

namespace {

/// Where a library stands beside libmetate; "" where libmetate's own file is not known.
std::string besideLibmetate(const std::string &file) {
  Dl_info here{};
  if (!dladdr(reinterpret_cast<void *>(&metate_abi_version), &here) || !here.dli_fname)
    return "";
  std::string path = here.dli_fname;
  path.resize(path.find_last_of('/') + 1);
  return path + file;
}

} // namespace

Device::Device(uint32_t threads, bool isProfiled, std::string ofDriver,
               std::shared_ptr<Device> beside)
    : driver(std::move(ofDriver)),
      machine(beside ? beside->machine : std::make_shared<KeptMemory>()), threadLimit(threads) {
  findPool();
  metate_executor executor{this, &Device::parallelFor, Device::threads(), 0};
  metate_print_sink sink{this, &Device::print};
  metate_allocator allocator = machine->hooks();
  metate_device_hooks hooks{sizeof(hooks), 0, &allocator, &executor, &sink};
  check(beside            ? metate_device_open_beside(beside->get(), &hooks, &device)
        : driver == "cpu" ? metate_device_open(&hooks, &device)
                          : openBy(hooks));
  if (!isProfiled)
    return;
  timed = std::make_unique<Profile>();
  metate_profiler profiler = timed->hooks();
  check(metate_device_profile(device, &profiler));
}

Device::~Device() {
  metate_device_close(device);
  if (destroyPool)
    destroyPool(&pool); // one that never started is nothing
}

/// libmetate_threads stands beside libmetate, or is not there: then kernels run serially. It is loaded, not linked, as hosts do
/// without it.
void Device::findPool() {
  std::string path = besideLibmetate("libmetate_threads.so");
  if (path.empty())
    return;
  void *library = dlopen(path.c_str(),
                         RTLD_NOW | RTLD_LOCAL); // never closed: it has threads
  if (!library)
    return;
  auto count =
      reinterpret_cast<decltype(&metate_threads_cores)>(dlsym(library, "metate_threads_cores"));
  createPool =
      reinterpret_cast<decltype(createPool)>(dlsym(library, "metate_threads_executor_create"));
  destroyPool =
      reinterpret_cast<decltype(destroyPool)>(dlsym(library, "metate_threads_executor_destroy"));
  if (!count || !createPool || !destroyPool)
    throwNamed("RuntimeError_", path + ": expected the executor of this version of libmetate",
               METATE_E_VERSION);
  cores = count();
}

int32_t Device::startPool() {
  int32_t status = METATE_OK;
  std::call_once(poolStarted, [&] { status = createPool(cores, &pool); });
  return pool.parallel_for ? METATE_OK : status == METATE_OK ? METATE_E_OUT_OF_MEMORY : status;
}

/// Drivers of other machines are libraries beside libmetate, loaded when a device of theirs is opened: so that nothing here depends
/// on what they need.
int32_t Device::openBy(const metate_device_hooks &hooks) {
  using Open = int32_t (*)(const metate_device_hooks *, metate_device **);
  using OpenWith = int32_t (*)(const void *options, const metate_device_hooks *, metate_device **);
  std::string path = besideLibmetate("libmetate_" + driver + ".so");
  if (access(path.c_str(), F_OK) != 0)
    throwNamed("RuntimeError_",
               "there is no driver '" + driver + "' here (libmetate_" + driver +
                   ".so beside libmetate)",
               METATE_E_UNSUPPORTED);
  // Never closed: what it has loaded has threads, and handlers for the end of the process.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    throwNamed("RuntimeError_",
               "the driver '" + driver + "' cannot be loaded: " + (reason ? reason : path.c_str()),
               METATE_E_UNSUPPORTED);
  }
  void *found = dlsym(library, ("metate_" + driver + "_device_open").c_str());
  if (!found)
    throwNamed("RuntimeError_", path + ": expected the driver '" + driver + "'", METATE_E_VERSION);
  if (driver == "simt") // it has no options
    return reinterpret_cast<Open>(found)(&hooks, &device);
  return reinterpret_cast<OpenWith>(found)(nullptr, &hooks, &device);
}

void Device::wait() {
  int32_t status;
  std::string text;
  {
    nb::gil_scoped_release released;
    status = metate_device_wait(device);
    if (status != METATE_OK)
      text = metate_last_error();
  }
  if (hasOutput())
    flushOutput();
  if (status == METATE_OK)
    return;
  setError(status, text);
  throw nb::python_error();
}

uint32_t Device::threads() const {
  uint32_t limit = threadLimit.load(std::memory_order_relaxed);
  return limit && limit < cores ? limit : cores;
}

metate_device_info Device::describe() const {
  metate_device_info info{};
  info.struct_size = sizeof(info);
  check(metate_device_describe(device, &info));
  return info;
}

metate_machine_info Device::inspect() const {
  metate_machine_info info{};
  info.struct_size = sizeof(info);
  check(metate_device_inspect(device, &info));
  return info;
}

int32_t Device::parallelFor(void *self, int64_t count, int64_t grain, uint32_t maxWorkers,
                            metate_task_body body, void *context) {
  auto *device = static_cast<Device *>(self);
  uint32_t limit = device->threads();
  if (maxWorkers && maxWorkers < limit)
    limit = maxWorkers;
  if (Launch::isBrief())
    limit = 1;
  if (limit > 1)
    if (int32_t status = device->startPool(); status != METATE_OK)
      return status;
  return runInChunks(device->pool, count, grain, limit, body, context);
}

bool Device::copy(PyObject *to, PyObject *from) {
  struct Bytes {
    char *to;
    const char *from;
  };
  BufferView target(to, PyBUF_WRITABLE), source(from, PyBUF_SIMPLE);
  PyErr_Clear();
  if (!target || !source || target->len != source->len)
    return false;
  Bytes bytes{static_cast<char *>(target->buf), static_cast<const char *>(source->buf)};
  uintptr_t first = reinterpret_cast<uintptr_t>(bytes.to),
            second = reinterpret_cast<uintptr_t>(bytes.from);
  if (first < second + uint64_t(source->len) && second < first + uint64_t(target->len))
    return false;
  auto work = [](void *context, int64_t begin, int64_t end, uint32_t) -> int32_t {
    auto *those = static_cast<Bytes *>(context);
    std::memcpy(those->to + begin, those->from + begin, size_t(end - begin));
    return METATE_OK;
  };
  constexpr int64_t grain = 1 << 17;
  nb::gil_scoped_release released;
  if (target->len < 2 * grain) // nobody starts threads for that
    return work(&bytes, 0, target->len, 0) == METATE_OK;
  return parallelFor(this, target->len, grain, 0, work, &bytes) == METATE_OK;
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
