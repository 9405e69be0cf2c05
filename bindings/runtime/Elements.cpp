// Indexing of fields from Python. A key is an integer, a tuple, or a sequence of integers; None is
// the key of a field without dimensions. Which cell that is, and how it is activated, libmetate knows.
#include "Elements.h"
#include "BufferView.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nanobind/stl/vector.h>
#include <numeric>

namespace metate::python {

Elements::Elements(nb::object ofTree, const std::vector<uint32_t> &ofMembers,
                   const std::vector<uint32_t> &shape, std::vector<int64_t> first, std::string name)
    : owner(std::move(ofTree)), tree(nb::cast<Tree *>(owner)), members(ofMembers),
      offset(std::move(first)), what(std::move(name)), info(level(members.at(0))) {
  offset.resize(info.pathRank);
  element = {info.element.dtype, shape.empty() ? 1 : shape[0], shape.size() < 2 ? 1 : shape[1],
             uint32_t(shape.size())};
  for (uint32_t member : members)
    if (level(member).shape != info.shape)
      throwNamed("TreeError", what + ": expected members of one shape", METATE_E_INVALID_ARGUMENT);
  if (element.count() != info.element.count() * members.size())
    throwNamed("TreeError", what + ": expected a member for the element or for each component",
               METATE_E_INVALID_ARGUMENT);
}

/// Is this a sequence of indices? NumPy's arrays say of themselves that they are indices as well.
static bool isSequence(PyObject *index) {
  if (PyLong_CheckExact(index) || !PySequence_Check(index) || PyUnicode_Check(index) ||
      PyBytes_Check(index))
    return false;
  if (PySequence_Size(index) >= 0)
    return true;
  PyErr_Clear(); // an array without dimensions
  return false;
}

void Elements::append(Coordinates &at, PyObject *index, bool mayBeSequence) const {
  if (mayBeSequence && isSequence(index)) {
    nb::object items = nb::steal(PySequence_Tuple(index)); // own: converting may change a list
    if (!items.is_valid())
      throw nb::python_error();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.ptr()); ++i)
      append(at, PyTuple_GET_ITEM(items.ptr(), i), false);
    return;
  }
  if (!PyIndex_Check(index))
    throwNamed("RuntimeTypeError_",
               what + ": index " + std::to_string(at.count) + ": expected an integer, got " +
                   describeValue(index) +
                   (PySlice_Check(index) ? "; for parts of a field write x.to_numpy()[...]" : ""),
               METATE_E_TYPE_MISMATCH);
  if (at.count == info.pathRank)
    throwNamed("RuntimeIndexError_",
               what + ": expected " + std::to_string(info.pathRank) +
                   (info.pathRank == 1 ? " index" : " indices") + ", got more",
               METATE_E_OUT_OF_RANGE);
  int overflow = 0;
  long long number;
  if (PyLong_CheckExact(index)) {
    number = PyLong_AsLongLongAndOverflow(index, &overflow);
  } else {
    nb::object whole = nb::steal(PyNumber_Index(index));
    if (!whole.is_valid())
      throw nb::python_error();
    number = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  }
  uint32_t k = at.count++;
  // Without bounds (below a hash level) any 32-bit number is an index.
  int64_t low = info.shape[k] ? 0 : INT32_MIN, high = info.shape[k] ? info.shape[k] - 1 : INT32_MAX;
  int64_t inside;
  if (overflow || __builtin_sub_overflow(int64_t(number), offset[k], &inside) || inside < low ||
      inside > high)
    throwNamed("RuntimeIndexError_",
               what + ": index " + std::to_string(k) + ": expected " +
                   std::to_string(offset[k] + low) + " to " + std::to_string(offset[k] + high) +
                   ", got " + nb::cast<std::string>(nb::str(nb::handle(index))),
               METATE_E_OUT_OF_RANGE);
  at.values[k] = inside;
}

Elements::Coordinates Elements::locate(PyObject *key) const {
  Coordinates at;
  if (PyTuple_CheckExact(key)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
      if (PyTuple_GET_ITEM(key, i) != Py_None)
        append(at, PyTuple_GET_ITEM(key, i), true);
  } else if (key != Py_None) {
    append(at, key, true);
  }
  if (at.count != info.pathRank)
    throwNamed("RuntimeIndexError_",
               what + ": expected " + std::to_string(info.pathRank) +
                   (info.pathRank == 1 ? " index" : " indices") + ", got " +
                   std::to_string(at.count),
               METATE_E_OUT_OF_RANGE);
  return at;
}

nb::object Elements::read(PyObject *key) const {
  Coordinates at = locate(key);
  const metate_tree *handle = tree->get();
  if (element.rank == 0) {
    uint64_t value = 0;
    check(metate_tree_read(handle, members[0], at.values, at.count, &value, info.cellBytes));
    return decodeScalar(element.dtype, &value);
  }
  nb::object bytes = nb::steal(PyByteArray_FromStringAndSize(nullptr, Py_ssize_t(element.bytes())));
  if (!bytes.is_valid())
    throw nb::python_error();
  char *to = PyByteArray_AS_STRING(bytes.ptr());
  for (uint32_t member : members) {
    check(metate_tree_read(handle, member, at.values, at.count, to, info.cellBytes));
    to += info.cellBytes;
  }
  return bytes;
}

