// Status names and the thread's last error text. This file must not know any object.
#include "support/status.h"

#include <cstdarg>
#include <cstdio>

namespace metate {

static thread_local char lastError[1024];

metate_status fail(metate_status code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(lastError, sizeof lastError, format, arguments);
  va_end(arguments);
  return code;
}

metate_status failNull(const char *function, const char *argument) {
  return fail(METATE_E_NULL, "%s: argument '%s' is NULL", function, argument);
}

} // namespace metate

const char *metate_last_error(void) { return metate::lastError; }

uint32_t metate_abi_version(void) { return METATE_ABI_VERSION; }

const char *metate_status_name(int32_t status) {
#define CASE(name)                                                                                 \
  case name:                                                                                       \
    return #name
  switch (status) {
    CASE(METATE_OK);
    CASE(METATE_E_NULL);
    CASE(METATE_E_INVALID_ARGUMENT);
    CASE(METATE_E_NOT_FOUND);
    CASE(METATE_E_TYPE_MISMATCH);
    CASE(METATE_E_TOO_SMALL);
    CASE(METATE_E_MISALIGNED);
    CASE(METATE_E_ALREADY_BOUND);
    CASE(METATE_E_CAPACITY);
    CASE(METATE_E_CORRUPT);
    CASE(METATE_E_VERSION);
    CASE(METATE_E_UNSUPPORTED);
    CASE(METATE_E_OUT_OF_MEMORY);
    CASE(METATE_E_IO);
    CASE(METATE_E_ASSERT);
    CASE(METATE_E_ALIAS);
    CASE(METATE_E_OUT_OF_RANGE);
    CASE(METATE_E_BUSY);
    CASE(METATE_E_INTERRUPTED);
    CASE(METATE_E_INTERNAL);
    CASE(METATE_E_DIVISION_BY_ZERO);
  }
#undef CASE
  return "METATE_E_?";
}

namespace {
struct DtypeRow {
  const char *name;
  uint32_t bytes;
};
// Indexed by metate_dtype.
constexpr DtypeRow dtypes[] = {{"?", 0},
#define METATE_DTYPE(NAME, code, name, bits, KIND, type) {#name, (bits + 7) / 8},
                               METATE_DTYPES(METATE_DTYPE)
#undef METATE_DTYPE
};
const DtypeRow &row(uint32_t dtype) {
  return dtypes[dtype < sizeof dtypes / sizeof *dtypes ? dtype : 0];
}
} // namespace

const char *metate_dtype_name(uint32_t dtype) { return row(dtype).name; }
uint32_t metate_dtype_bytes(uint32_t dtype) { return row(dtype).bytes; }
