/* What a compiled kernel is called with, and the hooks through which it asks its host for anything.
 *
 * A kernel entry has no state, allocates nothing and calls nothing but these hooks (and memcpy,
 * memset). It may be entered from any number of threads at once. */
#ifndef METATE_ABI_KERNEL_H
#define METATE_ABI_KERNEL_H

#include "metate/abi/base.h"

/* Arguments are packed into consecutive 8-byte slots; metate_argument_info says where:
 *   scalar   one slot: the value in its low bytes, integers sign- or zero-extended to 8 bytes,
 *            f16/bf16/f32/f64 as their bits, u1 as 0 or 1
 *   vector / matrix   rows * columns such slots, row-major
 *   ndarray  1 + 2 * rank slots: data pointer, shape[rank], strides[rank] in elements
 *            (an array of vectors or matrices has the element's dimensions as its last, fixed ones)
 *   tree     one slot: the block's address
 * An address of 32 bits is zero-extended. */
typedef union metate_slot {
  uint64_t u;
  int64_t i;
  double d;
  float f;
  void *p;
} metate_slot;
METATE_STATIC_ASSERT(sizeof(metate_slot) == 8, "a slot is 8 bytes");

/* One piece of a print statement; a statement arrives as one call, so lines do not interleave. */
enum {
  METATE_PRINT_TEXT = 0, /* value.text, zero-terminated UTF-8, written as it is */
  METATE_PRINT_I64 = 1,
  METATE_PRINT_U64 = 2,
  METATE_PRINT_F32 = 3, /* value.d holds the f32 (or f16, bf16) widened */
  METATE_PRINT_F64 = 4,
  METATE_PRINT_BOOL = 5,
  /* value.text is the format of the next item, as Python's format() takes it for numbers: [[fill]align]
   * [sign][#][0][width][, or _][.precision][type]. A sink that does not know it passes over it, as over every kind
   * that it does not know: the value then stands as without a format. */
  METATE_PRINT_FORMAT = 6
};
typedef struct metate_print_item {
  uint32_t kind;
  uint32_t reserved;
  union {
    const char *text;
    int64_t i;
    uint64_t u;
    double d;
  } value;
} metate_print_item;
METATE_STATIC_ASSERT(sizeof(metate_print_item) == 16, "metate_print_item is 16 bytes");

/* Where a failed check is recorded: an assert, and in debug mode an access outside, a division by
 * zero, an exhausted pool. The first failure wins: `code` is claimed by compare-exchange from
 * METATE_OK, then the winner fills the rest. The entry returns the code. Iterations already running
 * on other workers may still finish. A host only has to zero `code` before a launch.
 *   text    index into the descriptor's metate_text table: the place, and what was checked (the
 *           assert's message; of an access its array or member: "x", "f.a")
 *   detail  NULL, or a whole message of the entry's own instead: UTF-8, zero-terminated, valid until
 *           the next launch of the same kernel
 *   rank    of an access: how many of index[] and shape[] are filled, at most METATE_MAX_RANK; a shape
 *           of -1 means that this axis has no bound of its own.
 *           Of an assert (METATE_E_ASSERT): nonzero if its message, the text or the detail, shows values. Each "{KIND:FORMAT}" of it
 *           stands for the next one: index[0], shape[0], index[1], ...; KIND says what its 64 bits are, a METATE_PRINT_* number
 *           (of an F32 the bits of a double too), FORMAT how it is shown; "{{" and "}}" are braces */
typedef struct metate_failure {
  uint32_t code;
  uint32_t text;
  const char *detail;
  METATE_UPPER_HALF(detail)
  uint32_t rank;
  uint32_t reserved;
  int64_t index[METATE_MAX_RANK];
  int64_t shape[METATE_MAX_RANK];
} metate_failure;
METATE_STATIC_ASSERT(sizeof(metate_failure) == 24 + 16 * METATE_MAX_RANK,
                     "metate_failure has no padding");

/* A task's body: the iterations [begin, end), by worker number `worker` < max_workers. A nonzero
 * return (a metate_status) asks the executor to start no further chunk and to return it. */
typedef int32_t (*metate_task_body)(void *context, int64_t begin, int64_t end, uint32_t worker);

/* Runs body over [0, count) in chunks of at least `grain` (the last one may be shorter), with at
 * most max_workers (>= 1; 0 = no limit) workers at once, and returns when all chunks are done: METATE_OK or the
 * first nonzero status. The calling thread may work. A chunk of `grain` is worth waking a thread for; a loop of less
 * than two of them, or of less than one, may be shared out in smaller ones among threads that are awake, and else is the caller's. */
