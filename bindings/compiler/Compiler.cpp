// The `_compiler` extension: the compiler for Python. It must not link
// libmetate: a process that only runs modules never loads it.
#include "Compiler.h"

#include <nanobind/stl/string.h>

namespace metate::python {
namespace {

PyObject *frontendError = nullptr;
PyObject *compileError = nullptr;

PyObject *makeException(nb::module_ &module, const char *name, const char *doc) {
  std::string full = std::string("metate_native._compiler.") + name;
  PyObject *type = PyErr_NewExceptionWithDoc(full.c_str(), doc, PyExc_Exception, nullptr);
  if (!type)
    throw nb::python_error();
  module.attr(name) = nb::handle(type);
  return type;
}

const char *kindName(frontend::ErrorKind kind) {
  switch (kind) {
  case frontend::ErrorKind::Syntax:
    return "syntax";
  case frontend::ErrorKind::Name:
    return "name";
  case frontend::ErrorKind::Type:
    return "type";
  }
  return "type";
}

} // namespace

void throwDiagnostic(const frontend::Diagnostic &diagnostic) {
  nb::tuple arguments =
      nb::make_tuple(kindName(diagnostic.kind), diagnostic.message, diagnostic.hint);
  PyErr_SetObject(frontendError, arguments.ptr());
  throw nb::python_error();
}

void throwCompileError(const std::string &message) {
  PyErr_SetString(compileError, message.c_str());
  throw nb::python_error();
}

} // namespace metate::python

NB_MODULE(_compiler, module) {
  using namespace metate::python;
  module.doc() = "The Metate compiler: builds kernels, runs stages, makes code "
                 "and modules.";
  frontendError = makeException(module, "FrontendError",
                                "(kind, message, hint): an error in the user's source.");
  compileError = makeException(module, "CompileError", "A stage of the compiler failed.");
  bindBuilder(module);
  bindReport(module); // before what takes one
  bindStages(module);
  bindInterpreter(module);
  if (bindMutants)
    bindMutants(module);
}
