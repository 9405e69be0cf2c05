/* The C API of libmetate: open modules, bind trees in the caller's memory, launch kernels.
 *
 * Conventions, everywhere:
 *   - C11 and C++20; every function that can fail returns a metate_status and leaves a text in
 *     metate_last_error() (of the calling thread): what was expected, what it got, what to do;
 *   - out-parameters come last and are written on success only;
 *   - every struct starts with struct_size, which the caller sets to sizeof(the struct);
 *   - open / create / bind own (close / destroy / unbind them); find borrows from its parent;
 *   - strings are zero-terminated UTF-8; borrowed strings live as long as the object asked;
 *   - objects may be used from any number of threads at once, except while they are closed,
 *     reset or unbound: nothing may start on them then, and what runs makes those calls fail with
 *     METATE_E_BUSY. There are no globals: two devices share nothing but a machine
 *     (metate_device_open_beside). A tree bound on one may be launched on by kernels of another;
 *   - launches at the same time must leave alone what another of them writes, and a tree that another
 *     one activates cells of: atomics are indivisible among the workers of one launch. */
#ifndef METATE_METATE_H
#define METATE_METATE_H

#include "metate/abi/base.h"
#include "metate/abi/kernel.h"
#include "metate/abi/module.h"
#include "metate/abi/pool.h"
#include "metate/abi/tree.h"
#include "metate/metate_device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct metate_module metate_module; /* a descriptor and its code */
typedef struct metate_type metate_type;     /* a tree type: a value, without memory */
typedef struct metate_tree metate_tree;     /* an instance: a type bound to memory */

/* ---- module ---------------------------------------------------------------------------------- */

enum {
  METATE_MODULE_QUERY_ONLY = 1u /* read the descriptions, map no code: any machine's module opens */
};

typedef struct metate_module_info {
  uint32_t struct_size;
  uint32_t type_count;
  uint32_t kernel_count;
  uint32_t variant_count;
  uint32_t variant; /* the variant in use; METATE_NONE when no code is mapped */
  uint32_t arch;    /* of the variant in use, else of variant 0 */
  const char *name;
  const char *producer;
  const void *descriptor; /* metate_descriptor, in place */
  uint64_t descriptor_bytes;
  uint64_t signature_hash[2];
} metate_module_info;

typedef struct metate_variant_description {
  uint32_t struct_size;
  uint32_t arch;
  uint32_t level;
  uint32_t format;
  uint64_t payload_bytes; /* 0 for a payload that is not in a file */
  const char *cpu;
  const char *features;
  const char *triple;
} metate_variant_description;

/* A .metate file, or a shared object with a module in it (metate/abi/library.h). The whole file is verified before anything in it
 * is used; only then the system loads code of it. */
METATE_API metate_status metate_module_open_file(metate_device *device, const char *path,
                                                 uint32_t flags, metate_module **module);
/* The bytes of such a file; they may go away after the call. */
METATE_API metate_status metate_module_open_bytes(metate_device *device, const void *bytes,
                                                  uint64_t count, uint32_t flags,
                                                  metate_module **module);
/* A descriptor whose code is in this process already (JIT, static linking): entries[i] is kernel i.
 * Descriptor (8-byte aligned) and code must outlive the module; the entry array may go away. */
METATE_API metate_status metate_module_open_static(metate_device *device, const void *descriptor,
                                                   uint64_t bytes, const metate_entry *entries,
                                                   uint32_t entry_count, metate_module **module);
/* Checks the bytes of such a file without opening it. */
METATE_API metate_status metate_module_verify(const void *bytes, uint64_t count);
METATE_API metate_status metate_module_describe(const metate_module *module,
                                                metate_module_info *info);
METATE_API metate_status metate_module_variant(const metate_module *module, uint32_t index,
                                               metate_variant_description *variant);
/* Borrowed: they live as long as the module. index < type_count / kernel_count. */
METATE_API metate_status metate_module_type_at(const metate_module *module, uint32_t index,
                                               const metate_type **type);
METATE_API metate_status metate_module_find_type(const metate_module *module, const char *name,
                                                 const metate_type **type);
