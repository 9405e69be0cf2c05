/* The server: answers one request at a time, from the bytes that come. */
#include "core/core.h"
#include "rpc/rpc.h"

/* ---- reading and writing messages ---- */

uint64_t metate_rpc_get(message *from, uint32_t bytes) {
  uint64_t value = 0;
  if ((uint64_t)(from->end - from->at) < bytes) {
    from->is_short = 1;
    from->at = from->end;
    return 0;
  }
  for (uint32_t k = 0; k < bytes; ++k)
    value |= (uint64_t)from->at[k] << 8 * k;
  from->at += bytes;
  return value;
}

uint32_t metate_rpc_room(const metate_rpc *server) {
  return server->options.frame_bytes - CRC_BYTES - server->answer_bytes;
}

void metate_rpc_put_bytes(metate_rpc *server, const void *from, uint32_t bytes) {
  if (bytes > metate_rpc_room(server))
    return; /* what an answer holds at most is known where it is made */
  __builtin_memcpy(server->answer + server->answer_bytes, from, bytes);
  server->answer_bytes += bytes;
}

void metate_rpc_put(metate_rpc *server, uint64_t value, uint32_t bytes) {
  unsigned char little[8];
  for (uint32_t k = 0; k < bytes; ++k)
    little[k] = (unsigned char)(value >> 8 * k);
  metate_rpc_put_bytes(server, little, bytes);
}

/* Cut where the frame ends. */
void metate_rpc_put_text(metate_rpc *server, const char *text) {
  while (*text && metate_rpc_room(server) > 2)
    server->answer[server->answer_bytes++] = (unsigned char)*text++;
  metate_rpc_put(server, 0, 1);
}

metate_status metate_rpc_refuse(metate_rpc *server, metate_status status, const char *text) {
  server->answer_bytes = HEADER_BYTES;
  metate_rpc_put(server, server->core.refused, 4);
  metate_rpc_put(server, 0, 8);
  metate_rpc_put(server, 0, 4);
  metate_rpc_put_text(server, "");
  metate_rpc_put_text(server, text);
  return status;
}

static metate_status refuse_unknown(message *from, const char *text) {
  return metate_rpc_refuse(from->server, METATE_E_NOT_FOUND, text);
}

/* ---- the requests ---- */

static metate_status hello(message *from) {
  metate_rpc *server = from->server;
  const metate_descriptor *head = server->core.descriptor;
  if (metate_rpc_get(from, 4) != METATE_RPC_MAGIC)
    return metate_rpc_refuse(server, METATE_E_INVALID_ARGUMENT, "that is no hello");
  if (metate_rpc_get(from, 4) != METATE_RPC_VERSION)
    return metate_rpc_refuse(server, METATE_E_VERSION, "the server speaks version 1");
  uint32_t wants = from->at < from->end ? (uint32_t)metate_rpc_get(from, 4) : 0;
  metate_rpc_free_all(server);
  metate_rpc_forget_prints(server);
  server->is_greeted = 1;
  metate_rpc_put(server, METATE_RPC_VERSION, 4);
  metate_rpc_put(server, METATE_ABI_VERSION, 4);
  metate_rpc_put(server, server->options.frame_bytes, 4);
  metate_rpc_put(server, head->kernels.count, 4);
  metate_rpc_put(server, head->types.count, 4);
  metate_rpc_put(server, server->options.named_count, 4);
  metate_rpc_put(server, server->options.most_values, 4);
  metate_rpc_put(server, (uint64_t)(server->heap_end - server->heap), 8);
  metate_rpc_put(server, head->signature_hash[0], 8);
  metate_rpc_put(server, head->signature_hash[1], 8);
  metate_rpc_put_text(server, metate_core_text(&server->core, head->name));
  /* A name that fills the frame leaves no room to say it. */
  server->keeps_prints = (wants & METATE_RPC_WANTS_PRINTS) && server->options.print_bytes &&
                         metate_rpc_room(server) >= 4;
  metate_rpc_put(server, server->keeps_prints ? server->options.print_bytes : 0, 4);
  return METATE_OK;
}

