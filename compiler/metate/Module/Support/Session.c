/* A kernel run by steps: set_input, run, get_output, by the names of its arguments. All that is kept between two calls lies in
 * memory that the caller gives, an array of bytes:
 *
 *   [session][an argument for each value][what its DLTensor says, for each][slots][three words for each pool]
 *
 * Data of arrays and blocks stay where they are. Of a tensor that is an object of tvm-ffi a reference is kept until another one
 * takes its place, or the session is closed; what a DLTensor says is copied. The bytes may be moved between calls. */
#include "metate/Module/Support/Call.h"

#define SESSION_MAGIC 0x4e4f495353455353ull /* "SSESSION" */
enum { UNSET = -1 };

typedef struct session {
  uint64_t magic;
  uint64_t descriptor_hash;
  uint32_t kernel;
  uint32_t count; /* of values: arguments, then pools */
  metate_ffi_any result;
} session;

typedef struct kept_tensor {
  metate_dl_tensor tensor;
  int64_t shape[METATE_MAX_RANK], strides[METATE_MAX_RANK];
} kept_tensor;

/* A session's parts. */
typedef struct opened {
  session *head;
  metate_ffi_any *values;
  kept_tensor *tensors;
  void **pools;
  call at;
  uint32_t arguments; /* without a scalar that is returned */
} opened;

typedef int count_reference(void *object);
extern int TVMFFIObjectIncRef(void *object) METATE_SUPPORT_WEAK;
extern int TVMFFIObjectDecRef(void *object) METATE_SUPPORT_WEAK;

static int32_t fail_session(const char *kind, const char *problem) {
  text message = {.used = 0};
  put(&message, "session: ");
  put(&message, problem);
  return raise_error(kind, &message);
}

/* ---- texts: of C, small ones in the value, and objects with bytes behind their header ---- */

typedef struct characters {
  const char *data;
  size_t bytes;
} characters; /* as tvm-ffi has it */

static int32_t characters_of(const metate_ffi_any *value, characters *found) {
  if (value->type_index == METATE_FFI_RAW_TEXT && value->value.p) {
    found->data = value->value.p;
    for (found->bytes = 0; found->data[found->bytes];)
      ++found->bytes;
    return 0;
  }
  if (value->type_index == METATE_FFI_SMALL_TEXT && value->padding <= sizeof value->value) {
    found->data = (const char *)&value->value;
    found->bytes = value->padding;
    return 0;
  }
  if (value->type_index == METATE_FFI_TEXT && value->value.p) {
    *found =
        *(const characters *)(const void *)((const char *)value->value.p + METATE_FFI_HEADER_BYTES);
    return 0;
  }
  text message = {.used = 0};
  put(&message, "session: expected a name, got ");
  put_got(&message, value);
  return raise_error("TypeError", &message);
}

static int are_equal(const char *name, characters given) {
  size_t k = 0;
  while (k < given.bytes && name[k] && name[k] == given.data[k])
    ++k;
  return k == given.bytes && !name[k];
}

static void put_characters(text *to, characters given) {
  for (size_t k = 0; k < given.bytes && k < 80; ++k)
    put(to, (char[2]){given.data[k], 0});
}

/* ---- kernels and sessions ---- */

static const metate_kernel_info *kernels_of(const metate_descriptor *head) {
  return (const metate_kernel_info *)((const char *)head + head->kernels.offset);
}

static call call_of(const metate_descriptor *head, uint32_t kernel, metate_slot *slots) {
  const char *base = (const char *)head;
  call at = {head,
             kernels_of(head) + kernel,
             (const metate_argument_info *)(base + head->arguments.offset),
             slots,
             (const metate_pool_info *)(base + head->pools.offset),
             0};
  at.infos += at.kernel->first_argument;
  at.pools += at.kernel->first_pool;
  return at;
}

/* Arguments that a caller gives: one scalar result is returned. */
static uint32_t given_arguments(const call *at) {
  uint32_t total = at->kernel->argument_count, results = 0;
  for (uint32_t k = 0; k < total; ++k)
    results += (at->infos[k].flags & METATE_ARGUMENT_RESULT) != 0;
  return total - (results == 1 && at->infos[total - 1].rank == 0);
}