METATE_API metate_status metate_module_kernel_at(const metate_module *module, uint32_t index,
                                                 const metate_kernel **kernel);
METATE_API metate_status metate_module_find_kernel(const metate_module *module, const char *name,
                                                   const metate_kernel **kernel);
/* Its types, kernels and direct pointers end with it; trees bound from its types live on.
 * METATE_E_BUSY while a launch of one of its kernels runs (a direct call is not counted). */
METATE_API metate_status metate_module_close(metate_module *module);

/* ---- type ------------------------------------------------------------------------------------ */

typedef struct metate_capacity {
  const char *level; /* a level's name; it names every level of that name */
  uint64_t slots;
} metate_capacity;

/* How many slots each pool gets. NULL, or a level without an entry: its natural maximum (as many
 * as its parents can ever link), at most 2^32 - 2 - workers; a hash level, which has none,
 * METATE_DEFAULT_HASH_SLOTS - 1 - workers, and at most 2^30 - 1 - workers. */
typedef struct metate_capacities {
  uint32_t struct_size;
  uint32_t
      workers; /* workers that may activate at once; 0 = METATE_DEFAULT_WORKERS, on devices more */
  uint32_t count;
  uint32_t reserved;
  const metate_capacity *entries;
} metate_capacities;

typedef struct metate_type_description {
  uint32_t struct_size;
  uint32_t level_count; /* records, the root included */
  uint32_t pool_count;
  uint32_t member_count;
  const char *name; /* in its module; "" for a type opened from a blob */
  const char *text; /* the printed type */
  uint64_t hash[2];
  const void *blob; /* metate_tree_type, in place */
  uint64_t blob_bytes;
  uint64_t align; /* METATE_BLOCK_ALIGN */
} metate_type_description;

/* Level `index` of a type (0 is the root; members are levels of kind METATE_LEVEL_PLACE). A quantised member, whose parent is of
 * kind METATE_LEVEL_BIT_STRUCT or METATE_LEVEL_QUANT_ARRAY, shares a word with others: `dtype`, `cell_bytes` and `background` are
 * those of the values that hosts read and write; `quant` says how they are stored. */
typedef struct metate_level_description {
  uint32_t struct_size;
  uint32_t index;
  uint32_t kind;       /* metate_level_kind */
  uint32_t parent;     /* METATE_NONE for the root */
  uint32_t pool;       /* METATE_NONE without slots */
  uint32_t axis_count; /* that this level splits */
  uint32_t path_rank;  /* coordinates that address one of its cells */
  uint32_t dtype;      /* a member: of its scalars */
  uint32_t rows;
  uint32_t columns;
  uint32_t element_rank; /* a member: 0 scalar, 1 vector, 2 matrix */
  uint32_t reserved;
  uint8_t axes[METATE_MAX_AXES];
  uint8_t path_axes[METATE_MAX_AXES]; /* ascending; coordinate k runs along path_axes[k] */
  uint32_t extents[METATE_MAX_AXES];  /* along `axes` */
  int64_t shape[METATE_MAX_AXES]; /* cells along each of path_axes, over the whole tree; 0 = a hash
                                     level is above: any 32-bit number */
  uint64_t cell_bytes; /* a member: bytes of one value; a bit_struct or quant_array: of a word */
  uint64_t
      natural_slots; /* a level with a pool: slots that can ever be linked, of a hash level those that it gets without a capacity; else 0 */
  const char *name;
  const void *background; /* a member: cell_bytes bytes; else NULL */
  /* a host that was compiled without what follows may leave it away, by its struct_size */
  metate_quant
      quant; /* a quantised member: bits, scale, exponent, place in the word (metate/abi/tree.h); else kind 0 */
  uint32_t word_cells; /* a quant_array: elements in a word; else 0 */
  uint32_t reserved2;
} metate_level_description;

/* A type from a type blob alone (copied). name may be NULL. */
METATE_API metate_status metate_type_open_blob(metate_device *device, const void *blob,
                                               uint64_t bytes, const char *name,
                                               metate_type **type);
/* Only for types from metate_type_open_blob; trees bound from it live on. */
METATE_API metate_status metate_type_close(metate_type *type);
METATE_API metate_status metate_type_describe(const metate_type *type,
                                              metate_type_description *info);
