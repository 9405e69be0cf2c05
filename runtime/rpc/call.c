/* A call: its arguments are values and what the request holds, its results and what the kernel plans lie behind all values. */
#include "core/core.h"
#include "rpc/rpc.h"

/* A launch that is being put together. */
typedef struct launch {
  metate_rpc *server;
  uint32_t kernel;
  const metate_kernel_info *info;
  metate_core_argument *arguments;
  metate_slot *slots;
  unsigned char *top;    /* of the scratch memory */
  uint64_t result_bytes; /* that the answer holds */
} launch;

static metate_status refuse_argument(launch *own, uint32_t index, metate_status status,
                                     const char *text) {
  own->server->core.refused = index;
  return metate_rpc_refuse(own->server, status, text);
}

static metate_status refuse_memory(launch *own) {
  own->server->core.refused = METATE_NONE;
  return metate_rpc_refuse(own->server, METATE_E_OUT_OF_MEMORY,
                           "the server has no memory left for the call");
}

static void *scratch(launch *own, uint64_t bytes, uint32_t align) {
  return metate_rpc_scratch(own->server, &own->top, bytes, align);
}

static metate_status take_value(launch *own, uint32_t index, message *from) {
  const metate_argument_info *info =
      metate_core_argument_info(&own->server->core, own->kernel, index);
  found_value found;
  if (!metate_rpc_find(own->server, (uint32_t)metate_rpc_get(from, 4), &found))
    return refuse_argument(own, index, METATE_E_NOT_FOUND, "there is no such value");
  if ((found.flags & METATE_RPC_READ_ONLY) &&
      (info->access & (METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE)))
    return refuse_argument(own, index, METATE_E_INVALID_ARGUMENT,
                           "the kernel writes it, and the value is read-only");
  own->arguments[index] = *found.argument;
  if (info->kind != METATE_ARGUMENT_TREE || found.argument->kind != METATE_ARGUMENT_TREE)
    return METATE_OK;
  metate_status status = metate_core_tree_bind(metate_core_type(&own->server->core, info->type),
                                               found.argument->data, found.bytes);
  return status == METATE_OK
             ? METATE_OK
             : refuse_argument(own, index, status, "the value holds no tree of that type");
}

/* A scalar, or a vector, whose elements stay in the request. */
static metate_status take_elements(launch *own, uint32_t index, message *from, uint32_t what) {
  const metate_argument_info *info =
      metate_core_argument_info(&own->server->core, own->kernel, index);
  metate_core_argument *argument = &own->arguments[index];
  argument->kind = what == METATE_RPC_SCALAR ? METATE_ARGUMENT_SCALAR : METATE_ARGUMENT_VECTOR;
  argument->dtype = (uint32_t)metate_rpc_get(from, 1);
  uint32_t bytes = metate_core_dtype_bytes(argument->dtype);
  if (argument->kind != info->kind || argument->dtype != info->dtype)
    return refuse_argument(own, index, METATE_E_TYPE_MISMATCH, "");
  if (what == METATE_RPC_SCALAR) {
    argument->bits = metate_rpc_get(from, bytes);
    return METATE_OK;
  }
  uint32_t count = (uint32_t)metate_rpc_get(from, 2);
  if (count != info->slot_count)
    return refuse_argument(own, index, METATE_E_TYPE_MISMATCH, "another number of elements");
  argument->data = (void *)(uintptr_t)from->at;
  if ((uint64_t)count * bytes > (uint64_t)(from->end - from->at))
    from->is_short = 1;
  else
    from->at += count * bytes;
  return METATE_OK;
}

/* Not of what a kernel's loops accumulate in, "local.NAME": results that callers do not see. */
static int is_returned(const launch *own, const metate_argument_info *info) {
  static const char local[] = "local.";
  const char *name = metate_core_text(&own->server->core, info->name);
  uint32_t at = 0;
  while (local[at] && name[at] == local[at])
    ++at;
  return (info->flags & METATE_ARGUMENT_RESULT) && local[at];
}

/* Where a result is written: an array of which every extent is known. What no frame holds is refused before anything runs. */
static metate_status make_result(launch *own, uint32_t index) {
  const metate_argument_info *info =
      metate_core_argument_info(&own->server->core, own->kernel, index);
  metate_core_argument *argument = &own->arguments[index];
  *argument = (metate_core_argument){.kind = METATE_ARGUMENT_NDARRAY,
                                     .dtype = info->dtype,
                                     .rank = info->rank,
                                     .shape = info->fixed};
  uint64_t bytes = metate_rpc_bytes_of(argument);
  if (!bytes)
    return refuse_argument(own, index, METATE_E_UNSUPPORTED, "its shape is not known");
  if (is_returned(own, info)) {
    uint32_t kept = own->server->keeps_prints ? 4 : 0; /* for how much waits */
    if (bytes > metate_rpc_room(own->server) - kept - own->result_bytes)
      return refuse_argument(own, index, METATE_E_TOO_SMALL, "the result is larger than a frame");
    own->result_bytes += bytes;
  }
  argument->data = scratch(own, (bytes + 7) & ~7ull, 8);
  if (!argument->data)
    return refuse_memory(own);
  __builtin_memset(argument->data, 0, (size_t)bytes);
  return METATE_OK;
}

