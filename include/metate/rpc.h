/* Calls over a stream of bytes: a server for the kernels and graphs of a linked module (NAME_module of its generated header), on
 * firmware or on a host. It knows no sockets and no serial lines: the program hands it the bytes that have come, and writes those
 * that it answers.
 *
 *   static _Alignas(64) unsigned char memory[8192];
 *   metate_rpc server;
 *   metate_rpc_open(&server, &(metate_rpc_options){.module = &shapes_module, .memory = memory, .bytes = sizeof memory,
 *                                                  .write = write_to_line});
 *   for (;;)
 *     metate_rpc_receive(&server, piece, read_from_line(piece, sizeof piece));
 *
 * Part of the core (core.h): C11 that allocates nothing; a program compiles runtime/core/ and runtime/rpc/ with its own compiler.
 * What clients send lies in the memory that the program gives. A frame that is damaged, too long or senseless is answered or passed
 * over, and never leads out of that memory. Frames and messages: docs/manual/rpc.md, and below.
 *
 * Who may send frames may call every kernel with every argument. What kernels do with the numbers in their arguments (an array's
 * elements that are indices, links in a tree's cells) is not checked here. */
#ifndef METATE_RPC_H
#define METATE_RPC_H

#include "metate/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the protocol ----
 *
 * A frame is [sequence u16][kind u8][status u8][payload][crc u32], little-endian, written by COBS (no byte of it is zero) between two
 * zero bytes. crc is the CRC-32 of zlib, of all before it. A request has status 0; its answer has its sequence, its kind with
 * METATE_RPC_ANSWER and a metate_status. A client sends one request at a time, and sends it again (the same bytes) if no answer comes:
 * the server answers a request that it has just seen with the answer that it gave, and runs nothing twice. A frame that is damaged
 * is answered by METATE_RPC_DAMAGED, with no payload: send it again.
 *
 * Payload of an answer with another status than METATE_OK: [argument u32 or METATE_NONE][line u32][column u32][rank u32]
 * [index i64 x rank][shape i64 x rank][file][text], of which a kernel's failure fills all (metate_failure), else line and rank are 0.
 * Strings end with a zero byte. */
#define METATE_RPC_VERSION 1u
#define METATE_RPC_MAGIC 0x4350524du /* "MRPC" */
#define METATE_RPC_ANSWER 0x80u
/* What is said of an array of METATE_MAX_RANK dimensions fits, and 19 characters of its name. */
#define METATE_RPC_LEAST_FRAME 160u

typedef enum metate_rpc_kind {
  /* [magic u32][version u32][METATE_RPC_WANTS_* u32, may be missing] -> [version u32][abi version u32][bytes of a frame u32][kernels u32]
   * [types u32][named values u32][values that clients can make u32][bytes for them u64][hash u64 x 2][module's name][bytes that the
   * server keeps of prints for this client u32, may be missing: 0]. Begins anew: frees what clients have made. */
  METATE_RPC_HELLO = 1,
  /* What there is. [kernel u32] -> [flags u32][arguments u32][name] */
  METATE_RPC_KERNEL = 2,
  /* [kernel u32][argument u32] -> [kind u32][dtype u32][rows u32][columns u32][element rank u32][rank u32][access u32][flags u32]
   * [type u32][fixed i64 x rank][name] */
  METATE_RPC_ARGUMENT = 3,
  METATE_RPC_TYPE = 4, /* [type u32] -> [hash u64 x 2][bytes u64][name] */
  /* A value that the program has named: [number u32] -> [handle u32][kind u32][dtype u32][rank u32][flags u32][type u32][bytes u64]
   * [shape i64 x rank][name] */
  METATE_RPC_NAMED = 5,
  /* Makes a value: an array ([kind u32][dtype u32][rank u32][shape i64 x rank]), all zero, or a tree, all background
   * ([kind u32][type u32][bytes u64, 0: as many as it can need]) -> [handle u32][bytes u64] */
  METATE_RPC_MAKE = 6,
  METATE_RPC_WRITE = 7, /* [handle u32][offset u64][bytes ...] -> nothing */
  METATE_RPC_READ = 8,  /* [handle u32][offset u64][count u32] -> [bytes ...] */
  METATE_RPC_FREE = 9,  /* [handle u32] -> nothing */
  /* [kernel u32], then each argument but results: [METATE_RPC_VALUE u8][handle u32], [METATE_RPC_SCALAR u8][dtype u8][its bytes] or
   * [METATE_RPC_VECTOR u8][dtype u8][count u16][elements] -> [bytes of the results], and for a client whose prints are kept
   * [bytes of prints that wait u32]; prints before a failure wait as well. A result called "local.NAME" is none: the kernel's loops
   * accumulate in it. */
  METATE_RPC_CALL = 10,
  METATE_RPC_CLOSE = 11, /* -> nothing; frees what clients have made */
  /* What kernels have printed, oldest first: nothing -> [prints that were dropped behind the last byte that waits u32][bytes left u32]
   * [bytes ...]. The bytes of all answers, one behind the other, are prints: [items u16], then each item: [METATE_PRINT_* u8], a text or
   * format with a zero byte behind it, or a value's 8 bytes. */
  METATE_RPC_PRINTS = 12,
  METATE_RPC_DAMAGED = 0x7f
} metate_rpc_kind;
enum { METATE_RPC_WANTS_PRINTS = 1u };
enum { METATE_RPC_VALUE = 0, METATE_RPC_SCALAR = 1, METATE_RPC_VECTOR = 2 };

