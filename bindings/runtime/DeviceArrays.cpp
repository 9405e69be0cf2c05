// Arrays of other libraries in the memory of CUDA's devices that offer no DLPack, by their attribute __cuda_array_interface__: what
// it holds is Numba's to say (versions 0 to 3).
#include "Arguments.h"

#include <nanobind/stl/vector.h>

namespace metate::python {

/// An item of the interface as a T; false where it is not there, None or something else. Leaves no Python error.
template <typename T> static bool readItem(nb::dict shown, const char *name, T &value) {
  PyObject *found = PyDict_GetItemString(shown.ptr(), name); // borrowed
  PyErr_Clear();
  return found && found != Py_None && nb::try_cast(nb::handle(found), value);
}

/// "<f4" and the like; 0 where kernels have no such type.
static uint32_t dtypeOfInterface(const std::string &type) {
  char kind = type[1], bytes = type[2];
  if (type[0] == '>' || (bytes != '1' && bytes != '2' && bytes != '4' && bytes != '8'))
    return 0;
  if (kind == 'f')
    return bytes == '2' ? METATE_F16 : bytes == '4' ? METATE_F32 : bytes == '8' ? METATE_F64 : 0;
  return kind == 'b'   ? METATE_U1
         : kind == 'i' ? dtypeOfFormat("b", bytes - '0')
         : kind == 'u' ? dtypeOfFormat("B", bytes - '0')
                       : 0;
}

bool Frame::lookAtCudaInterface(Value &value) {
  if (PyObject_CheckBuffer(value.object))
    return false;
  nb::object attribute =
      nb::steal(PyObject_GetAttrString(value.object, "__cuda_array_interface__"));
  PyErr_Clear(); // most objects have none
  nb::dict shown;
  if (!attribute.is_valid() || !nb::try_cast(attribute, shown))
    return false;
  std::vector<int64_t> shape, strides;
  std::string type;
  uint64_t address = 0;
  bool isReadOnly = false;
  nb::tuple place;
  if (!readItem(shown, "shape", shape) || !readItem(shown, "typestr", type) ||
      !readItem(shown, "data", place) || place.size() != 2 || shape.size() > METATE_MAX_RANK ||
      type.size() != 3 || !nb::try_cast(nb::object(place[0]), address) ||
      !nb::try_cast(nb::object(place[1]), isReadOnly))
    return false;
  int64_t bytes = type[2] - '0';
  value.dtype = dtypeOfInterface(type);
  if (value.dtype == 0)
    return false;
  bool isStrided = readItem(shown, "strides", strides);
  if (isStrided && strides.size() != shape.size())
    return false;
  value.isCudas = true;
  value.aligned = true;
  value.array.data = reinterpret_cast<void *>(uintptr_t(address));
  value.array.rank = uint32_t(shape.size());
  value.array.flags = isReadOnly ? METATE_ARRAY_READ_ONLY : 0;
  int64_t gapless = 1;
  for (size_t k = shape.size(); k-- > 0; gapless *= shape[k]) {
    value.shape[k] = shape[k];
    value.strides[k] = isStrided ? strides[k] / bytes : gapless;
    value.aligned &= !isStrided || strides[k] % bytes == 0;
  }
  return true;
}

nb::object Frame::describeArray(nb::handle object) {
  Frame frame;
  frame.append(object.ptr());
  Value &value = frame.values[0];
  if (!frame.look(value))
    return nb::none();
  nb::list shape;
  for (uint32_t k = 0; k < value.array.rank; ++k)
    shape.append(value.shape[k]);
  return nb::make_tuple(value.dtype, nb::tuple(shape), value.contiguous);
}

} // namespace metate::python