static uint64_t bytes_of(const call *at) {
  uint64_t values = given_arguments(at) + (uint64_t)at->kernel->pool_count;
  return sizeof(session) + values * (sizeof(metate_ffi_any) + sizeof(kept_tensor)) +
         8 * ((uint64_t)at->kernel->slot_count + 3 * (uint64_t)at->kernel->pool_count);
}

static int32_t find_kernel(const metate_descriptor *head, const metate_ffi_any *value,
                           uint32_t *number) {
  characters name;
  if (characters_of(value, &name))
    return -1;
  const metate_kernel_info *kernels = kernels_of(head);
  for (uint32_t k = 0; k < head->kernels.count && !(kernels[k].flags & METATE_KERNEL_SLICE); ++k)
    if (are_equal((const char *)head + kernels[k].name, name)) {
      *number = k;
      return 0;
    }
  text message = {.used = 0};
  put(&message, "session: the module has no kernel '");
  put_characters(&message, name);
  put(&message, "'");
  return raise_error("ValueError", &message);
}

/* The bytes that the caller gives. */
static int32_t memory_of(const metate_ffi_any *value, char **memory, uint64_t *bytes) {
  const metate_dl_tensor *tensor = tensor_in(value);
  if (!tensor || tensor->ndim != 1 || tensor->code != METATE_DL_UINT || tensor->bits != 8 ||
      tensor->lanes != 1 || tensor->device_type != METATE_DL_CPU ||
      (tensor->strides && tensor->strides[0] != 1 && tensor->shape[0] > 1)) {
    text message = {.used = 0};
    put(&message, "session: expected its memory, a 1-dimensional array of u8 without gaps in the "
                  "memory of the CPU, got ");
    put_got(&message, value);
    return raise_error("TypeError", &message);
  }
  *memory = start_of(tensor);
  *bytes = *memory && tensor->shape[0] > 0 ? (uint64_t)tensor->shape[0] : 0;
  if ((uintptr_t)*memory % 8)
    return fail_session("ValueError", "its memory is not aligned to 8 bytes");
  return 0;
}

static opened parts_of(const metate_descriptor *head, char *memory, uint32_t kernel) {
  opened own;
  own.head = (session *)(void *)memory;
  own.at = call_of(head, kernel, NULL);
  own.arguments = given_arguments(&own.at);
  uint64_t values = own.arguments + (uint64_t)own.at.kernel->pool_count;
  own.values = (metate_ffi_any *)(own.head + 1);
  own.tensors = (kept_tensor *)(own.values + values);
  own.at.slots = (metate_slot *)(own.tensors + values);
  own.pools = (void **)(own.at.slots + own.at.kernel->slot_count);
  return own;
}

/* The session in an argument's memory: one of this module, as far as its bytes say so. */
static int32_t open_session(const metate_static_module *module, const metate_ffi_any *value,
                            opened *found) {
  const metate_descriptor *head = module->descriptor;
  char *memory;
  uint64_t bytes;
  if (memory_of(value, &memory, &bytes))
    return -1;
  const session *own = (const session *)(void *)memory;
  if (bytes < sizeof *own || own->magic != SESSION_MAGIC)
    return fail_session("ValueError", "the memory holds none: call session_open first");
  if (own->descriptor_hash != head->signature_hash[0] || own->kernel >= head->kernels.count)
    return fail_session("ValueError", "the memory holds one of another module");
  *found = parts_of(head, memory, own->kernel);
  if (own->count != found->arguments + found->at.kernel->pool_count)
    return fail_session("ValueError", "the memory was written over since session_open");
  if (bytes < bytes_of(&found->at))
    return fail_session("ValueError", "the memory is smaller than the session that it holds");
  return 0;
}

static const char *name_of_value(const opened *own, uint32_t index) {
  return index < own->arguments ? name_of(&own->at, index)
                                : string_of(&own->at, own->at.pools[index - own->arguments].name);
}

