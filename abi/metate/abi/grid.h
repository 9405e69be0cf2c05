/* The payload of a device that runs kernels as grids of invocations: one device function a task, and a table that says in which
 * order a driver launches them.
 *
 * The section of a variant is one contiguous little-endian value, read in place, with offsets from its own first byte:
 *
 *   [metate_grid][tables ...][images, each at a multiple of 16][strings]
 *
 * A table is {offset, count} as in the descriptor, its records are 8-byte aligned. Strings are offsets of zero-terminated UTF-8.
 *
 * A task's function takes the kernel's slots (kernel.h), whose pointers are addresses on the device, and the address of the launch's
 * frame. How it gets them is the image's format's to say (metate_grid_format). It asks its frame whether an earlier task of the launch
 * has failed, and then does nothing, unless it has to clean up: a driver launches all tasks, one behind the other, each seeing what those
 * before it wrote, and waits for none. */
#ifndef METATE_ABI_GRID_H
#define METATE_ABI_GRID_H

#include "metate/abi/kernel.h"
#include "metate/abi/module.h"

#define METATE_GRID_MAGIC 0x44495247u /* "GRID" */

/* What an image is. */
typedef enum metate_grid_format {
  /* PTX text, zero-terminated, or a cubin (`level`: the compute capability it is for, 10 * major + minor). A task is a kernel
   * (slots, frame): `slots` is the array itself, slot_count * 8 bytes by value; `frame` an address. */
  METATE_GRID_PTX = 1,
  METATE_GRID_CUBIN = 2,
  /* SPIR-V for Vulkan: one entry point a task, local size metate_grid_task.group x 1 x 1. Push constants: two 64-bit addresses, of the
   * slots and of the frame, then a third one, of the constants (metate_grid.constants). */
  METATE_GRID_SPIRV = 3,
  /* A shared object of this machine whose functions (slots, frame, invocation, invocations) are called for each invocation, one after
   * the other. */
  METATE_GRID_OBJECT = 4
} metate_grid_format;

typedef struct metate_grid {
  uint32_t magic;
  uint32_t abi_version;
  uint64_t descriptor_hash[2]; /* must equal the descriptor's `signature_hash` */
  uint32_t bytes;              /* of the section */
  uint32_t reserved;
  metate_table
      kernels; /* metate_grid_kernel, in the order of the descriptor's; behind them those that graphs run */
  metate_table tasks;       /* metate_grid_task */
  metate_table expressions; /* metate_grid_step */
  metate_table prints;      /* metate_grid_print: statements */
  metate_table parts;       /* metate_grid_part: of the statements */
  metate_table
      images; /* metate_grid_image: the same functions, a driver takes the one that it likes best */
  metate_table
      constants;      /* bytes that functions of a SPIR-V image read, 16-byte aligned; else empty */
  metate_table nodes; /* metate_grid_node: of graphs */
  metate_table operands; /* metate_grid_operand: of nodes */
} metate_grid;
METATE_STATIC_ASSERT(sizeof(metate_grid) == 104, "metate_grid has no padding");

enum {
  METATE_GRID_MAY_FAIL =
      1u, /* a task may record a status: the frame's beginning must be fresh, and is read at the end */
  METATE_GRID_PRINTS = 2u, /* a task prints into the frame's ring */
  METATE_GRID_FRAME = 4u   /* tasks leave values for later ones in the frame */
};

/* A kernel has tasks, or nodes: then it is a graph, whose frame its kernels share, and whose flags say what one of them may do. */
typedef struct metate_grid_kernel {
  uint32_t first_task;
  uint32_t task_count;
  uint32_t frame_bytes; /* at least METATE_GRID_VALUES, a multiple of 64 */
  uint32_t flags;       /* METATE_GRID_* */
  uint32_t slot_count;  /* as the descriptor says */
  uint32_t first_node;
  uint32_t node_count;
  uint32_t reserved;
} metate_grid_kernel;

/* A node of a graph: a run of a kernel, or a loop around the nodes behind it. */
typedef struct metate_grid_node {
  uint32_t kernel; /* that runs, not a graph; METATE_NONE: a loop */
  uint32_t
      first_operand; /* a run: one for each of the kernel's slots; a loop: one, how many turns it makes */
  uint32_t node_count; /* a loop: of its body; a run: 0 */
  uint32_t reserved;
} metate_grid_node;
enum {
  METATE_GRID_MAX_LOOPS = 16, /* around a node */
  METATE_GRID_MAX_SLOTS = 512 /* of a kernel that a graph runs */
};

/* A number of 64 bits that a driver computes. */
typedef struct metate_grid_operand {
  uint32_t first_step; /* into `expressions` */
  uint32_t step_count; /* at least 1 */
} metate_grid_operand;

