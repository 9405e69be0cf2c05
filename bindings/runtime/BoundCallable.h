// A kernel that was read from an object of the class in which it is a method.
//
// What a Python method is, but that the kernel's attributes which are kernels themselves (`object.step.grad`) are bound to the
// object as well.
#ifndef METATE_BINDINGS_RUNTIME_BOUNDCALLABLE_H
#define METATE_BINDINGS_RUNTIME_BOUNDCALLABLE_H

#include "Status.h"

namespace metate::python {

/// A new reference; null with an error. Called after `bindBoundCallable`.
PyObject *bindCallableTo(PyObject *callable, PyObject *object);

/// callable: the type of kernels.
void bindBoundCallable(nb::module_ &module, PyObject *callable);

} // namespace metate::python

#endif
