/* The test payload's own memcpy and memset: a real module calls no C library either. Under
   ThreadSanitizer the library's would see the copies of these kernels and not their atomics, which
   are not instrumented: a slot that one worker gave and another one took would look like a race. */
#include <stddef.h>

__attribute__((visibility("hidden"), no_builtin)) void *memcpy(void *to, const void *from,
                                                               size_t bytes) {
  for (size_t k = 0; k < bytes; ++k)
    ((char *)to)[k] = ((const char *)from)[k];
  return to;
}

__attribute__((visibility("hidden"), no_builtin)) void *memset(void *to, int value, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k)
    ((char *)to)[k] = (char)value;
  return to;
}
