/* A session that keeps an object: how many references it has after each call, and what is raised. libtvm_ffi's functions stand here,
 * as tvm/ffi/c_api.h declares them. */
#include "ffi.h"
#include "kept.h"

#include <stdio.h>
#include <string.h>

typedef struct object {
  uint64_t references;
  int32_t type_index;
  uint32_t padding;
  void (*deleter)(void *self, int flags);
  tensor shown;
} object;

int TVMFFIObjectIncRef(void *own);
int TVMFFIObjectDecRef(void *own);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);

int TVMFFIObjectIncRef(void *own) {
  ++((object *)own)->references;
  return 0;
}
int TVMFFIObjectDecRef(void *own) {
  --((object *)own)->references;
  return 0;
}
static const char *raised = "";
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  (void)message;
  raised = strcmp(kind, "ValueError") ? "" : "ValueError";
}

int main(void) {
  static _Alignas(8) unsigned char memory[4096];
  static float x[4];
  const int64_t four = 4, bytes = sizeof memory;
  tensor own = make(memory, UINT, 8, 1, &bytes);
  object kept = {1, 70, 0, NULL, make(x, FLOAT, 32, 1, &four)};
  any result, given[3] = {of_tensor(&own), of_text("axpy")}, value = {70, 0, {.p = &kept}};
  if (__tvm_ffi_kept_session_open(NULL, given, 2, &result))
    return 1;
  printf("%d ", (int)kept.references);
  given[1] = of_text("x"), given[2] = value;
  if (__tvm_ffi_kept_session_set_input(NULL, given, 3, &result))
    return 1;
  printf("%d ", (int)kept.references);
  if (__tvm_ffi_kept_session_close(NULL, given, 1, &result))
    return 1;
  printf("%d %d\n", (int)kept.references, __tvm_ffi_kept_session_run(NULL, given, 1, &result) == 0);
  fputs(raised, stdout);
  return 0;
}
