// The Callable type by hand, in CPython's C API: vectorcall, and methods
// without a bound method for each call.
#include "Callable.h"
#include "BoundCallable.h"

#include <cstddef>
#include <structmember.h>

namespace metate::python {
namespace callable { // a unity build has the names of Dispatcher.cpp beside these
namespace {

struct Callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *entered;     // a context variable: a tuple of the contexts that the thread has entered
  PyObject *standing;    // a list whose last one is the context of threads that have entered none
  PyObject *keyOf;       // the descriptor of a context's key
  PyObject *plain;       // a dict: what is called in a context, by the context's key
  PyObject *same;        // a dict: (i, j, what is called instead where arguments i and j are one)
  Py_ssize_t parameters; // so many arguments are a plain call; -1: not known yet
};

Py_ssize_t watchers = 0; // while there are some no call is plain

Callable *cast(PyObject *object) { return reinterpret_cast<Callable *>(object); }

/// The key of the caller's context, a new reference; null with an error.
PyObject *currentKey(Callable *self) {
  PyObject *contexts = nullptr;
  if (PyContextVar_Get(self->entered, nullptr, &contexts) != 0)
    return nullptr;
  PyObject *context = nullptr;
  if (contexts && PyTuple_CheckExact(contexts) && PyTuple_GET_SIZE(contexts))
    context = PyTuple_GET_ITEM(contexts, PyTuple_GET_SIZE(contexts) - 1);
  else if (Py_ssize_t size = PyList_GET_SIZE(self->standing))
    context = PyList_GET_ITEM(self->standing, size - 1);
  PyObject *key = nullptr;
  if (context)
    key = Py_TYPE(self->keyOf)
              ->tp_descr_get(self->keyOf, context, reinterpret_cast<PyObject *>(Py_TYPE(context)));
  else
    PyErr_SetString(PyExc_RuntimeError, "there is no context");
  Py_XDECREF(contexts);
  return key;
}

nb::object tupleOf(PyObject *const *given, Py_ssize_t count) {
  nb::object packed = nb::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; packed.is_valid() && i < count; ++i)
    PyTuple_SET_ITEM(packed.ptr(), i, Py_NewRef(given[i]));
  return packed;
}

nb::object dictOf(PyObject *const *values, PyObject *names) {
  nb::object packed = nb::steal(PyDict_New());
  for (Py_ssize_t i = 0; packed.is_valid() && names && i < PyTuple_GET_SIZE(names); ++i)
    if (PyDict_SetItem(packed.ptr(), PyTuple_GET_ITEM(names, i), values[i]) != 0)
      return {};
  return packed;
}

/// A call that is not plain: `_call(arguments, keywords)`.
PyObject *callSlowly(PyObject *object, PyObject *arguments, PyObject *keywords) {
  return PyObject_CallMethod(object, "_call", "OO", arguments, keywords);
}

/// Takes the exception that is set, with its traceback in it.
nb::object takeException() {
#if PY_VERSION_HEX >= 0x030C0000
  return nb::steal(PyErr_GetRaisedException());
#else
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace)
    PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return nb::steal(value);
#endif
}

void raiseAgain(nb::object exception) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(exception.release().ptr());
#else
  PyObject *value = exception.release().ptr();
  PyErr_Restore(Py_NewRef(Py_TYPE(value)), value, PyException_GetTraceback(value));
#endif
}

/// What a launch that failed gives after all: `_failed(error, arguments)`; NotImplemented: the error stands.
PyObject *afterFailure(PyObject *object, PyObject *const *given, Py_ssize_t count) {
  if (!PyErr_ExceptionMatches(PyExc_Exception))
    return nullptr; // of the interpreter's own: an interrupt
  nb::object raised = takeException(), arguments = tupleOf(given, count);
  if (!arguments.is_valid())
    return nullptr;
  PyObject *result = PyObject_CallMethod(object, "_failed", "OO", raised.ptr(), arguments.ptr());
  if (result != Py_NotImplemented)
    return result;
  Py_DECREF(result);
  raiseAgain(std::move(raised));
  return nullptr;
}

