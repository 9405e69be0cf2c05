// Conversions between Python values and bytes, one scalar type at a time. No
// kernel or tree appears here.
#include "Values.h"
#include "BufferView.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace metate::python {
namespace {

bool isFloat(uint32_t dtype) { return dtype >= METATE_F16 && dtype <= METATE_F64; }

uint16_t toBfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float fromBfloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

void packHalf(double value, void *bytes) {
  if (PyFloat_Pack2(value, static_cast<char *>(bytes), 1) == 0)
    return;
  PyErr_Clear(); // too large for a half: infinity, as everywhere else
  PyFloat_Pack2(std::copysign(std::numeric_limits<double>::infinity(), value),
                static_cast<char *>(bytes), 1);
}

void storeFloat(uint32_t dtype, double value, void *bytes) {
  switch (dtype) {
  case METATE_F16:
    packHalf(value, bytes);
    break;
  case METATE_BF16: {
    uint16_t bits = toBfloat(float(value));
    std::memcpy(bytes, &bits, 2);
    break;
  }
  case METATE_F32: {
    float single = float(value);
    std::memcpy(bytes, &single, 4);
    break;
  }
  default:
    std::memcpy(bytes, &value, 8);
  }
}

/// A NumPy bool: it has neither __index__ nor __float__, but shows its byte.
bool asBufferBool(PyObject *value, bool *result) {
  if (!PyObject_CheckBuffer(value))
    return false;
  BufferView view(value, PyBUF_FORMAT);
  if (!view) {
    PyErr_Clear();
    return false;
  }
  bool found =
      view->ndim == 0 && view->itemsize == 1 && view->format && !std::strcmp(view->format, "?");
  if (found)
    *result = *static_cast<const unsigned char *>(view->buf) != 0;
  return found;
}

/// After `__index__` or `__float__` failed: a value that cannot be converted is of another type; ^C, a recursion without end and
/// what else is no such answer are the caller's to see.
Fit cannotBeConverted() {
  for (PyObject *answer :
       {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError, PyExc_RuntimeError})
    if (PyErr_ExceptionMatches(answer) && !PyErr_ExceptionMatches(PyExc_RecursionError)) {
      PyErr_Clear();
      return Fit::WrongType;
    }
  throw nb::python_error();
}

Fit encodeFloat(uint32_t dtype, PyObject *value, void *bytes) {
  double number;
  if (PyFloat_Check(value)) {
    number = PyFloat_AS_DOUBLE(value);
  } else if (PyLong_Check(value)) {
    number = PyLong_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      return Fit::OutOfRange;
    }
  } else {
    PyNumberMethods *methods = Py_TYPE(value)->tp_as_number; // a string has none of these
    if (!methods || !(methods->nb_float || methods->nb_index))
      return Fit::WrongType;
    number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred())
      return cannotBeConverted();
  }
  storeFloat(dtype, number, bytes);
  return Fit::Yes;
}

/// Of a type of n bits: from -2^(n-1) to 2^n - 1, so that bit patterns can be said either way (0xDEADBEEF of an i32).
Fit storeInteger(uint32_t dtype, PyObject *number, void *bytes) {
  uint32_t size = metate_dtype_bytes(dtype);
  int overflow = 0;
  long long wide = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow > 0 && size == 8) {
    unsigned long long pattern = PyLong_AsUnsignedLongLong(number);
    if (pattern == ~0ull && PyErr_Occurred()) {
      PyErr_Clear();
      return Fit::OutOfRange;
    }
    std::memcpy(bytes, &pattern, 8);
    return Fit::Yes;
  }
  long long high = dtype == METATE_U1 ? 1 : size == 8 ? LLONG_MAX : (1ll << (size * 8)) - 1;
  long long low = dtype == METATE_U1 ? 0 : size == 8 ? LLONG_MIN : -(1ll << (size * 8 - 1));
  if (overflow || wide > high || wide < low)
    return Fit::OutOfRange;
  std::memcpy(bytes, &wide, size); // little-endian: the low bytes
  return Fit::Yes;
}

} // namespace