static int32_t fail_name(const opened *own, characters name) {
  text message = {.used = 0};
  put_kernel(&message, &own->at);
  put(&message, ": it has no argument '");
  put_characters(&message, name);
  put(&message, "'; it has ");
  for (uint32_t k = 0; k < own->head->count; ++k) {
    put(&message, k ? ", " : "");
    put(&message, name_of_value(own, k));
  }
  return raise_error("ValueError", &message);
}

static int32_t find_value(const opened *own, characters name, uint32_t *index) {
  for (uint32_t k = 0; k < own->head->count; ++k)
    if (are_equal(name_of_value(own, k), name)) {
      *index = k;
      return 0;
    }
  return fail_name(own, name);
}

static int32_t expect_count(int32_t count, int32_t wanted, const char *usage) {
  if (count == wanted)
    return 0;
  text message = {.used = 0};
  put(&message, "expected ");
  put(&message, usage);
  put(&message, ", got ");
  put_signed(&message, count);
  put(&message, count == 1 ? " argument" : " arguments");
  return raise_error("TypeError", &message);
}

static void release(metate_ffi_any *value) {
  count_reference *drop = METATE_SUPPORT_FOUND(count_reference, TVMFFIObjectDecRef);
  if (value->type_index >= METATE_FFI_OBJECTS && drop)
    drop(value->value.p);
  value->type_index = UNSET;
}

/* Takes a value that has been checked. */
static int32_t keep(const opened *own, uint32_t index, const metate_ffi_any *given) {
  metate_ffi_any *value = &own->values[index];
  kept_tensor *tensor = &own->tensors[index];
  const metate_dl_tensor *shown = tensor_in(given);
  if (given->type_index >= METATE_FFI_OBJECTS) {
    count_reference *add = METATE_SUPPORT_FOUND(count_reference, TVMFFIObjectIncRef);
    if (!add)
      return fail_session("RuntimeError",
                          "an object cannot be kept without libtvm_ffi, which is not "
                          "in this process: pass a DLTensor");
    add(given->value.p);
  } else if (shown) {
    tensor->tensor = *shown;
    for (int32_t k = 0; k < shown->ndim; ++k) {
      tensor->shape[k] = shown->shape[k];
      tensor->strides[k] = shown->strides ? shown->strides[k] : 0;
    }
    tensor->tensor.strides = shown->strides ? tensor->strides : NULL;
  }
  release(value);
  *value = *given;
  return 0;
}

/* Addresses inside of the memory, which may have been moved since. */
static void settle(const opened *own) {
  for (uint32_t k = 0; k < own->head->count; ++k)
    if (own->values[k].type_index == METATE_FFI_DLTENSOR) {
      kept_tensor *tensor = &own->tensors[k];
      tensor->tensor.shape = tensor->shape;
      if (tensor->tensor.strides)
        tensor->tensor.strides = tensor->strides;
      own->values[k].value.p = &tensor->tensor;
    }
}

static void give(metate_ffi_any *result, metate_ffi_any value) {
  if (result)
    *result = value;
}
static void give_nothing(metate_ffi_any *result) {
  give(result, (metate_ffi_any){METATE_FFI_NONE, 0, {.i = 0}});
}

/* ---- the six calls ---- */

METATE_SUPPORT_SESSION(bytes) {
  uint32_t kernel;
  if (expect_count(count, 1, "session_bytes(kernel)") ||
      find_kernel(module->descriptor, arguments, &kernel))
    return -1;
  call at = call_of(module->descriptor, kernel, NULL);
  give(result, (metate_ffi_any){METATE_FFI_INT, 0, {.i = (int64_t)bytes_of(&at)}});
  return 0;
}