/// What calls with one object for two arguments came to before, borrowed; null: these arguments are no such call.
PyObject *calleeOfSame(Callable *self, PyObject *key, PyObject *const *given, Py_ssize_t count) {
  PyObject *found = PyDict_GetItemWithError(self->same, key);
  if (!found || !PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 3)
    return nullptr;
  Py_ssize_t i = PyLong_AsSsize_t(PyTuple_GET_ITEM(found, 0));
  Py_ssize_t j = PyLong_AsSsize_t(PyTuple_GET_ITEM(found, 1));
  if (i < 0 || j < 0 || i >= count || j >= count || given[i] != given[j])
    return nullptr;
  return PyTuple_GET_ITEM(found, 2);
}

/// What is called in the caller's context where so many arguments make a plain call, a new reference; null, perhaps with an
/// error, for a call that is not plain.
PyObject *plainCallee(Callable *self, PyObject *const *given, Py_ssize_t count) {
  if (count != self->parameters || watchers)
    return nullptr;
  PyObject *key = currentKey(self);
  if (!key)
    return nullptr;
  PyObject *launch = nullptr; // borrowed
  if (PyDict_GET_SIZE(self->same))
    launch = calleeOfSame(self, key, given, count);
  if (!launch && !PyErr_Occurred())
    launch = PyDict_GetItemWithError(self->plain, key);
  Py_XINCREF(launch);
  Py_DECREF(key);
  return launch;
}

/// tp_call of kernels: what `super().__call__` of a class comes to as well.
PyObject *callPacked(PyObject *object, PyObject *arguments, PyObject *keywords) {
  nb::object named = keywords ? nb::borrow(keywords) : nb::steal(PyDict_New());
  if (!named.is_valid())
    return nullptr;
  PyObject *const *given = PySequence_Fast_ITEMS(arguments);
  Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  nb::object launch;
  if (PyDict_GET_SIZE(named.ptr()) == 0)
    launch = nb::steal(plainCallee(cast(object), given, count));
  if (!launch.is_valid())
    return PyErr_Occurred() ? nullptr : callSlowly(object, arguments, named.ptr());
  PyObject *result = PyObject_Vectorcall(launch.ptr(), given, size_t(count), nullptr);
  return result ? result : afterFailure(object, given, count);
}

PyObject *call(PyObject *object, PyObject *const *given, size_t flags, PyObject *names) {
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  PyObject *launch = nullptr;
  bool isPlain = !(names && PyTuple_GET_SIZE(names)) && Py_TYPE(object)->tp_call == &callPacked;
  if (isPlain)
    launch = plainCallee(cast(object), given, count);
  if (launch) {
    PyObject *result = PyObject_Vectorcall(launch, given, size_t(count), nullptr);
    Py_DECREF(launch);
    return result ? result : afterFailure(object, given, count);
  }
  if (PyErr_Occurred())
    return nullptr;
  nb::object arguments = tupleOf(given, count), keywords = dictOf(given + count, names);
  if (!arguments.is_valid() || !keywords.is_valid())
    return nullptr;
  if (Py_TYPE(object)->tp_call != &callPacked) // assigned to the class after it was made
    return Py_TYPE(object)->tp_call(object, arguments.ptr(), keywords.ptr());
  return callSlowly(object, arguments.ptr(), keywords.ptr());
}

/// A method of the object that it is read from, as functions are.
PyObject *bindTo(PyObject *self, PyObject *instance, PyObject *) {
  return instance && instance != Py_None ? bindCallableTo(self, instance) : Py_NewRef(self);
}

/// Types made by a class statement do not inherit what makes calls fast.
PyObject *prepareClass(PyObject *type, PyObject *, PyObject *keywords) {
  if (keywords && PyDict_GET_SIZE(keywords))
    return PyErr_Format(PyExc_TypeError, "%s: expected no keywords of a class",
                        reinterpret_cast<PyTypeObject *>(type)->tp_name);
  auto *made = reinterpret_cast<PyTypeObject *>(type);
  if (made->tp_call == &callPacked)
    made->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  if (made->tp_descr_get == &bindTo)
    made->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
  PyType_Modified(made);
  Py_RETURN_NONE;
}

PyObject *create(PyTypeObject *type, PyObject *, PyObject *) {
  PyObject *object = type->tp_alloc(type, 0);
  if (!object)
    return nullptr;
  cast(object)->vectorcall = &call;
  cast(object)->parameters = -1;
  cast(object)->plain = PyDict_New();
  cast(object)->same = PyDict_New();
  if (cast(object)->plain && cast(object)->same)
    return object;
  Py_DECREF(object);
  return nullptr;
}

