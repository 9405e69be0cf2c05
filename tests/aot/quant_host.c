/* Quantised members in this program's own memory, by the accessors of the generated header alone: reads values of all members from a
 * file, as often as there are some, sets them, and writes what it gets, of the members as they are then and after a kernel. With
 * WITH_METATE a second block is written by libmetate: bytes and numbers must be the same. C99 and C++. */
#include "quant.h"

#include "members.h" /* MEMBERS(X): X(name, type) of the tree `numbers` */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_METATE
#include <metate/metate.h>
#endif

enum { COUNT = 64 };

static void expect(int holds, const char *what) {
  if (holds)
    return;
#ifdef WITH_METATE
  fprintf(stderr, "failed: %s (%s)\n", what, metate_last_error());
#else
  fprintf(stderr, "failed: %s\n", what);
#endif
  exit(1);
}

static unsigned char memory[quant_numbers_BYTES + 64];

static void *aligned(unsigned char *bytes) { return bytes + (64 - (uintptr_t)bytes % 64) % 64; }

#ifdef WITH_METATE
static unsigned char more[quant_numbers_BYTES + 64], others[quant_nested_BYTES + 64];
static metate_tree *second;

static metate_tree *bound(const metate_module *module, const char *name, unsigned char *bytes,
                          uint64_t count) {
  const metate_type *type = NULL;
  metate_tree *tree = NULL;
  expect(metate_module_find_type(module, name, &type) == METATE_OK, "a type");
  expect(metate_tree_bind(type, aligned(bytes), count, NULL, METATE_BIND_RESET, &tree) == METATE_OK,
         "a tree");
  return tree;
}

static uint32_t level_of(const metate_tree *tree, const char *name) {
  metate_tree_description about;
  uint32_t level = 0;
  memset(&about, 0, sizeof about);
  about.struct_size = sizeof about;
  expect(metate_tree_describe(tree, &about) == METATE_OK, "a description");
  expect(metate_type_find_member(about.type, name, &level) == METATE_OK, name);
  return level;
}

static void write_value(const char *name, int64_t i, const void *value, size_t bytes) {
  expect(metate_tree_write(second, level_of(second, name), &i, 1, value, bytes) == METATE_OK, name);
}

static void check_value(const char *name, int64_t i, const void *value, size_t bytes) {
  unsigned char found[8];
  expect(metate_tree_read(second, level_of(second, name), &i, 1, found, bytes) == METATE_OK, name);
  expect(memcmp(found, value, bytes) == 0, name);
}
#else
static void write_value(const char *name, int64_t i, const void *value, size_t bytes) {
  (void)name, (void)i, (void)value, (void)bytes;
}
static void check_value(const char *name, int64_t i, const void *value, size_t bytes) {
  (void)name, (void)i, (void)value, (void)bytes;
}
#endif

/* 0: the file has no more values. */
#define SET(name, type)                                                                            \
  static int set_##name(void *block, FILE *from) {                                                 \
    type given[COUNT];                                                                             \
    if (fread(given, sizeof given, 1, from) != 1)                                                  \
      return 0;                                                                                    \
    for (int64_t i = 0; i < COUNT; ++i) {                                                          \
      quant_numbers_##name##_set(block, i, given[i]);                                              \
      write_value(#name, i, &given[i], sizeof given[i]);                                           \
    }                                                                                              \
    return 1;                                                                                      \
  }
MEMBERS(SET)

#define GET(name, type)                                                                            \
  static void get_##name(const void *block, FILE *to) {                                            \
    for (int64_t i = 0; i < COUNT; ++i) {                                                          \
      const type value = quant_numbers_##name##_get(block, i);                                     \
      check_value(#name, i, &value, sizeof value);                                                 \
      fwrite(&value, sizeof value, 1, to);                                                         \
    }                                                                                              \
  }
MEMBERS(GET)

static int set_all(void *block, FILE *from) {
  int more_values = 1;
#define SET_ONE(name, type) more_values = more_values && set_##name(block, from);
  MEMBERS(SET_ONE)
  return more_values;
}

static void get_all(const void *block, FILE *to) {
#define GET_ONE(name, type) get_##name(block, to);
  MEMBERS(GET_ONE)
}

