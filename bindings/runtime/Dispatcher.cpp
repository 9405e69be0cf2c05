// The Dispatcher type by hand, in CPython's C API: a call of an empty kernel
// costs 60 ns through it. It must keep working when an argument's conversion
// runs arbitrary Python code.
#include "Dispatcher.h"

#include <cstddef>
#include <new>
#include <structmember.h>

namespace metate::python {
namespace {

struct Instance {
  PyObject *object; // the Kernel, owned
  const Kernel *kernel;
  uint64_t hits;
  bool loose; // also for arrays without gaps although compiled for strides:
              // nothing better was offered
};

struct Dispatcher {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *slow; // owned; NULL: only the instances there are
  PyObject *weakReferences;
  std::vector<Instance> instances;
  size_t last;
};

Dispatcher *cast(PyObject *object) { return reinterpret_cast<Dispatcher *>(object); }

size_t addInstance(Dispatcher *self, PyObject *object) {
  nb::handle kernel(object);
  if (!nb::isinstance<Kernel>(kernel) || !nb::inst_ready(kernel))
    throwNamed("RuntimeTypeError_", "dispatcher: expected a Kernel, got " + describeValue(object),
               METATE_E_TYPE_MISMATCH);
  for (size_t i = 0; i < self->instances.size(); ++i)
    if (self->instances[i].object == object)
      return i;
  self->instances.push_back({object, nb::inst_ptr<Kernel>(kernel), 0, false});
  Py_INCREF(object);
  return self->instances.size() - 1;
}

/// An instance that a frame is bound for. Converting an argument may run any
/// Python code, which may clear the dispatcher: so the kernel is held, and the
/// index is only believed if it still fits.
struct Choice {
  nb::object object;
  const Kernel *kernel = nullptr;
  size_t index = 0;

  void take(Dispatcher *self, size_t at) {
    object = nb::borrow(self->instances[at].object);
    kernel = self->instances[at].kernel;
    index = at;
  }
  /// The instance, unless it is gone.
  Instance *instance(Dispatcher *self) const {
    bool there = index < self->instances.size() && self->instances[index].object == object.ptr();
    return there ? &self->instances[index] : nullptr;
  }
};

bool findInstance(Dispatcher *self, Frame &frame, Choice &choice) {
  for (size_t k = 0; k < self->instances.size(); ++k) {
    size_t i = k == 0 ? self->last : k <= self->last ? k - 1 : k;
    bool exact = !self->instances[i].loose;
    choice.take(self, i);
    if (frame.bind(*choice.kernel, exact))
      return true;
  }
  return false;
}

void askSlow(Dispatcher *self, Frame &frame, PyObject *const *arguments, size_t count,
             Choice &choice) {
  if (!self->slow) {
    if (self->instances.empty())
      throwNamed("RuntimeError_", "dispatcher: it has no kernel", METATE_E_NOT_FOUND);
    choice.take(self, 0);
    self->instances[0].loose = true; // there is no other: whatever it takes it gets
    frame.bindOrThrow(*choice.kernel);
    return;
  }
  nb::object packed = nb::steal(PyTuple_New(Py_ssize_t(count)));
  if (!packed.is_valid())
    throw nb::python_error();
  for (size_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(packed.ptr(), Py_ssize_t(i), Py_NewRef(arguments[i]));
  nb::object slow = nb::borrow(self->slow);
  PyObject *made = PyObject_CallOneArg(slow.ptr(), packed.ptr());
  if (!made)
    throw nb::python_error();
  nb::object kernel = nb::steal(made);
  choice.take(self, addInstance(self, made));
  bool fitsExactly = frame.bind(*choice.kernel, true);
  frame.bindOrThrow(*choice.kernel);
  if (Instance *instance = choice.instance(self))
    instance->loose |= !fitsExactly;
}

PyObject *call(PyObject *object, PyObject *const *arguments, size_t flags, PyObject *names) {
  Dispatcher *self = cast(object);
  if (names && PyTuple_GET_SIZE(names)) {
    PyErr_SetString(PyExc_TypeError, "a dispatcher takes positional arguments only");
    return nullptr;
  }
  try {
    size_t count = size_t(PyVectorcall_NARGS(flags));
    Frame frame(arguments, count);
    Choice choice;
    if (!findInstance(self, frame, choice))
      askSlow(self, frame, arguments, count, choice);
    if (Instance *instance = choice.instance(self)) {
      self->last = choice.index;
      ++instance->hits;
    }
    return frame.launch(*choice.kernel).release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char slowName[] = "slow";
  static char *names[] = {slowName, nullptr};
  PyObject *slow = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:Dispatcher", names, &slow))
    return nullptr;
  if (slow != Py_None && !PyCallable_Check(slow)) {
    PyErr_SetString(PyExc_TypeError, "Dispatcher: slow: expected a callable or None");
    return nullptr;
  }
  PyObject *object = type->tp_alloc(type, 0);
  if (!object)
    return nullptr;
  Dispatcher *self = cast(object);
  self->vectorcall = &call;
  self->slow = slow == Py_None ? nullptr : Py_NewRef(slow);
  new (&self->instances) std::vector<Instance>();
  return object;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  Dispatcher *self = cast(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->slow);
  for (Instance &instance : self->instances)
    Py_VISIT(instance.object);
  return 0;
}

int clear(PyObject *object) {
  Dispatcher *self = cast(object);
  Py_CLEAR(self->slow);
  std::vector<Instance> dropped;
  dropped.swap(self->instances);
  self->last = 0;
  for (Instance &instance : dropped)
    Py_DECREF(instance.object);
  return 0;
}

void destroy(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (cast(object)->weakReferences)
    PyObject_ClearWeakRefs(object);
  clear(object);
  cast(object)->instances.~vector();
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject *add(PyObject *object, PyObject *kernel) {
  try {
    addInstance(cast(object), kernel);
  } catch (nb::python_error &error) {
    error.restore();
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject *clearInstances(PyObject *object, PyObject *) {
  std::vector<Instance> dropped;
  dropped.swap(cast(object)->instances);
  cast(object)->last = 0;
  for (Instance &instance : dropped)
    Py_DECREF(instance.object);
  Py_RETURN_NONE;
}

PyObject *listInstances(PyObject *object, void *) {
  try {
    nb::list found;
    for (Instance &instance : cast(object)->instances)
      found.append(nb::make_tuple(nb::borrow(instance.object), instance.hits));
    return found.release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
    return nullptr;
  }
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Dispatcher, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Dispatcher, weakReferences), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef methods[] = {{"add", &add, METH_O, "Adds a Kernel to try from now on."},
                         {"clear", &clearInstances, METH_NOARGS, "Forgets all instances."},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {
    {"instances", &listInstances, nullptr, "(Kernel, number of calls) of each instance.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_doc, const_cast<char *>("Dispatcher(slow=None): calls the compiled "
                                                      "instance that fits the arguments.")},
                       {Py_tp_new, reinterpret_cast<void *>(&create)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(&destroy)},
                       {Py_tp_traverse, reinterpret_cast<void *>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(&clear)},
                       {Py_tp_call, reinterpret_cast<void *>(&PyVectorcall_Call)},
                       {Py_tp_members, members},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"metate_native._runtime.Dispatcher", sizeof(Dispatcher), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

} // namespace

void bindDispatcher(nb::module_ &module) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw nb::python_error();
  module.attr("Dispatcher") = nb::steal(type);
}

} // namespace metate::python