static metate_status describe_kernel(message *from) {
  metate_rpc *server = from->server;
  const metate_kernel_info *info =
      metate_core_kernel(&server->core, (uint32_t)metate_rpc_get(from, 4));
  if (!info)
    return refuse_unknown(from, "there is no such kernel");
  metate_rpc_put(server, info->flags, 4);
  metate_rpc_put(server, info->argument_count, 4);
  metate_rpc_put_text(server, metate_core_text(&server->core, info->name));
  return METATE_OK;
}

static metate_status describe_argument(message *from) {
  metate_rpc *server = from->server;
  uint32_t kernel = (uint32_t)metate_rpc_get(from, 4);
  const metate_argument_info *info =
      metate_core_argument_info(&server->core, kernel, (uint32_t)metate_rpc_get(from, 4));
  if (!info)
    return refuse_unknown(from, "there is no such argument");
  const uint32_t words[] = {info->kind,    info->dtype,        info->rows,
                            info->columns, info->element_rank, info->rank,
                            info->access,  info->flags,        info->type};
  for (uint32_t k = 0; k < sizeof words / sizeof *words; ++k)
    metate_rpc_put(server, words[k], 4);
  for (uint32_t k = 0; k < info->rank && k < METATE_MAX_RANK; ++k)
    metate_rpc_put(server, (uint64_t)info->fixed[k], 8);
  metate_rpc_put_text(server, metate_core_text(&server->core, info->name));
  return METATE_OK;
}

static metate_status describe_type(message *from) {
  metate_rpc *server = from->server;
  const metate_descriptor *head = server->core.descriptor;
  uint32_t number = (uint32_t)metate_rpc_get(from, 4);
  const metate_tree_type *type = metate_core_type(&server->core, number);
  if (!type)
    return refuse_unknown(from, "there is no such type");
  const metate_type_info *info =
      (const metate_type_info *)(const void *)((const char *)head + head->types.offset) + number;
  metate_rpc_put(server, type->hash[0], 8);
  metate_rpc_put(server, type->hash[1], 8);
  metate_rpc_put(server, metate_core_type_bytes(type, 1), 8);
  metate_rpc_put_text(server, metate_core_text(&server->core, info->name));
  return METATE_OK;
}

static uint32_t type_of(const metate_core *core, const metate_core_argument *value) {
  const metate_tree_header *header = value->data;
  const metate_tree_type *type = NULL;
  if (value->kind == METATE_ARGUMENT_TREE)
    for (uint32_t k = 0; (type = metate_core_type(core, k)); ++k)
      if (type->hash[0] == header->type_hash[0] && type->hash[1] == header->type_hash[1])
        return k;
  return METATE_NONE;
}

static metate_status describe_named(message *from) {
  metate_rpc *server = from->server;
  uint32_t number = (uint32_t)metate_rpc_get(from, 4);
  if (number >= server->options.named_count)
    return refuse_unknown(from, "there is no such value");
  const metate_rpc_named *named = &server->options.named[number];
  const metate_core_argument *value = &named->value;
  metate_rpc_put(server, number, 4);
  metate_rpc_put(server, value->kind, 4);
  metate_rpc_put(server, value->dtype, 4);
  metate_rpc_put(server, value->rank, 4);
  metate_rpc_put(server, named->flags, 4);
  metate_rpc_put(server, type_of(&server->core, value), 4);
  metate_rpc_put(server, metate_rpc_named_bytes(named), 8);
  for (uint32_t k = 0; k < value->rank; ++k)
    metate_rpc_put(server, (uint64_t)value->shape[k], 8);
  metate_rpc_put_text(server, named->name);
  return METATE_OK;
}

static metate_status make(message *from) {
  metate_rpc *server = from->server;
  metate_rpc_value *made;
  metate_status status;
  uint32_t kind = (uint32_t)metate_rpc_get(from, 4), dtype = (uint32_t)metate_rpc_get(from, 4);
  if (kind == METATE_ARGUMENT_NDARRAY) {
    int64_t shape[METATE_MAX_RANK];
    uint32_t rank = (uint32_t)metate_rpc_get(from, 4);
    for (uint32_t k = 0; k < rank && k < METATE_MAX_RANK; ++k)
      shape[k] = (int64_t)metate_rpc_get(from, 8);
    status = from->is_short || rank > METATE_MAX_RANK
                 ? METATE_E_INVALID_ARGUMENT
                 : metate_rpc_make_array(server, dtype, rank, shape, &made);
  } else {
    uint64_t bytes = metate_rpc_get(from, 8);
    status = from->is_short || kind != METATE_ARGUMENT_TREE
                 ? METATE_E_INVALID_ARGUMENT
                 : metate_rpc_make_tree(server, dtype, bytes, &made);
  }
  if (status != METATE_OK)
    return metate_rpc_refuse(server, status,
                             status == METATE_E_OUT_OF_MEMORY
                                 ? "the server has no memory left for the value"
                                 : "that can be no value");
  metate_rpc_put(server, made->handle, 4);
  metate_rpc_put(server, made->bytes, 8);
  return METATE_OK;
}

