// The fast path of a Python kernel call: picks the compiled instance that fits
// the arguments.
//
// `Dispatcher(slow=None)` is callable with positional arguments. It tries the
// instance that fitted last, then the others; when none fits, `slow(arguments)`
// (a tuple) must return the Kernel to add and launch. It is a plain CPython
// type with vectorcall: no tuple, no dict, no Python frame.
#ifndef METATE_BINDINGS_RUNTIME_DISPATCHER_H
#define METATE_BINDINGS_RUNTIME_DISPATCHER_H

#include "Arguments.h"

namespace metate::python {

void bindDispatcher(nb::module_ &module);

} // namespace metate::python

#endif
