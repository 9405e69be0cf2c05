// CUDA's driver as its library says it at run time: what this host calls of it. Types are the toolkit's where its header is, else
// the same ones by hand, so that it is built on a machine without either.
#ifndef METATE_EXAMPLES_CUDA_DRIVER_HPP
#define METATE_EXAMPLES_CUDA_DRIVER_HPP

#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#if __has_include(<cuda.h>) && !defined(METATE_WITHOUT_TOOLKIT)
#include <cuda.h>
#else
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUstream = struct CUstream_st *;
#endif

namespace host {

class Driver {
public:
  // How it is called here; the symbol, of a version whose parameters stay; the parameters.
#define HOST_CUDA_FUNCTIONS(F)                                                                     \
  F(init, cuInit, (unsigned flags))                                                                \
  F(deviceCount, cuDeviceGetCount, (int *count))                                                   \
  F(deviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                      \
  F(deviceName, cuDeviceGetName, (char *name, int bytes, CUdevice device))                         \
  F(contextCreate, cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device))         \
  F(contextDestroy, cuCtxDestroy_v2, (CUcontext context))                                          \
  F(streamCreate, cuStreamCreate, (CUstream * stream, unsigned flags))                             \
  F(streamDestroy, cuStreamDestroy_v2, (CUstream stream))                                          \
  F(streamSynchronize, cuStreamSynchronize, (CUstream stream))                                     \
  F(allocate, cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                \
  F(release, cuMemFree_v2, (CUdeviceptr address))                                                  \
  F(clear, cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))  \
  F(fetch, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))

#define HOST_CUDA_MEMBER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  HOST_CUDA_FUNCTIONS(HOST_CUDA_MEMBER)
#undef HOST_CUDA_MEMBER

  // What is missing, or nothing.
  std::string open(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return dlerror();
#define HOST_CUDA_FIND(name, symbol, parameters)                                                   \
  name = reinterpret_cast<CUresult(*) parameters>(dlsym(library, #symbol));                        \
  if (!name)                                                                                       \
    return std::string(path) + " has no function " #symbol;
    HOST_CUDA_FUNCTIONS(HOST_CUDA_FIND)
#undef HOST_CUDA_FIND
    int count = 0;
    CUresult result = init(0);
    if (int(result) == 0)
      result = deviceCount(&count);
    if (int(result) != 0)
      return "the driver does not start: CUresult " + std::to_string(int(result));
    return count ? "" : "there is no GPU";
  }
};

inline void check(CUresult result, const char *function) {
  if (int(result) != 0)
    throw std::runtime_error(std::string(function) + ": CUresult " + std::to_string(int(result)));
}

} // namespace host

#endif
