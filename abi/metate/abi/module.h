/* The module descriptor and the .metate carrier.
 *
 * The descriptor is one contiguous little-endian value, read in place, with offsets from its own
 * first byte; the same bytes stand in every carrier and in the JIT's memory:
 *
 *   [metate_descriptor][tables ...][type blobs, each at a multiple of 8][strings]
 *
 * A table is {offset, count}; records are fixed-size and 8-byte aligned. Strings are offsets of
 * zero-terminated UTF-8. Offset 0 is 'none'. Padding is zero.
 *
 * The carrier file:
 *
 *   [metate_carrier][metate_section x section_count][section ...]  sections at multiples of 64
 *
 * `hash` is XXH3-128 (seed 0) of the whole file with the hash field zero. It is checked on every
 * open, before anything else is believed and before anything is mapped as code. */
#ifndef METATE_ABI_MODULE_H
#define METATE_ABI_MODULE_H

#include "metate/abi/base.h"

#define METATE_CARRIER_MAGIC 0x0a0d45544154454dull /* "METATE\r\n" */
#define METATE_DESCRIPTOR_MAGIC 0x4353544du        /* "MTSC" */

typedef struct metate_carrier {
  uint64_t magic;
  uint32_t abi_version;
  uint32_t section_count;
  uint64_t bytes;          /* of the whole file */
  uint64_t hash[2];        /* {low64, high64} */
  uint64_t section_offset; /* of the section table: 64 */
  uint64_t reserved[1];
  uint32_t section_bytes; /* sizeof(metate_section) */
  uint32_t reserved1;
} metate_carrier;
METATE_STATIC_ASSERT(sizeof(metate_carrier) == 64, "metate_carrier is 64 bytes");

typedef enum metate_section_kind {
  METATE_SECTION_DESCRIPTOR = 1, /* exactly one, the first */
  METATE_SECTION_PAYLOAD = 2     /* one per variant */
} metate_section_kind;

typedef struct metate_section {
  uint32_t kind;
  uint32_t index;  /* a payload: its variant's number */
  uint64_t offset; /* from the file's start, a multiple of 64 */
  uint64_t bytes;
  uint64_t reserved;
} metate_section;
METATE_STATIC_ASSERT(sizeof(metate_section) == 32, "metate_section is 32 bytes");

typedef struct metate_table {
  uint32_t offset;
  uint32_t count;
} metate_table;

typedef struct metate_descriptor {
  uint32_t magic; /* METATE_DESCRIPTOR_MAGIC */
  uint32_t abi_version;
  uint64_t signature_hash[2]; /* XXH3-128 of the descriptor with this field zero */
  uint32_t bytes;             /* of the descriptor */
  uint32_t name;              /* string: the module's name */
  metate_table types;         /* metate_type_info */
  metate_table kernels;       /* metate_kernel_info */
  metate_table arguments;     /* metate_argument_info */
  metate_table variants;      /* metate_variant_info */
  metate_table texts;         /* metate_text */
  metate_table dims;          /* metate_dim_info */
  metate_table pools;         /* metate_pool_info (pool.h) */
  metate_table graphs;        /* reserved */
  uint32_t producer;          /* string: compiler name and version */
  metate_table derivatives;   /* metate_derivative_info */
  metate_table places;        /* metate_place_info (pool.h) */
  uint32_t reserved[1];
} metate_descriptor;
METATE_STATIC_ASSERT(sizeof(metate_descriptor) == 120, "metate_descriptor is 120 bytes");

/* A named tree type. */
typedef struct metate_type_info {
  uint32_t name;   /* string: as given to add_type, or a derived one */
  uint32_t kind;   /* 1 = tree; reserved: 2 mesh */
  uint32_t offset; /* of the type blob (metate/abi/tree.h), a multiple of 8 */
  uint32_t bytes;
} metate_type_info;

enum {
  METATE_KERNEL_NO_ALIAS = 1u, /* compiled for arguments that do not overlap a written one */
  METATE_KERNEL_HAS_RESULT =
      2u, /* the last argument is the result: an ndarray that the caller supplies */
  METATE_KERNEL_DEBUG =
      4u, /* it stops at wrong accesses and asks metate_host.interrupt at each turn of a loop */
  METATE_KERNEL_SLICE = 8u, /* not offered to hosts: counts the slots that a kernel would take */
  METATE_KERNEL_GRAPH =
      16u /* it runs kernels of the module that hosts do not see; its tasks are theirs */
};

