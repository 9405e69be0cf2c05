// Arrays of the package: a view of another object's memory. Offering that memory to others (buffers,
// DLPack) is the other object's, but for bf16, which Python's buffers cannot say.
#include "Array.h"

#include <cstring>
#include <nanobind/stl/shared_ptr.h>

namespace metate::python {

Array::Array(nb::handle owner, uint32_t dtype, uint32_t elementRank,
             std::shared_ptr<ArrayMemory> ofPackage)
    : elementRank(elementRank), view(owner.ptr(), PyBUF_STRIDES | PyBUF_WRITABLE),
      memory(std::move(ofPackage)) {
  if (!view) {
    PyErr_Clear();
    view = BufferView(owner.ptr(), PyBUF_STRIDES);
    if (!view)
      throw nb::python_error();
  }
  int64_t bytes = metate_dtype_bytes(dtype);
  if (view->itemsize != bytes || view->ndim > METATE_MAX_RANK || elementRank > 2 ||
      int(elementRank) > view->ndim) {
    throwNamed("RuntimeTypeError_",
               "array: expected memory of " + std::to_string(bytes) + "-byte scalars of at most " +
                   std::to_string(METATE_MAX_RANK) + " dimensions",
               METATE_E_TYPE_MISMATCH);
  }
  array.data = view->buf;
  array.dtype = dtype;
  array.rank = uint32_t(view->ndim);
  array.flags = view->readonly ? METATE_ARRAY_READ_ONLY : 0;
  array.shape = extents;
  aligned = reinterpret_cast<uintptr_t>(view->buf) % uint64_t(bytes) == 0;
  bool isContiguous = true, isEmpty = false;
  int64_t gapless = 1;
  for (uint32_t k = array.rank; k-- > 0;) {
    extents[k] = view->shape[k];
    steps[k] = view->strides[k] / bytes;
    aligned &= view->strides[k] % bytes == 0;
    isContiguous &= extents[k] == 1 || steps[k] == gapless;
    isEmpty |= extents[k] == 0;
    gapless *= extents[k];
  }
  array.strides = isContiguous || isEmpty ? nullptr : steps;
}

ElementType Array::elementType() const {
  ElementType type;
  type.dtype = array.dtype;
  type.rank = elementRank;
  if (elementRank > 0)
    type.rows = uint32_t(extents[array.rank - elementRank]);
  if (elementRank > 1)
    type.columns = uint32_t(extents[array.rank - 1]);
  return type;
}

/// Where an element is: `index` is None (without dimensions), an integer or a sequence of them.
char *Array::place(nb::handle index) const {
  uint32_t rank = array.rank - elementRank;
  nb::object given = index.is_none() ? nb::object(nb::tuple()) : nb::borrow(index);
  if (PyIndex_Check(given.ptr()))
    given = nb::make_tuple(given);
  nb::object all = nb::steal(PySequence_Tuple(given.ptr())); // own: converting may change a list
  if (!all.is_valid())
    throw nb::python_error();
  auto shown = [&] { return nb::cast<std::string>(nb::repr(index)); };
  auto shape = [&] { return nb::cast<std::string>(nb::repr(this->shape(false))); };
  if (PyTuple_GET_SIZE(all.ptr()) != Py_ssize_t(rank))
    throwNamed("RuntimeIndexError_",
               "array of shape " + shape() + ": expected " + std::to_string(rank) +
                   (rank == 1 ? " index" : " indices") + ", got " + shown(),
               METATE_E_OUT_OF_RANGE);
  int64_t offset = 0;
  for (uint32_t k = 0; k < rank; ++k) {
    Py_ssize_t at = PyNumber_AsSsize_t(PyTuple_GET_ITEM(all.ptr(), k), nullptr);
    if (at == -1 && PyErr_Occurred())
      throw nb::python_error();
    if (at < 0 || at >= extents[k])
      throwNamed("RuntimeIndexError_",
                 "index out of range: expected indices of an array of shape " + shape() + ", got " +
                     shown(),
                 METATE_E_OUT_OF_RANGE);
    offset += at * steps[k];
  }
  return static_cast<char *>(array.data) + offset * int64_t(metate_dtype_bytes(array.dtype));
}

/// Visits the scalars of an element, row by row.
template <typename Visit> void Array::eachComponent(char *element, Visit visit) const {
  ElementType type = elementType();
  int64_t bytes = metate_dtype_bytes(array.dtype);
  const int64_t *step = steps + (array.rank - elementRank);
  for (uint32_t i = 0; i < type.rows; ++i)
    for (uint32_t j = 0; j < type.columns; ++j)
      visit(element + (elementRank ? i * step[0] : 0) * bytes +
            (elementRank > 1 ? j * step[1] : 0) * bytes);
}

/// Bytes from an element's first component to its last one: of memory of the package, which has no strides below 0.
size_t Array::spanOfElement() const {
  int64_t last = 0;
  for (uint32_t k = array.rank - elementRank; k < array.rank; ++k)
    last += extents[k] ? (extents[k] - 1) * steps[k] : 0;
  return size_t(last + 1) * metate_dtype_bytes(array.dtype);
}

nb::object Array::read(nb::handle index) const {
  ElementType type = elementType();
  char *element = place(index);
  if (memory)
    memory->refresh(element, spanOfElement());
  std::vector<char> bytes(type.bytes());
  char *to = bytes.data();
  size_t one = metate_dtype_bytes(array.dtype);
  eachComponent(element, [&](const char *from) {
    std::memcpy(to, from, one);
    to += one;
  });
  return decodeElement(type, bytes.data());
}

void Array::write(nb::handle index, nb::handle value) {
  if (array.flags & METATE_ARRAY_READ_ONLY)
    throwNamed("RuntimeTypeError_", "the array's memory is read-only: make a copy",
               METATE_E_INVALID_ARGUMENT);
  ElementType type = elementType();
  char *element = place(index);
  std::vector<char> bytes(type.bytes());
  encodeOrThrow("element " + nb::cast<std::string>(nb::repr(index)), type, value.ptr(),
                bytes.data());
  if (memory)
    memory->refresh(element, spanOfElement());
  const char *from = bytes.data();
  size_t one = metate_dtype_bytes(array.dtype);
  eachComponent(element, [&](char *to) {
    std::memcpy(to, from, one);
    from += one;
  });
  if (memory)
    memory->push(element, spanOfElement());
}

nb::tuple Array::shape(bool ofElements) const {
  uint32_t rank = array.rank - elementRank;
  nb::list found;
  for (uint32_t k = ofElements ? rank : 0; k < (ofElements ? array.rank : rank); ++k)
    found.append(extents[k]);
  return nb::tuple(found);
}

nb::object Array::exported() const {
  if (memory)
    memory->beginView(); // which nobody says the end of
  size_t shape[METATE_MAX_RANK];
  for (uint32_t k = 0; k < array.rank; ++k)
    shape[k] = size_t(extents[k]);
  nb::dlpack::dtype type = dlpackOf(array.dtype);
  return nb::cast(nb::ndarray<>(array.data, array.rank, shape, nb::find(const_cast<Array *>(this)),
                                steps, type),
                  nb::rv_policy::reference);
}

namespace {

int getBuffer(PyObject *self, Py_buffer *view, int flags) {
  Array *array = nb::inst_ptr<Array>(self);
  if (!nb::inst_ready(self) || array->get().dtype == METATE_BF16) {
    PyErr_SetString(PyExc_BufferError, "bf16 has no buffer format: use DLPack or to_numpy()");
    return -1;
  }
  if (PyObject_GetBuffer(array->getOwner(), view, flags) != 0)
    return -1;
  if (!array->getMemory())
    return 0;
  try {
    array->getMemory()->beginView();
  } catch (nb::python_error &error) {
    error.restore();
    PyBuffer_Release(view);
    return -1;
  }
  Py_DECREF(view->obj); // NumPy's arrays need no word when a view ends; this array does
  view->obj = Py_NewRef(self);
  return 0;
}

void releaseBuffer(PyObject *self, Py_buffer *) {
  if (ArrayMemory *memory = nb::inst_ptr<Array>(self)->getMemory())
    memory->endView();
}

} // namespace

void bindArray(nb::module_ &module) {
  PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void *>(getBuffer)},
                         {Py_bf_releasebuffer, reinterpret_cast<void *>(releaseBuffer)},
                         {0, nullptr}};
  nb::class_<ArrayMemory>(
      module, "ArrayMemory",
      "Bytes of the package's arrays: the host's, and those of a device that uses them.")
      .def(nb::init<nb::handle>(), nb::arg("owner"))
      .def("to_host", &ArrayMemory::toHost)
      .def("change_at_host", &ArrayMemory::changeAtHost, nb::arg("is_whole") = false)
      .def("begin_view", &ArrayMemory::beginView)
      .def_prop_ro("bytes", &ArrayMemory::bytes);
  nb::class_<Array>(module, "Array", nb::type_slots(slots), nb::is_weak_referenceable(),
                    "A view of memory with a shape and an element type: what kernels take.")
      .def(nb::init<nb::handle, uint32_t, uint32_t, std::shared_ptr<ArrayMemory>>(),
           nb::arg("owner"), nb::arg("dtype"), nb::arg("element_rank") = 0,
           nb::arg("memory").none() = nb::none())
      .def("_read", &Array::read, nb::arg().none())
      .def("_write", &Array::write, nb::arg().none(), nb::arg().none())
      .def("_exported", &Array::exported)
      .def_prop_ro("_owner", [](const Array &self) { return nb::borrow(self.getOwner()); })
      .def_prop_ro(
          "shape", [](const Array &self) { return self.shape(false); },
          "Extents, those of the elements not counted.")
      .def_prop_ro(
          "element_shape", [](const Array &self) { return self.shape(true); },
          "Extents of an element: (), (n,) or (n, m).")
      .def_prop_ro("is_contiguous", &Array::isContiguous, "Row-major, without gaps?")
      .def_prop_ro(
          "is_read_only",
          [](const Array &self) { return bool(self.get().flags & METATE_ARRAY_READ_ONLY); })
      .def_prop_ro("dtype_code", [](const Array &self) { return self.get().dtype; });
}

} // namespace metate::python
