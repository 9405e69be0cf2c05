// The frozen part of tvm-ffi 0.1 and of DLPack, as tests/aot/test_packed_library.py compares it with their headers.
#ifndef METATE_RUNTIME_PACKED_FFI_H
#define METATE_RUNTIME_PACKED_FFI_H

#include <cstddef>
#include <cstdint>

namespace metate::packed {

enum TypeIndex : int32_t {
  None = 0,
  Int = 1,
  Bool = 2,
  Float = 3,
  Pointer = 4,
  BareTensor = 7,   // value.p is a Tensor *
  RawText = 8,      // value.p is a C string
  SmallText = 11,   // value holds it, `padding` says how long it is
  firstObject = 64, // from here on value.p is an object, whose references are counted
  TextObject = 65,  // {address, bytes} at headerBytes
  FunctionObject = 68,
  TensorObject = 70 // value.p is an object, its Tensor at headerBytes
};
constexpr size_t headerBytes = 24;

struct Any {
  int32_t type;
  uint32_t padding; // zero
  union {
    int64_t i;
    double d;
    void *p;
  } value;
};
static_assert(sizeof(Any) == 16 && offsetof(Any, value) == 8, "TVMFFIAny");

enum TypeCode : uint8_t { DlInt = 0, DlUint = 1, DlFloat = 2, DlBfloat = 4, DlBool = 6 };
constexpr int32_t cpu = 1;

struct Tensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t *shape, *strides; // strides in elements; NULL = row-major without gaps
  uint64_t byteOffset;
};
static_assert(sizeof(void *) < 8 || (sizeof(Tensor) == 48 && offsetof(Tensor, code) == 20 &&
                                     offsetof(Tensor, byteOffset) == 40),
              "DLTensor");

} // namespace metate::packed

#endif