void Elements::write(PyObject *key, PyObject *value) {
  Coordinates at = locate(key);
  uint64_t few[16]; // a 4 x 4 matrix of f64
  std::vector<uint64_t> many;
  if (element.bytes() > sizeof few)
    many.resize((element.bytes() + 7) / 8);
  auto *bytes = reinterpret_cast<char *>(many.empty() ? few : many.data());
  Fit fit = encodeElement(element, value, bytes);
  if (fit != Fit::Yes)
    encodeOrThrow(what, element, value, bytes);
  if (members.size() > 1 && info.group != METATE_NONE)
    return writeShared(at, bytes);
  for (uint32_t member : members) {
    tree->write(member, at.values, at.count, bytes);
    bytes += info.cellBytes;
  }
}

/// A component's size; NaN, which is stored as 0, is the least.
static double sizeOf(const char *bytes, uint32_t dtype) {
  double value = 0;
  if (dtype == METATE_F32) {
    float single;
    memcpy(&single, bytes, sizeof single);
    value = single;
  } else {
    memcpy(&value, bytes, sizeof value);
  }
  return value != value ? 0 : std::abs(value);
}

/// Components that share an exponent are stored together, as a kernel's assignment does: what the cell held before has no part in
/// the exponent, and once the largest has set it each of the others is rounded once.
void Elements::writeShared(const Coordinates &at, const char *bytes) {
  std::vector<uint32_t> order(members.size());
  std::iota(order.begin(), order.end(), 0);
  auto size = [&](uint32_t k) { return sizeOf(bytes + k * info.cellBytes, info.element.dtype); };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return size(a) > size(b); });
  const uint64_t zero = 0;
  for (uint32_t member : members)
    tree->write(member, at.values, at.count, &zero);
  for (uint32_t k : order)
    tree->write(members[k], at.values, at.count, bytes + k * info.cellBytes);
}

bool Elements::isActive(PyObject *key) const {
  Coordinates at = locate(key);
  for (uint32_t member : members) {
    uint32_t active = 0;
    check(metate_tree_is_active(tree->get(), member, at.values, at.count, &active));
    if (!active)
      return false;
  }
  return true;
}

void Elements::activate(PyObject *key) {
  Coordinates at = locate(key);
  for (uint32_t member : members)
    tree->activate(member, at.values, at.count);
}

void Elements::fill(PyObject *value) {
  std::vector<uint64_t> words((element.bytes() + 7) / 8);
  encodeOrThrow(what + ": fill", element, value, words.data());
  auto *bytes = reinterpret_cast<const char *>(words.data());
  for (uint32_t member : members) {
    metate_tree *handle = tree->get();
    int32_t status;
    {
      TreeUse use(*tree);
      nb::gil_scoped_release released;
      status = metate_tree_fill(handle, member, bytes, info.cellBytes);
    }
    check(status);
    bytes += info.cellBytes;
  }
}

bool Elements::hasForm(const Py_buffer &view) const {
  if (dtypeOfFormat(view.format, view.itemsize) != element.dtype ||
      uint32_t(view.ndim) != info.pathRank + element.rank)
    return false;
  for (uint32_t k = 0; k < info.pathRank; ++k)
    if (!info.shape[k] || view.shape[k] != info.shape[k]) // 0: it has no bounds
      return false;
  const uint32_t inner[] = {element.rows, element.columns};
  for (uint32_t k = 0; k < element.rank; ++k)
    if (view.shape[info.pathRank + k] != inner[k])
      return false;
  return true;
}

nb::object Elements::toArray() const { return tree->readMembers(members, element); }

bool Elements::take(PyObject *array) {
  if (!PyObject_CheckBuffer(array))
    return false;
  BufferView view(array, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
  if (!view) {
    PyErr_Clear();
    return false;
  }
  if (!hasForm(*view))
    return false;
  check(tree->writeMembers(members, view->buf, uint64_t(view->len)));
  return true;
}

namespace {

Elements *self(PyObject *object) {
  if (!nb::inst_ready(object))
    throwNamed("RuntimeTypeError_", "elements: made without their field", METATE_E_TYPE_MISMATCH);
  return nb::inst_ptr<Elements>(object);
}

PyObject *readSlot(PyObject *object, PyObject *key) {
  try {
    return self(object)->read(key).release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

int writeSlot(PyObject *object, PyObject *key, PyObject *value) {
  try {
    if (!value)
      throwNamed("RuntimeTypeError_", "elements of a field cannot be deleted",
                 METATE_E_TYPE_MISMATCH);
    self(object)->write(key, value);
    return 0;
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return -1;
}

PyType_Slot elementSlots[] = {{Py_mp_subscript, reinterpret_cast<void *>(&readSlot)},
                              {Py_mp_ass_subscript, reinterpret_cast<void *>(&writeSlot)},
                              {0, nullptr}};

} // namespace

void bindElements(nb::module_ &module) {
  nb::class_<Elements>(module, "Elements", nb::type_slots(elementSlots),
                       "A field's elements by Python keys; vectors and matrices as their bytes.")
      .def(nb::init<nb::object, const std::vector<uint32_t> &, const std::vector<uint32_t> &,
                    std::vector<int64_t>, std::string>(),
           nb::arg("tree"), nb::arg("members"), nb::arg("element"), nb::arg("offset"),
           nb::arg("what"))
      .def("is_active",
           [](const Elements &self, nb::handle key) { return self.isActive(key.ptr()); })
      .def("fill", [](Elements &self, nb::handle value) { self.fill(value.ptr()); })
      .def("to_array", [](const Elements &self) { return self.toArray(); })
      .def("take", [](Elements &self, nb::handle array) { return self.take(array.ptr()); })
      .def("activate", [](Elements &self, nb::handle key) { self.activate(key.ptr()); });
}

} // namespace metate::python