/* ---- the server ---- */

enum { METATE_RPC_READ_ONLY = 1u };

/* A value of the program's own that clients find by name: an array without gaps, or a tree's block. */
typedef struct metate_rpc_named {
  const char *name;
  metate_core_argument value;
  uint64_t bytes; /* of a tree's memory; an array's follow from its shape */
  uint32_t
      flags; /* METATE_RPC_READ_ONLY: constants in flash, say; kernels that write it are refused */
  uint32_t reserved;
} metate_rpc_named;

/* All of the bytes, before it returns. */
typedef void (*metate_rpc_write)(void *self, const void *bytes, size_t count);

typedef struct metate_rpc_options {
  const metate_static_module *module;
  void *memory; /* two frames, a table of values, prints, and what clients make; aligned to 64 */
  size_t bytes;
  uint32_t frame_bytes; /* longest frame; 0: 256. At least METATE_RPC_LEAST_FRAME */
  uint32_t most_values; /* that clients can make; 0: 16 */
  metate_rpc_write write;
  void *write_self;
  const metate_rpc_named *named; /* what the program shares; NULL: nothing */
  uint32_t named_count;
  const metate_host *
      host; /* hooks of launches, whose failures the server takes, and whose `print` hears what kernels print; NULL: none */
  uint32_t
      print_bytes; /* of `memory`, for what kernels print until the client asks for it; more is dropped. 0: clients hear of no prints */
} metate_rpc_options;

typedef struct metate_rpc_value metate_rpc_value;

/* A server. Its members are its own. */
typedef struct metate_rpc {
  metate_core core;
  metate_rpc_options options;
  unsigned char *request, *answer;
  metate_rpc_value *values;
  unsigned char *heap, *heap_end;
  uint32_t value_count, next_handle;
  uint32_t used, block,
      left; /* of the frame that comes: its bytes, and where its encoding stands */
  uint32_t answer_bytes, seen_crc;
  uint16_t seen_sequence;
  uint8_t has_overflowed, is_greeted, has_seen;
  unsigned char *prints;
  uint32_t print_used, prints_dropped;
  uint8_t keeps_prints, print_lock;
} metate_rpc;

/* The options are copied; what they lead to must outlive the server. Fails as metate_core_open does, and with METATE_E_NULL,
 * METATE_E_MISALIGNED, METATE_E_INVALID_ARGUMENT (a frame that is too short, a named value with gaps) and METATE_E_TOO_SMALL. */
metate_status metate_rpc_open(metate_rpc *server, const metate_rpc_options *options);
/* Bytes that have come, cut in any way: answers the requests that end in them, by the function `write`. */
void metate_rpc_receive(metate_rpc *server, const void *bytes, size_t count);

#ifdef __cplusplus
}
#endif

#endif
