// The driver "cuda": opening and closing a device, and what goes wrong on it.
#include "metate/metate_cuda.h"

#include "driver/cuda/cuda.h"

#include <cstdio>
#include <new>

namespace metate::cuda {

metate_status checkAlive(const Cuda &cuda) {
  Result lost = cuda.lost.load(std::memory_order_relaxed);
  if (lost == success)
    return METATE_OK;
  return fail(METATE_E_INTERNAL, "cuda: the device is lost: %s: %s", cuda.api.nameOf(lost),
              cuda.api.textOf(lost));
}

metate_status check(Cuda &cuda, Result result, const char *function) {
  if (result == success)
    return METATE_OK;
  if (isFatal(result)) {
    cuda.lost.store(result, std::memory_order_relaxed);
    return checkAlive(cuda);
  }
  return fail(result == outOfMemory ? METATE_E_OUT_OF_MEMORY : METATE_E_INTERNAL,
              "cuda: %s: %s: %s", function, cuda.api.nameOf(result), cuda.api.textOf(result));
}

metate_status synchronize(Cuda &cuda) {
  cuda.uploads = 0;
  return check(cuda, cuda.api.synchronize(cuda.stream), "cuStreamSynchronize");
}

namespace {

// ---- opening

metate_status findDevice(Cuda &cuda, uint32_t ordinal) {
  int count = 0;
  METATE_TRY(check(cuda, cuda.api.deviceCount(&count), "cuDeviceGetCount"));
  if (count <= 0)
    return fail(METATE_E_UNSUPPORTED, "cuda: this machine has no GPU");
  if (ordinal >= uint32_t(count))
    return fail(METATE_E_UNSUPPORTED, "cuda: ordinal: expected less than %d, got %u", count,
                ordinal);
  return check(cuda, cuda.api.deviceGet(&cuda.device, int(ordinal)), "cuDeviceGet");
}

metate_status takeContext(Cuda &cuda, const metate_cuda_options &options) {
  const Library &library = cuda.api;
  cuda.context = options.context;
  if (!cuda.context) {
    METATE_TRY(findDevice(cuda, options.ordinal));
    METATE_TRY(
        check(cuda, library.primaryRetain(&cuda.context, cuda.device), "cuDevicePrimaryCtxRetain"));
    cuda.ownsContext = true;
  }
  Session session(cuda);
  METATE_TRY(session.status());
  return check(cuda, library.contextDevice(&cuda.device), "cuCtxGetDevice");
}

metate_status askDevice(Cuda &cuda) {
  const Library &library = cuda.api;
  int processors = 0, threads = 0, major = 0, minor = 0;
  const struct {
    int *value, attribute;
  } asked[] = {{&processors, multiprocessorCount},
               {&threads, threadsPerMultiprocessor},
               {&major, capabilityMajor},
               {&minor, capabilityMinor}};
  for (auto [value, attribute] : asked)
    METATE_TRY(check(cuda, library.deviceAttribute(value, attribute, cuda.device),
                     "cuDeviceGetAttribute"));
  if (processors <= 0 || threads <= 0 || processors > INT32_MAX / 8 / threads)
    return fail(METATE_E_UNSUPPORTED, "cuda: the GPU says that it runs nothing");
  cuda.level = uint32_t(10 * major + minor);
  cuda.residents = uint32_t(processors) * uint32_t(threads);
  METATE_TRY(
      check(cuda, library.deviceName(cuda.name, sizeof cuda.name, cuda.device), "cuDeviceGetName"));
  cuda.name[sizeof cuda.name - 1] = 0;
  return METATE_OK;
}

metate_status takeStream(Cuda &cuda, void *stream) {
  const Library &library = cuda.api;
  Session session(cuda);
  METATE_TRY(session.status());
  cuda.stream = stream;
  if (!stream) {
    METATE_TRY(check(cuda, library.streamCreate(&cuda.stream, blocking), "cuStreamCreate"));
    cuda.ownsStream = true;
  }
  void *place = nullptr;
  METATE_TRY(check(cuda, library.hostAllocate(&place, sizeof(Pinned), hostPortable | hostMapped),
                   "cuMemHostAlloc"));
  cuda.pinned = static_cast<Pinned *>(place);
  return check(cuda, library.hostAddress(&cuda.interrupt, &cuda.pinned->interrupt, 0),
               "cuMemHostGetDevicePointer");
}

// Gives back what was taken; what a lost device says to it does not matter.
void drop(Cuda &cuda) {
  const Library &library = cuda.api;
  if (cuda.context && library.push(cuda.context) == success) {
    if (cuda.stream)
      library.synchronize(cuda.stream);
    if (cuda.frame)
      library.release(cuda.frame);
    if (cuda.ring)
      library.release(cuda.ring);
    if (cuda.pinned)
      library.hostRelease(cuda.pinned);
    if (cuda.ownsStream)
      library.streamDestroy(cuda.stream);
    void *popped = nullptr;
    library.pop(&popped);
  }
  if (cuda.ownsContext)
    library.primaryRelease(cuda.device);
  metate_allocator allocator = cuda.allocator;
  cuda.~Cuda();
  allocator.release(allocator.self, &cuda, sizeof cuda, alignof(Cuda));
}

metate_status begin(Cuda &cuda, const metate_cuda_options &options) {
  METATE_TRY(open(&cuda.api));
  METATE_TRY(takeContext(cuda, options));
  METATE_TRY(askDevice(cuda));
  return takeStream(cuda, options.stream);
}

metate_status openDevice(const metate_allocator &allocator, const void *options, void **self) {
  void *place = allocator.allocate(allocator.self, sizeof(Cuda), alignof(Cuda));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes for a device",
                sizeof(Cuda));
  auto *cuda = new (place) Cuda(allocator);
  static const metate_cuda_options none{sizeof none, 0, nullptr, nullptr};
  metate_status status =
      begin(*cuda, options ? *static_cast<const metate_cuda_options *>(options) : none);
  if (status != METATE_OK) {
    drop(*cuda);
    return status;
  }
  *self = cuda;
  return METATE_OK;
}

void close(void *self) { drop(of(self)); }

void describe(const void *self, metate_device_info *info) {
  info->arch = METATE_ARCH_CUDA;
  info->level = of(self).level;
  snprintf(info->name, sizeof info->name, "%s", of(self).name);
}

// Every GPU that kernels are compiled for has all of it.
metate_status inspect(const void *self, metate_machine_info *info) {
  Cuda &cuda = of(self);
  Session session(cuda);
  METATE_TRY(session.status());
  size_t available = 0, total = 0;
  int version = 0;
  METATE_TRY(check(cuda, cuda.api.memoryInfo(&available, &total), "cuMemGetInfo"));
  METATE_TRY(check(cuda, cuda.api.driverVersion(&version), "cuDriverGetVersion"));
  info->features = METATE_FEATURE_F64 | METATE_FEATURE_F16 | METATE_FEATURE_I16 |
                   METATE_FEATURE_I8 | METATE_FEATURE_I64_ATOMICS | METATE_FEATURE_F32_ATOMIC_ADD;
  info->memory_bytes = total;
  info->version[0] = uint32_t(version / 1000);
  info->version[1] = uint32_t(version % 1000 / 10);
  return METATE_OK;
}

metate_status wait(void *self) {
  Session session(of(self));
  METATE_TRY(session.status());
  return synchronize(of(self));
}

// ---- what it runs

Verdict judge(const void *self, const Descriptor &descriptor, uint32_t index, bool inProcess) {
  const metate_variant_info &variant = descriptor.variants()[index];
  uint32_t level = of(self).level;
  Verdict verdict;
  verdict.rank = variant.level;
  if (inProcess)
    snprintf(verdict.reason, sizeof verdict.reason, "its entries are functions of the host");
  else if (variant.arch != METATE_ARCH_CUDA)
    snprintf(verdict.reason, sizeof verdict.reason, "it is for another architecture (%u)",
             variant.arch);
  else if (variant.format != METATE_FORMAT_GRID)
    snprintf(verdict.reason, sizeof verdict.reason, "its code is no grid");
  else if (variant.level > level)
    snprintf(verdict.reason, sizeof verdict.reason,
             "it needs compute capability %u.%u, this GPU has %u.%u", variant.level / 10,
             variant.level % 10, level / 10, level % 10);
  return verdict;
}

metate_status adopt(void *, const Descriptor &, const metate_entry *, Code *) {
  return fail(METATE_E_UNSUPPORTED, "entries of the host do not run on a GPU: open a module that "
                                    "was built for it");
}

const Driver driver = {
    .name = "cuda",
    .open = openDevice,
    .close = close,
    .describe = describe,
    .inspect = inspect,
    .create = create,
    .reserve = reserve,
    .wrap = wrap,
    .release = release,
    .read = read,
    .write = write,
    .zero = zero,
    .room = room,
    .discard = nullptr,
    .scatter = nullptr,
    .judge = judge,
    .load = load,
    .adopt = adopt,
    .unload = unload,
    .launch = launch,
    .reaches = reaches,
    .wait = wait,
    .settles = true,
    .treeWorkers = 8192,
};

} // namespace

} // namespace metate::cuda

metate_status metate_cuda_device_open(const metate_cuda_options *options,
                                      const metate_device_hooks *hooks, metate_device **device) {
  if (options)
    METATE_REQUIRE_STRUCT(options);
  return metate_device_open_plugin(&metate::cuda::driver, metate::pluginVersion, options, hooks,
                                   device);
}