Fit encodeScalar(uint32_t dtype, PyObject *value, void *bytes) {
  if (isFloat(dtype))
    return encodeFloat(dtype, value, bytes);
  if (PyLong_Check(value))
    return storeInteger(dtype, value, bytes);
  if (PyFloat_Check(value))
    return Fit::WrongType;
  if (PyIndex_Check(value)) {
    PyObject *number = PyNumber_Index(value);
    if (!number)
      return cannotBeConverted();
    Fit fit = storeInteger(dtype, number, bytes);
    Py_DECREF(number);
    return fit;
  }
  bool truth;
  if (!asBufferBool(value, &truth))
    return Fit::WrongType;
  return storeInteger(dtype, truth ? Py_True : Py_False, bytes);
}

static Fit encodeSequence(const ElementType &type, PyObject *value, char *bytes, uint32_t depth) {
  if (depth == type.rank)
    return encodeScalar(type.dtype, value, bytes);
  if (PyUnicode_Check(value) || PyBytes_Check(value) || !PySequence_Check(value))
    return Fit::WrongType;
  nb::object items =
      nb::steal(PySequence_Tuple(value)); // own: converting an item may change a list
  if (!items.is_valid())
    return cannotBeConverted();
  uint64_t length = depth == 0 ? type.rows : type.columns;
  uint64_t step = (depth + 1 == type.rank ? 1 : type.columns) * metate_dtype_bytes(type.dtype);
  Fit fit = uint64_t(PyTuple_GET_SIZE(items.ptr())) == length ? Fit::Yes : Fit::WrongType;
  for (uint64_t i = 0; i < length && fit == Fit::Yes; ++i)
    fit = encodeSequence(type, PyTuple_GET_ITEM(items.ptr(), Py_ssize_t(i)), bytes + i * step,
                         depth + 1);
  return fit;
}

Fit encodeElement(const ElementType &type, PyObject *value, void *bytes) {
  return encodeSequence(type, value, static_cast<char *>(bytes), 0);
}

void encodeOrThrow(const std::string &what, const ElementType &type, PyObject *value, void *bytes) {
  Fit fit = encodeElement(type, value, bytes);
  if (fit == Fit::Yes)
    return;
  throwNamed(fit == Fit::WrongType ? "RuntimeTypeError_" : "RuntimeValueError_",
             what + ": expected " + type.text() +
                 (fit == Fit::OutOfRange ? " within its range" : "") + ", got " +
                 describeValue(value),
             fit == Fit::WrongType ? METATE_E_TYPE_MISMATCH : METATE_E_OUT_OF_RANGE);
}

nb::object decodeScalar(uint32_t dtype, const void *bytes) {
  PyObject *result = nullptr;
  if (isFloat(dtype)) {
    double number = 0;
    uint16_t half;
    float single;
    switch (dtype) {
    case METATE_F16:
      number = PyFloat_Unpack2(static_cast<const char *>(bytes), 1);
      break;
    case METATE_BF16:
      std::memcpy(&half, bytes, 2);
      number = fromBfloat(half);
      break;
    case METATE_F32:
      std::memcpy(&single, bytes, 4);
      number = single;
      break;
    default:
      std::memcpy(&number, bytes, 8);
    }
    result = PyFloat_FromDouble(number);
  } else if (dtype == METATE_U1) {
    result = PyBool_FromLong(*static_cast<const unsigned char *>(bytes) != 0);
  } else {
    uint64_t wide = 0;
    uint32_t size = metate_dtype_bytes(dtype);
    std::memcpy(&wide, bytes, size);
    if (dtype >= METATE_I8 && dtype <= METATE_I64) {
      unsigned shift = 64 - size * 8;
      result = PyLong_FromLongLong(int64_t(wide << shift) >> shift);
    } else {
      result = PyLong_FromUnsignedLongLong(wide);
    }
  }
  if (!result)
    throw nb::python_error();
  return nb::steal(result);
}

nb::object decodeElement(const ElementType &type, const void *bytes) {
  if (type.rank == 0)
    return decodeScalar(type.dtype, bytes);
  NewArray array(type, {});
  std::memcpy(array.data(), bytes, array.bytes());
  return array.finish();
}

std::string ElementType::text() const {
  std::string scalar = metate_dtype_name(dtype);
  if (rank == 0)
    return scalar;
  if (rank == 1)
    return "vector(" + std::to_string(rows) + ", " + scalar + ")";
  return "matrix(" + std::to_string(rows) + ", " + std::to_string(columns) + ", " + scalar + ")";
}

