/* A deterministic module on any number of threads: a cloud of points is scattered in parallel and summed. Prints
 * the sum's bits, those after a sort by the host, and the slots in use.
 * usage: order_host MODULE.metate THREADS */
#include <metate/metate.h>
#include <metate/metate_threads.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 20000 };

#define CHECK(call)                                                                                \
  do {                                                                                             \
    if ((call) != METATE_OK) {                                                                     \
      fprintf(stderr, "%s: %s\n", #call, metate_last_error());                                     \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static metate_argument array_of(metate_array *array) {
  return (metate_argument){.kind = METATE_ARGUMENT_NDARRAY, .value.array = array};
}

static uint32_t sum(const metate_kernel *kernel, metate_tree *tree) {
  float value = 0;
  int64_t shape = 1;
  metate_array out = {.dtype = METATE_F32, .rank = 1, .data = &value, .shape = &shape};
  metate_argument arguments[2] = {{.kind = METATE_ARGUMENT_TREE, .value.tree = tree},
                                  array_of(&out)};
  uint32_t bits;
  CHECK(metate_kernel_launch(kernel, arguments, 2));
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void fill(const metate_kernel *kernel, metate_tree *tree) {
  static int32_t at[POINTS][2];
  static float values[POINTS];
  uint32_t state = 1;
  for (int k = 0; k < POINTS; ++k) {
    state = state * 1664525u + 1013904223u;
    at[k][0] = k / 150 * 7 - 400; /* no cell twice */
    at[k][1] = k % 150 * 5 - 300;
    values[k] = (float)(int32_t)state / (float)(1u << (state >> 27));
  }
  int64_t shape[2] = {POINTS, 2};
  metate_array places = {.dtype = METATE_I32, .rank = 2, .data = at, .shape = shape};
  metate_array numbers = {.dtype = METATE_F32, .rank = 1, .data = values, .shape = shape};
  metate_argument arguments[3] = {
      {.kind = METATE_ARGUMENT_TREE, .value.tree = tree}, array_of(&places), array_of(&numbers)};
  CHECK(metate_kernel_launch(kernel, arguments, 3));
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  metate_executor executor;
  metate_device_hooks hooks = {.struct_size = sizeof hooks, .executor = &executor};
  metate_device *device;
  metate_module *module;
  metate_tree *tree;
  const metate_type *type;
  const metate_kernel *scatter, *total;
  CHECK(metate_threads_executor_create((uint32_t)atoi(argv[2]), &executor));
  CHECK(metate_device_open(&hooks, &device));
  CHECK(metate_module_open_file(device, argv[1], 0, &module));
  CHECK(metate_module_find_type(module, "cloud", &type));
  CHECK(metate_module_find_kernel(module, "scatter", &scatter));
  CHECK(metate_module_find_kernel(module, "total", &total));
  CHECK(metate_tree_new(type, NULL, &tree));
  fill(scatter, tree);
  uint32_t bits = sum(total, tree);
  CHECK(metate_tree_sort(tree)); /* they are in order */
  metate_pool_stats stats = {.struct_size = sizeof stats};
  CHECK(metate_tree_stats(tree, 0, &stats));
  printf("%08" PRIx32 " %08" PRIx32 " %" PRIu64 " %" PRIu64 "\n", bits, sum(total, tree),
         stats.used, stats.high_water);
  CHECK(metate_tree_unbind(tree));
  CHECK(metate_module_close(module));
  CHECK(metate_device_close(device));
  metate_threads_executor_destroy(&executor);
  return 0;
}
