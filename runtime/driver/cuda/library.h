// CUDA's driver, as its library says it at run time: the functions that are used here, by their names. Nothing of CUDA is there when
// this is built.
#ifndef METATE_RUNTIME_DRIVER_CUDA_LIBRARY_H
#define METATE_RUNTIME_DRIVER_CUDA_LIBRARY_H

#include "support/status.h"

namespace metate::cuda {

using Address = unsigned long long; // CUdeviceptr

// Of CUresult what is looked at.
enum Result : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  deinitialized = 4,
  noDevice = 100,
  invalidContext = 201,
  uncorrectableMemory = 214,
  uncorrectableLink = 220,
  notReady = 600,
  illegalAddress = 700,
  launchTimeout = 702,
  contextDestroyed = 709,
  assertFailed = 710,
  firstFault =
      714, // of the hardware's stack, instructions, alignment, address spaces, program counters
  lastFault = 719, // a launch failed
  unknown = 999
};

enum {
  multiprocessorCount = 16, // CUdevice_attribute
  threadsPerMultiprocessor = 39,
  capabilityMajor = 75,
  capabilityMinor = 76,
  threadsPerBlock = 0, // CUfunction_attribute
  dynamicSharedBytes = 8,
  contextOf = 1, // CUpointer_attribute
  memoryTypeOf = 2,
  isManaged = 8,
  ordinalOf = 9,
  rangeBegin = 11,
  rangeBytes = 12,
  deviceMemory = 2, // CUmemorytype
  hostPortable = 1, // of cuMemHostAlloc
  hostMapped = 2,
  blocking =
      0, // of cuStreamCreate: in order with the stream that other libraries use when nobody says
  jitErrorLog = 5, // CUjit_option
  jitErrorLogBytes = 6
};

// CUDA_KERNEL_NODE_PARAMS, as the functions without a number behind their names take it.
struct KernelNode {
  void *function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **parameters, **extra;
};

// The name as libcuda exports it; how it is called here; its parameters.
#define METATE_CUDA_FUNCTIONS(F)                                                                   \
  F(cuInit, init, (unsigned flags))                                                                \
  F(cuDriverGetVersion, driverVersion, (int *version))                                             \
  F(cuGetErrorName, errorName, (Result result, const char **text))                                 \
  F(cuGetErrorString, errorString, (Result result, const char **text))                             \
  F(cuDeviceGetCount, deviceCount, (int *count))                                                   \
  F(cuDeviceGet, deviceGet, (int *device, int ordinal))                                            \
  F(cuDeviceGetName, deviceName, (char *name, int bytes, int device))                              \
  F(cuDeviceGetAttribute, deviceAttribute, (int *value, int attribute, int device))                \
  F(cuDevicePrimaryCtxRetain, primaryRetain, (void **context, int device))                         \
  F(cuDevicePrimaryCtxRelease_v2, primaryRelease, (int device))                                    \
  F(cuCtxPushCurrent_v2, push, (void *context))                                                    \
  F(cuCtxPopCurrent_v2, pop, (void **context))                                                     \
  F(cuCtxGetDevice, contextDevice, (int *device))                                                  \
  F(cuStreamCreate, streamCreate, (void **stream, unsigned flags))                                 \
  F(cuStreamDestroy_v2, streamDestroy, (void *stream))                                             \
  F(cuStreamSynchronize, synchronize, (void *stream))                                              \
  F(cuStreamQuery, query, (void *stream))                                                          \
  F(cuEventCreate, eventCreate, (void **event, unsigned flags))                                    \
  F(cuEventRecord, eventRecord, (void *event, void *stream))                                       \
  F(cuEventElapsedTime, eventElapsed, (float *milliseconds, void *begin, void *end))               \
  F(cuEventDestroy_v2, eventDestroy, (void *event))                                                \
  F(cuMemAlloc_v2, allocate, (Address * address, size_t bytes))                                    \
  F(cuMemFree_v2, release, (Address address))                                                      \
  F(cuMemHostAlloc, hostAllocate, (void **place, size_t bytes, unsigned flags))                    \
  F(cuMemHostGetDevicePointer_v2, hostAddress, (Address * address, void *place, unsigned flags))   \
  F(cuMemFreeHost, hostRelease, (void *place))                                                     \
  F(cuMemGetInfo_v2, memoryInfo, (size_t *available, size_t *total))                               \
  F(cuMemcpyHtoDAsync_v2, toDevice, (Address to, const void *from, size_t bytes, void *stream))    \
  F(cuMemcpyDtoHAsync_v2, toHost, (void *to, Address from, size_t bytes, void *stream))            \
  F(cuMemsetD8Async, fillBytes, (Address to, unsigned char value, size_t count, void *stream))     \
  F(cuMemsetD32Async, fillWords, (Address to, unsigned value, size_t count, void *stream))         \
  F(cuPointerGetAttributes, pointerAttributes,                                                     \
    (unsigned count, int *attributes, void **values, Address address))                             \
  F(cuModuleLoadDataEx, moduleLoad,                                                                \
    (void **module, const void *image, unsigned count, int *options, void **values))               \
  F(cuModuleUnload, moduleUnload, (void *module))                                                  \
  F(cuModuleGetFunction, moduleFunction, (void **function, void *module, const char *name))        \
  F(cuFuncGetAttribute, functionAttribute, (int *value, int attribute, void *function))            \
  F(cuFuncSetAttribute, setFunctionAttribute, (void *function, int attribute, int value))          \
  F(cuLaunchKernel, launch,                                                                        \
    (void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,              \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, void *stream, void **parameters,      \
     void **extra))                                                                                \
  F(cuStreamIsCapturing, streamIsCapturing, (void *stream, int *status))                           \
  F(cuStreamGetPriority, streamPriority, (void *stream, int *priority))                            \
  F(cuGraphCreate, graphCreate, (void **graph, unsigned flags))                                    \
  F(cuGraphAddKernelNode, graphAddKernel,                                                          \
    (void **node, void *graph, void *const *after, size_t afterCount, const KernelNode *kernel))   \
  F(cuGraphInstantiateWithFlags, graphInstantiate,                                                 \
    (void **executable, void *graph, unsigned long long flags))                                    \
  F(cuGraphExecKernelNodeSetParams, graphSetKernel,                                                \
    (void *executable, void *node, const KernelNode *kernel))                                      \
  F(cuGraphLaunch, graphLaunch, (void *executable, void *stream))                                  \
  F(cuGraphExecDestroy, graphExecutableDestroy, (void *executable))                                \
  F(cuGraphDestroy, graphDestroy, (void *graph))

struct Library {
#define METATE_CUDA_MEMBER(symbol, name, parameters) Result(*name) parameters = nullptr;
  METATE_CUDA_FUNCTIONS(METATE_CUDA_MEMBER)
#undef METATE_CUDA_MEMBER

  // A result's name and what it means.
  const char *nameOf(Result result) const;
  const char *textOf(Result result) const;
};

// Finds the library and its functions. It stays in the process: its threads live on.
metate_status open(Library *library);

// Does nothing work in the context from here on?
bool isFatal(Result result);

} // namespace metate::cuda

#endif