/* Bytes of a value that a request names: to be read, or to be written with what stands behind the offset. */
typedef struct part {
  unsigned char *data;
  uint32_t count, flags;
} part;

static metate_status find_part(message *from, int is_read, part *found) {
  metate_rpc *server = from->server;
  found_value value;
  int is_found = metate_rpc_find(server, (uint32_t)metate_rpc_get(from, 4), &value);
  uint64_t offset = metate_rpc_get(from, 8);
  found->count = is_read ? (uint32_t)metate_rpc_get(from, 4) : (uint32_t)(from->end - from->at);
  if (from->is_short || !is_found)
    return refuse_unknown(from, "there is no such value");
  if (offset > value.bytes || found->count > value.bytes - offset)
    return metate_rpc_refuse(server, METATE_E_OUT_OF_RANGE, "the value has fewer bytes");
  found->data = (unsigned char *)value.argument->data + offset;
  found->flags = value.flags;
  return METATE_OK;
}

static metate_status write_part(message *from) {
  part found;
  metate_status status = find_part(from, 0, &found);
  if (status != METATE_OK)
    return status;
  if (found.flags & METATE_RPC_READ_ONLY)
    return metate_rpc_refuse(from->server, METATE_E_INVALID_ARGUMENT, "the value is read-only");
  __builtin_memcpy(found.data, from->at, found.count);
  return METATE_OK;
}

static metate_status read_part(message *from) {
  part found;
  metate_status status = find_part(from, 1, &found);
  if (status != METATE_OK)
    return status;
  if (found.count > metate_rpc_room(from->server))
    return metate_rpc_refuse(from->server, METATE_E_TOO_SMALL, "that is more than a frame holds");
  metate_rpc_put_bytes(from->server, found.data, found.count);
  return METATE_OK;
}

static metate_status free_value(message *from) {
  if (metate_rpc_free(from->server, (uint32_t)metate_rpc_get(from, 4)) == METATE_OK)
    return METATE_OK;
  return refuse_unknown(from, "there is no such value");
}

static metate_status close_session(message *from) {
  metate_rpc_free_all(from->server);
  from->server->is_greeted = 0;
  return METATE_OK;
}

/* By their kinds. */
static metate_status (*const requests[])(message *from) = {
    [METATE_RPC_HELLO] = hello,
    [METATE_RPC_KERNEL] = describe_kernel,
    [METATE_RPC_ARGUMENT] = describe_argument,
    [METATE_RPC_TYPE] = describe_type,
    [METATE_RPC_NAMED] = describe_named,
    [METATE_RPC_MAKE] = make,
    [METATE_RPC_WRITE] = write_part,
    [METATE_RPC_READ] = read_part,
    [METATE_RPC_FREE] = free_value,
    [METATE_RPC_CALL] = metate_rpc_call,
    [METATE_RPC_CLOSE] = close_session,
    [METATE_RPC_PRINTS] = metate_rpc_prints,
};

static metate_status perform(metate_rpc *server, uint32_t kind) {
  message from = {server, server->request + HEADER_BYTES,
                  server->request + server->used - CRC_BYTES, 0};
  server->core.refused = METATE_NONE;
  if (kind >= sizeof requests / sizeof *requests || !requests[kind])
    return metate_rpc_refuse(server, METATE_E_UNSUPPORTED, "there is no such request");
  if (!server->is_greeted && kind != METATE_RPC_HELLO)
    return metate_rpc_refuse(server, METATE_E_VERSION, "the server expects a hello first");
  return requests[kind](&from);
}

/* ---- frames that have come ---- */

