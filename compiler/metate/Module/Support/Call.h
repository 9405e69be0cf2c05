/* A packed call as its checks see it, and the texts of what they refuse: kernel, argument, what was
 * expected, what was there. */
#ifndef METATE_MODULE_SUPPORT_CALL_H
#define METATE_MODULE_SUPPORT_CALL_H

#include "metate/Module/Support/Numbers.h"
#include "metate/Module/Support/Support.h"
#include "metate/Module/Support/Text.h"

/* A function of libtvm_ffi by its name, NULL where the process lacks it: METATE_SUPPORT_FOUND(raise_text, TVMFFI...). */
#ifdef METATE_AS_SOURCE
/* What was linked is found, and nothing later; by compilers that know no weak symbols nothing. */
#if defined(__GNUC__) || defined(__clang__)
#define METATE_SUPPORT_FOUND(type, name) (name)
#else
#define METATE_SUPPORT_FOUND(type, name) ((type *)0)
#endif
#else
/* The C library's, where there is one with a loader. */
extern void *dlsym(void *handle, const char *name) METATE_SUPPORT_WEAK;

/* Of a library that came into the process after this code. */
static inline void (*symbol_of_process(const char *name))(void) {
  union {
    void *address;
    void (*function)(void);
  } found = {dlsym ? dlsym(NULL, name) : NULL};
  return found.function;
}
#define METATE_SUPPORT_FOUND(type, name) (name ? name : (type *)symbol_of_process(#name))
#endif

/* Not there in a process without libtvm_ffi: then the return value is all that a caller gets. */
typedef void raise_text(const char *kind, const char *message);
extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) METATE_SUPPORT_WEAK;

typedef struct call {
  const metate_descriptor *head;
  const metate_kernel_info *kernel;
  const metate_argument_info *infos;
  metate_slot *slots;
  const metate_pool_info *pools;
  int is_alone; /* one argument is looked at, and nothing is known of the others */
} call;

/* Checks one argument and fills its slots (Packed.c). */
METATE_SUPPORT_FUNCTION int32_t metate_support_pack_argument(const call *at, uint32_t index,
                                                             const metate_ffi_any *value);

static inline const char *string_of(const call *at, uint32_t offset) {
  return offset ? (const char *)at->head + offset : "";
}

static inline const char *name_of(const call *at, uint32_t index) {
  return string_of(at, at->infos[index].name);
}

static inline int32_t raise_error(const char *kind, const text *message) {
  raise_text *raise = METATE_SUPPORT_FOUND(raise_text, TVMFFIErrorSetRaisedFromCStr);
  if (raise)
    raise(kind, message->bytes);
  return -1;
}

/* Before a launch that may activate cells, which no other launch runs beside: what metate_support_clear_status does. */
static inline void clear_status(void *block) {
  metate_tree_header *header = block;
  header->status_needed = 0;
  header->status_level = METATE_NONE;
  header->status = METATE_OK;
}

/* "kernel 'run1'", "kernel 'run1' argument 0 'f': " */
static inline void put_kernel(text *to, const call *at) {
  put(to, "kernel '");
  put(to, string_of(at, at->kernel->name));
  put(to, "'");
}
static inline void put_where(text *to, const call *at, uint32_t index) {
  put_kernel(to, at);
  put(to, " argument ");
  put_unsigned(to, index);
  put(to, " '");
  put(to, name_of(at, index));
  put(to, "': ");
}

static inline const metate_type_info *type_of(const call *at, const metate_argument_info *info) {
  return (const metate_type_info *)((const char *)at->head + at->head->types.offset) + info->type;
}

static inline void put_expected(text *to, const call *at, const metate_argument_info *info) {
  const char *dtype = number_of(info->dtype)->name;
  if (info->kind == METATE_ARGUMENT_TREE) {
    put(to, "the block of a tree of type '");
    put(to, string_of(at, type_of(at, info)->name));
    put(to, "' (a pointer, or a 1-dimensional array of u8)");
  } else if (info->kind == METATE_ARGUMENT_SCALAR) {
    put(to, dtype);
  } else {
    put(to, "a ");
    put_unsigned(to, info->kind == METATE_ARGUMENT_NDARRAY ? info->rank : info->element_rank);
    put(to, "-dimensional array of ");
    put(to, dtype);
  }
}

static inline void put_dl_type(text *to, const metate_dl_tensor *tensor) {
  static const char *const letters[] = {"i", "u", "f", "handle", "bf", "c", "bool"};
  put(to, tensor->code <= METATE_DL_BOOL ? letters[tensor->code] : "type");
  if (tensor->code != METATE_DL_BOOL || tensor->bits != 8)
    put_unsigned(to, tensor->bits);
  if (tensor->lanes != 1) {
    put(to, "x");
    put_unsigned(to, tensor->lanes);
  }
}

static inline const metate_dl_tensor *tensor_in(const metate_ffi_any *value) {
  if (value->type_index == METATE_FFI_DLTENSOR)
    return value->value.p;
  if (value->type_index == METATE_FFI_TENSOR && value->value.p)
    return (const void *)((const char *)value->value.p + METATE_FFI_HEADER_BYTES);
  return NULL;
}

/* Its first element; NULL has none at any offset. */
static inline char *start_of(const metate_dl_tensor *tensor) {
  return tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
}

static inline void put_got(text *to, const metate_ffi_any *value) {
  const metate_dl_tensor *tensor = tensor_in(value);
  if (tensor) {
    put(to, "a ");
    put_signed(to, tensor->ndim);
    put(to, "-dimensional array of ");
    put_dl_type(to, tensor);
    return;
  }
  switch (value->type_index) {
  case METATE_FFI_NONE:
    put(to, "None");
    return;
  case METATE_FFI_INT:
    put(to, "an integer");
    return;
  case METATE_FFI_BOOL:
    put(to, "a bool");
    return;
  case METATE_FFI_FLOAT:
    put(to, "a float");
    return;
  case METATE_FFI_POINTER:
    put(to, "a pointer");
    return;
  default:
    put(to, "a value of tvm-ffi's type ");
    put_signed(to, value->type_index);
  }
}

static inline int32_t fail_type(const call *at, uint32_t index, const metate_ffi_any *value) {
  text message = {.used = 0};
  put_where(&message, at, index);
  put(&message, "expected ");
  put_expected(&message, at, &at->infos[index]);
  put(&message, ", got ");
  put_got(&message, value);
  return raise_error("TypeError", &message);
}

static inline int32_t fail_value(const call *at, uint32_t index, const char *problem) {
  text message = {.used = 0};
  put_where(&message, at, index);
  put(&message, problem);
  return raise_error("ValueError", &message);
}

#endif
