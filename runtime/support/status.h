// How the runtime fails: a status code with a text for the calling thread. Nothing here allocates
// or throws; the text is the only thread-local of the library.
#ifndef METATE_RUNTIME_SUPPORT_STATUS_H
#define METATE_RUNTIME_SUPPORT_STATUS_H

#include "metate/metate.h"

namespace metate {

// Records the text and returns the code, so that `return fail(...)` is one statement.
__attribute__((format(printf, 2, 3))) metate_status fail(metate_status code, const char *format,
                                                         ...);

// The text of `fail` for a required pointer that is NULL.
metate_status failNull(const char *function, const char *argument);

} // namespace metate

// Returns from the calling function when `expression` is not METATE_OK.
#define METATE_TRY(expression)                                                                     \
  do {                                                                                             \
    metate_status tried = (expression);                                                            \
    if (tried != METATE_OK)                                                                        \
      return tried;                                                                                \
  } while (0)

// A public function's required pointer.
#define METATE_REQUIRE(argument)                                                                   \
  do {                                                                                             \
    if (!(argument))                                                                               \
      return ::metate::failNull(__func__, #argument);                                              \
  } while (0)

// A public function's struct: present, and of the size this library knows. One size exists today;
// a later version accepts every size it ever had.
#define METATE_REQUIRE_STRUCT(argument)                                                            \
  do {                                                                                             \
    METATE_REQUIRE(argument);                                                                      \
    if ((argument)->struct_size != sizeof(*(argument)))                                            \
      return ::metate::fail(METATE_E_VERSION, "%s: %s->struct_size: expected %zu, got %u",         \
                            __func__, #argument, sizeof(*(argument)), (argument)->struct_size);    \
  } while (0)

#endif
