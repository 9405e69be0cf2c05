/* Kernels of libmetate by tvm-ffi's calling convention: libmetate_packed, which needs neither tvm-ffi's headers nor, where nobody asks
 * for its errors or objects, libtvm_ffi. For modules that libmetate opens, `.metate` files and code of a JIT among them; objects and shared
 * objects have packed entries of their own, without it. The conventions are those of metate.h.
 *
 * Arguments are those of a kernel's packed entry: numbers, tensors of DLPack in the memory of the CPU, trees as the bytes of their block or
 * its address; one scalar result is returned, other results are tensors behind the arguments. A call is a launch (metate_kernel_launch):
 * with the device's hooks, and its checks and texts. Pools come from the device's allocator. */
#ifndef METATE_METATE_PACKED_H
#define METATE_METATE_PACKED_H

#include "metate/metate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A TVMFFISafeCallType: `kernel` is a const metate_kernel *, `arguments` are TVMFFIAny[count], `result` is one. Returns 0, or -1
 * after an error was raised through TVMFFIErrorSetRaisedFromCStr, if the process has it. From any number of threads at once. */
METATE_API int32_t metate_packed_call(void *kernel, const void *arguments, int32_t count,
                                      void *result);
/* An object of tvm-ffi's, a function, that calls the kernel. When nobody refers to it any more, `release` (may be NULL) is called with
 * `owner`; until then the kernel's module must stay open. METATE_E_UNSUPPORTED: libtvm_ffi is not in this process. */
METATE_API metate_status metate_packed_function(const metate_kernel *kernel,
                                                void (*release)(void *owner), void *owner,
                                                void **function);
/* The same of a kernel that is run by steps: the function is called with ("set_input", name, value), ("run") and ("get_output", name),
 * and is one session. Of objects it keeps a reference until another one takes their place; what a bare DLTensor says is copied, its data
 * must live until the run. A scalar result is the output "return". For one thread at a time. */
METATE_API metate_status metate_packed_session(const metate_kernel *kernel,
                                               void (*release)(void *owner), void *owner,
                                               void **function);
/* Arguments that callers of a function do not give, `count` of them in front of the kernel's results: fields that it uses, the keys of
 * random numbers. Before each launch `give` is called with `owner` and all arguments, those of the caller among them, and fills in the
 * values of `count` ones from `first` on; their kinds and dtypes are there. 0; else nothing runs, and the call is a ValueError with the
 * zero-terminated text that it has written into `problem`. What the values lead to stays until `take_back` (may be NULL), which is
 * called after the launch, on its thread. From any number of threads at once. */
typedef struct metate_packed_hidden {
  uint32_t struct_size;
  uint32_t count;
  int32_t (*give)(void *owner, metate_argument *arguments, uint32_t first, uint32_t count,
                  char *problem, uint64_t problem_bytes);
  void (*take_back)(void *owner);
} metate_packed_hidden;
/* metate_packed_function and metate_packed_session of such a kernel; `hidden` is copied. METATE_E_INVALID_ARGUMENT: the kernel has fewer
 * arguments. */
METATE_API metate_status metate_packed_function_with(const metate_kernel *kernel,
                                                     const metate_packed_hidden *hidden,
                                                     void (*release)(void *owner), void *owner,
                                                     void **function);
METATE_API metate_status metate_packed_session_with(const metate_kernel *kernel,
                                                    const metate_packed_hidden *hidden,
                                                    void (*release)(void *owner), void *owner,
                                                    void **function);
/* The same as TVMFFISafeCallTypes, for languages that take objects from calls: of three addresses, the kernel, `release` and `owner`, or
 * of four, that of a metate_packed_hidden last; `self` is not looked at. */
METATE_API int32_t metate_packed_make(void *self, const void *arguments, int32_t count,
                                      void *result);
METATE_API int32_t metate_packed_make_session(void *self, const void *arguments, int32_t count,
                                              void *result);

#ifdef __cplusplus
}
#endif

#endif