static void answer_damaged(metate_rpc *server) {
  unsigned char frame[HEADER_BYTES + CRC_BYTES] = {
      0xff, 0xff, METATE_RPC_ANSWER | METATE_RPC_DAMAGED, METATE_E_CORRUPT};
  metate_rpc_send(server, frame, HEADER_BYTES);
}

static uint32_t little(const unsigned char *at, uint32_t bytes) {
  uint32_t value = 0;
  for (uint32_t k = 0; k < bytes; ++k)
    value |= (uint32_t)at[k] << 8 * k;
  return value;
}

static void answer_frame(metate_rpc *server) {
  const unsigned char *frame = server->request;
  uint32_t bytes = server->used - CRC_BYTES;
  if (server->used < HEADER_BYTES + CRC_BYTES ||
      little(frame + bytes, 4) != metate_rpc_crc(frame, bytes)) {
    answer_damaged(server);
    return;
  }
  uint32_t crc = little(frame + bytes, 4), kind = frame[2];
  uint16_t sequence = (uint16_t)little(frame, 2);
  int is_again = server->has_seen && server->seen_sequence == sequence && server->seen_crc == crc;
  if (!is_again || kind == METATE_RPC_HELLO) {
    server->answer_bytes = HEADER_BYTES;
    uint32_t status = (uint32_t)perform(server, kind);
    server->answer[0] = frame[0];
    server->answer[1] = frame[1];
    server->answer[2] = (unsigned char)(kind | METATE_RPC_ANSWER);
    server->answer[3] = (unsigned char)(status > METATE_STATUS_LAST ? METATE_E_INTERNAL : status);
    server->seen_sequence = sequence;
    server->seen_crc = crc;
    server->has_seen = 1;
  }
  metate_rpc_send(server, server->answer, server->answer_bytes);
}

void metate_rpc_receive(metate_rpc *server, const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  for (size_t k = 0; k < count; ++k) {
    int found = metate_rpc_take(server, at[k]);
    if (found == FRAME_ENDS)
      answer_frame(server);
    else if (found == FRAME_IS_DAMAGED)
      answer_damaged(server);
  }
}

/* ---- opening ---- */

static metate_status check_named(const metate_rpc_options *options) {
  for (uint32_t k = 0; k < options->named_count; ++k) {
    const metate_core_argument *value = &options->named[k].value;
    if (!options->named[k].name || !value->data || (value->rank && !value->shape))
      return METATE_E_NULL;
    if (value->rank > METATE_MAX_RANK || !metate_rpc_named_bytes(&options->named[k]))
      return METATE_E_INVALID_ARGUMENT;
  }
  return METATE_OK;
}

metate_status metate_rpc_open(metate_rpc *server, const metate_rpc_options *options) {
  if (!server || !options || !options->module || !options->memory || !options->write ||
      (options->named_count && !options->named))
    return METATE_E_NULL;
  metate_rpc opened = {.options = *options, .next_handle = options->named_count};
  opened.options.frame_bytes = options->frame_bytes ? options->frame_bytes : 256;
  opened.options.most_values = options->most_values ? options->most_values : 16;
  if (opened.options.frame_bytes < METATE_RPC_LEAST_FRAME ||
      opened.options.frame_bytes > INT32_MAX || opened.options.most_values > INT32_MAX / 256)
    return METATE_E_INVALID_ARGUMENT;
  if ((uintptr_t)options->memory % METATE_BLOCK_ALIGN)
    return METATE_E_MISALIGNED;
  metate_status status = metate_core_open(options->module, &opened.core);
  if (status == METATE_OK)
    status = check_named(options);
  if (status != METATE_OK)
    return status;
  uint64_t frame = (opened.options.frame_bytes + 7u) & ~7ull;
  uint64_t prints = 2 * frame + (uint64_t)opened.options.most_values * sizeof(metate_rpc_value);
  uint64_t taken = prints + (((uint64_t)options->print_bytes + 7u) & ~7ull);
  if (taken > options->bytes)
    return METATE_E_TOO_SMALL;
  opened.request = options->memory;
  opened.answer = opened.request + frame;
  opened.values = (metate_rpc_value *)(void *)(opened.answer + frame);
  opened.prints = opened.request + prints;
  opened.heap = opened.request + taken;
  opened.heap_end = opened.request + options->bytes;
  *server = opened;
  return METATE_OK;
}
