/* What tests of the packed level pass: values and tensors as tvm-ffi's convention draws them. No header of tvm-ffi is
 * needed to call. */
#ifndef METATE_TESTS_AOT_FFI_H
#define METATE_TESTS_AOT_FFI_H

#include <stddef.h>
#include <stdint.h>

typedef struct tensor {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t *shape, *strides;
  uint64_t byte_offset;
} tensor;
typedef struct any {
  int32_t type_index;
  uint32_t padding;
  union {
    int64_t i;
    double d;
    void *p;
  } value;
} any;

static inline any of_int(int64_t value) {
  any result = {1, 0, {.i = value}};
  return result;
}
static inline any of_float(double value) {
  any result = {3, 0, {.d = value}};
  return result;
}
static inline any of_block(void *block) {
  any result = {4, 0, {.p = block}};
  return result;
}
static inline any of_text(const char *text) {
  any result = {8, 0, {.p = (void *)(uintptr_t)text}};
  return result;
}
static inline any of_tensor(tensor *value) {
  any result = {7, 0, {.p = value}};
  return result;
}
enum { INT = 0, UINT = 1, FLOAT = 2 };
static inline tensor make(void *data, uint8_t code, uint8_t bits, int32_t ndim,
                          const int64_t *shape) {
  tensor result = {data, 1, 0, ndim, code, bits, 1, shape, NULL, 0};
  return result;
}

#endif