PyObject *lookIn(PyObject *object, PyObject *arguments) {
  Callable *self = cast(object);
  PyObject *entered, *standing, *keyOf;
  if (!PyArg_ParseTuple(arguments, "O!O!O:_look_in", &PyContextVar_Type, &entered, &PyList_Type,
                        &standing, &keyOf))
    return nullptr;
  if (!Py_TYPE(keyOf)->tp_descr_get) {
    PyErr_SetString(PyExc_TypeError, "_look_in: expected a descriptor");
    return nullptr;
  }
  Py_XSETREF(self->entered, Py_NewRef(entered));
  Py_XSETREF(self->standing, Py_NewRef(standing));
  Py_XSETREF(self->keyOf, Py_NewRef(keyOf));
  Py_RETURN_NONE;
}

PyObject *expect(PyObject *object, PyObject *count) {
  Py_ssize_t number = PyNumber_AsSsize_t(count, PyExc_OverflowError);
  if (number == -1 && PyErr_Occurred())
    return nullptr;
  if (!cast(object)->entered) {
    PyErr_SetString(PyExc_TypeError, "_expect: _look_in was not called");
    return nullptr;
  }
  cast(object)->parameters = number;
  Py_RETURN_NONE;
}

PyObject *watch(PyObject *, PyObject *change) {
  Py_ssize_t number = PyNumber_AsSsize_t(change, PyExc_OverflowError);
  if (number == -1 && PyErr_Occurred())
    return nullptr;
  watchers += number;
  Py_RETURN_NONE;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  Callable *self = cast(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->entered);
  Py_VISIT(self->standing);
  Py_VISIT(self->keyOf);
  Py_VISIT(self->plain);
  Py_VISIT(self->same);
  return 0;
}

/// What `call` reads stays: other garbage may call the object once more.
int clear(PyObject *object) {
  if (cast(object)->plain)
    PyDict_Clear(cast(object)->plain);
  if (cast(object)->same)
    PyDict_Clear(cast(object)->same);
  return 0;
}

void destroy(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Py_CLEAR(cast(object)->entered);
  Py_CLEAR(cast(object)->standing);
  Py_CLEAR(cast(object)->keyOf);
  Py_CLEAR(cast(object)->plain);
  Py_CLEAR(cast(object)->same);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr},
    {"_plain", T_OBJECT_EX, offsetof(Callable, plain), READONLY,
     "What is called in a context, by the context's key."},
    {"_same", T_OBJECT_EX, offsetof(Callable, same), READONLY,
     "(i, j, what is called in a context where arguments i and j are one object), by its key."},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef methods[] = {
    {"__init_subclass__",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&prepareClass)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_look_in", &lookIn, METH_VARARGS,
     "Where contexts are: a variable with a tuple of those that were entered, a list with the "
     "default one, the descriptor of a context's key."},
    {"_expect", &expect, METH_O, "How many arguments a plain call has."},
    {"_watch", &watch, METH_O | METH_STATIC,
     "Adds to the number of those who want to see each call: while there are some every call of "
     "every object goes to its `_call`."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char *>("What a kernel is to its callers: `_call(arguments, keywords)` "
                                   "for calls that are not plain, `_failed(error, arguments)`.")},
    {Py_tp_new, reinterpret_cast<void *>(&create)},
    {Py_tp_dealloc, reinterpret_cast<void *>(&destroy)},
    {Py_tp_traverse, reinterpret_cast<void *>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(&clear)},
    {Py_tp_call, reinterpret_cast<void *>(&callPacked)},
    {Py_tp_descr_get, reinterpret_cast<void *>(&bindTo)},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {0, nullptr}};
PyType_Spec spec = {"metate_native._runtime.Callable", sizeof(Callable), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                        Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                    slots};

} // namespace
} // namespace callable

void bindCallable(nb::module_ &module) {
  PyObject *type = PyType_FromSpec(&callable::spec);
  if (!type)
    throw nb::python_error();
  module.attr("Callable") = nb::steal(type);
  bindBoundCallable(module, type);
}

} // namespace metate::python