METATE_API metate_status metate_type_level(const metate_type *type, uint32_t index,
                                           metate_level_description *level);
/* The level index of a member / the first level that is no member, by name. */
METATE_API metate_status metate_type_find_member(const metate_type *type, const char *name,
                                                 uint32_t *level);
METATE_API metate_status metate_type_find_level(const metate_type *type, const char *name,
                                                uint32_t *level);
/* Bytes and alignment of a block with these capacities. */
METATE_API metate_status metate_type_size(const metate_type *type,
                                          const metate_capacities *capacities, uint64_t *bytes,
                                          uint64_t *align);
/* Capacities that fit into `bytes`: slots[pool] for each of pool_count pools. Levels with an entry
 * keep it. The others share what is left by water filling: equal bytes for each pool; a pool that
 * cannot use its share (its natural maximum under the parents' capacity) leaves the rest to the
 * others. METATE_E_TOO_SMALL when one slot per pool does not fit. */
METATE_API metate_status metate_type_fit(const metate_type *type,
                                         const metate_capacities *capacities, uint64_t bytes,
                                         uint32_t pool_count, uint32_t *slots);

/* ---- tree ------------------------------------------------------------------------------------ */

enum {
  METATE_BIND_RESET = 1u,     /* make it a fresh tree: everything inactive, all background */
  METATE_BIND_ADOPT = 2u,     /* the memory holds a block of this type: check it fully, then use it;
                                 capacities must be NULL */
  METATE_BIND_READ_ONLY = 4u, /* with ADOPT: never write to the memory */
  METATE_BIND_TRUST = 8u,     /* with ADOPT: check the header only, not the links */
  METATE_BIND_ZEROED = 16u,   /* with RESET: the memory is all zero already, so touch few pages */
  METATE_BIND_FIT = 32u       /* choose capacities as metate_type_fit does for `bytes` */
};

typedef struct metate_tree_description {
  uint32_t struct_size;
  uint32_t flags; /* METATE_BIND_* it was bound with */
  const metate_type *type;
  void *block;
  uint64_t bytes; /* of the block, at most the memory's */
  uint32_t workers;
  uint32_t pool_count;
  uint32_t ready;            /* 0 until it was reset or adopted */
  uint32_t status;           /* the sticky status: METATE_OK or METATE_E_CAPACITY */
  uint64_t topology_version; /* changes whenever the set of active cells changes */
  /* a host that was compiled without what follows may leave it away, by its struct_size */
  uint32_t
      elsewhere; /* nonzero: `block` is an address of the device's, which the host cannot read */
  uint32_t exhausted_pool; /* of `status`: the pool that is too small; METATE_NONE */
  uint64_t slots_needed;   /* of `status`: at least so many slots there; 0 = a list is full */
  uint64_t root_offset;    /* of the root cell from the block's start */
} metate_tree_description;

typedef struct metate_pool_stats {
  uint32_t struct_size;
  uint32_t level; /* level index of the pool */
  const char *name;
  uint64_t capacity;   /* slots */
  uint64_t used;       /* slots active now */
  uint64_t high_water; /* highest slot number handed out since the reset, trim or sort */
  uint64_t bytes;      /* of the pool in the block, metadata included */
} metate_pool_stats;

/* Binds `bytes` bytes at `memory` (METATE_BLOCK_ALIGN-aligned, kept by the caller until unbind).
 * Without RESET and ADOPT the tree must be reset before it is used. METATE_E_TOO_SMALL and
 * METATE_E_MISALIGNED say how much is needed; METATE_E_ALREADY_BOUND if a live tree of the device
 * overlaps the block. */
METATE_API metate_status metate_tree_bind(const metate_type *type, void *memory, uint64_t bytes,
                                          const metate_capacities *capacities, uint32_t flags,
                                          metate_tree **tree);
/* A fresh tree in reserved memory of its own: natural capacities, bounded by 64 GiB a tree (less
 * under an address-space limit, or where the system refuses so much); see metate_type_fit. */
METATE_API metate_status metate_tree_new(const metate_type *type,
                                         const metate_capacities *capacities, metate_tree **tree);
