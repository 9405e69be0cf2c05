/* The tree type blob (with its level table) and the tree block.
 *
 * A *type blob* is one contiguous, self-contained, position-independent value:
 *
 *   [metate_tree_type][metate_level x level_count][strings][backgrounds][metate_quant records]
 *
 * All offsets in it count from its first byte. Two tree types are equal iff their blobs are equal
 * byte for byte; `hash` is XXH3-128 (seed 0) of the blob with the hash field zero. The blob is
 * written by the compiler's Layout/ and is the only thing the runtime interprets to size, reset,
 * check and migrate a tree. Bytes of padding are zero.
 *
 * Levels stand in preorder: record 0 is the root (one cell, no axes); a child's index is greater
 * than its parent's. Members are the METATE_LEVEL_PLACE records, the leaves.
 *
 * A *container* is what one level occupies inside one cell of its parent, at `offset`:
 *   dense      `cells` cells of `cell_bytes` each, row-major over `extents`
 *   pointer    `cells` links (u32 slot numbers, 4 bytes each, 0 = inactive), row-major over `extents`;
 *              the cells themselves are the slots of the level's pool
 *   bitmasked  `cells` cells inline as of a dense level; at `mask` the live mask, a bit for each cell
 *              (cell n is bit n % 32 of word n / 32, u32), at once behind it the entry mask
 *   dynamic    u32 length, u32 entry length, then a link for each chunk of `slot_cells` cells. Cell n
 *              is cell n % slot_cells of slot link[n / slot_cells]; `cells` is the largest length
 *   hash       u32 `any`: 0 while nothing below this container was activated (nothing to look up),
 *              else a stamp that no other container of the pool ever had. The cells are the slots of the pool, found through the pool's table
 *   bit_struct one word of `cell_bytes` bytes (1, 2, 4 or 8) that its members, quantised places, share
 *   quant_array `cells` elements of one quantised place, row-major over `extents`, in words of `cell_bytes` bytes:
 *              element n is in word n / slot_cells, at bit n % slot_cells * bits; an element is in one word
 *   place      one value: rows * columns scalars, row-major, packed. A quantised place (`quant` is not 0) has no memory of its
 *              own: its bits are in the word of the bit_struct or quant_array that is its parent
 * Bits of a mask beyond the last cell are 0. *Where no task runs*, what is not active holds
 * background, so that reading needs no test: a bitmasked cell whose bit is 0, cells of a dynamic's
 * slots from its length on. Then chunks below the length are linked and none beyond it is.
 * Entry masks and entry lengths are copies that a task makes which changes the topology it walks;
 * otherwise they mean nothing.
 *
 * A tree block, the memory of one instance (block address is 64-byte aligned):
 *
 *   [metate_tree_header][metate_pool x pool_count][root cell]
 *   [pool 0: metadata | slots | table of a hash level][pool 1 ...]
 *
 * Every part starts at a multiple of 64. A slot is `slot_bytes`: the cell of a pointer or hash level,
 * the `slot_cells` cells of a dynamic's chunk. Pool metadata is an array of records of
 * metate_record_bytes bytes, one per slot number from 0:
 *
 *   +0   u32 state       0 = not active, otherwise the epoch at which the slot was activated
 *   +4   u32 next        of a slot on the free list or the pending list: the next one, 0 = none; of
 *                        an active slot of a hash level the `any` of its container; else any value
 *   +8   i32 coordinate[coordinate_count]   of the slot's first cell *in this level's own units*, per
 *                        axis of the slot's path (ascending axis number): along an axis, the product
 *                        of the extents of all levels from the root down to this one counts its range
 *                        (of a hash level: any number); a member below starts at coordinate * (product
 *                        of the extents of the levels between)
 *   behind them, of a dynamic level only: u32 cells of the slot below the length when a task began that
 *                        changes the topology it walks (as entry masks: a copy)
 *
 * Slot numbers run from 1 to `physical`. Slot 0 is the *ambient* slot, all background, never
 * written: reading through an inactive link needs no branch. A slot larger than
 * METATE_AMBIENT_LIMIT has no ambient slot (flag METATE_LEVEL_AMBIENT absent): then the pool's
 * `slots_offset` still is the (virtual) address of slot 0, which must not be touched.
 *
 * A hash level's table is `table_buckets` buckets (u32; a power of two, at least twice the slots):
 * a slot number, 0 = never used, METATE_TOMBSTONE = deactivated in this task. A slot's home is
 * metate_view_home of its coordinates; it lies there or behind, with no 0 between. The axes of a
 * hash level are not split by a level above it; a dynamic level has one axis, which no other level
 * of its path splits.
 *
 * How cells are activated and deactivated, by any number of workers at once, is written down as
 * code, with the orders of its atomic operations, in protocol/metate/protocol/tree.h. There are `workers` slack
 * slots in each pool (physical = capacity + workers) and one worker holds at most one slot that it
 * has not linked, so a need of at most `capacity` never fails. Slots in a worker's magazine are at
 * every other worker's disposal too; where no task runs the magazines are empty.
 *
 * Sticky status: compare-exchange[relaxed] of `status`, METATE_OK -> METATE_E_CAPACITY, then the winner
 * stores status_level (the pool's number); status_needed is raised by atomic max: a lower bound
 * of the slots needed in that pool. */
