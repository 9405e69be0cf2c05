// How a driver's library fails: the texts of metate_last_error() are libmetate's.
#include "support/status.h"

#include "driver/plugin.h"

#include <cstdarg>
#include <cstdio>

namespace metate {

metate_status fail(metate_status code, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return metate_device_fail(code, text);
}

metate_status failNull(const char *function, const char *argument) {
  return fail(METATE_E_NULL, "%s: argument '%s' is NULL", function, argument);
}

} // namespace metate
