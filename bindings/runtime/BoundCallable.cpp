// The BoundCallable type by hand, in CPython's C API: vectorcall, and attributes that are the kernel's.
#include "BoundCallable.h"

#include <cstddef>
#include <structmember.h>
#include <vector>

namespace metate::python {
namespace bound { // a unity build has the names of Callable.cpp beside these
namespace {

struct Bound {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *callable; // owned
  PyObject *object;   // owned: the first argument of each call
  PyObject *weakReferences;
};

PyTypeObject *type = nullptr;
PyObject *callableType = nullptr;

Bound *cast(PyObject *object) { return reinterpret_cast<Bound *>(object); }

PyObject *call(PyObject *self, PyObject *const *given, size_t flags, PyObject *names) {
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (flags & PY_VECTORCALL_ARGUMENTS_OFFSET) { // the caller lends the place before the arguments
    PyObject **all = const_cast<PyObject **>(given) - 1;
    PyObject *before = all[0];
    all[0] = cast(self)->object;
    PyObject *result = PyObject_Vectorcall(cast(self)->callable, all, size_t(count) + 1, names);
    all[0] = before;
    return result;
  }
  std::vector<PyObject *> all{cast(self)->object};
  all.insert(all.end(), given, given + count + (names ? PyTuple_GET_SIZE(names) : 0));
  return PyObject_Vectorcall(cast(self)->callable, all.data(), size_t(count) + 1, names);
}

/// Its own two attributes and its signature, which is that of what the kernel takes besides the object; else the kernel's: kernels among
/// these are bound to the object, too.
PyObject *attribute(PyObject *self, PyObject *name) {
  if (PyUnicode_CompareWithASCIIString(name, "__signature__") == 0)
    return PyObject_CallMethod(cast(self)->callable, "_signature_of_method", nullptr);
  PyObject *own = PyDict_GetItemWithError(type->tp_dict, name);
  if (!own && PyErr_Occurred())
    return nullptr;
  bool isAsked = PyUnicode_CompareWithASCIIString(name, "__class__") == 0;
  if (isAsked ||
      (own && Py_TYPE(own)->tp_descr_get && PyUnicode_CompareWithASCIIString(name, "__doc__") != 0))
    return PyObject_GenericGetAttr(self, name);
  PyObject *found = PyObject_GetAttr(cast(self)->callable, name);
  int isKernel = found ? PyObject_IsInstance(found, callableType) : 0;
  if (isKernel <= 0)
    return isKernel ? nullptr : found;
  PyObject *made = bindCallableTo(found, cast(self)->object);
  Py_DECREF(found);
  return made;
}

PyObject *compare(PyObject *a, PyObject *b, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(a) != type || Py_TYPE(b) != type)
    Py_RETURN_NOTIMPLEMENTED;
  bool isSame = cast(a)->callable == cast(b)->callable && cast(a)->object == cast(b)->object;
  return PyBool_FromLong(isSame == (operation == Py_EQ));
}

Py_hash_t hash(PyObject *self) {
  auto number = reinterpret_cast<size_t>(cast(self)->callable) ^
                (reinterpret_cast<size_t>(cast(self)->object) >> 4);
  return Py_hash_t(number >> 1);
}

PyObject *represent(PyObject *self) {
  return PyUnicode_FromFormat("<bound %R of %R>", cast(self)->callable, cast(self)->object);
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(cast(self)->callable);
  Py_VISIT(cast(self)->object);
  return 0;
}

void destroy(PyObject *self) {
  PyObject_GC_UnTrack(self);
  if (cast(self)->weakReferences)
    PyObject_ClearWeakRefs(self);
  PyTypeObject *itsType = Py_TYPE(self);
  Py_XDECREF(cast(self)->callable);
  Py_XDECREF(cast(self)->object);
  itsType->tp_free(self);
  Py_DECREF(itsType);
}

/// Copies and pickles are bound, too: as Python's methods they are found anew, in the object's copy.
PyObject *reduce(PyObject *self, PyObject *) {
  return PyObject_CallMethod(cast(self)->callable, "_reduced_method", "O", cast(self)->object);
}

PyMethodDef methods[] = {{"__reduce__", &reduce, METH_NOARGS, nullptr},
                         {"__reduce_ex__", &reduce, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Bound, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Bound, weakReferences), READONLY, nullptr},
    {"__func__", T_OBJECT_EX, offsetof(Bound, callable), READONLY, "The kernel."},
    {"__self__", T_OBJECT_EX, offsetof(Bound, object), READONLY, "The object whose method it is."},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_doc, const_cast<char *>("A kernel as a method of an object.")},
                       {Py_tp_dealloc, reinterpret_cast<void *>(&destroy)},
                       {Py_tp_traverse, reinterpret_cast<void *>(&traverse)},
                       {Py_tp_call, reinterpret_cast<void *>(&PyVectorcall_Call)},
                       {Py_tp_getattro, reinterpret_cast<void *>(&attribute)},
                       {Py_tp_richcompare, reinterpret_cast<void *>(&compare)},
                       {Py_tp_hash, reinterpret_cast<void *>(&hash)},
                       {Py_tp_repr, reinterpret_cast<void *>(&represent)},
                       {Py_tp_members, members},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"metate_native._runtime.BoundCallable", sizeof(Bound), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

} // namespace
} // namespace bound

PyObject *bindCallableTo(PyObject *callable, PyObject *object) {
  auto *made = PyObject_GC_New(bound::Bound, bound::type);
  if (!made)
    return nullptr;
  made->vectorcall = &bound::call;
  made->callable = Py_NewRef(callable);
  made->object = Py_NewRef(object);
  made->weakReferences = nullptr;
  PyObject_GC_Track(reinterpret_cast<PyObject *>(made));
  return reinterpret_cast<PyObject *>(made);
}

void bindBoundCallable(nb::module_ &module, PyObject *callable) {
  bound::callableType = Py_NewRef(callable);
  PyObject *type = PyType_FromSpec(&bound::spec);
  if (!type)
    throw nb::python_error();
  bound::type = reinterpret_cast<PyTypeObject *>(type);
  // Objects know kernels by this (metate/frontend/keys.py).
  if (PyDict_SetItemString(bound::type->tp_dict, "__metate_kernel__", Py_True) != 0)
    throw nb::python_error();
  module.attr("BoundCallable") = nb::steal(type);
}

} // namespace metate::python