/* Everything inactive, all background. METATE_E_BUSY while a launch runs on it. */
METATE_API metate_status metate_tree_reset(metate_tree *tree);
METATE_API metate_status metate_tree_describe(const metate_tree *tree,
                                              metate_tree_description *info);
/* Gives memory that no active cell needs back to the system; the highest slot in use becomes the
 * high water mark. What is active stays as it is, and so do slot numbers. METATE_E_BUSY while a
 * launch runs on it. */
METATE_API metate_status metate_tree_trim(metate_tree *tree);
/* Puts the slots of all pools in the order of their coordinates, Z-order (Morton; chunks of lists: list by
 * list), numbered from 1 without gaps: what is near in space is near in memory, loops walk in that order,
 * and metate_tree_trim returns the rest. In place, without other memory. Values, active cells and lengths stay
 * as they are; slot numbers change, and if one does the topology version is raised. Free while the set of
 * active cells has not changed since. METATE_E_BUSY while a launch runs on it; METATE_E_CORRUPT where links
 * and slots do not agree. */
METATE_API metate_status metate_tree_sort(metate_tree *tree);
/* Moves what the tree holds, in whatever state it is, into other memory with other capacities, where
 * the handle goes on: into `bytes` at `memory` (as metate_tree_bind; flags FIT and ZEROED), or with
 * memory NULL into memory of its own (as metate_tree_new). The old memory is left as it is, or given
 * back if it was the tree's own. The sticky status is cleared. Where slots have numbers that the other
 * memory has not they are first put in order, as by metate_tree_sort. METATE_E_CAPACITY where a pool is
 * too small for the slots in use: then the tree stays where it is. METATE_E_BUSY while a launch runs. */
METATE_API metate_status metate_tree_migrate(metate_tree *tree, void *memory, uint64_t bytes,
                                             const metate_capacities *capacities, uint32_t flags);
/* Writes the tree with its type to a file, no larger than what is in use needs; an older file of
 * that name is replaced when the new one is whole. */
METATE_API metate_status metate_tree_save(const metate_tree *tree, const char *path);
/* A tree out of such a file, checked fully (or with METATE_BIND_TRUST its header only): in memory of
 * its own as metate_tree_new makes it, or with METATE_BIND_READ_ONLY mapped from the file, which must
 * not change while the tree lives. METATE_E_TYPE_MISMATCH for a tree of another type. */
METATE_API metate_status metate_tree_load(const metate_type *type, const char *path,
                                          const metate_capacities *capacities, uint32_t flags,
                                          metate_tree **tree);
/* pool < pool_count. */
METATE_API metate_status metate_tree_stats(const metate_tree *tree, uint32_t pool,
                                           metate_pool_stats *stats);
/* Is this memory a sound block of this type? Nothing is written; no kernel may be running on it. */
METATE_API metate_status metate_tree_check(const metate_type *type, const void *block,
                                           uint64_t bytes);
/* The memory stays as it is (and can be adopted later); memory of metate_tree_new is given back.
 * METATE_E_BUSY while a launch runs on it (a direct call is not counted). */
METATE_API metate_status metate_tree_unbind(metate_tree *tree);

/* Host access to one cell. `level` is a level index; a member's coordinates count its elements, any
 * other level's its own cells. `count` must be the level's path_rank. */
METATE_API metate_status metate_tree_is_active(const metate_tree *tree, uint32_t level,
                                               const int64_t *coordinates, uint32_t count,
                                               uint32_t *active);
METATE_API metate_status metate_tree_activate(metate_tree *tree, uint32_t level,
                                              const int64_t *coordinates, uint32_t count);
/* Deactivates the cell, with all that is below it: it reads as background at once, and its slots are
 * free again. Of a member or a dense level the cell of the deepest level above that can be
 * inactive; of a dynamic level the whole list (coordinates of the cell that holds it: all axes but
 * the list's own). A cell that is not active stays so. METATE_E_BUSY while a launch runs on it. */
METATE_API metate_status metate_tree_deactivate(metate_tree *tree, uint32_t level,
                                                const int64_t *coordinates, uint32_t count);
