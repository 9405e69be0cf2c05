/* Part of metate.h, whose conventions hold: statuses, devices and their memory. */
#ifndef METATE_METATE_DEVICE_H
#define METATE_METATE_DEVICE_H

#include "metate/abi/base.h"
#include "metate/abi/kernel.h"

#if defined(__GNUC__)
#define METATE_API __attribute__((visibility("default")))
#else
#define METATE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct metate_device metate_device; /* hooks + live objects */
typedef struct metate_memory metate_memory; /* a piece of memory on a device */
typedef struct metate_kernel metate_kernel; /* borrowed from its module */

/* ---- status ---------------------------------------------------------------------------------- */

/* "METATE_E_CAPACITY"; "METATE_E_?" for a number that is no status. Never NULL. */
METATE_API const char *metate_status_name(int32_t status);
/* The text of the calling thread's last failed call; "" before the first. Never NULL. */
METATE_API const char *metate_last_error(void);
/* METATE_ABI_VERSION of the library that is loaded. */
METATE_API uint32_t metate_abi_version(void);
/* "f32"; "?" for a number that is no dtype. */
METATE_API const char *metate_dtype_name(uint32_t dtype);
/* Bytes of one scalar; 0 for a number that is no dtype. */
METATE_API uint32_t metate_dtype_bytes(uint32_t dtype);

/* ---- device ---------------------------------------------------------------------------------- */

/* allocate returns NULL when it refuses; `align` is a power of two; release gets what it got. */
typedef struct metate_allocator {
  void *self;
  void *(*allocate)(void *self, size_t bytes, size_t align);
  void (*release)(void *self, void *pointer, size_t bytes, size_t align);
} metate_allocator;

typedef struct metate_executor {
  void *self;
  metate_parallel_for parallel_for;
  uint32_t worker_count; /* workers it has at most; 0 = unknown */
  uint32_t reserved;
} metate_executor;

/* One print statement of a kernel, formatted: `bytes` bytes of UTF-8 (text[bytes] == 0). Called
 * from any worker, never twice at once for one device. */
typedef struct metate_print_sink {
  void *self;
  void (*text)(void *self, const char *text, size_t bytes);
} metate_print_sink;

typedef struct metate_device_hooks {
  uint32_t struct_size;
  uint32_t reserved;
  const metate_allocator *allocator; /* NULL: malloc */
  const metate_executor *executor;   /* NULL: serial, on the calling thread */
  const metate_print_sink *print;    /* NULL: kernels print nothing */
} metate_device_hooks;

typedef struct metate_device_info {
  uint32_t struct_size;
  uint32_t arch;         /* METATE_ARCH_*; 0 = a device of another kind */
  uint32_t level;        /* x86-64: 1..4 */
  uint32_t worker_count; /* 1 without an executor; 0 when the executor does not say */
  char name[64];         /* "x86-64-v3 (AuthenticAMD)" */
  uint32_t live_objects; /* memories, modules, types and trees not yet closed */
  uint32_t reserved;
} metate_device_info;

typedef struct metate_machine_info {
  uint32_t struct_size;
  uint32_t features;     /* METATE_FEATURE_* */
  uint64_t memory_bytes; /* that trees and arrays of the device share; 0: not known */
  uint32_t
      version[2]; /* of the driver's interface, CUDA's or Vulkan's: major, minor; 0: it has none */
} metate_machine_info;

/* The host's CPU with the given hooks (copied). hooks NULL = all NULL. */
METATE_API metate_status metate_device_open(const metate_device_hooks *hooks,
                                            metate_device **device);
/* As metate_device_open, of the machine that a driver of this libmetate stands for: "cpu" is the host's.
 * METATE_E_UNSUPPORTED: there is no such driver, or no such machine. */
METATE_API metate_status metate_device_open_driver(const char *driver,
                                                   const metate_device_hooks *hooks,
                                                   metate_device **device);
/* Another device on the machine of one that is open, with hooks, a profiler and objects of its own: memory of one is memory of the other,
 * and trees of one go into kernels of the other. Each is closed by itself; the allocator of the first one outlives both. */
METATE_API metate_status metate_device_open_beside(const metate_device *other,
                                                   const metate_device_hooks *hooks,
                                                   metate_device **device);
/* Returns when all that was launched on the device has ended. A launch of a kernel that cannot fail may return before on devices that
 * work on their own; reading and writing their memory waits as well. A status: what went wrong meanwhile. */
METATE_API metate_status metate_device_wait(metate_device *device);
METATE_API metate_status metate_device_describe(const metate_device *device,
                                                metate_device_info *info);
METATE_API metate_status metate_device_inspect(const metate_device *device,
                                               metate_machine_info *info);
/* What launches and their tasks took, told on the thread that launched, when each has ended. Times are nanoseconds of the
 * system's steady clock. `bytes`: of the launch's arrays, and of its trees without pools, each once if the kernel reads it and once
 * if it writes it; 0 where none are known. Tasks are told of where the kernel was compiled with the option `profile`: `task`
 * numbers them as they stand in the kernel, `line` is a line of its source or 0, `iterations` what was shared out. */
typedef struct metate_profiler {
  void *self;
  void (*launch)(void *self, const metate_kernel *kernel, uint64_t begin, uint64_t end,
                 uint64_t bytes);
  void (*task)(void *self, const metate_kernel *kernel, uint32_t task, uint32_t line,
               int64_t iterations, uint64_t begin, uint64_t end); /* may be NULL */
} metate_profiler;
/* Whom launches on the device tell (copied); NULL: nobody, as at first. No kernel of the device may be running. */
METATE_API metate_status metate_device_profile(metate_device *device,
                                               const metate_profiler *profiler);
/* METATE_E_BUSY while objects of the device live. */
METATE_API metate_status metate_device_close(metate_device *device);

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct metate_memory_info {
  uint32_t struct_size;
  uint32_t elsewhere; /* nonzero: an address of the device's, whose bytes the host cannot reach */
  void *data;
  uint64_t bytes;
} metate_memory_info;

/* Uninitialised memory of the device's allocator. align: a power of two; 0 = METATE_BLOCK_ALIGN. */
METATE_API metate_status metate_memory_create(metate_device *device, uint64_t bytes, uint64_t align,
                                              metate_memory **memory);
/* Address space whose pages are zero and cost nothing until they are touched. */
METATE_API metate_status metate_memory_reserve(metate_device *device, uint64_t bytes,
                                               metate_memory **memory);
/* The caller's memory; it must outlive the object. */
METATE_API metate_status metate_memory_wrap(metate_device *device, void *data, uint64_t bytes,
                                            metate_memory **memory);
METATE_API metate_status metate_memory_describe(const metate_memory *memory,
                                                metate_memory_info *info);
METATE_API metate_status metate_memory_read(const metate_memory *memory, uint64_t offset, void *to,
                                            uint64_t bytes);
METATE_API metate_status metate_memory_write(metate_memory *memory, uint64_t offset,
                                             const void *from, uint64_t bytes);
/* METATE_E_BUSY while a tree is bound in it. */
METATE_API metate_status metate_memory_destroy(metate_memory *memory);

#ifdef __cplusplus
}
#endif

#endif
