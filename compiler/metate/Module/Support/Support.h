/* What the entries of a static carrier (.o, .a) call: code that becomes part of every such object.
 *
 * It is freestanding C11 over abi/ and protocol/, compiled to LLVM bitcode for each architecture when
 * the compiler is built (and natively, for the sizes that generated headers state). It reads the
 * module's descriptor in place, which its own compiler has written: no byte of it is in doubt. */
#ifndef METATE_MODULE_SUPPORT_SUPPORT_H
#define METATE_MODULE_SUPPORT_SUPPORT_H

#include "metate/abi/kernel.h"
#include "metate/abi/module.h"
#include "metate/abi/pool.h"
#include "metate/abi/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* METATE_AS_SOURCE, as Module/SupportSource.cpp sees these files: text of a generated C file, not code of an object. */
#ifdef METATE_AS_SOURCE
#define METATE_SUPPORT_FUNCTION static
#else
#define METATE_SUPPORT_FUNCTION
#endif
/* Functions of libtvm_ffi, which a process may lack. */
#ifdef METATE_AS_SOURCE
#if defined(__GNUC__) || defined(__clang__)
#define METATE_SUPPORT_WEAK __attribute__((weak))
#else
#define METATE_SUPPORT_WEAK
#endif
#else
#define METATE_SUPPORT_WEAK __attribute__((weak, visibility("default")))
#endif

/* ---- blocks (Block.c) ---- */

/* Bytes of a block of this type with natural capacities; 0: more than 2^63, or a level with more than 2^32 slots. */
uint64_t metate_support_block_bytes(const metate_tree_type *type, uint32_t workers);
/* Makes memory a fresh tree for METATE_DEFAULT_WORKERS, on a machine of one thread for one: what metate_tree_bind with
 * METATE_BIND_RESET writes. In fewer bytes
 * than metate_support_block_bytes() the pools get equal shares (as with METATE_BIND_FIT);
 * METATE_E_TOO_SMALL where one of them gets no slot. Returns a metate_status. */
int32_t metate_support_block_reset(const metate_tree_type *type, void *block, uint64_t bytes);
/* Before a launch that may activate cells: the sticky status says what this launch meets. */
void metate_support_clear_status(void *block);

/* ---- packed calls (Packed.c) ---- */

/* The frozen part of tvm-ffi 0.1: a value is 16 bytes, an object's header 24, a tensor's
 * DLTensor follows the header. */
enum {
  METATE_FFI_NONE = 0,
  METATE_FFI_INT = 1,
  METATE_FFI_BOOL = 2,
  METATE_FFI_FLOAT = 3,
  METATE_FFI_POINTER = 4,
  METATE_FFI_DLTENSOR = 7,    /* value.p is a DLTensor * */
  METATE_FFI_RAW_TEXT = 8,    /* value.p is a C string */
  METATE_FFI_SMALL_TEXT = 11, /* value holds it, `padding` says how long it is */
  METATE_FFI_OBJECTS = 64,    /* from here on value.p is an object, whose references are counted */
  METATE_FFI_TEXT = 65,       /* {address, bytes} at METATE_FFI_HEADER_BYTES */
  METATE_FFI_TENSOR = 70      /* value.p is an object, its DLTensor at METATE_FFI_HEADER_BYTES */
};
#define METATE_FFI_HEADER_BYTES 24

typedef struct metate_ffi_any {
  int32_t type_index;
  uint32_t padding; /* zero */
  union {
    int64_t i;
    double d;
    void *p;
  } value;
} metate_ffi_any;
METATE_STATIC_ASSERT(sizeof(metate_ffi_any) == 16, "a tvm-ffi value is 16 bytes");
METATE_STATIC_ASSERT(offsetof(metate_ffi_any, value) == 8, "its payload is the second half");

/* DLPack's DLTensor and the codes of its types. */
enum { METATE_DL_CPU = 1 };
enum {
  METATE_DL_INT = 0,
  METATE_DL_UINT = 1,
  METATE_DL_FLOAT = 2,
  METATE_DL_BFLOAT = 4,
  METATE_DL_COMPLEX = 5,
  METATE_DL_BOOL = 6
};
typedef struct metate_dl_tensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  const int64_t *shape;
  const int64_t *strides; /* in elements; NULL = row-major without gaps */
  uint64_t byte_offset;
} metate_dl_tensor;
#if UINTPTR_MAX > 0xffffffffu
METATE_STATIC_ASSERT(sizeof(metate_dl_tensor) == 48, "a DLTensor is 48 bytes");
METATE_STATIC_ASSERT(offsetof(metate_dl_tensor, device_type) == 8, "DLTensor.device");
METATE_STATIC_ASSERT(offsetof(metate_dl_tensor, ndim) == 16, "DLTensor.ndim");
METATE_STATIC_ASSERT(offsetof(metate_dl_tensor, code) == 20, "DLTensor.dtype");
METATE_STATIC_ASSERT(offsetof(metate_dl_tensor, shape) == 24, "DLTensor.shape");
METATE_STATIC_ASSERT(offsetof(metate_dl_tensor, byte_offset) == 40, "DLTensor.byte_offset");
#endif

/* One kernel of the descriptor called by tvm-ffi's convention, serially: checks every argument,
 * packs them into `slots` (the kernel's slot_count of them) and calls the entry. The kernel's pools are its last arguments;
 * `pools` has room for three words for each. Returns 0, or -1 after an error was raised through TVMFFIErrorSetRaisedFromCStr, if the process has it. */
METATE_SUPPORT_FUNCTION int32_t metate_support_call_packed(const metate_descriptor *descriptor,
                                                           uint32_t kernel, metate_entry entry,
                                                           metate_slot *slots, void **pools,
                                                           const metate_ffi_any *arguments,
                                                           int32_t count, metate_ffi_any *result);

/* ---- sessions (Session.c) ---- */

/* A kernel run by steps, by tvm-ffi's convention over a linked module; `memory` is the caller's, an array of bytes.
 * session_bytes(kernel) -> how many; session_open(memory, kernel); session_set_input(memory, name, value); session_run(memory);
 * session_get_output(memory, name) -> a value; session_close(memory). */
#define METATE_SUPPORT_SESSION(name)                                                               \
  METATE_SUPPORT_FUNCTION int32_t metate_support_session_##name(                                   \
      const metate_static_module *module, const metate_ffi_any *arguments, int32_t count,          \
      metate_ffi_any *result)
METATE_SUPPORT_SESSION(bytes);
METATE_SUPPORT_SESSION(open);
METATE_SUPPORT_SESSION(set_input);
METATE_SUPPORT_SESSION(run);
METATE_SUPPORT_SESSION(get_output);
METATE_SUPPORT_SESSION(close);

/* A text as the result of a call, for tvm-ffi (Describe.c). Returns 0, or -1 in a process without libtvm_ffi. */
int32_t metate_support_give_text(const char *text, uint64_t bytes, metate_ffi_any *result);

#ifdef __cplusplus
}
#endif

#endif
