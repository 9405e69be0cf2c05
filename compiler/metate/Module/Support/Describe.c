/* What tvm-ffi asks of a function beside calling it: its metadata and its documentation, texts that libtvm_ffi makes
 * strings of. Who asks has it. */
#include "metate/Module/Support/Call.h"

typedef struct byte_array {
  const char *data;
  uint64_t bytes;
} byte_array;

typedef int32_t make_string(const byte_array *text, metate_ffi_any *result);
extern int32_t TVMFFIStringFromByteArray(const byte_array *text, metate_ffi_any *result)
    __attribute__((weak, visibility("default")));

int32_t metate_support_give_text(const char *text, uint64_t bytes, metate_ffi_any *result) {
  const byte_array array = {text, bytes};
  make_string *make = TVMFFIStringFromByteArray;
  if (!make)
    make = (make_string *)symbol_of_process("TVMFFIStringFromByteArray");
  return make ? make(&array, result) : -1;
}
