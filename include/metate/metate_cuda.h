/* libmetate_cuda: NVIDIA's GPUs as devices. Optional and separate: libmetate never links it. It needs their driver's library
 * (libcuda.so.1) and nothing else, and looks for it when a device is opened. */
#ifndef METATE_METATE_CUDA_H
#define METATE_METATE_CUDA_H

#include "metate/metate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What of the application's a device uses, if anything; both outlive it. */
typedef struct metate_cuda_options {
  uint32_t struct_size; /* sizeof(metate_cuda_options) */
  uint32_t ordinal;     /* which GPU, as CUDA counts them; not read where there is a context */
  void *context;        /* CUcontext; NULL: the GPU's primary one, which CUDA's runtime uses too */
  void *
      stream; /* CUstream of that context, in whose order all work is; NULL: one of the device's own */
} metate_cuda_options;

/* A device as of metate_device_open; NULL options: the first GPU, without anything of the application's. A launch of a kernel that
 * cannot fail returns when it is in the stream's order. Memory that CUDA allocated in the context (cudaMalloc, tensors of other
 * libraries, managed memory) is the device's like its own. METATE_E_UNSUPPORTED: there is no driver, an old one, or no such GPU.
 * The environment variable METATE_CUDA_LIBRARY names another file than libcuda.so.1. */
METATE_API metate_status metate_cuda_device_open(const metate_cuda_options *options,
                                                 const metate_device_hooks *hooks,
                                                 metate_device **device);

#ifdef __cplusplus
}
#endif

#endif
