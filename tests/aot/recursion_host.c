/* Kernels whose functions call themselves, from a file and linked in. Sorts numbers and prints them; the depth at which calls of a
 * debug module end; fibonacci of a direct call.
 * usage: recursion_host CALLS.metate DEBUG.metate */
#include "calls.h"

#include <metate/metate.h>

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000 };

#define CHECK(call)                                                                                \
  do {                                                                                             \
    if ((call) != METATE_OK) {                                                                     \
      fprintf(stderr, "%s: %s\n", #call, metate_last_error());                                     \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static metate_device *device;

static const metate_kernel *find(const char *path, const char *name, metate_module **module) {
  const metate_kernel *kernel;
  CHECK(metate_module_open_file(device, path, 0, module));
  CHECK(metate_module_find_kernel(*module, name, &kernel));
  return kernel;
}

static metate_status fibonacci(const metate_kernel *kernel, int32_t n, int32_t *result) {
  metate_array out = {.dtype = METATE_I32, .data = result};
  metate_argument arguments[2] = {{.kind = METATE_ARGUMENT_SCALAR,
                                   .dtype = METATE_I32,
                                   .rows = 1,
                                   .columns = 1,
                                   .value.bits = (uint32_t)n},
                                  {.kind = METATE_ARGUMENT_NDARRAY, .value.array = &out}};
  return metate_kernel_launch(kernel, arguments, 2);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  metate_device_hooks hooks = {.struct_size = sizeof hooks};
  CHECK(metate_device_open(&hooks, &device));
  metate_module *module, *debug;
  const metate_kernel *sort = find(argv[1], "sort", &module);
  int32_t numbers[COUNT], result = 0;
  uint32_t state = 1;
  for (int k = 0; k < COUNT; ++k)
    numbers[k] = (int32_t)((state = state * 1664525u + 1013904223u) >> 12);
  int64_t shape = COUNT;
  metate_array array = {.dtype = METATE_I32, .rank = 1, .data = numbers, .shape = &shape};
  metate_argument argument = {.kind = METATE_ARGUMENT_NDARRAY, .value.array = &array};
  CHECK(metate_kernel_launch(sort, &argument, 1));
  for (int k = 0; k < COUNT; ++k)
    printf("%d ", (int)numbers[k]);
  int32_t status = calls_number(20, &result, NULL, NULL);
  printf("\n%d %d\n", (int)status, (int)result);
  const metate_kernel *checked = find(argv[2], "number", &debug);
  CHECK(fibonacci(checked, 20, &result));
  printf("%d\n", (int)result);
  status = fibonacci(checked, 1 << 30, &result);
  printf("%d %s\n", status == METATE_E_OUT_OF_MEMORY, metate_last_error());
  CHECK(metate_module_close(module));
  CHECK(metate_module_close(debug));
  CHECK(metate_device_close(device));
  return 0;
}
