/* A C11 host of a module: opens the file, asks for a type's size, brings its own memory through a
 * counting allocator, binds two instances, runs kernels on both, and reads what they wrote. Then
 * the errors that a host meets. Links libmetate and nothing else. */
#include "metate/metate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char *what, int line) {
  if (condition)
    return;
  fprintf(stderr, "line %d: expected %s (last error: %s)\n", line, what, metate_last_error());
  ++failures;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)
#define EXPECT_OK(call) expect((call) == METATE_OK, #call, __LINE__)
#define EXPECT_FAILS(code, call, piece)                                                            \
  do {                                                                                             \
    expect((call) == (code), #call " gives " #code, __LINE__);                                     \
    expect(strstr(metate_last_error(), piece) != NULL, "'" piece "' in the text", __LINE__);       \
  } while (0)

typedef struct counter {
  size_t live, total;
} counter;

static void *count_allocate(void *self, size_t bytes, size_t align) {
  counter *count = self;
  if (align < 16)
    align = 16;
  count->live += bytes;
  count->total += bytes;
  return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void count_release(void *self, void *pointer, size_t bytes, size_t align) {
  (void)align;
  ((counter *)self)->live -= bytes;
  free(pointer);
}

/* Counts the lines, and those that are what the caller waits for. */
static size_t lines = 0, found = 0;
static const char *wanted = "";
static void print_text(void *self, const char *text, size_t bytes) {
  (void)self;
  ++lines;
  found += strlen(text) == bytes && strcmp(text, wanted) == 0;
}

static metate_argument tree_argument(metate_tree *tree) {
  metate_argument argument = {.kind = METATE_ARGUMENT_TREE, .value = {.tree = tree}};
  return argument;
}

static metate_argument f32_argument(float value) {
  metate_argument argument = {
      .kind = METATE_ARGUMENT_SCALAR, .dtype = METATE_F32, .rows = 1, .columns = 1};
  memcpy(&argument.value.bits, &value, sizeof value);
  return argument;
}

static void run(metate_module *module, metate_device *device, counter *count) {
  const metate_type *type = NULL;
  const metate_kernel *fill = NULL, *run1 = NULL;
  EXPECT_OK(metate_module_find_type(module, "ab_aos", &type));
  EXPECT_OK(metate_module_find_kernel(module, "fill", &fill));
  EXPECT_OK(metate_module_find_kernel(module, "run1", &run1));
  uint64_t bytes = 0, align = 0;
  EXPECT_OK(metate_type_size(type, NULL, &bytes, &align));

  metate_memory *memories[2];
  metate_tree *trees[2];
  for (int i = 0; i < 2; ++i) {
    size_t before = count->total;
    metate_memory_info about = {.struct_size = sizeof about};
    EXPECT_OK(metate_memory_create(device, bytes, align, &memories[i]));
    EXPECT(count->total - before >= bytes);
    EXPECT_OK(metate_memory_describe(memories[i], &about));
    EXPECT_OK(metate_tree_bind(type, about.data, about.bytes, NULL, METATE_BIND_RESET, &trees[i]));
    metate_argument arguments[2] = {tree_argument(trees[i]), f32_argument(i ? -1.0f : 2.0f)};
    EXPECT_OK(metate_kernel_launch(fill, arguments, 2));
  }
  uint32_t a = 0;
  EXPECT_OK(metate_type_find_member(type, "a", &a));
  for (int i = 0; i < 2; ++i) {
    float value = 0;
    const int64_t at[2] = {7, 7};
    EXPECT_OK(metate_tree_read(trees[i], a, at, 2, &value, sizeof value));
    EXPECT(value == (i ? -112.0f : 224.0f));
    lines = found = 0;
    wanted = i ? "I= [14, 14]  a*b= [-224.0, -448.0, -672.0]\n"
               : "I= [14, 14]  a*b= [448.0, 896.0, 1344.0]\n";
    metate_argument argument = tree_argument(trees[i]);
    EXPECT_OK(metate_kernel_launch(run1, &argument, 1));
    EXPECT(lines == 225);
    EXPECT(found == 1);
  }

  /* What goes wrong says so. */
  metate_memory_info about = {.struct_size = sizeof about};
  metate_tree *none = NULL;
  EXPECT_OK(metate_memory_describe(memories[0], &about));
  EXPECT_FAILS(METATE_E_ALREADY_BOUND,
               metate_tree_bind(type, about.data, about.bytes, NULL, METATE_BIND_RESET, &none),
               "ab_aos");
  EXPECT_FAILS(METATE_E_TOO_SMALL,
               metate_tree_bind(type, about.data, 100, NULL, METATE_BIND_RESET, &none), "100");
  EXPECT_FAILS(
      METATE_E_MISALIGNED,
      metate_tree_bind(type, (char *)about.data + 4, about.bytes, NULL, METATE_BIND_RESET, &none),
      "64");
  metate_argument wrong = f32_argument(1);
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, metate_kernel_launch(run1, &wrong, 1), "'f'");
  EXPECT_FAILS(METATE_E_NOT_FOUND, metate_module_find_kernel(module, "run9", &run1), "'run9'");
  EXPECT_FAILS(METATE_E_BUSY, metate_memory_destroy(memories[0]), "unbind");
  EXPECT_FAILS(METATE_E_BUSY, metate_device_close(device), "still open");

  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(metate_tree_unbind(trees[i]));
    EXPECT_OK(metate_memory_destroy(memories[i]));
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: c_host FILE.metate\n");
    return 2;
  }
  counter count = {0, 0};
  metate_allocator allocator = {&count, count_allocate, count_release};
  metate_print_sink sink = {NULL, print_text};
  metate_device_hooks hooks = {
      .struct_size = sizeof hooks, .allocator = &allocator, .print = &sink};
  metate_device *device = NULL;
  metate_module *module = NULL;
  EXPECT(metate_abi_version() == METATE_ABI_VERSION);
  EXPECT_OK(metate_device_open(&hooks, &device));
  EXPECT_FAILS(METATE_E_IO, metate_module_open_file(device, "/no/such/file", 0, &module),
               "/no/such/file");
  EXPECT_OK(metate_module_open_file(device, argv[1], 0, &module));
  if (module) {
    run(module, device, &count);
    EXPECT_OK(metate_module_close(module));
  }
  EXPECT_OK(metate_device_close(device));
  EXPECT(count.live == 0);
  return failures ? 1 : 0;
}