/* A kernel's slice has its name with this behind it, its arguments, and one i64 more: the address of a
 * metate_reservation (reservation.h). Slices stand behind all other kernels. One that fails an
 * assertion says why the kernel's slots cannot be counted. */
#define METATE_SLICE_SUFFIX ".reserve"

typedef struct metate_kernel_info {
  uint32_t name;
  uint32_t flags;
  uint32_t first_argument; /* into `arguments` */
  uint32_t argument_count;
  uint32_t slot_count; /* 8-byte argument slots */
  uint32_t task_count; /* of the variant whose code has most of them: information for users */
  uint32_t first_pool; /* into `pools`: memory that its code plans, see pool.h */
  uint32_t pool_count; /* of all variants together */
  uint32_t first_dim;  /* into `dims`: extents that have a name; 0 where there are none */
  uint32_t source;     /* index into texts: where the kernel is defined; METATE_NONE */
  uint64_t signature;  /* hash of the kernel's name and arguments: guards the direct pointer */
} metate_kernel_info;
METATE_STATIC_ASSERT(sizeof(metate_kernel_info) == 48, "metate_kernel_info is 48 bytes");

typedef enum metate_derivative {
  METATE_DERIVATIVE_REVERSE =
      1, /* from the gradients of what the primal writes to those of what it reads */
  METATE_DERIVATIVE_FORWARD =
      2 /* the primal, and the duals of what it writes from those of what it reads */
} metate_derivative;

/* A kernel is the derivative of another one. It takes the arguments of the primal (in reverse without its result), then the
 * gradients or duals of those arguments that have one, in the same order, named `x.grad` or `x.dual`; then trees of fields. The
 * records are ordered by the primal, then by the mode; a kernel has at most one derivative in each mode. */
typedef struct metate_derivative_info {
  uint32_t primal; /* into `kernels`, no slice */
  uint32_t mode;   /* metate_derivative */
  uint32_t kernel; /* into `kernels`, no slice, not the primal */
  uint32_t reserved;
} metate_derivative_info;
METATE_STATIC_ASSERT(sizeof(metate_derivative_info) == 16, "metate_derivative_info is 16 bytes");

typedef enum metate_argument_kind {
  METATE_ARGUMENT_SCALAR = 1,
  METATE_ARGUMENT_VECTOR = 2, /* vector or matrix by value */
  METATE_ARGUMENT_NDARRAY = 3,
  METATE_ARGUMENT_TREE = 4
} metate_argument_kind;

enum {
  METATE_ACCESS_READ = 1u,
  METATE_ACCESS_WRITE = 2u,
  METATE_ACCESS_ACTIVATE = 4u, /* a tree whose cells the kernel may activate */
  METATE_ACCESS_SORT = 8u,     /* a tree whose slots the kernel puts in order where they are not */
  METATE_ACCESS_BEFORE = 16u   /* of a derivative: it reads what was there before the primal ran */
};

enum {
  METATE_ARGUMENT_CONTIGUOUS = 1u, /* an ndarray must be row-major without gaps */
  METATE_ARGUMENT_RESULT = 2u,     /* the kernel's return value */
  METATE_ARGUMENT_LONG =
      4u, /* an ndarray's extents of which `fixed` says nothing (-1) may be beyond 2^31 - 1 */
  METATE_ARGUMENT_MEMBER =
      8u /* an ndarray of the same array of structs as the argument before it: of one shape, but for elements' dimensions */
};

typedef struct metate_argument_info {
  uint32_t name;
  uint32_t kind;    /* metate_argument_kind */
  uint32_t dtype;   /* scalar, vector, ndarray element */
  uint32_t rows;    /* vector: rows; ndarray of vectors: element rows; else 1 */
  uint32_t columns; /* matrix: columns; else 1 */
  uint32_t
      element_rank; /* 0 scalar, 1 vector, 2 matrix: of a vector argument or of an ndarray's elements */
  uint32_t rank;   /* ndarray: total rank, element dimensions included; tree: 0 */
  uint32_t access; /* METATE_ACCESS_* */
  uint32_t flags;  /* METATE_ARGUMENT_* */
  uint32_t type;   /* tree: index into `types` */
  uint32_t first_slot;
  uint32_t slot_count;
  int64_t fixed
      [METATE_MAX_RANK]; /* ndarray: required extent per dimension, -1 = any, METATE_EXTENT_OF_DIM */
} metate_argument_info;
METATE_STATIC_ASSERT(sizeof(metate_argument_info) == 48 + 8 * METATE_MAX_RANK, "no padding");

