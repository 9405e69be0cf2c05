/* The core of libmetate, for machines without a system: what a linked module (NAME_module of its generated header) holds, memory of
 * trees, plans, checked launches. C11 that allocates nothing, prints nothing and calls memcpy, memset and memcmp alone: a program
 * compiles runtime/core/ with its own compiler.
 *
 * It takes and refuses what libmetate does, by status alone: texts, capacities that a host chooses, access by coordinates, files and
 * devices are libmetate's. All objects are the caller's; what a core or a tree refers to must outlive it. Not for several threads at
 * once. */
#ifndef METATE_CORE_H
#define METATE_CORE_H

#include "metate/abi/kernel.h"
#include "metate/abi/module.h"
#include "metate/abi/pool.h"
#include "metate/abi/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open module. */
typedef struct metate_core {
  const metate_descriptor *descriptor;
  const metate_entry *entries;
  uint32_t refused; /* the argument for which the last launch was refused; METATE_NONE: for none */
} metate_core;

/* Checks the module's descriptor and its tree types: every table, string and index is inside of it. METATE_E_CORRUPT,
 * METATE_E_VERSION, METATE_E_UNSUPPORTED; METATE_E_MISALIGNED where it is not aligned to 8. */
metate_status metate_core_open(const metate_static_module *module, metate_core *core);

/* ---- what is in it; names are found from the first on ---- */

/* A string of the descriptor; "" of offset 0. */
const char *metate_core_text(const metate_core *core, uint32_t offset);
/* Numbers of a kernel and of a tree type by name; METATE_NONE: there is none. */
uint32_t metate_core_find_kernel(const metate_core *core, const char *name);
uint32_t metate_core_find_type(const metate_core *core, const char *name);
/* NULL where there is none of that number. */
const metate_kernel_info *metate_core_kernel(const metate_core *core, uint32_t kernel);
const metate_argument_info *metate_core_argument_info(const metate_core *core, uint32_t kernel,
                                                      uint32_t argument);
const metate_tree_type *metate_core_type(const metate_core *core, uint32_t type);
/* Of an extent with a name, in the order in which the kernel's arrays have them first: its bounds, and what it is a multiple of. */
const metate_dim_info *metate_core_dim_info(const metate_core *core, uint32_t kernel, uint32_t dim);
/* The memory that a pool is to lie in, by its name; "": any. The program knows its memories and brings what it says. */
const char *metate_core_pool_memory(const metate_core *core, uint32_t kernel, uint32_t pool);

/* ---- trees: blocks of memory, aligned to METATE_BLOCK_ALIGN ---- */

/* Bytes of a block with as many slots as its cells can ever link, for so many workers; 0: more than 2^63. */
uint64_t metate_core_type_bytes(const metate_tree_type *type, uint32_t workers);
/* Makes memory a fresh tree. In fewer bytes than metate_core_type_bytes says, fewer cells can be active. */
metate_status metate_core_tree_reset(const metate_tree_type *type, uint32_t workers, void *block,
                                     uint64_t bytes);
/* Is memory from elsewhere (flash, another machine) a tree of this type? Everything that kernels rely on but cells is recomputed:
 * where its parts lie, and what its pools say of themselves. METATE_E_TYPE_MISMATCH: of another type. */
metate_status metate_core_tree_bind(const metate_tree_type *type, const void *block,
                                    uint64_t bytes);

/* ---- launches ---- */

typedef struct metate_core_argument {
  uint32_t kind;  /* metate_argument_kind */
  uint32_t dtype; /* of a scalar, vector, array */
  uint32_t rank;  /* of an array, dimensions of its elements included */
  uint32_t reserved;
  uint64_t bits; /* a scalar: its value in its low bytes */
  void *
      data; /* a vector's or matrix's elements; an array's; a tree's block. Those that are only read are not written. */
  METATE_UPPER_HALF(data)
  const int64_t *shape; /* of an array */
  METATE_UPPER_HALF(shape)
  const int64_t *strides; /* in elements; NULL: row-major without gaps */
  METATE_UPPER_HALF(strides)
} metate_core_argument;

/* Checks arguments against their description and fills `slots` (the kernel's slot_count of them). */
metate_status metate_core_pack(metate_core *core, uint32_t kernel,
                               const metate_core_argument *arguments, uint32_t count,
                               metate_slot *slots);
/* Bytes that the kernel plans for its pool `pool` and these slots, for so many workers; UINT64_MAX: more than there is. */
uint64_t metate_core_pool_bytes(const metate_core *core, uint32_t kernel, uint32_t pool,
                                const metate_slot *slots, uint32_t workers);
/* Packs and runs. `pools` as many addresses as the kernel has pools, of memory that metate_core_pool_bytes says, aligned as they ask
 * for; `host` as in metate/abi/kernel.h. Returns the entry's status. */
metate_status metate_core_launch(metate_core *core, uint32_t kernel,
                                 const metate_core_argument *arguments, uint32_t count,
                                 metate_slot *slots, void *const *pools, const metate_host *host);

#ifdef __cplusplus
}
#endif

#endif
