/* What differs between the machines that the protocol is compiled for: where a block lies, how wide an atomic operation is
 * seen, and that a device has no library, no stack for recursion and no calls through pointers.
 *
 * The host's compilers (clang, gcc) know nothing of scopes: there an operation is seen by the whole process. A device's
 * are scoped to the device. LLVM 22 emits every read-modify-write of NVPTX relaxed, whatever its order says, so there the
 * order is in fences around it.
 *
 * METATE_ONE_THREAD: a machine that runs one kernel at a time, on one core and without threads, needs no atomic operations, and
 * may not have them. */
#ifndef METATE_PROTOCOL_MACHINE_H
#define METATE_PROTOCOL_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* METATE_SIMT: a device's code, for tests, on a CPU. */
#if defined(__NVPTX__) || defined(__SPIRV__) || defined(METATE_SIMT)
#define METATE_DEVICE 1
#ifdef METATE_SIMT
#define METATE_BLOCK
#else
#define METATE_BLOCK __attribute__((address_space(1))) /* global memory */
#endif
#else
#define METATE_DEVICE 0
#define METATE_BLOCK
#endif

#ifdef __cplusplus /* hosts: small rather than specialised */
#define METATE_VIEW_INLINE static inline __attribute__((unused))
#else
#define METATE_VIEW_INLINE static inline __attribute__((always_inline, unused))
#endif
#define METATE_VIEW_FUNCTION static __attribute__((unused))
/* What takes longer than looking up its type and level: kernels of a CPU call it in machine code that is there already. */
#ifndef METATE_VIEW_SHARED
#define METATE_VIEW_SHARED METATE_VIEW_FUNCTION
#endif

/* ---- atomics: METATE_ATOMIC_LOAD(pointer, ACQUIRE) ------------------------------------------------ */

#if defined(METATE_ONE_THREAD)

#define METATE_ATOMIC_LOAD(from, order) (*(from))
#define METATE_ATOMIC_STORE(to, value, order) (void)(*(to) = (value))
#define METATE_ATOMIC_MODIFY(at, after)                                                            \
  __extension__({                                                                                  \
    __typeof__(*(at)) before = *(at);                                                              \
    *(at) = (after);                                                                               \
    before;                                                                                        \
  })
#define METATE_ATOMIC_EXCHANGE(at, value, order) METATE_ATOMIC_MODIFY(at, value)
#define METATE_ATOMIC_ADD_FETCH(at, value, order) (*(at) += (value))
#define METATE_ATOMIC_FETCH_ADD(at, value, order) METATE_ATOMIC_MODIFY(at, before + (value))
#define METATE_ATOMIC_FETCH_AND(at, value, order) METATE_ATOMIC_MODIFY(at, before &(value))
#define METATE_ATOMIC_FETCH_OR(at, value, order) METATE_ATOMIC_MODIFY(at, before | (value))
#define METATE_ATOMIC_COMPARE_EXCHANGE(at, expected, value, weak, order, failure)                  \
  (*(at) == *(expected) ? (*(at) = (value), 1) : (*(expected) = *(at), 0))

#elif !METATE_DEVICE

#define METATE_ATOMIC_LOAD(from, order) __atomic_load_n(from, __ATOMIC_##order)
#define METATE_ATOMIC_STORE(to, value, order) __atomic_store_n(to, value, __ATOMIC_##order)
#define METATE_ATOMIC_EXCHANGE(at, value, order) __atomic_exchange_n(at, value, __ATOMIC_##order)
#define METATE_ATOMIC_ADD_FETCH(at, value, order) __atomic_add_fetch(at, value, __ATOMIC_##order)
#define METATE_ATOMIC_FETCH_ADD(at, value, order) __atomic_fetch_add(at, value, __ATOMIC_##order)
#define METATE_ATOMIC_FETCH_AND(at, value, order) __atomic_fetch_and(at, value, __ATOMIC_##order)
#define METATE_ATOMIC_FETCH_OR(at, value, order) __atomic_fetch_or(at, value, __ATOMIC_##order)
/* `weak`: may fail where the value is as expected. */
#define METATE_ATOMIC_COMPARE_EXCHANGE(at, expected, value, weak, order, failure)                  \
  __atomic_compare_exchange_n(at, expected, value, weak, __ATOMIC_##order, __ATOMIC_##failure)

#else

#define METATE_ATOMIC_LOAD(from, order)                                                            \
  __scoped_atomic_load_n(from, __ATOMIC_##order, __MEMORY_SCOPE_DEVICE)
#define METATE_ATOMIC_STORE(to, value, order)                                                      \
  __scoped_atomic_store_n(to, value, __ATOMIC_##order, __MEMORY_SCOPE_DEVICE)
#define METATE_ATOMIC_COMPARE_EXCHANGE(at, expected, value, weak, order, failure)                  \
  __scoped_atomic_compare_exchange_n(at, expected, value, weak, __ATOMIC_##order,                  \
                                     __ATOMIC_##failure, __MEMORY_SCOPE_DEVICE)

#ifdef __NVPTX__
#define METATE_FENCE_RELAXED
#define METATE_FENCE_ACQUIRE __scoped_atomic_thread_fence(__ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
#define METATE_FENCE_RELEASE __scoped_atomic_thread_fence(__ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
#define METATE_FENCE_ACQ_REL __scoped_atomic_thread_fence(__ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
#define METATE_ATOMIC_MODIFY(operation, at, value, order)                                          \
  __extension__({                                                                                  \
    METATE_FENCE_##order;                                                                          \
    __auto_type modified = operation(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);          \
    METATE_FENCE_##order;                                                                          \
    modified;                                                                                      \
  })
#else
#define METATE_ATOMIC_MODIFY(operation, at, value, order)                                          \
  operation(at, value, __ATOMIC_##order, __MEMORY_SCOPE_DEVICE)
#endif
#define METATE_ATOMIC_EXCHANGE(at, value, order)                                                   \
  METATE_ATOMIC_MODIFY(__scoped_atomic_exchange_n, at, value, order)
#define METATE_ATOMIC_ADD_FETCH(at, value, order)                                                  \
  METATE_ATOMIC_MODIFY(__scoped_atomic_add_fetch, at, value, order)
#define METATE_ATOMIC_FETCH_ADD(at, value, order)                                                  \
  METATE_ATOMIC_MODIFY(__scoped_atomic_fetch_add, at, value, order)
#define METATE_ATOMIC_FETCH_AND(at, value, order)                                                  \
  METATE_ATOMIC_MODIFY(__scoped_atomic_fetch_and, at, value, order)
#define METATE_ATOMIC_FETCH_OR(at, value, order)                                                   \
  METATE_ATOMIC_MODIFY(__scoped_atomic_fetch_or, at, value, order)

#endif

/* Lets others work, for some hundred cycles each turn. */
METATE_VIEW_INLINE void metate_view_pause(uint32_t turns) {
#ifdef __NVPTX__
  __nvvm_nanosleep(64 * turns);
#else
  for (uint32_t k = 0; k < turns; ++k) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
  }
#endif
}

#endif
