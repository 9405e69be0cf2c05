// One scalar, vector or matrix between Python and its bytes in memory, with
// checks, and new NumPy arrays.
#ifndef METATE_BINDINGS_RUNTIME_VALUES_H
#define METATE_BINDINGS_RUNTIME_VALUES_H

#include "Status.h"

#include <memory>
#include <nanobind/ndarray.h>
#include <vector>

namespace metate::python {

/// Why a Python value is not a value of a dtype.
enum class Fit { Yes, WrongType, OutOfRange };

/// The type of a scalar (rank 0), vector (rank 1) or matrix (rank 2).
struct ElementType {
  uint32_t dtype = 0;
  uint32_t rows = 1;
  uint32_t columns = 1;
  uint32_t rank = 0;

  uint64_t count() const { return uint64_t(rows) * columns; }
  uint64_t bytes() const { return count() * metate_dtype_bytes(dtype); }
  /// "f32", "vector(3, f32)", "matrix(2, 2, f32)".
  std::string text() const;
};

/// Writes `value` as a scalar of `dtype` to `bytes`: integers take Python and
/// NumPy integers in range and booleans, floats take any real number, u1 takes
/// booleans, 0 and 1. Leaves no Python error.
Fit encodeScalar(uint32_t dtype, PyObject *value, void *bytes);
/// The same for an element: (nested) sequences or arrays of exactly its shape.
Fit encodeElement(const ElementType &type, PyObject *value, void *bytes);
/// encodeElement that says what is wrong: throws RuntimeTypeError_ or RuntimeValueError_ about `what`.
void encodeOrThrow(const std::string &what, const ElementType &type, PyObject *value, void *bytes);
/// A Python number or bool.
nb::object decodeScalar(uint32_t dtype, const void *bytes);
/// A Python number, or a new NumPy array of the element's shape.
nb::object decodeElement(const ElementType &type, const void *bytes);

/// A new NumPy array with its memory; elements of `type` along `shape`. bf16
/// has no NumPy dtype: the memory is filled as bf16 and `finish` widens it to
/// float32.
class NewArray {
public:
  NewArray(const ElementType &type, const std::vector<int64_t> &shape);
  void *data() { return storage.get(); }
  uint64_t bytes() const { return count * metate_dtype_bytes(dtype); }
  nb::object finish();

private:
  uint32_t dtype;
  uint64_t count;
  std::vector<size_t> shape;
  struct Free {
    void operator()(void *pointer) const { PyMem_RawFree(pointer); }
  };
  std::unique_ptr<void, Free> storage;
};

/// The dtype of a buffer's format; 0 for one that no array parameter takes.
uint32_t dtypeOfFormat(const char *format, Py_ssize_t size);

/// A dtype as DLPack has it.
nb::dlpack::dtype dlpackOf(uint32_t dtype);

/// What a value looks like in an error text: "float 2.5", "ndarray", "Tree".
std::string describeValue(PyObject *value);

} // namespace metate::python

#endif