typedef struct metate_grid_task {
  uint32_t name;             /* string: the function */
  uint32_t group;            /* invocations of a workgroup; 1: the task is one invocation */
  uint32_t first_step;       /* into `expressions`: how many iterations there are */
  uint32_t step_count;       /* 0: only the device knows */
  uint32_t most_invocations; /* that may run at once; 0: as many as iterations */
  uint32_t shared_bytes;     /* of a workgroup's memory that is asked for at launch */
  uint32_t line;             /* of the source: its loop's or first statement's; 0: not known */
  uint32_t reserved;
} metate_grid_task;

/* A step of an expression in postfix order over 64-bit integers, of the launch's slots; in a graph: of the graph's. Arithmetic wraps
 * around; a quotient by zero is 0. What is left at the end is the number of iterations, of which a negative one is none; or an operand. */
typedef enum metate_grid_operation {
  METATE_GRID_CONSTANT = 1, /* pushes `value` */
  METATE_GRID_SLOT = 2,     /* pushes slot `value`, 64 bits */
  METATE_GRID_TURN =
      3, /* of an operand: pushes the turn, from 0, of the loop inside of `value` others */
  METATE_GRID_FRAME_AT = 4,    /* of an operand: pushes the address `value` bytes into the frame */
  METATE_GRID_SIGN_EXTEND = 5, /* of one number: keeps its lowest `value` bits, 1 to 63 */
  METATE_GRID_ZERO_EXTEND = 6,
  METATE_GRID_ADD = 7,
  METATE_GRID_SUB = 8,
  METATE_GRID_MUL = 9,
  METATE_GRID_MIN = 10, /* signed */
  METATE_GRID_MAX = 11,
  METATE_GRID_DIV = 12,      /* signed, towards zero */
  METATE_GRID_CEIL_DIV = 13, /* signed, upwards */
  METATE_GRID_AND = 14,
  METATE_GRID_OR = 15,
  METATE_GRID_XOR = 16,
  METATE_GRID_SHIFT_LEFT = 17, /* by 64 bits and more: 0 */
  METATE_GRID_SHIFT_RIGHT = 18 /* of an unsigned number; likewise */
} metate_grid_operation;
typedef struct metate_grid_step {
  uint32_t operation;
  uint32_t reserved;
  int64_t value;
} metate_grid_step;
enum { METATE_GRID_MAX_DEPTH = 16 /* of the stack that an expression needs */ };

/* A print statement: `part_count` parts, of which those that are not texts take a value each. */
typedef struct metate_grid_print {
  uint32_t first_part;
  uint32_t part_count;
} metate_grid_print;
typedef struct metate_grid_part {
  uint32_t kind; /* METATE_PRINT_*; FORMAT is followed by the value that it is for */
  uint32_t text; /* string, of TEXT and FORMAT */
} metate_grid_part;

typedef struct metate_grid_image {
  uint32_t format; /* metate_grid_format */
  uint32_t
      level; /* PTX, CUBIN: the least, the exact compute capability; SPIRV: what it uses of METATE_FEATURE_* */
  uint32_t offset; /* a multiple of 16 */
  uint32_t bytes;
} metate_grid_image;

/* What a device's print statement leaves in the ring, whose words stand behind this: words [at, at + 2 + 2 * count) are the statement's
 * number, `count`, and for each value its 64 bits, low word first, as a metate_print_item holds it. `taken` counts what was asked for; what
 * does not fit is not written. */
typedef struct metate_grid_ring {
  uint32_t words;
  uint32_t taken;
} metate_grid_ring;

/* The frame: memory of a launch, on the device. A driver writes what stands before METATE_GRID_VALUES where the kernel has one of the
 * flags, before the first task. */
typedef struct metate_grid_frame {
  uint64_t host;  /* the address of `own` */
  uint64_t alone; /* 0: tasks have more than one worker */
  uint32_t
      status; /* METATE_OK; the first task that fails sets it, to a metate_status or METATE_GRID_LOOP_ENDED */
  uint32_t workers; /* reserved: 0 */
  uint64_t ring;    /* the address of a metate_grid_ring; 0: nobody prints */
  uint64_t pools;   /* the address of an array of addresses, where the kernel plans pools; else 0 */
  metate_host
      own; /* failure: the address of `failure`; interrupt: of a word, or 0; everything else 0 */
  metate_failure failure;
} metate_grid_frame;
/* The device has ended a loop by itself: the other bits are the line of the task in which it stands. Code for devices that do so says it. */
#define METATE_GRID_LOOP_ENDED 0x80000000u
enum { METATE_GRID_VALUES = 512 }; /* where values stand that tasks leave for later ones */
METATE_STATIC_ASSERT(sizeof(metate_grid_frame) <= METATE_GRID_VALUES, "the frame's beginning");

#endif
