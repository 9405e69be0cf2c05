/* The RFC's program in plain C: opens the module, binds two instances of each tree type in memory of
 * its own, launches the kernels, prints what they print. With --errors it makes every mistake that
 * the library must catch and prints status and text of each. Links libmetate only. */
#include "metate/metate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that must succeed. */
#define CHECK(call) check((call), #call)
static void check(metate_status status, const char *call) {
  if (status == METATE_OK)
    return;
  fprintf(stderr, "%s: %s: %s\n", call, metate_status_name(status), metate_last_error());
  exit(1);
}

static void write_text(void *self, const char *text, size_t bytes) {
  fwrite(text, 1, bytes, (FILE *)self);
}

static metate_argument tree_argument(metate_tree *tree) {
  metate_argument argument = {.kind = METATE_ARGUMENT_TREE};
  argument.value.tree = tree;
  return argument;
}

static metate_argument f32_argument(float value) {
  metate_argument argument = {
      .kind = METATE_ARGUMENT_SCALAR, .dtype = METATE_F32, .rows = 1, .columns = 1};
  memcpy(&argument.value.bits, &value, sizeof value);
  return argument;
}

/* Memory and tree of one instance. */
typedef struct instance {
  void *memory;
  uint64_t bytes;
  metate_tree *tree;
} instance;

static instance make_instance(const metate_type *type) {
  instance made;
  uint64_t align;
  CHECK(metate_type_size(type, NULL, &made.bytes, &align));
  made.bytes = (made.bytes + align - 1) / align * align; /* what aligned_alloc asks for */
  made.memory = aligned_alloc(align, made.bytes);
  CHECK(metate_tree_bind(type, made.memory, made.bytes, NULL, METATE_BIND_RESET, &made.tree));
  return made;
}

static void free_instance(instance *used) {
  CHECK(metate_tree_unbind(used->tree));
  free(used->memory);
}

/* Fills two instances with different data and runs one kernel on both. */
static void run_type(const metate_module *module, const char *type_name, const char *fill_name,
                     const char *run_name) {
  const metate_type *type;
  const metate_kernel *fill, *run;
  CHECK(metate_module_find_type(module, type_name, &type));
  CHECK(metate_module_find_kernel(module, fill_name, &fill));
  CHECK(metate_module_find_kernel(module, run_name, &run));
  instance instances[2] = {make_instance(type), make_instance(type)};
  for (int n = 0; n < 2; ++n) {
    metate_argument arguments[2] = {tree_argument(instances[n].tree),
                                    f32_argument(n == 0 ? 1.0f : 10.0f)};
    CHECK(metate_kernel_launch(fill, arguments, 2));
  }
  for (int n = 0; n < 2; ++n) {
    metate_argument argument = tree_argument(instances[n].tree);
    printf("== %s %s %d\n", type_name, run_name, n);
    CHECK(metate_kernel_launch(run, &argument, 1));
  }
  free_instance(&instances[0]);
  free_instance(&instances[1]);
}

static void expect(const char *what, metate_status status) {
  printf("%s: %s: %s\n", what, metate_status_name(status),
         status == METATE_OK ? "" : metate_last_error());
}

static void make_mistakes(const metate_module *module) {
  const metate_type *aos, *soa;
  const metate_kernel *run1;
  const metate_type *no_type = NULL;
  const metate_kernel *no_kernel = NULL;
  metate_tree *no_tree = NULL;
  CHECK(metate_module_find_type(module, "ab_aos", &aos));
  CHECK(metate_module_find_type(module, "ab_soa", &soa));
  CHECK(metate_module_find_kernel(module, "run1", &run1));
  instance other = make_instance(soa);
  instance spare = make_instance(aos);
  metate_argument wrong = tree_argument(other.tree), null = tree_argument(NULL);

  expect("wrong type", metate_kernel_launch(run1, &wrong, 1));
  expect("null tree", metate_kernel_launch(run1, &null, 1));
  expect("null arguments", metate_kernel_launch(run1, NULL, 1));
  expect("too few arguments", metate_kernel_launch(run1, NULL, 0));
  expect("double bind",
         metate_tree_bind(aos, spare.memory, spare.bytes, NULL, METATE_BIND_RESET, &no_tree));
  CHECK(metate_tree_unbind(spare.tree));
  expect("too small", metate_tree_bind(aos, spare.memory, 64, NULL, METATE_BIND_RESET, &no_tree));
  expect("misaligned", metate_tree_bind(aos, (char *)spare.memory + 8, spare.bytes - 8, NULL,
                                        METATE_BIND_RESET, &no_tree));
  expect("null memory",
         metate_tree_bind(aos, NULL, spare.bytes, NULL, METATE_BIND_RESET, &no_tree));
  expect("unknown type", metate_module_find_type(module, "ab_aso", &no_type));
  expect("unknown kernel", metate_module_find_kernel(module, "run3", &no_kernel));
  expect("null name", metate_module_find_kernel(module, NULL, &no_kernel));
  free(spare.memory);
  free_instance(&other);
  if (no_tree || no_type || no_kernel)
    printf("an out-parameter was written on failure\n");
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: host_c MODULE.metate [--errors]\n");
    return 2;
  }
  metate_print_sink sink = {.self = stdout, .text = write_text};
  metate_device_hooks hooks = {.struct_size = sizeof hooks, .print = &sink};
  metate_device *device;
  metate_module *module;
  CHECK(metate_device_open(&hooks, &device));
  CHECK(metate_module_open_file(device, argv[1], 0, &module));
  if (argc > 2 && strcmp(argv[2], "--errors") == 0) {
    make_mistakes(module);
  } else {
    run_type(module, "ab_aos", "fill1", "run1");
    run_type(module, "ab_soa", "fill2", "run2");
  }
  CHECK(metate_module_close(module));
  CHECK(metate_device_close(device));
  return 0;
}
