/* What clients make: arrays and trees, one behind the other in the memory that the program gave. What is behind a value that is
 * freed moves down, so that no gaps stay. */
#include "core/core.h"
#include "rpc/rpc.h"

/* An address of 8 bytes, on every machine. */
static unsigned char *aligned(unsigned char *at, uint32_t align) {
  return at + (align - (uintptr_t)at % align) % align;
}

static uint32_t align_of(const metate_rpc_value *value) {
  return value->argument.kind == METATE_ARGUMENT_TREE ? METATE_BLOCK_ALIGN : 8;
}

static unsigned char *start_of(const metate_rpc_value *value) {
  return value->argument.shape ? (unsigned char *)(uintptr_t)value->argument.shape
                               : value->argument.data;
}

static uint64_t total_of(const metate_rpc_value *value) {
  return value->bytes + 8ull * (value->argument.shape ? value->argument.rank : 0);
}

static void settle(metate_rpc_value *value, unsigned char *start) {
  unsigned char *data = start;
  if (value->argument.kind == METATE_ARGUMENT_NDARRAY) {
    value->argument.shape = (const int64_t *)(const void *)start;
    data += 8ull * value->argument.rank;
  }
  value->argument.data = data;
}

unsigned char *metate_rpc_top(const metate_rpc *server) {
  if (!server->value_count)
    return server->heap;
  const metate_rpc_value *last = &server->values[server->value_count - 1];
  return start_of(last) + total_of(last);
}

void *metate_rpc_scratch(const metate_rpc *server, unsigned char **top, uint64_t bytes,
                         uint32_t align) {
  uint64_t room = (uint64_t)(server->heap_end - *top);
  uint64_t gap = (uint64_t)(aligned(*top, align) - *top);
  if (gap > room || bytes > room - gap)
    return NULL;
  unsigned char *found = *top + gap;
  *top = found + bytes;
  return found;
}

uint64_t metate_rpc_bytes_of(const metate_core_argument *argument) {
  uint64_t bytes = metate_core_dtype_bytes(argument->dtype);
  if (argument->kind != METATE_ARGUMENT_NDARRAY || argument->strides)
    return 0;
  for (uint32_t k = 0; k < argument->rank; ++k)
    if (argument->shape[k] < 0 || argument->shape[k] > INT32_MAX ||
        __builtin_mul_overflow(bytes, (uint64_t)argument->shape[k], &bytes) || bytes > INT64_MAX)
      return 0;
  return bytes;
}

uint64_t metate_rpc_named_bytes(const metate_rpc_named *named) {
  return named->value.kind == METATE_ARGUMENT_TREE ? named->bytes
                                                   : metate_rpc_bytes_of(&named->value);
}

int metate_rpc_find(const metate_rpc *server, uint32_t handle, found_value *found) {
  if (handle < server->options.named_count) {
    const metate_rpc_named *named = &server->options.named[handle];
    *found = (found_value){&named->value, metate_rpc_named_bytes(named), named->flags};
    return 1;
  }
  for (uint32_t k = 0; k < server->value_count; ++k)
    if (server->values[k].handle == handle) {
      *found = (found_value){&server->values[k].argument, server->values[k].bytes, 0};
      return 1;
    }
  return 0;
}

/* Takes room for a value whose argument and bytes are known. */
static metate_status place(metate_rpc *server, metate_rpc_value value, metate_rpc_value **made) {
  unsigned char *top = metate_rpc_top(server);
  if (server->value_count == server->options.most_values)
    return METATE_E_OUT_OF_MEMORY;
  int is_array = value.argument.kind == METATE_ARGUMENT_NDARRAY;
  unsigned char *start = metate_rpc_scratch(
      server, &top, value.bytes + (is_array ? 8ull * value.argument.rank : 0), align_of(&value));
  if (!start)
    return METATE_E_OUT_OF_MEMORY;
  value.handle = server->next_handle++;
  settle(&value, start);
  *made = &server->values[server->value_count++];
  **made = value;
  return METATE_OK;
}

metate_status metate_rpc_make_array(metate_rpc *server, uint32_t dtype, uint32_t rank,
                                    const int64_t *shape, metate_rpc_value **made) {
  metate_core_argument argument = {
      .kind = METATE_ARGUMENT_NDARRAY, .dtype = dtype, .rank = rank, .shape = shape};
  uint64_t bytes = metate_rpc_bytes_of(&argument);
  int is_empty = 0;
  for (uint32_t k = 0; k < rank; ++k)
    is_empty |= shape[k] == 0;
  if (!bytes && !is_empty)
    return METATE_E_INVALID_ARGUMENT;
  metate_status status =
      place(server, (metate_rpc_value){.argument = argument, .bytes = bytes}, made);
  if (status != METATE_OK)
    return status;
  __builtin_memcpy((void *)(uintptr_t)(*made)->argument.shape, shape, 8ull * rank);
  __builtin_memset((*made)->argument.data, 0, (size_t)bytes);
  return METATE_OK;
}

metate_status metate_rpc_make_tree(metate_rpc *server, uint32_t type, uint64_t bytes,
                                   metate_rpc_value **made) {
  const metate_tree_type *found = metate_core_type(&server->core, type);
  if (!found)
    return METATE_E_NOT_FOUND;
  bytes = bytes ? bytes : metate_core_type_bytes(found, 1);
  metate_status status = place(
      server,
      (metate_rpc_value){.argument = {.kind = METATE_ARGUMENT_TREE}, .bytes = bytes, .type = type},
      made);
  if (status != METATE_OK)
    return status;
  status = metate_core_tree_reset(found, 1, (*made)->argument.data, bytes);
  if (status != METATE_OK)
    --server->value_count; /* it is the last one */
  return status;
}

metate_status metate_rpc_free(metate_rpc *server, uint32_t handle) {
  uint32_t at = 0;
  while (at < server->value_count && server->values[at].handle != handle)
    ++at;
  if (at == server->value_count)
    return METATE_E_NOT_FOUND;
  unsigned char *to = start_of(&server->values[at]);
  for (uint32_t k = at + 1; k < server->value_count; ++k) {
    metate_rpc_value *value = &server->values[k - 1];
    *value = server->values[k];
    to = aligned(to, align_of(value));
    __builtin_memmove(to, start_of(value), (size_t)total_of(value));
    settle(value, to);
    to += total_of(value);
  }
  --server->value_count;
  return METATE_OK;
}

void metate_rpc_free_all(metate_rpc *server) { server->value_count = 0; }