/* Every cell of the level; of the root (0) or a dense level those of the levels next below that can
 * be inactive. Work and memory touched are those of the slots in use. */
METATE_API metate_status metate_tree_deactivate_all(metate_tree *tree, uint32_t level);
/* Lists of a dynamic level, at the coordinates of the cell that holds the list (all axes of the
 * level but its own). append activates one more cell, which holds background, and gives its index;
 * METATE_E_CAPACITY where the list or the pool is full. The length of an inactive list is 0. */
METATE_API metate_status metate_tree_append(metate_tree *tree, uint32_t level,
                                            const int64_t *coordinates, uint32_t count,
                                            uint64_t *index);
METATE_API metate_status metate_tree_length(const metate_tree *tree, uint32_t level,
                                            const int64_t *coordinates, uint32_t count,
                                            uint64_t *length);
/* A member's value (cell_bytes bytes); of an inactive cell its background.
 *
 * Quantised members, in these calls as in kernels: what is read is the stored number in the member's dtype, what is written is
 * rounded to the nearest number that can be stored, half away from zero. No value is an error. An integer keeps its low bits, and
 * so does a fixed-point number's count of steps, which is 0 where it is 2^31 or more (from 32 bits on 2^63); a float that is too
 * large becomes the largest. A NaN becomes 0. A store of one of several floats that share an exponent stores all of them anew, at
 * the least exponent that holds the largest. Others that are in the word stay as they are: metate_tree_write may be called by
 * several threads at once for members of one word; metate_tree_fill, _write_dense and _write_members may not. */
METATE_API metate_status metate_tree_read(const metate_tree *tree, uint32_t level,
                                          const int64_t *coordinates, uint32_t count, void *value,
                                          uint64_t value_bytes);
/* Activates the cell and writes it. */
METATE_API metate_status metate_tree_write(metate_tree *tree, uint32_t level,
                                           const int64_t *coordinates, uint32_t count,
                                           const void *value, uint64_t value_bytes);
/* Active cells of a level, at most `capacity` of them: coordinates int64[capacity][path_rank] and,
 * for a member, values[capacity][cell_bytes]; either may be NULL. *count is how many there are in
 * all: call with capacity 0 first. The order is the same from call to call while nothing is
 * activated. */
METATE_API metate_status metate_tree_cells(const metate_tree *tree, uint32_t level,
                                           uint64_t capacity, int64_t *coordinates, void *values,
                                           uint64_t *count);
/* The whole member as a dense row-major array over its shape (element dimensions last), inactive
 * cells as background. bytes must be product(shape) * cell_bytes. */
METATE_API metate_status metate_tree_read_dense(const metate_tree *tree, uint32_t level,
                                                void *values, uint64_t bytes);
/* The reverse: the active cells take their values from such an array, the others stay as they are. */
METATE_API metate_status metate_tree_write_dense(metate_tree *tree, uint32_t level,
                                                 const void *values, uint64_t bytes);
/* The same of `count` members, 1 or more, with an array whose elements are theirs one after the other: components that lie apart.
 * METATE_E_INVALID_ARGUMENT: none, other bytes, or members whose axes, shapes or types are not those of the first. Members that
 * share an exponent and stand one after the other in `levels` are written as one, with the exponent that holds the largest of the
 * new values. */
METATE_API metate_status metate_tree_read_members(const metate_tree *tree, const uint32_t *levels,
                                                  uint32_t count, void *values, uint64_t bytes);
METATE_API metate_status metate_tree_write_members(metate_tree *tree, const uint32_t *levels,
                                                   uint32_t count, const void *values,
                                                   uint64_t bytes);
/* Every active cell of a member takes one value (cell_bytes bytes). */
METATE_API metate_status metate_tree_fill(metate_tree *tree, uint32_t level, const void *value,
                                          uint64_t value_bytes);

/* ---- kernel ---------------------------------------------------------------------------------- */

enum {
  METATE_ARRAY_READ_ONLY = 1u /* data must not be written */
};