#ifndef METATE_ABI_TREE_H
#define METATE_ABI_TREE_H

#include "metate/abi/base.h"

#define METATE_TREE_TYPE_MAGIC 0x45505954u      /* "TYPE" */
#define METATE_TREE_MAGIC 0x454552544154454dull /* "METATREE" */
#define METATE_FILE_MAGIC 0x454c49464154454dull /* "METAFILE" */
#define METATE_FILE_ALIGN 65536u /* of the block in a saved tree: a page of any system */
#define METATE_AMBIENT_LIMIT 65536u
#define METATE_BLOCK_ALIGN 64u
#define METATE_DEFAULT_WORKERS 16u           /* of a block whose host does not say */
#define METATE_DEFAULT_HASH_SLOTS (1u << 22) /* of a hash level for which no capacity is given */
#define METATE_TOMBSTONE 0xffffffffu
#define METATE_MAGAZINES 16u      /* of each pool */
#define METATE_MAGAZINE_SLOTS 32u /* that a worker moves into its magazine at once, at most */

typedef enum metate_level_kind {
  METATE_LEVEL_ROOT = 1,
  METATE_LEVEL_DENSE = 2,
  METATE_LEVEL_POINTER = 3,
  METATE_LEVEL_PLACE = 4,
  METATE_LEVEL_BITMASKED = 5,
  METATE_LEVEL_DYNAMIC = 6,
  METATE_LEVEL_HASH = 7,
  METATE_LEVEL_BIT_STRUCT = 8,
  METATE_LEVEL_QUANT_ARRAY = 9
} metate_level_kind;

enum {
  METATE_LEVEL_AMBIENT = 1u, /* a level with a pool: the pool has an ambient slot 0 */
  METATE_LEVEL_ZERO = 2u /* the background of one of its cells (a place: its value) is zero bytes */
};

/* One level, 176 bytes. */
typedef struct metate_level {
  uint32_t kind; /* metate_level_kind */
  uint32_t flags;
  uint32_t parent; /* index of the parent record; METATE_NONE for the root */
  uint32_t pool;   /* pool number of a level with slots; METATE_NONE otherwise */
  uint32_t
      name; /* offset of a zero-terminated name in the blob: "pointer0", "blocks", member "a" */
  uint32_t axis_count;                /* axes this level splits (0 for root and place) */
  uint8_t axes[METATE_MAX_AXES];      /* ascending axis numbers: i = 0, j = 1, ... */
  uint8_t path_axes[METATE_MAX_AXES]; /* a place or a pool level: the axes on its path, ascending */
  uint32_t extents[METATE_MAX_AXES];  /* cells along each of `axes`; 0 for a hash level */
  uint64_t offset;                    /* bytes from the parent cell's start to this container */
  uint64_t cells;                     /* product of extents; 1 for root and place, 0 for hash */
  uint64_t cell_bytes;       /* bytes from one cell to the next (a place: bytes of the value, of a
                                quantised one as hosts see it; bit_struct, quant_array: of a word) */
  uint32_t cell_align;       /* alignment of a cell, at most 64 */
  uint32_t coordinate_count; /* a level with a pool: coordinates per slot = axes on its path */
  uint32_t dtype;            /* a place: metate_dtype; a quantised one: what it is decoded to */
  uint32_t rows;             /* a place: 1 for a scalar */
  uint32_t columns;          /* a place: 1 for a scalar or a vector */
  uint32_t element_rank;     /* a place: 0 scalar, 1 vector (rows), 2 matrix (rows x columns) */
  uint32_t background; /* a place: offset in the blob of its background value (cell_bytes bytes);
                          bit_struct, quant_array: of the word that holds all its background */
  uint32_t path_rank;  /* a place: number of coordinates that address it = axes on its path */
  uint64_t slot_bytes; /* a level with a pool: bytes from slot to slot; else 0 */
  uint64_t mask;       /* bitmasked: offset of the live mask in the container; else 0 */
  uint32_t
      slot_cells; /* a level with a pool: cells in a slot, of a dynamic its chunk; a quant_array:
                          elements in a word; else 0 */
  uint32_t quant; /* a quantised place: offset in the blob of its metate_quant; else 0 */
} metate_level;
METATE_STATIC_ASSERT(sizeof(metate_level) == 176, "metate_level is 176 bytes");

