// Statuses of libmetate as Python exceptions: the one place that maps them to
// metate.errors.
#ifndef METATE_BINDINGS_RUNTIME_STATUS_H
#define METATE_BINDINGS_RUNTIME_STATUS_H

#include <cstdint>
#include <nanobind/nanobind.h>
// In every file: a cast of a string where this is missing compiles, as another function of the same name.
#include <nanobind/stl/string.h>
#include <string>

#include "metate/metate.h"

namespace metate::python {

namespace nb = nanobind;

/// Which exception a status means depends on what was asked for: memory that is
/// no sound block is a TreeError, a file that is no sound module is not.
enum class Subject { Other, Tree };

/// Sets the Python exception for `status` with `text`; the GIL must be held.
void setError(int32_t status, const std::string &text, Subject subject = Subject::Other);

/// setError with the text of the last failed call, then throws it.
[[noreturn]] void throwError(int32_t status, Subject subject = Subject::Other);

/// Throws `className` of metate.errors with `text`.
[[noreturn]] void throwNamed(const char *className, const std::string &text, int32_t status);

/// Throws when `status` is not METATE_OK.
inline void check(int32_t status, Subject subject = Subject::Other) {
  if (status != METATE_OK)
    throwError(status, subject);
}

} // namespace metate::python

#endif