static metate_status take_arguments(launch *own, message *from) {
  for (uint32_t k = 0; k < own->info->argument_count; ++k) {
    const metate_argument_info *info =
        metate_core_argument_info(&own->server->core, own->kernel, k);
    metate_status status;
    own->arguments[k] = (metate_core_argument){0};
    if (info->flags & METATE_ARGUMENT_RESULT) {
      status = make_result(own, k);
    } else {
      uint32_t what = (uint32_t)metate_rpc_get(from, 1);
      from->is_short |= what > METATE_RPC_VECTOR;
      status =
          what == METATE_RPC_VALUE ? take_value(own, k, from) : take_elements(own, k, from, what);
    }
    if (from->is_short)
      return refuse_argument(own, k, METATE_E_INVALID_ARGUMENT,
                             "the request ends too soon, or has no argument there");
    if (status != METATE_OK)
      return status;
  }
  return from->at == from->end
             ? METATE_OK
             : metate_rpc_refuse(own->server, METATE_E_INVALID_ARGUMENT, "too many arguments");
}

/* What a kernel has recorded of its failure; the client makes a text of it. */
static metate_status answer_failure(metate_rpc *server, metate_status status,
                                    const metate_failure *failure) {
  const metate_descriptor *head = server->core.descriptor;
  const metate_text *place = NULL;
  uint32_t rank = failure->rank < METATE_MAX_RANK ? failure->rank : METATE_MAX_RANK;
  if (failure->code && failure->text < head->texts.count)
    place = (const metate_text *)(const void *)((const char *)head + head->texts.offset) +
            failure->text;
  server->answer_bytes = HEADER_BYTES;
  if (!failure->code || 16 + 16 * rank + 2 > metate_rpc_room(server))
    rank = 0;
  metate_rpc_put(server, METATE_NONE, 4);
  metate_rpc_put(server, place ? place->line : 0, 4);
  metate_rpc_put(server, place ? place->column : 0, 4);
  metate_rpc_put(server, rank, 4);
  for (uint32_t k = 0; k < rank; ++k)
    metate_rpc_put(server, (uint64_t)failure->index[k], 8);
  for (uint32_t k = 0; k < rank; ++k)
    metate_rpc_put(server, (uint64_t)failure->shape[k], 8);
  metate_rpc_put_text(server, place ? metate_core_text(&server->core, place->file) : "");
  metate_rpc_put_text(server, failure->code && failure->detail ? failure->detail
                              : place ? metate_core_text(&server->core, place->text)
                                      : "");
  return status;
}

static metate_status run(launch *own) {
  metate_rpc *server = own->server;
  metate_failure failure = {.code = METATE_OK, .text = METATE_NONE};
  metate_host host = {.struct_size = sizeof host, .max_workers = 1};
  if (server->options.host)
    host = *server->options.host;
  host.failure = &failure;
  metate_rpc_hear_prints(server, &host);
  uint32_t count = own->info->argument_count;
  metate_status status =
      metate_core_pack(&server->core, own->kernel, own->arguments, count, own->slots);
  if (status != METATE_OK)
    return metate_rpc_refuse(server, status, "");
  void **pools = scratch(own, sizeof(void *) * (uint64_t)own->info->pool_count, 8);
  for (uint32_t k = 0; pools && k < own->info->pool_count; ++k) {
    uint64_t bytes =
        metate_core_pool_bytes(&server->core, own->kernel, k, own->slots, host.max_workers);
    pools[k] = scratch(own, bytes, METATE_BLOCK_ALIGN);
    if (!pools[k])
      pools = NULL;
  }
  if (!pools)
    return refuse_memory(own);
  status = metate_core_launch(&server->core, own->kernel, own->arguments, count, own->slots, pools,
                              &host);
  if (status == METATE_OK)
    status = (metate_status)failure.code;
  return status == METATE_OK ? METATE_OK : answer_failure(server, status, &failure);
}

static metate_status answer_results(launch *own) {
  for (uint32_t k = 0; k < own->info->argument_count; ++k)
    if (is_returned(own, metate_core_argument_info(&own->server->core, own->kernel, k)))
      metate_rpc_put_bytes(own->server, own->arguments[k].data,
                           (uint32_t)metate_rpc_bytes_of(&own->arguments[k]));
  if (own->server->keeps_prints) /* how much waits */
    metate_rpc_put(own->server, own->server->print_used + (own->server->prints_dropped > 0), 4);
  return METATE_OK;
}

metate_status metate_rpc_call(message *from) {
  metate_rpc *server = from->server;
  launch own = {
      .server = server, .kernel = (uint32_t)metate_rpc_get(from, 4), .top = metate_rpc_top(server)};
  own.info = metate_core_kernel(&server->core, own.kernel);
  if (from->is_short || !own.info || (own.info->flags & METATE_KERNEL_SLICE))
    return metate_rpc_refuse(server, METATE_E_NOT_FOUND, "there is no such kernel");
  own.arguments = scratch(&own, sizeof *own.arguments * (uint64_t)own.info->argument_count + 8, 8);
  own.slots = scratch(&own, 8 * (uint64_t)own.info->slot_count, 8);
  if (!own.arguments || !own.slots)
    return refuse_memory(&own);
  metate_status status = take_arguments(&own, from);
  if (status == METATE_OK)
    status = run(&own);
  return status == METATE_OK ? answer_results(&own) : status;
}