#ifdef WITH_METATE
/* Where levels nest: the same coordinates are the same element to libmetate and to the header, got and set. */
#define CHECK_PLACES(name, rows, columns, layers, get, set)                                        \
  static void check_##name(void *block, metate_tree *tree) {                                       \
    static int32_t given[(rows) * (columns) * (layers)], found[(rows) * (columns) * (layers)];     \
    const int64_t count = (int64_t)(sizeof given / sizeof given[0]);                               \
    int64_t i, j, k, n;                                                                            \
    for (n = 0; n < count; ++n)                                                                    \
      given[n] = (int32_t)(n * n % 29);                                                            \
    expect(metate_tree_write_dense(tree, level_of(tree, #name), given, sizeof given) == METATE_OK, \
           #name);                                                                                 \
    for (n = i = 0; i < (rows); ++i)                                                               \
      for (j = 0; j < (columns); ++j)                                                              \
        for (k = 0; k < (layers); ++k, ++n) {                                                      \
          expect((int32_t)get == given[n], "an element of " #name);                                \
          set;                                                                                     \
        }                                                                                          \
    expect(metate_tree_read_dense(tree, level_of(tree, #name), found, sizeof found) == METATE_OK,  \
           #name);                                                                                 \
    for (n = 0; n < count; ++n)                                                                    \
      expect(found[n] == given[count - 1 - n], "what was set of " #name);                          \
  }
CHECK_PLACES(a, 10, 12, 2, quant_nested_a_get(block, i, j, k),
             quant_nested_a_set(block, i, j, k, given[count - 1 - n]))
CHECK_PLACES(c, 6, 24, 5, quant_nested_c_get(block, i, j, k),
             quant_nested_c_set(block, i, j, k, given[count - 1 - n]))
CHECK_PLACES(e, 7, 1, 6, quant_nested_e_get(block, i, k),
             quant_nested_e_set(block, i, k, (uint32_t)given[count - 1 - n]))

static void check_nested(const metate_module *module) {
  void *block = aligned(others);
  metate_tree *tree = bound(module, "nested", others, quant_nested_BYTES);
  const int64_t at = 3;
  const int32_t kept = -9;
  expect(quant_nested_a_get(block, 9, 11, 1) == -7, "the background of a");
  check_a(block, tree);
  check_c(block, tree);
  check_e(block, tree);
  expect(quant_nested_b_get(block, 9, 11, 1) == 0, "what is beside a");
  /* Cells that may be inactive are read. */
  expect(metate_tree_write(tree, level_of(tree, "m"), &at, 1, &kept, sizeof kept) == METATE_OK,
         "m");
  expect(quant_nested_m_get(block, 3) == -9 && quant_nested_m_get(block, 4) == 0, "cells of m");
  expect(metate_tree_unbind(tree) == METATE_OK, "unbind");
}
#endif

int main(int count, char **arguments) {
  expect(count == 3, "usage: quant_host VALUES FOUND");
  FILE *from = fopen(arguments[1], "rb"), *to = fopen(arguments[2], "wb");
  expect(from && to, "files");
  void *block = aligned(memory);
  memset(memory, 0x5a, sizeof memory);
  expect(quant_numbers_reset(block, quant_numbers_BYTES) == 0, "reset");
#ifdef WITH_METATE
  metate_device *device = NULL;
  metate_module *module = NULL;
  expect(metate_device_open(NULL, &device) == METATE_OK, "device");
  expect(metate_module_open_static(device, quant_module.descriptor, quant_module.bytes,
                                   quant_module.entries, quant_module.entry_count,
                                   &module) == METATE_OK,
         "module");
  memset(more, 0x5a, sizeof more);
  second = bound(module, "numbers", more, quant_numbers_BYTES);
#endif
  while (set_all(block, from))
    get_all(block, to);
#ifdef WITH_METATE
  const size_t head = sizeof(metate_tree_header); /* it has counters */
  expect(memcmp((char *)block + head, (char *)aligned(more) + head, quant_numbers_BYTES - head) ==
             0,
         "the bytes that libmetate writes");
  const metate_kernel *kernel = NULL;
  metate_argument given[2];
  float by = 0.375f;
  memset(given, 0, sizeof given);
  given[0].kind = METATE_ARGUMENT_TREE;
  given[0].value.tree = second;
  given[1].kind = METATE_ARGUMENT_SCALAR;
  given[1].dtype = METATE_F32;
  given[1].rows = given[1].columns = 1;
  memcpy(&given[1].value.bits, &by, sizeof by);
  expect(metate_module_find_kernel(module, "mix", &kernel) == METATE_OK, "the kernel");
  expect(metate_kernel_launch(kernel, given, 2) == METATE_OK, "a launch");
#endif
  expect(quant_mix(block, 0.375f, NULL, NULL) == 0, "a call");
  get_all(block, to);
  for (int64_t i = 0; i < COUNT; ++i)
    expect(quant_numbers_plain_at(block, i)[0] == quant_numbers_s1_get(block, i), "plain");
#ifdef WITH_METATE
  check_nested(module);
  expect(metate_tree_unbind(second) == METATE_OK, "unbind");
  expect(metate_module_close(module) == METATE_OK, "close");
  expect(metate_device_close(device) == METATE_OK, "close of the device");
#endif
  fclose(from);
  return fclose(to);
}
