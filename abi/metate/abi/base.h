/* What every header of the contract shares: fixed-width types, status codes, scalar types.
 *
 * abi/ holds the formats of the border between the compiler and the runtime: C11 headers that include
 * nothing but <stdint.h> and <stddef.h>. Everything here is little-endian and read in place. */
#ifndef METATE_ABI_BASE_H
#define METATE_ABI_BASE_H

#include "metate/abi/dtypes.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define METATE_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define METATE_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* Behind each pointer of a struct of abi/: structs lie alike on all machines, so that code for any of them is made from the
 * same offsets. Where a pointer has 32 bits it lies in the lower half of 8 bytes, whose upper half nobody reads. */
#if UINTPTR_MAX > 0xffffffffu
#define METATE_UPPER_HALF(name)
#else
#define METATE_UPPER_HALF(name) uint32_t name##_upper;
#endif

/* Bumped whenever a struct of abi/ changes its meaning or its layout. */
#define METATE_ABI_VERSION 6u

/* Status of every call across the border, and of every kernel entry. */
typedef enum metate_status {
  METATE_OK = 0,
  METATE_E_NULL = 1,             /* a required pointer is NULL */
  METATE_E_INVALID_ARGUMENT = 2, /* a value outside what the function accepts */
  METATE_E_NOT_FOUND = 3,        /* no type, kernel, member or level of that name */
  METATE_E_TYPE_MISMATCH = 4,    /* an argument of another kind, dtype, rank or tree type */
  METATE_E_TOO_SMALL = 5,        /* memory smaller than needed */
  METATE_E_MISALIGNED = 6,       /* memory not aligned as needed */
  METATE_E_ALREADY_BOUND = 7,    /* the memory is already bound by a live tree */
  METATE_E_CAPACITY = 8,         /* a pool is exhausted: level and needed count are in the header */
  METATE_E_CORRUPT = 9,          /* a module or a block that contradicts itself */
  METATE_E_VERSION = 10,         /* made for another abi version */
  METATE_E_UNSUPPORTED = 11,     /* this device or build cannot do it */
  METATE_E_OUT_OF_MEMORY = 12,   /* the system or the host's allocator refused memory */
  METATE_E_IO = 13,              /* a file could not be read or written */
  METATE_E_ASSERT = 14,          /* an assert statement of a kernel failed */
  METATE_E_ALIAS = 15,           /* a written argument overlaps another one */
  METATE_E_OUT_OF_RANGE = 16,    /* an index or a dimension outside its bounds */
  METATE_E_BUSY = 17,            /* an object is still in use */
  METATE_E_INTERRUPTED = 18,     /* the host asked the kernel to stop */
  METATE_E_INTERNAL = 19,        /* a bug of Metate: please report */
  METATE_E_DIVISION_BY_ZERO = 20 /* an integer division or remainder by zero (debug mode) */
} metate_status;
#define METATE_STATUS_LAST METATE_E_DIVISION_BY_ZERO

/* Scalar types. A vector or matrix is a scalar type with rows and columns. */
typedef enum metate_dtype {
#define METATE_DTYPE(NAME, code, name, bits, KIND, type) METATE_##NAME = code,
  METATE_DTYPES(METATE_DTYPE)
#undef METATE_DTYPE
      METATE_DTYPE_LAST = METATE_F64
} metate_dtype;

/* What kernels may use of a machine. */
enum {
  METATE_FEATURE_F64 = 1u,
  METATE_FEATURE_F16 = 2u,
  METATE_FEATURE_I16 = 4u,
  METATE_FEATURE_I8 = 8u,
  METATE_FEATURE_I64_ATOMICS = 16u,
  METATE_FEATURE_F32_ATOMIC_ADD = 32u /* as one operation of the machine's */
};

/* Most axes a tree and most dimensions an array can have. */
#define METATE_MAX_AXES 12
#define METATE_MAX_RANK 12

/* 'no index': a table reference that is absent. */
#define METATE_NONE 0xffffffffu

#endif