typedef int32_t (*metate_parallel_for)(void *self, int64_t count, int64_t grain,
                                       uint32_t max_workers, metate_task_body body, void *context);

typedef void (*metate_print)(void *self, const metate_print_item *items, uint32_t count);

/* What an entry tells of its tasks where it was compiled with the option `profile`: before each one and after it, on the
 * thread that entered the kernel. `task` numbers the kernel's tasks from 0 as they stand in it, `line` is the line of the
 * task's loop or first statement (0: unknown), `iterations` what is shared out among workers (of several dimensions rows), 1
 * of statements. The end of a task that failed is not told. */
typedef struct metate_task_hooks {
  void *self;
  METATE_UPPER_HALF(self)
  void (*begin)(void *self, uint32_t task, uint32_t line, int64_t iterations);
  METATE_UPPER_HALF(begin)
  void (*end)(void *self, uint32_t task);
  METATE_UPPER_HALF(end)
} metate_task_hooks;
METATE_STATIC_ASSERT(sizeof(metate_task_hooks) == 24, "metate_task_hooks is 24 bytes");

/* The host's hooks. NULL hooks: serial, silent, failures reported by status only. A NULL host: all of them. */
typedef struct metate_host {
  uint32_t struct_size; /* sizeof(metate_host) */
  uint32_t max_workers; /* upper bound passed on to parallel_for; 0 = no bound */
  void *executor_self;
  METATE_UPPER_HALF(executor_self)
  metate_parallel_for parallel_for;
  METATE_UPPER_HALF(parallel_for)
  void *print_self;
  METATE_UPPER_HALF(print_self)
  metate_print print;
  METATE_UPPER_HALF(print)
  metate_failure *failure;
  METATE_UPPER_HALF(failure)
  /* NULL, or a word that turns nonzero when the host wants the kernel to stop: the executor starts
   * no further chunk, code compiled with debug asks at each turn of a loop as well, and the entry
   * returns METATE_E_INTERRUPTED. Read with relaxed atomic loads. */
  const uint32_t *interrupt;
  METATE_UPPER_HALF(interrupt)
  const metate_task_hooks *tasks; /* NULL: nobody asks */
  METATE_UPPER_HALF(tasks)
} metate_host;
METATE_STATIC_ASSERT(sizeof(metate_host) == 64, "metate_host is 64 bytes");

/* A kernel. `pools` holds an address for each pool that the kernel plans for this code, in their order (pool.h); it is
 * not read where there is none. A kernel with a worker's pool runs on at most host->max_workers workers, for which the
 * pool has room; 0 of them, and a NULL host, mean one. Returns a metate_status. */
typedef int32_t (*metate_entry)(const metate_slot *slots, void *const *pools,
                                const metate_host *host);

/* What a shared-object payload exports, as data, under the name METATE_PAYLOAD_SYMBOL. */
#define METATE_PAYLOAD_SYMBOL "metate_payload"
#define METATE_PAYLOAD_MAGIC 0x4c594150u /* "PAYL" */
typedef struct metate_payload {
  uint32_t magic;
  uint32_t abi_version;
  uint64_t descriptor_hash[2]; /* must equal the descriptor's `signature_hash` */
  uint32_t kernel_count;       /* must equal the descriptor's */
  uint32_t reserved;
  const metate_entry *entries; /* in the order of the descriptor's kernels */
  METATE_UPPER_HALF(entries)
} metate_payload;
METATE_STATIC_ASSERT(sizeof(metate_payload) == 40, "metate_payload is 40 bytes");

/* A module that is linked into a program, as generated headers declare it (NAME_module); they bring
 * this very struct along. What metate_module_open_static takes. */
#ifndef METATE_STATIC_MODULE_DEFINED
#define METATE_STATIC_MODULE_DEFINED
struct metate_static_module {
  const void *descriptor;
  uint64_t bytes; /* of the descriptor */
  int32_t (*const *entries)(const union metate_slot *slots, void *const *pools,
                            const struct metate_host *host);
  uint32_t entry_count;
  uint32_t reserved;
};
#endif
METATE_STATIC_ASSERT(sizeof(struct metate_static_module) == 32, "generated objects hold one");
typedef struct metate_static_module metate_static_module;

#endif
