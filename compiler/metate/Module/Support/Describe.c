/* What tvm-ffi asks of a function beside calling it: its metadata and its documentation, texts that libtvm_ffi makes
 * strings of. Who asks has it. */
#include "metate/Module/Support/Call.h"

typedef struct byte_array {
  const char *data;
  size_t bytes;
} byte_array;

typedef int make_string(const byte_array *text, metate_ffi_any *result);
extern int TVMFFIStringFromByteArray(const byte_array *text,
                                     metate_ffi_any *result) METATE_SUPPORT_WEAK;

int32_t metate_support_give_text(const char *text, uint64_t bytes, metate_ffi_any *result) {
  const byte_array array = {text, (size_t)bytes};
  make_string *make = METATE_SUPPORT_FOUND(make_string, TVMFFIStringFromByteArray);
  return make ? make(&array, result) : -1;
}