/* The caller's array. Its dimensions include those of vector or matrix elements, last. */
typedef struct metate_array {
  void *data;
  uint32_t dtype;
  uint32_t rank;
  uint32_t flags;
  uint32_t reserved;
  const int64_t *shape;   /* int64[rank]; NULL only for rank 0 */
  const int64_t *strides; /* int64[rank], in elements; NULL = row-major without gaps */
} metate_array;

typedef struct metate_argument {
  uint32_t kind;    /* metate_argument_kind */
  uint32_t dtype;   /* scalar, vector */
  uint32_t rows;    /* vector */
  uint32_t columns; /* vector: 1; matrix: columns */
  union {
    uint64_t bits;             /* scalar: the value in its low bytes */
    const void *elements;      /* vector, matrix: rows * columns packed scalars, row-major */
    const metate_array *array; /* ndarray */
    metate_tree *tree;         /* tree */
  } value;
} metate_argument;
METATE_STATIC_ASSERT(sizeof(metate_argument) == 24, "metate_argument is 24 bytes");

typedef struct metate_kernel_description {
  uint32_t struct_size;
  uint32_t argument_count; /* the result included */
  uint32_t slot_count;
  uint32_t flags;      /* METATE_KERNEL_* */
  uint32_t task_count; /* of the variant that has most */
  uint32_t line;       /* of the definition; 0 = unknown */
  uint32_t dim_count;  /* see metate_kernel_dim_info */
  uint32_t reserved;
  uint64_t signature; /* guards metate_kernel_direct */
  const char *name;
  const char *file; /* "" = unknown */
} metate_kernel_description;

typedef struct metate_argument_description {
  uint32_t struct_size;
  uint32_t kind;
  uint32_t dtype;
  uint32_t rows;
  uint32_t columns;
  uint32_t element_rank;
  uint32_t rank;
  uint32_t access; /* METATE_ACCESS_* */
  uint32_t flags;  /* METATE_ARGUMENT_* */
  uint32_t first_slot;
  uint32_t slot_count;
  uint32_t reserved;
  const char *name;
  const metate_type *type; /* tree; else NULL */
  int64_t fixed
      [METATE_MAX_RANK]; /* ndarray: required extents, -1 = any, METATE_EXTENT_OF_DIM(number) */
} metate_argument_description;

/* A named extent: one number in all dimensions of a kernel's arrays that have the name. */
typedef struct metate_dim_description {
  uint32_t struct_size;
  uint32_t slot; /* of the first of them, among the kernel's argument slots */
  const char *name;
  int64_t min;
  int64_t max;
  int64_t multiple; /* what it is a multiple of */
} metate_dim_description;

/* Memory that a launch needs besides its arguments (metate/abi/pool.h). */
typedef struct metate_planned_pool {
  const char *name; /* what it is for; it lives as long as the module */
  uint64_t bytes;   /* exactly; of all workers together */
  uint64_t
      maximum; /* whatever the arguments, as far as dims bound them; UINT64_MAX: nothing does */
  uint64_t align;
  const char *memory; /* that it is to lie in, as the program calls it; "": any */
  uint32_t kind;      /* metate_pool_kind */
  uint32_t reserved;
} metate_planned_pool;

typedef struct metate_plan {
  uint32_t struct_size;
  uint32_t max_workers;       /* workers a launch with these arguments may use; 0 = no bound */
  uint32_t pool_count;        /* in: the room in `pools`; out: how many pools the kernel has */
  uint32_t pool_size;         /* sizeof(metate_planned_pool) */
  metate_planned_pool *pools; /* the caller's; NULL where there is no room */
} metate_plan;

/* The caller's memory for one pool. Its contents need not be kept from one launch to the next. */
typedef struct metate_pool_memory {
  void *data; /* NULL: from the device's allocator, for the time of the launch */
  uint64_t bytes;
} metate_pool_memory;

typedef struct metate_launch_options {
  uint32_t struct_size;
  uint32_t
      pool_count; /* 0: all pools come from the device's allocator; else as many as the kernel has */
  const metate_pool_memory *pools; /* in the order of metate_kernel_plan */
  const uint32_t *interrupt;       /* as of metate_kernel_launch_interruptible; NULL: never */
} metate_launch_options;

METATE_API metate_status metate_kernel_describe(const metate_kernel *kernel,
                                                metate_kernel_description *info);