METATE_SUPPORT_SESSION(open) {
  const metate_descriptor *head = module->descriptor;
  uint32_t kernel;
  char *memory;
  uint64_t bytes;
  if (expect_count(count, 2, "session_open(memory, kernel)") ||
      memory_of(arguments, &memory, &bytes) || find_kernel(head, arguments + 1, &kernel))
    return -1;
  call at = call_of(head, kernel, NULL);
  if (bytes < bytes_of(&at)) {
    text message = {.used = 0};
    put_kernel(&message, &at);
    put(&message, ": expected memory of ");
    put_unsigned(&message, bytes_of(&at));
    put(&message, " bytes for a session, got ");
    put_unsigned(&message, bytes);
    return raise_error("ValueError", &message);
  }
  opened own = parts_of(head, memory, kernel);
  own.head->magic = SESSION_MAGIC;
  own.head->descriptor_hash = head->signature_hash[0];
  own.head->kernel = kernel;
  own.head->count = own.arguments + own.at.kernel->pool_count;
  own.head->result.type_index = UNSET;
  for (uint32_t k = 0; k < own.head->count; ++k)
    own.values[k].type_index = UNSET;
  give_nothing(result);
  return 0;
}

METATE_SUPPORT_SESSION(set_input) {
  opened own;
  characters name;
  uint32_t index;
  if (expect_count(count, 3, "session_set_input(memory, name, value)") ||
      open_session(module, arguments, &own) || characters_of(arguments + 1, &name) ||
      find_value(&own, name, &index))
    return -1;
  const metate_dl_tensor *tensor = tensor_in(&arguments[2]);
  own.at.is_alone = 1; /* session_run compares extents that are one dim's */
  if (index < own.arguments ? metate_support_pack_argument(&own.at, index, &arguments[2])
      : !tensor || tensor->ndim != 1
          ? fail_session("TypeError", "a pool is a 1-dimensional array of u8")
          : 0)
    return -1;
  if (keep(&own, index, &arguments[2]))
    return -1;
  give_nothing(result);
  return 0;
}

METATE_SUPPORT_SESSION(run) {
  opened own;
  if (expect_count(count, 1, "session_run(memory)") || open_session(module, arguments, &own))
    return -1;
  for (uint32_t k = 0; k < own.head->count; ++k)
    if (own.values[k].type_index == UNSET) {
      text message = {.used = 0};
      put_kernel(&message, &own.at);
      put(&message, ": '");
      put(&message, name_of_value(&own, k));
      put(&message, "' is not set: call session_set_input");
      return raise_error("ValueError", &message);
    }
  settle(&own);
  own.head->result.type_index = UNSET;
  if (metate_support_call_packed(own.at.head, own.head->kernel, module->entries[own.head->kernel],
                                 own.at.slots, own.pools, own.values, (int32_t)own.head->count,
                                 &own.head->result))
    return -1;
  give_nothing(result);
  return 0;
}

METATE_SUPPORT_SESSION(get_output) {
  opened own;
  characters name;
  uint32_t index;
  if (expect_count(count, 2, "session_get_output(memory, name)") ||
      open_session(module, arguments, &own) || characters_of(arguments + 1, &name))
    return -1;
  if (own.arguments < own.at.kernel->argument_count &&
      are_equal(name_of(&own.at, own.arguments), name)) {
    if (own.head->result.type_index == UNSET)
      return fail_session("ValueError", "it has no result yet: call session_run");
    give(result, own.head->result);
    return 0;
  }
  if (find_value(&own, name, &index))
    return -1;
  settle(&own);
  const metate_ffi_any *value = &own.values[index];
  if (value->type_index == UNSET)
    return fail_session("ValueError", "that argument is not set");
  count_reference *add = METATE_SUPPORT_FOUND(count_reference, TVMFFIObjectIncRef);
  if (value->type_index >= METATE_FFI_OBJECTS && add)
    add(value->value.p);
  give(result, *value);
  return 0;
}

METATE_SUPPORT_SESSION(close) {
  opened own;
  if (expect_count(count, 1, "session_close(memory)") || open_session(module, arguments, &own))
    return -1;
  for (uint32_t k = 0; k < own.head->count; ++k)
    release(&own.values[k]);
  own.head->magic = 0;
  give_nothing(result);
  return 0;
}