/* No extent is larger. */
#define METATE_LARGEST_EXTENT (INT64_MAX / 2)

/* What the kernel's code takes for a dimension whose `fixed` is -1. */
static inline int64_t metate_largest_extent(const metate_argument_info *info) {
  return info->flags & METATE_ARGUMENT_LONG ? METATE_LARGEST_EXTENT : INT32_MAX;
}

/* A required extent that is the kernel's dim `number`; the same turns it into the number again. */
#define METATE_EXTENT_OF_DIM(number) (-2 - (int64_t)(number))

/* A named extent: all dimensions of a kernel's arrays that are this dim have one extent, within these bounds. A kernel's dims
 * stand together, in the order in which its arguments have them first; those of kernels in the order of the kernels. */
typedef struct metate_dim_info {
  uint32_t name;   /* string */
  uint32_t kernel; /* whose it is */
  uint32_t slot;   /* where the first extent stands that is this dim */
  uint32_t reserved;
  int64_t min; /* at least 0 */
  int64_t
      max; /* at least min, at most METATE_LARGEST_EXTENT; 2^31 - 1: nothing bounds it but the code's indices of 32 bits */
  int64_t multiple; /* 1 to 2^31 - 1: what the extent is a multiple of */
} metate_dim_info;
METATE_STATIC_ASSERT(sizeof(metate_dim_info) == 40, "metate_dim_info is 40 bytes");

/* Is it one of the dim's extents? */
static inline int metate_dim_holds(const metate_dim_info *dim, int64_t extent) {
  if (extent < dim->min || extent > dim->max)
    return 0;
#if UINTPTR_MAX > UINT32_MAX /* else no array is that large */
  if (extent > UINT32_MAX)
    return extent % dim->multiple == 0;
#endif
  return (uint32_t)extent % (uint32_t)dim->multiple == 0;
}

/* Machines a payload may be for. */
enum {
  METATE_ARCH_X86_64 = 1,
  METATE_ARCH_AARCH64 = 2,
  METATE_ARCH_CUDA = 3,
  METATE_ARCH_VULKAN = 4,
  METATE_ARCH_SIMT =
      5, /* this machine's CPU, invocation by invocation: what tests run devices' code on */
  METATE_ARCH_RISCV64 = 6,
  METATE_ARCH_THUMB = 7, /* Arm's M profile, without a system */
  METATE_ARCH_WASM32 = 8
};
typedef enum metate_format {
  METATE_FORMAT_SHARED_OBJECT = 1,
  METATE_FORMAT_IN_MEMORY = 2, /* JIT, static: entries handed in */
  METATE_FORMAT_GRID = 3       /* a device's: grid.h */
} metate_format;

/* A feature of that name and "thread" or "address" is no CPU's: the code is instrumented, and runs
 * only in a process built with that sanitizer. */
#define METATE_FEATURE_SANITIZER "sanitizer-"

typedef struct metate_variant_info {
  uint32_t arch;
  uint32_t
      level; /* x86-64: least level 1..4 (v1..v4) the code needs; CUDA: compute capability, 10 * major + minor; Thumb: the architecture's version, 7 (v7E-M) or 8 (v8-M Mainline); others: 0 */
  uint32_t format;
  uint32_t cpu;      /* string: the LLVM name of the CPU compiled for */
  uint32_t features; /* string: comma-separated features beyond the level, LLVM names */
  uint32_t triple;   /* string */
  uint32_t reserved[2];
} metate_variant_info;
METATE_STATIC_ASSERT(sizeof(metate_variant_info) == 32, "metate_variant_info is 32 bytes");

/* A place in the user's source with a text: asserts, kernel definitions. What was checked in a kernel that a graph runs has the
 * kernel's name and METATE_TEXT_KERNEL_END before it. */
#define METATE_TEXT_KERNEL_END '\x1f'
typedef struct metate_text {
  uint32_t file; /* string */
  uint32_t line;
  uint32_t column;
  uint32_t text; /* string */
} metate_text;

#endif