METATE_API metate_status metate_kernel_argument_info(const metate_kernel *kernel, uint32_t index,
                                                     metate_argument_description *info);
METATE_API metate_status metate_kernel_dim_info(const metate_kernel *kernel, uint32_t index,
                                                metate_dim_description *info);
/* The kernel of the module that is its derivative in this mode (metate_derivative). METATE_E_NOT_FOUND: the module has
 * none. What it takes says metate_derivative_info; metate_kernel_argument_info names each. */
METATE_API metate_status metate_kernel_derivative(const metate_kernel *kernel, uint32_t mode,
                                                  const metate_kernel **derivative);
/* Checks the arguments as launch does and says what a launch needs; runs nothing. Without arguments (NULL, 0): what the largest
 * launch needs, so that its memory can be there before any argument is. */
METATE_API metate_status metate_kernel_plan(const metate_kernel *kernel,
                                            const metate_argument *arguments, uint32_t count,
                                            metate_plan *plan);
/* Checks the arguments, runs the kernel, returns when it is done. Its pools come from the device's
 * allocator. METATE_E_CAPACITY: a pool was exhausted, every other write was done; METATE_E_ASSERT.
 * A kernel compiled with debug stops instead, with the place in metate_last_error(), at a failed
 * activation (METATE_E_CAPACITY), an access outside (METATE_E_OUT_OF_RANGE) and an integer division
 * by zero (METATE_E_DIVISION_BY_ZERO); the iteration that stops writes nothing from there on.
 * Launches may run at once, on the same trees and arrays too: what one of them writes no other may
 * touch, and a tree that one of them activates cells of no other may use. */
METATE_API metate_status metate_kernel_launch(const metate_kernel *kernel,
                                              const metate_argument *arguments, uint32_t count);
/* metate_kernel_launch that another thread or a signal handler can end early, by storing anything but
 * zero to *interrupt (relaxed atomic): no further chunk of a parallel loop starts, a kernel compiled
 * with debug also leaves loops in order, and the launch returns METATE_E_INTERRUPTED. Iterations that
 * had begun are finished, but for those that a debug kernel leaves. NULL: never. */
METATE_API metate_status metate_kernel_launch_interruptible(const metate_kernel *kernel,
                                                            const metate_argument *arguments,
                                                            uint32_t count,
                                                            const uint32_t *interrupt);
/* metate_kernel_launch with memory for the kernel's pools. A pool that is too small (METATE_E_TOO_SMALL), misaligned
 * (METATE_E_MISALIGNED), or overlaps an argument or another pool (METATE_E_ALIAS) is refused before anything runs. */
METATE_API metate_status metate_kernel_launch_with(const metate_kernel *kernel,
                                                   const metate_argument *arguments, uint32_t count,
                                                   const metate_launch_options *options);
/* Will the launch find room in this tree, one of its arguments? slots[pool] (may be NULL) becomes how many
 * slots each of pool_count pools needs: those in use and one for each cell that the kernel would
 * activate, counted by the kernel itself without changing anything. METATE_OK: a launch with these
 * arguments, on what the arguments hold now, cannot fail for want of capacity in this tree.
 * METATE_E_CAPACITY: it would; slots is written then too, for metate_tree_migrate. METATE_E_UNSUPPORTED:
 * the count depends on what the kernel itself writes (the text says where), or the module was built
 * without slices. The counts are exact, but for a kernel that also deactivates cells in an earlier
 * loop: then they may be too large. Memory is taken from the device's allocator for the time of the
 * call, about 60 bytes for each slot that is missing. METATE_E_ALIAS and other errors as of a launch. */
METATE_API metate_status metate_tree_reserve_for(const metate_tree *tree,
                                                 const metate_kernel *kernel,
                                                 const metate_argument *arguments, uint32_t count,
                                                 uint32_t pool_count, uint32_t *slots);
/* The bare entry, without any check; signature must be the kernel's. */
METATE_API metate_status metate_kernel_direct(const metate_kernel *kernel, uint64_t signature,
                                              metate_entry *entry);

#ifdef __cplusplus
}
#endif

#endif
