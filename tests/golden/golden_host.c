/* Links an object that a released version wrote: a direct call, a launch by libmetate, a tree in memory of the program's. */
#include "golden.h"

#include "metate/metate.h"

#include <stdio.h>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    int status = (call);                                                                           \
    if (status) {                                                                                  \
      fprintf(stderr, "%s: %d %s\n", #call, status, metate_last_error());                          \
      return 1;                                                                                    \
    }                                                                                              \
  } while (0)

_Alignas(
    64) static unsigned char block[golden_levels_BYTES < 4000000 ? golden_levels_BYTES : 4000000];

int main(void) {
  const float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
  float y[2];
  CHECK(golden_norms(&x[0][0], 2, y, NULL, NULL));
  printf("%g\n%g\n", (double)y[0], (double)y[1]);

  CHECK(golden_levels_reset(block, sizeof block));
  CHECK(golden_paint(block, NULL, NULL));
  metate_device *device = NULL;
  metate_module *module = NULL;
  const metate_kernel *kernel = NULL;
  const metate_type *type = NULL;
  metate_tree *tree = NULL;
  CHECK(metate_device_open(NULL, &device));
  CHECK(metate_module_open_static(device, golden_module.descriptor, golden_module.bytes,
                                  golden_module.entries, golden_module.entry_count, &module));
  CHECK(metate_module_find_kernel(module, "weigh", &kernel));
  CHECK(metate_module_find_type(module, "levels", &type));
  CHECK(metate_tree_bind(type, block, sizeof block, NULL, METATE_BIND_ADOPT, &tree));
  int64_t out[4] = {0, 0, 0, 0}, shape[1] = {4};
  metate_array array = {.data = out, .shape = shape, .rank = 1, .dtype = METATE_I64};
  metate_argument arguments[2] = {
      {.kind = METATE_ARGUMENT_TREE, .rows = 1, .columns = 1},
      {.kind = METATE_ARGUMENT_NDARRAY, .dtype = METATE_I64, .rows = 1, .columns = 1}};
  arguments[0].value.tree = tree;
  arguments[1].value.array = &array;
  CHECK(metate_kernel_launch(kernel, arguments, 2));
  printf("%lld\n%lld\n", (long long)out[0], (long long)out[1]);
  CHECK(metate_tree_unbind(tree));
  CHECK(metate_module_close(module));
  CHECK(metate_device_close(device));
  return 0;
}