typedef enum metate_quant_kind {
  METATE_QUANT_INT = 1,   /* an integer: its low bits */
  METATE_QUANT_FIXED = 2, /* an integer that counts steps of `scale` */
  METATE_QUANT_FLOAT = 3  /* sign, exponent, digits */
} metate_quant_kind;

enum {
  METATE_QUANT_SIGNED = 1u, /* two's complement; of a float: the highest of its bits is its sign */
  METATE_QUANT_SHARED = 2u  /* a float whose exponent others of its word share */
};

/* How a quantised place is stored, 48 bytes. What bits mean is docs/semantics.md, QV1 to QV6. Bit 0 is the lowest of a
 * little-endian word. */
typedef struct metate_quant {
  uint32_t kind; /* metate_quant_kind */
  uint32_t flags;
  uint32_t
      bits; /* of the place in its word; with a shared exponent without that: sign and digits */
  uint32_t shift;         /* its lowest bit in a bit_struct's word; of a quant_array's place 0 */
  uint32_t exponent_bits; /* a float's; else 0 */
  uint32_t
      exponent_shift; /* the exponent's lowest bit in the word, with own or shared exponent; else 0 */
  uint32_t
      group; /* shared: record of the first place of those that share the exponent; else METATE_NONE */
  uint32_t word_bytes; /* 1, 2, 4 or 8 */
  double scale;        /* a fixed one's: value of its lowest bit, > 0; else 0 */
  uint64_t reserved;
} metate_quant;
METATE_STATIC_ASSERT(sizeof(metate_quant) == 48, "metate_quant is 48 bytes");

/* Bytes of one slot's metadata, of a level with a pool. */
static inline uint32_t metate_record_bytes(const metate_level *level) {
  return 4 * (2 + level->coordinate_count + (level->kind == METATE_LEVEL_DYNAMIC));
}

/* Links of a dynamic level's list: slots that its greatest length takes. */
static inline uint64_t metate_level_chunks(const metate_level *level) {
  return (level->cells + level->slot_cells - 1) / level->slot_cells;
}

/* Bytes of one of a bitmasked level's two masks: whole words. */
static inline uint64_t metate_level_mask_bytes(const metate_level *level) {
  return 4 * ((level->cells + 31) / 32);
}

/* Pieces of cell_bytes in a container whose cells lie in it: its cells; of a quant_array its words. */
static inline uint64_t metate_level_pieces(const metate_level *level) {
  if (level->kind != METATE_LEVEL_QUANT_ARRAY)
    return level->cells;
  return (level->cells + level->slot_cells - 1) / level->slot_cells;
}

/* Bytes that a level occupies inside one cell of its parent. */
static inline uint64_t metate_level_container_bytes(const metate_level *level) {
  switch (level->kind) {
  case METATE_LEVEL_POINTER: /* links */
    return 4 * level->cells;
  case METATE_LEVEL_BITMASKED: /* cells, then the live and the entry mask */
    return level->mask + 2 * metate_level_mask_bytes(level);
  case METATE_LEVEL_DYNAMIC: /* length, length at entry, links */
    return 8 + 4 * metate_level_chunks(level);
  case METATE_LEVEL_HASH: /* a stamp */
    return 4;
  case METATE_LEVEL_PLACE: /* a quantised one is in the word of its parent */
    return level->quant ? 0 : level->cell_bytes;
  default:
    return metate_level_pieces(level) * level->cell_bytes;
  }
}

/* First record of a type blob, 64 bytes. */
typedef struct metate_tree_type {
  uint32_t magic; /* METATE_TREE_TYPE_MAGIC */
  uint32_t abi_version;
  uint64_t hash[2];     /* XXH3-128 of the blob with this field zero: {low64, high64} */
  uint32_t bytes;       /* of the whole blob */
  uint32_t level_count; /* records, root included */
  uint32_t pool_count;
  uint32_t member_count;
  uint64_t root_bytes; /* bytes of the root cell */
  uint32_t root_align;
  uint32_t text; /* offset of the printed type, zero-terminated */
  uint32_t reserved[2];
} metate_tree_type;
METATE_STATIC_ASSERT(sizeof(metate_tree_type) == 64, "metate_tree_type is 64 bytes");

