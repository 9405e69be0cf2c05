// The map from statuses to exception classes. metate.errors is imported when
// something fails, not before.
#include "Status.h"

namespace metate::python {
namespace {

const char *className(int32_t status, Subject subject) {
  switch (status) {
  case METATE_E_NULL:
  case METATE_E_INVALID_ARGUMENT:
  case METATE_E_CORRUPT:
  case METATE_E_NOT_FOUND:
    if (subject == Subject::Tree)
      return "TreeError";
    return status == METATE_E_NOT_FOUND ? "RuntimeLookupError_" : "RuntimeValueError_";
  case METATE_E_TYPE_MISMATCH:
    return "RuntimeTypeError_";
  case METATE_E_TOO_SMALL:
  case METATE_E_MISALIGNED:
  case METATE_E_ALREADY_BOUND:
    return "TreeError";
  case METATE_E_CAPACITY:
    return "CapacityError";
  case METATE_E_IO:
    return "RuntimeIOError_";
  case METATE_E_ASSERT:
    return "AssertionError_";
  case METATE_E_DIVISION_BY_ZERO:
    return "ZeroDivisionError_";
  case METATE_E_ALIAS:
    return "RuntimeValueError_";
  case METATE_E_OUT_OF_RANGE:
    return "RuntimeIndexError_";
  default: // version, unsupported, out of memory, busy, internal: nothing more
           // specific to catch
    return "RuntimeError_";
  }
}

void setNamed(const char *name, const std::string &text, int32_t status) {
  try {
    nb::object type = nb::module_::import_("metate.errors").attr(name);
    nb::object value = type(text, nb::arg("status") = status);
    PyErr_SetObject(type.ptr(), value.ptr());
  } catch (nb::python_error &error) {
    error.restore();
  }
}

} // namespace

void setError(int32_t status, const std::string &text, Subject subject) {
  if (status == METATE_E_INTERRUPTED) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return;
  }
  setNamed(className(status, subject), text.empty() ? metate_status_name(status) : text, status);
}

void throwError(int32_t status, Subject subject) {
  setError(status, metate_last_error(), subject);
  throw nb::python_error();
}

void throwNamed(const char *name, const std::string &text, int32_t status) {
  setNamed(name, text, status);
  throw nb::python_error();
}

} // namespace metate::python
