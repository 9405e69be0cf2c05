// Finding libcuda and its functions. The only file of the driver that calls the system's loader.
#include "driver/cuda/library.h"

#include <cstdlib>
#include <dlfcn.h>

namespace metate::cuda {

namespace {

constexpr int oldestVersion = 11040; // CUDA 11.4

metate_status findFunctions(void *handle, const char *path, Library *library) {
#define METATE_CUDA_FIND(symbol, name, parameters)                                                 \
  if (void *found = dlsym(handle, #symbol))                                                        \
    library->name = reinterpret_cast<decltype(library->name)>(found);                              \
  else                                                                                             \
    return fail(METATE_E_UNSUPPORTED,                                                              \
                "cuda: '%s' has no function " #symbol ": install a newer driver", path);
  METATE_CUDA_FUNCTIONS(METATE_CUDA_FIND)
#undef METATE_CUDA_FIND
  return METATE_OK;
}

metate_status start(const Library &library, const char *path) {
  Result result = library.init(0);
  if (result != success)
    return fail(METATE_E_UNSUPPORTED, "cuda: %s: cuInit: %s: %s",
                result == noDevice ? "this machine has no GPU" : "the driver does not start",
                library.nameOf(result), library.textOf(result));
  int version = 0;
  result = library.driverVersion(&version);
  if (result != success || version < oldestVersion)
    return fail(
        METATE_E_UNSUPPORTED,
        "cuda: '%s' is a driver of CUDA %d.%d: expected at least %d.%d: install a newer one", path,
        version / 1000, version % 1000 / 10, oldestVersion / 1000, oldestVersion % 1000 / 10);
  return METATE_OK;
}

} // namespace

metate_status open(Library *library) {
  const char *named = getenv("METATE_CUDA_LIBRARY");
  const char *path = named && *named ? named : "libcuda.so.1";
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return fail(METATE_E_UNSUPPORTED,
                "cuda: this machine has no driver of NVIDIA's: cannot load '%s': %s", path,
                reason ? reason : "unknown reason");
  }
  METATE_TRY(findFunctions(handle, path, library));
  return start(*library, path);
}

const char *Library::nameOf(Result result) const {
  const char *text = nullptr;
  return errorName(result, &text) == success && text ? text : "an unknown error";
}

const char *Library::textOf(Result result) const {
  const char *text = nullptr;
  return errorString(result, &text) == success && text ? text : "unknown";
}

bool isFatal(Result result) {
  switch (result) {
  case deinitialized:
  case invalidContext:
  case uncorrectableMemory:
  case uncorrectableLink:
  case illegalAddress:
  case launchTimeout:
  case contextDestroyed:
  case assertFailed:
  case unknown:
    return true;
  default:
    return result >= firstFault && result <= lastFault;
  }
}

} // namespace metate::cuda
