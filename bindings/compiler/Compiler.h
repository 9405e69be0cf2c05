// What the files of the `_compiler` extension share: the error that carries a
// diagnostic to Python, and the functions that bind each part.
#ifndef METATE_BINDINGS_COMPILER_COMPILER_H
#define METATE_BINDINGS_COMPILER_COMPILER_H

#include "metate/Frontend/KernelBuilder.h"

#include <nanobind/nanobind.h>

namespace metate::python {

namespace nb = nanobind;

/// Raises FrontendError(kind, message, hint): the walker adds the place.
[[noreturn]] void throwDiagnostic(const frontend::Diagnostic &diagnostic);

/// Raises a CompileError: a failure of the compiler itself, not of the user's
/// source.
[[noreturn]] void throwCompileError(const std::string &message);

void bindBuilder(nb::module_ &module);
void bindStages(nb::module_ &module);
void bindReport(nb::module_ &module);
void bindInterpreter(nb::module_ &module);
/// Null but in the twin with deliberate faults (tests/mutants), which alone has Mutants.cpp.
__attribute__((weak)) void bindMutants(nb::module_ &module);

} // namespace metate::python

#endif
