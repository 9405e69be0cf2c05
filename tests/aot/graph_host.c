/* A graph in a C host, by each call level: direct, packed, and standard by libmetate. Prints a line of numbers each, then
 * what a failure in one of its kernels says. */
#include "graph.h"

#include "ffi.h"
#include "metate/metate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8 };

static char message[1024];
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) {
  snprintf(message, sizeof message, "%s: %s", kind, text);
}

static void show(const char *name, int32_t status, const float *x) {
  printf("%s %d", name, (int)status);
  for (int i = 0; i < N; ++i)
    printf(" %a", (double)x[i]);
  printf("\n");
}

static void *block(void) {
  void *memory = aligned_alloc(64, (graph_weights_BYTES + 63) / 64 * 64);
  if (!memory || graph_weights_reset(memory, graph_weights_BYTES))
    exit(2);
  return memory;
}

static int32_t direct(float *x, float v, int32_t turns, void *weights) {
  return graph_steps(x, N, v, turns, weights, NULL, NULL);
}

static int32_t packed(float *x, float v, int32_t turns, void *weights) {
  int64_t n = N;
  tensor array = make(x, FLOAT, 32, 1, &n);
  any arguments[4] = {of_tensor(&array), of_float(v), of_int(turns), of_block(weights)}, result;
  return __tvm_ffi_graph_steps(NULL, arguments, 4, &result);
}

static int32_t standard(float *x, float v, int32_t turns) {
  metate_device *device;
  metate_module *module;
  const metate_type *type;
  const metate_kernel *steps;
  metate_tree *tree;
  if (metate_device_open(NULL, &device) ||
      metate_module_open_static(device, graph_module.descriptor, graph_module.bytes,
                                graph_module.entries, graph_module.entry_count, &module) ||
      metate_module_find_kernel(module, "steps", &steps) ||
      metate_module_find_type(module, "weights", &type) || metate_tree_new(type, NULL, &tree))
    return -1;
  metate_kernel_description info = {.struct_size = sizeof info};
  if (metate_kernel_describe(steps, &info) || !(info.flags & METATE_KERNEL_GRAPH))
    return -2;
  int64_t n = N;
  metate_array array = {.dtype = METATE_F32, .rank = 1, .data = x, .shape = &n};
  metate_argument arguments[4] = {
      {.kind = METATE_ARGUMENT_NDARRAY, .value.array = &array},
      {.kind = METATE_ARGUMENT_SCALAR, .dtype = METATE_F32, .rows = 1, .columns = 1},
      {.kind = METATE_ARGUMENT_SCALAR, .dtype = METATE_I32, .rows = 1, .columns = 1},
      {.kind = METATE_ARGUMENT_TREE, .value.tree = tree}};
  memcpy(&arguments[1].value.bits, &v, sizeof v);
  memcpy(&arguments[2].value.bits, &turns, sizeof turns);
  int32_t status = metate_kernel_launch(steps, arguments, 4);
  if (status)
    snprintf(message, sizeof message, "%s", metate_last_error());
  metate_tree_unbind(tree);
  metate_module_close(module);
  metate_device_close(device);
  return status;
}

int main(void) {
  float x[N];
  void *weights = block();
  show("direct", direct(x, 0.5f, 3, weights), x);
  graph_weights_reset(weights, graph_weights_BYTES);
  show("packed", packed(x, 0.5f, 3, weights), x);
  show("standard", standard(x, 0.5f, 3), x);
  printf("%d\n", direct(x, 1e9f, 3, weights));
  printf("%d %s\n", packed(x, 1e9f, 3, weights), message);
  printf("%d %s\n", standard(x, 1e9f, 3), message);
  free(weights);
  return 0;
}
