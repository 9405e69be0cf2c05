/* What the files of the server for calls over a stream share. */
#ifndef METATE_RUNTIME_RPC_RPC_H
#define METATE_RUNTIME_RPC_RPC_H

#include "metate/rpc.h"

/* ---- frames (frames.c) ---- */

enum { HEADER_BYTES = 4, CRC_BYTES = 4 };

uint32_t metate_rpc_crc(const unsigned char *bytes, uint32_t count);
/* Completes and writes a frame of so many bytes, header included, which has room for its crc. */
void metate_rpc_send(metate_rpc *server, unsigned char *frame, uint32_t bytes);
/* The next byte of the stream. Is a frame complete that is none too long? Then it has `used` bytes. */
enum { FRAME_GOES_ON, FRAME_ENDS, FRAME_IS_DAMAGED };
int metate_rpc_take(metate_rpc *server, unsigned char byte);

/* ---- values (values.c) ---- */

struct metate_rpc_value {
  metate_core_argument argument; /* its data, and before it its shape, lie in the heap */
  uint64_t bytes;                /* of data */
  uint32_t handle, type;         /* of a tree */
};

/* A value as calls and copies see it. */
typedef struct found_value {
  const metate_core_argument *argument;
  uint64_t bytes;
  uint32_t flags;
} found_value;

/* Handles of named values are their numbers; those of clients' values come after, and are not given twice. */
int metate_rpc_find(const metate_rpc *server, uint32_t handle, found_value *found);
/* Bytes of an array without gaps; 0 where it is none, or too large. */
uint64_t metate_rpc_bytes_of(const metate_core_argument *argument);
/* The same of a value that may be a tree. */
uint64_t metate_rpc_named_bytes(const metate_rpc_named *named);
metate_status metate_rpc_make_array(metate_rpc *server, uint32_t dtype, uint32_t rank,
                                    const int64_t *shape, metate_rpc_value **made);
metate_status metate_rpc_make_tree(metate_rpc *server, uint32_t type, uint64_t bytes,
                                   metate_rpc_value **made);
metate_status metate_rpc_free(metate_rpc *server, uint32_t handle);
void metate_rpc_free_all(metate_rpc *server);
/* Memory behind all values, until the next request; NULL: there is not as much. `*top` starts as metate_rpc_top(). */
unsigned char *metate_rpc_top(const metate_rpc *server);
void *metate_rpc_scratch(const metate_rpc *server, unsigned char **top, uint64_t bytes,
                         uint32_t align);

/* ---- messages: what is read of a request, and written to its answer ---- */

typedef struct message {
  metate_rpc *server;
  const unsigned char *at, *end; /* of the request's payload */
  int is_short;                  /* something was read that is not there */
} message;

uint64_t metate_rpc_get(message *from, uint32_t bytes);
void metate_rpc_put(metate_rpc *server, uint64_t value, uint32_t bytes);
void metate_rpc_put_text(metate_rpc *server, const char *text);
void metate_rpc_put_bytes(metate_rpc *server, const void *from, uint32_t bytes);
uint32_t metate_rpc_room(const metate_rpc *server);
/* Makes the answer one that says what went wrong. */
metate_status metate_rpc_refuse(metate_rpc *server, metate_status status, const char *text);

/* ---- prints (prints.c) ---- */

/* The hooks of a launch, through which its prints are kept for the client that wants them. */
void metate_rpc_hear_prints(metate_rpc *server, metate_host *host);
void metate_rpc_forget_prints(metate_rpc *server);
metate_status metate_rpc_prints(message *from);

/* ---- calls (call.c) ---- */

metate_status metate_rpc_call(message *from);

#endif
