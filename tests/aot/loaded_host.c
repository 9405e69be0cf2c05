/* A C program that loads levels.so while it runs, without a header, without libmetate, and without libtvm_ffi until it is asked
 * for:  loaded_host LEVELS.so [LIBTVM_FFI.so]
 *
 * The symbols that it uses are those of test_shared_objects.py's list. With libtvm_ffi, which comes into the process after the
 * module, it prints the error that a packed call leaves there. */
#include "ffi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_TVM_FFI
#include <tvm/ffi/c_api.h>
#endif

typedef int32_t packed(void *self, const void *arguments, int32_t count, void *result);
typedef int32_t direct(float a, const float *x, int64_t n, float *y, int64_t m, void *const *pools,
                       const void *host);

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (!address) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return address;
}

static int expect(int condition, const char *what) {
  if (!condition)
    fprintf(stderr, "expected %s\n", what);
  return !condition;
}

int main(int argc, char **argv) {
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) {
    fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: loaded_host LEVELS.so [LIBTVM_FFI.so]");
    return 2;
  }
  const int64_t shape[1] = {3};
  float x[3] = {1, 2, 3}, y[3] = {1, 1, 1};
  tensor of_x = make(x, FLOAT, 32, 1, shape), of_y = make(y, FLOAT, 32, 1, shape);
  any arguments[3] = {of_float(2), of_tensor(&of_x), of_tensor(&of_y)}, result = of_int(7);
  direct *axpy;
  packed *checked;
  *(void **)&axpy = symbol(library, "levels_axpy");
  *(void **)&checked = symbol(library, "__tvm_ffi_axpy");
  int wrong = expect(!dlsym(RTLD_DEFAULT, "TVMFFIErrorSetRaisedFromCStr"), "no libtvm_ffi");
  wrong += expect(!axpy(2, x, 3, y, 3, NULL, NULL) && y[2] == 7, "the direct entry to run");
  wrong += expect(!checked(NULL, arguments, 3, &result) && y[2] == 13, "the packed entry to run");
  wrong += expect(checked(NULL, arguments, 2, &result) == -1, "-1 for a missing argument");
  packed *describe;
  *(void **)&describe = symbol(library, "__tvm_ffi__metadata_axpy");
  wrong += expect(describe(NULL, NULL, 0, &result) == -1, "no text without libtvm_ffi");
#ifdef WITH_TVM_FFI
  if (argc > 2) {
    void *ffi = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
    if (!ffi) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    void (*take)(TVMFFIObjectHandle *);
    *(void **)&take = symbol(ffi, "TVMFFIErrorMoveFromRaised");
    wrong += expect(checked(NULL, arguments, 2, &result) == -1, "-1 again");
    TVMFFIObjectHandle error = NULL;
    take(&error);
    if (!error)
      return expect(0, "an error in libtvm_ffi");
    const TVMFFIErrorCell *cell =
        (const void *)((const char *)error + sizeof(TVMFFIObject)); /* behind the header */
    printf("%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size,
           cell->message.data);
  }
#endif
  dlclose(library);
  return wrong != 0;
}