/* First record of a block, 128 bytes. */
typedef struct metate_tree_header {
  uint64_t magic; /* METATE_TREE_MAGIC */
  uint32_t abi_version;
  uint32_t pool_count;
  uint64_t type_hash[2];
  uint64_t bytes;       /* of the block */
  uint64_t root_offset; /* of the root cell from the block's start */
  uint32_t workers;     /* slack slots per pool: most workers that may activate at once */
  uint32_t reserved0[3];
  /* second cache line: what changes */
  uint32_t epoch;  /* >= 1; raised by one before a task that may change the topology it walks */
  uint32_t status; /* sticky: METATE_OK or METATE_E_CAPACITY (atomic) */
  uint32_t status_level; /* pool number; METATE_NONE while `status` is METATE_OK */
  uint32_t
      changed; /* nonzero: the set of active cells changed since `topology` was raised (atomic) */
  uint64_t status_needed; /* slots needed at least (atomic) */
  uint64_t resets;        /* times the block was reset */
  uint64_t
      topology; /* raised by one by a reset, where a launch or a host call ends with `changed`, and
                   where slots are put in order that were not */
  uint64_t sorted; /* `topology` when slots were last put in order: they are in order while both are
                      equal and nothing has `changed`; 0 = never */
  uint64_t reserved2[2];
} metate_tree_header;
METATE_STATIC_ASSERT(sizeof(metate_tree_header) == 128, "metate_tree_header is 128 bytes");
METATE_STATIC_ASSERT(offsetof(metate_tree_header, epoch) == 64,
                     "what changes has a line of its own");

/* Free slots at hand for the workers whose number is m modulo METATE_MAGAZINES; a line of its own. On a device they are what was collected,
 * and stay there between launches. */
typedef struct metate_magazine {
  uint64_t head; /* atomic: tag << 32 | slot number, as free_head */
  uint32_t reserved[14];
} metate_magazine;
METATE_STATIC_ASSERT(sizeof(metate_magazine) == METATE_BLOCK_ALIGN, "a magazine has its own line");

/* One pool's record: constants in the first cache line, counters in the second, then magazines. */
typedef struct metate_pool {
  uint64_t meta_offset;   /* of metadata record 0 from the block's start */
  uint64_t slots_offset;  /* of slot 0 from the block's start (virtual without ambient slot) */
  uint32_t capacity;      /* slots that may be active */
  uint32_t physical;      /* capacity + workers: highest slot number */
  uint64_t table_offset;  /* hash: of bucket 0 from the block's start; else 0 */
  uint32_t table_buckets; /* hash; else 0 */
  uint32_t reserved0[7];
  uint64_t free_head;    /* atomic: tag << 32 | slot number; slot 0 = empty */
  uint32_t high_water;   /* atomic: highest slot number handed out since none was in use */
  uint32_t used;         /* atomic: slots linked, and those not yet collected */
  uint32_t pending;      /* atomic: first slot that was deactivated in this task; 0 = none */
  uint32_t tombs;        /* atomic: tombstones in the table; 0 where no task runs */
  uint32_t stamps;       /* atomic, hash: stamps that were given to containers */
  uint32_t orphans;      /* atomic, hash: containers with a stamp that were given up */
  uint32_t orphans_seen; /* `orphans` when the pool was last collected: equal where no task runs */
  uint32_t moves_begun;  /* atomic: times that a worker took a run of slots for its magazine */
  uint32_t moves_ended;  /* atomic: of these, times that the run lies in the magazine */
  uint32_t loaded;       /* atomic: bit m: magazine m may have slots; 0 where no CPU's task runs */
  uint32_t returned; /* atomic: times that a device's worker gave a slot back to the free list */
  uint32_t peak;     /* highest slot number handed out before high_water last began anew */
  uint32_t reserved1[2];
  metate_magazine magazines[METATE_MAGAZINES];
} metate_pool;
METATE_STATIC_ASSERT(sizeof(metate_pool) == 128 + 64 * METATE_MAGAZINES,
                     "metate_pool has no padding");
METATE_STATIC_ASSERT(offsetof(metate_pool, free_head) == 64, "counters have a line of their own");

/* A saved tree: this record, the type blob behind it, and the block at block_offset, to be mapped. */
typedef struct metate_tree_file {
  uint64_t magic; /* METATE_FILE_MAGIC */
  uint32_t abi_version;
  uint32_t blob_bytes;
  uint64_t block_offset; /* a multiple of METATE_FILE_ALIGN */
  uint64_t block_bytes;
  uint64_t reserved[4];
} metate_tree_file;
METATE_STATIC_ASSERT(sizeof(metate_tree_file) == 64, "metate_tree_file is 64 bytes");

#endif
