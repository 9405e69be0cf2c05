// The base class of metate.kernel.Kernel: how a call finds the dispatcher of
// the caller's context.
//
// A plain call (positional, one argument for each parameter, in a context that
// the kernel was called in before) makes no Python frame and no tuple. Every
// other one goes to the methods of the class in Python. Nothing here knows what
// a context or a kernel is beyond the few objects that it is made with.
#ifndef METATE_BINDINGS_RUNTIME_CALLABLE_H
#define METATE_BINDINGS_RUNTIME_CALLABLE_H

#include "Status.h"

namespace metate::python {

void bindCallable(nb::module_ &module);

} // namespace metate::python

#endif