/// Large memory in large pages, as NumPy asks for: what is new is given page by page, and 16,384 small ones of 64 MiB take
/// longer than all the copying.
static void adviseLargePages(void *memory, uint64_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr uintptr_t page = 4096;
  if (bytes < 4 << 20)
    return;
  uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) & ~(page - 1);
  uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) & ~(page - 1);
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE); // advice only
#else
  (void)memory, (void)bytes;
#endif
}

NewArray::NewArray(const ElementType &type, const std::vector<int64_t> &outer)
    : dtype(type.dtype), count(1) {
  for (int64_t extent : outer)
    shape.push_back(size_t(extent));
  if (type.rank >= 1)
    shape.push_back(type.rows);
  if (type.rank >= 2)
    shape.push_back(type.columns);
  uint64_t size = metate_dtype_bytes(dtype);
  for (size_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count))
      size = 0; // no such array: reported below
  uint64_t total = 0;
  if (size == 0 || __builtin_mul_overflow(count, size, &total) || total > uint64_t(PY_SSIZE_T_MAX))
    throwNamed("RuntimeError_", "the array would be larger than the address space",
               METATE_E_OUT_OF_MEMORY);
  storage.reset(PyMem_RawMalloc(total ? total : 1)); // whoever asked writes all of it
  if (!storage)
    throwNamed("RuntimeError_", "no memory for an array of " + std::to_string(total) + " bytes",
               METATE_E_OUT_OF_MEMORY);
  adviseLargePages(storage.get(), total);
}

uint32_t dtypeOfFormat(const char *format, Py_ssize_t size) {
  if (!format)
    return METATE_U8;
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (!*format || format[1])
    return 0;
  switch (*format) {
  case '?':
    return METATE_U1;
  case 'e':
    return METATE_F16;
  case 'f':
    return METATE_F32;
  case 'd':
    return METATE_F64;
  case 'b':
  case 'h':
  case 'i':
  case 'l':
  case 'q':
  case 'n':
    return size == 1 ? METATE_I8 : size == 2 ? METATE_I16 : size == 4 ? METATE_I32 : METATE_I64;
  case 'B':
  case 'H':
  case 'I':
  case 'L':
  case 'Q':
  case 'N':
    return size == 1 ? METATE_U8 : size == 2 ? METATE_U16 : size == 4 ? METATE_U32 : METATE_U64;
  default:
    return 0;
  }
}

nb::dlpack::dtype dlpackOf(uint32_t dtype) {
  switch (dtype) {
  case METATE_U1:
    return nb::dtype<bool>();
  case METATE_F16:
    return {uint8_t(nb::dlpack::dtype_code::Float), 16, 1};
  case METATE_F32:
    return nb::dtype<float>();
  case METATE_F64:
    return nb::dtype<double>();
  default: {
    auto code = dtype >= METATE_U8 ? nb::dlpack::dtype_code::UInt : nb::dlpack::dtype_code::Int;
    return {uint8_t(code), uint8_t(8 * metate_dtype_bytes(dtype)), 1};
  }
  }
}

nb::object NewArray::finish() {
  if (dtype == METATE_BF16) {
    std::unique_ptr<void, Free> wide(PyMem_RawMalloc(count ? count * 4 : 1));
    if (!wide)
      throwNamed("RuntimeError_", "no memory to widen bf16 values", METATE_E_OUT_OF_MEMORY);
    for (uint64_t i = 0; i < count; ++i)
      static_cast<float *>(wide.get())[i] = fromBfloat(static_cast<uint16_t *>(storage.get())[i]);
    storage = std::move(wide);
    dtype = METATE_F32;
  }
  void *memory = storage.get();
  nb::capsule owner(memory, [](void *pointer) noexcept { PyMem_RawFree(pointer); });
  storage.release();
  nb::ndarray<nb::numpy> array(memory, shape.size(), shape.data(), owner, nullptr, dlpackOf(dtype));
  return nb::cast(array, nb::rv_policy::reference);
}

std::string describeValue(PyObject *value) {
  std::string name = Py_TYPE(value)->tp_name;
  if (!PyLong_Check(value) && !PyFloat_Check(value) && !PyUnicode_Check(value))
    return name;
  PyObject *text = PyObject_Repr(value);
  if (!text) {
    PyErr_Clear();
    return name;
  }
  std::string shown = nb::cast<std::string>(nb::steal<nb::str>(text));
  return name + " " + (shown.size() > 60 ? shown.substr(0, 57) + "..." : shown);
}

} // namespace metate::python
