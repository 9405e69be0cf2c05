/* The standard level of levels_host: an object's module through libmetate, and libmetate's view of its blocks.
 * Without WITH_METATE there is nothing of it. */
#include "levels_host.h"

#ifdef WITH_METATE
METATE_STATIC_ASSERT(offsetof(metate_tree_header, topology) == 96, "where topology_of reads");

static metate_module *opened;
static void launch(const char *name, const metate_argument *arguments, uint32_t count) {
  const metate_kernel *kernel = NULL;
  EXPECT(!metate_module_find_kernel(opened, name, &kernel));
  expect(metate_kernel_launch(kernel, arguments, count) == METATE_OK, metate_last_error(),
         __LINE__);
}

static metate_array as_array(void *data, uint32_t dtype, uint32_t rank, const int64_t *shape) {
  metate_array array = {data, dtype, rank, 0, 0, shape, NULL};
  return array;
}
static metate_argument array_argument(const metate_array *array) {
  metate_argument argument = {.kind = METATE_ARGUMENT_NDARRAY, .value = {.array = array}};
  return argument;
}
static metate_argument scalar(uint32_t dtype, const void *value, size_t bytes) {
  metate_argument argument = {
      .kind = METATE_ARGUMENT_SCALAR, .dtype = dtype, .rows = 1, .columns = 1};
  memcpy(&argument.value.bits, value, bytes);
  return argument;
}
static metate_argument matrix(uint32_t dtype, uint32_t rows, uint32_t columns, const void *data) {
  metate_argument argument = {METATE_ARGUMENT_VECTOR, dtype, rows, columns, {.elements = data}};
  return argument;
}
static metate_argument tree(metate_tree *bound) {
  metate_argument argument = {.kind = METATE_ARGUMENT_TREE, .value = {.tree = bound}};
  return argument;
}

static metate_tree *bind(const char *name, void *memory, uint64_t bytes, uint32_t flags) {
  const metate_type *type = NULL;
  metate_tree *bound = NULL;
  EXPECT(!metate_module_find_type(opened, name, &type));
  expect(metate_tree_bind(type, memory, bytes, NULL, flags, &bound) == METATE_OK,
         metate_last_error(), __LINE__);
  return bound;
}

static void run_standard(outputs *out) {
  start(out);
  const float a = 2.5f;
  metate_array x = as_array(in.x, METATE_F32, 1, n), y = as_array(out->y, METATE_F32, 1, n);
  launch("axpy",
         (metate_argument[]){scalar(METATE_F32, &a, 4), array_argument(&x), array_argument(&y)}, 3);
  metate_array values = as_array(in.matrix, METATE_F64, 2, shape2);
  metate_array total = as_array(&out->total, METATE_F64, 0, NULL);
  launch("total", (metate_argument[]){array_argument(&values), array_argument(&total)}, 2);
  const uint8_t u1 = 1;
  const int8_t i8 = -100;
  const uint16_t u16 = 65535, f16 = 0x3e00;
  const int64_t i64 = -((int64_t)1 << 40);
  const uint32_t u32 = 4000000000u;
  const double f64 = 0.1;
  metate_array scalars = as_array(out->scalars, METATE_F64, 1, seven);
  launch("scalars",
         (metate_argument[]){scalar(METATE_U1, &u1, 1), scalar(METATE_I8, &i8, 1),
                             scalar(METATE_U16, &u16, 2), scalar(METATE_I64, &i64, 8),
                             scalar(METATE_U32, &u32, 4), scalar(METATE_F64, &f64, 8),
                             scalar(METATE_F16, &f16, 2), array_argument(&scalars)},
         8);
  metate_array from = as_array(in.points, METATE_F32, 2, points),
               to = as_array(out->turned, METATE_F32, 2, points);
  launch("turn",
         (metate_argument[]){matrix(METATE_F64, 2, 2, in.m), matrix(METATE_F32, 3, 1, in.by),
                             array_argument(&from), array_argument(&to)},
         4);
  metate_tree *bound = bind("sparse", sparse, sizeof sparse, METATE_BIND_RESET);
  launch("paint", (metate_argument[]){tree(bound), scalar(METATE_F32, &in.scale, 4)}, 2);
  metate_array weight = as_array(&out->weight, METATE_F32, 0, NULL);
  launch("weight", (metate_argument[]){tree(bound), array_argument(&weight)}, 2);
  EXPECT(!metate_tree_unbind(bound));
  const int32_t five = 5, two = 2;
  metate_array positive = as_array(&out->positive, METATE_I32, 0, NULL);
  launch("positive",
         (metate_argument[]){scalar(METATE_I32, &five, 4), scalar(METATE_I32, &two, 4),
                             array_argument(&positive)},
         3);
  bound = bind("filled", filled, sizeof filled, METATE_BIND_ADOPT); /* as the object reset it */
  metate_array untouched = as_array(out->untouched, METATE_F64, 1, seven);
  launch("untouched", (metate_argument[]){tree(bound), array_argument(&untouched)}, 2);
  EXPECT(!metate_tree_unbind(bound));
  particle *all = out->particles, *top = &out->heaviest;
  const double quarter = 0.25;
  const int32_t one = 1;
  metate_array pos = {all->pos, METATE_F32, 2, 0, 0, count, by_pos},
               mass = {&all->mass, METATE_F64, 1, 0, 0, count, by_mass},
               members = {&all->kind, METATE_I32, 1, 0, 0, count, by_kind},
               top_pos = as_array(top->pos, METATE_F32, 1, three),
               top_mass = as_array(&top->mass, METATE_F64, 0, NULL),
               top_kind = as_array(&top->kind, METATE_I32, 0, NULL);
  launch("push",
         (metate_argument[]){matrix(METATE_F32, 3, 1, in.by), scalar(METATE_F64, &quarter, 8),
                             scalar(METATE_I32, &one, 4), array_argument(&pos),
                             array_argument(&mass), array_argument(&members),
                             array_argument(&top_pos), array_argument(&top_mass),
                             array_argument(&top_kind)},
         9);
  metate_array rotated = as_array(out->rotated, METATE_I32, 1, ten);
  launch("rotate", (metate_argument[]){array_argument(&rotated), array_argument(&rotated)}, 2);
}

/* An entry that libmetate hands out settles what it changes as a launch does. */
static void call_an_entry(void) {
  const metate_kernel *kernel = NULL;
  metate_kernel_description about = {.struct_size = sizeof about};
  metate_entry entry = NULL;
  EXPECT(!metate_module_find_kernel(opened, "paint", &kernel));
  EXPECT(!metate_kernel_describe(kernel, &about) && about.slot_count == 2);
  EXPECT(!metate_kernel_direct(kernel, about.signature, &entry));
  metate_tree *bound = bind("sparse", sparse, sizeof sparse, METATE_BIND_RESET);
  metate_tree_description before = {.struct_size = sizeof before}, after = before;
  metate_slot slots[2] = {{.p = sparse}, {.u = 0}};
  slots[1].f = in.scale;
  for (int times = 0; times < 2; ++times) {
    EXPECT(!metate_tree_describe(bound, &before));
    EXPECT(entry && !entry(slots, NULL, NULL));
    EXPECT(!metate_tree_describe(bound, &after));
    EXPECT(after.topology_version == before.topology_version + (times == 0));
  }
  EXPECT(!metate_tree_unbind(bound));
}

/* The object's reset and libmetate's leave the same bytes. */
static void compare_blocks(const char *name, uint64_t bytes, int32_t (*reset)(void *, uint64_t)) {
  const metate_type *type = NULL;
  uint64_t size = 0, align = 0;
  EXPECT(!metate_module_find_type(opened, name, &type));
  EXPECT(!metate_type_size(type, NULL, &size, &align));
  EXPECT(size == bytes);
  unsigned char *mine = aligned_alloc(64, bytes), *theirs = aligned_alloc(64, bytes);
  memset(mine, 0, bytes);
  memset(theirs, 0, bytes);
  EXPECT(!reset(mine, bytes));
  metate_tree *bound = bind(name, theirs, bytes, METATE_BIND_RESET);
  expect(memcmp(mine, theirs, bytes) == 0, name, __LINE__);
  EXPECT(!metate_tree_unbind(bound));
  free(mine);
  free(theirs);
}

/* ---- the direct level with the hooks of metate/abi/kernel.h ---- */

typedef struct calls {
  int tasks, chunks;
  int64_t iterations;
  char printed[128];
} calls;

/* As an executor with one thread would: chunks of the grain, the last one first. */
static int32_t in_chunks(void *self, int64_t total, int64_t grain, uint32_t max_workers,
                         metate_task_body body, void *context) {
  calls *seen = self;
  int64_t step = grain < total / 4 ? total / 4 : grain;
  EXPECT(max_workers <= 16);
  ++seen->tasks;
  int64_t first = (total - 1) / step * step;
  for (; first >= 0; first -= step) {
    ++seen->chunks;
    int64_t end = first + step < total ? first + step : total;
    seen->iterations += end - first;
    int32_t code = body(context, first, end, 0);
    if (code)
      return code;
  }
  return METATE_OK;
}

static void print(void *self, const metate_print_item *items, uint32_t number) {
  char *to = ((calls *)self)->printed;
  size_t used = 0;
  for (uint32_t k = 0; k < number; ++k)
    if (items[k].kind == METATE_PRINT_TEXT)
      used += (size_t)snprintf(to + used, 128 - used, "%s", items[k].value.text);
    else if (items[k].kind == METATE_PRINT_F32)
      used += (size_t)snprintf(to + used, 128 - used, "%g", items[k].value.d);
}

void hooks_of_the_direct_level(void) {
  calls seen = {0};
  metate_failure failure = {.code = METATE_OK};
  metate_host host = {.struct_size = sizeof host,
                      .executor_self = &seen,
                      .parallel_for = in_chunks,
                      .print_self = &seen,
                      .print = print,
                      .failure = &failure};
  enum { LONG_ROW = 1 << 20 };
  static float x[LONG_ROW], y[LONG_ROW];
  for (int k = 0; k < LONG_ROW; ++k)
    x[k] = (float)(k % 100);
  EXPECT(!levels_axpy(2, x, LONG_ROW, y, LONG_ROW, NULL, &host));
  EXPECT(seen.tasks == 1 && seen.chunks > 1 && seen.iterations == LONG_ROW);
  int wrong = 0;
  for (int k = 0; k < LONG_ROW; ++k)
    wrong += y[k] != 2 * x[k];
  EXPECT(wrong == 0);
  EXPECT(!levels_report(x, LONG_ROW, NULL, &host));
  expect(strcmp(seen.printed, "x[3] is 3\n") == 0, seen.printed, __LINE__);
  EXPECT(failure.code == METATE_OK);
  x[7] = 2000;
  EXPECT(levels_report(x, LONG_ROW, NULL, &host) == METATE_E_ASSERT);
  EXPECT(failure.code == METATE_E_ASSERT);
  const metate_descriptor *head = levels_module.descriptor;
  EXPECT(failure.text < head->texts.count);
  const metate_text *place =
      (const metate_text *)((const char *)head + head->texts.offset) + failure.text;
  EXPECT(strcmp((const char *)head + place->text, "x is too large") == 0);
}

/* ---- blocks ---- */

/* A tree in less memory than it could use: sound for libmetate, with about the slots that it would choose. */
static void compare_small_blocks(const char *name, uint64_t natural,
                                 int32_t (*reset)(void *, uint64_t)) {
  const metate_type *type = NULL;
  EXPECT(!metate_module_find_type(opened, name, &type));
  metate_type_description about = {.struct_size = sizeof about};
  EXPECT(!metate_type_describe(type, &about));
  int possible = 0;
  for (uint64_t bytes = 64; bytes < natural; bytes += natural / 400 + 1) {
    uint32_t wanted[8];
    int fits = metate_type_fit(type, NULL, bytes, about.pool_count, wanted) == METATE_OK;
    unsigned char *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(memory, 0x33, bytes);
    int32_t code = reset(memory, bytes);
    expect(code == 0 || (code == METATE_E_TOO_SMALL && (!fits || wanted[0] < 3)), name, __LINE__);
    if (code == 0) {
      ++possible;
      metate_tree *bound = NULL;
      expect(metate_tree_bind(type, memory, bytes, NULL, METATE_BIND_ADOPT, &bound) == METATE_OK,
             metate_last_error(), __LINE__);
      for (uint32_t pool = 0; bound && pool < about.pool_count; ++pool) {
        metate_pool_stats stats = {.struct_size = sizeof stats};
        EXPECT(!metate_tree_stats(bound, pool, &stats));
        EXPECT(stats.capacity + 3 >= wanted[pool] * 9 / 10 || pool + 1 < about.pool_count);
      }
      EXPECT(!bound || !metate_tree_unbind(bound));
    }
    free(memory);
  }
  EXPECT(possible > 5);
}

/* The header's addresses are where libmetate reads. */
static void compare_addresses(void) {
  unsigned char *memory = aligned_alloc(64, levels_nested_BYTES);
  EXPECT(!levels_nested_reset(memory, levels_nested_BYTES));
  for (int64_t i = 0; i < 10; ++i)
    for (int64_t j = 0; j < 12; ++j)
      for (int64_t k = 0; k < 2; ++k) {
        *levels_nested_b_at(memory, i, j, k) = (uint8_t)(i * 24 + j * 2 + k);
        for (int c = 0; c < 3; ++c)
          levels_nested_v_at(memory, i, j, k)[c] = (float)(c + 10 * (i * 24 + j * 2 + k));
      }
  for (int64_t l = 0; l < 6; ++l)
    *levels_nested_far_at(memory, l) = 0.5 * (double)l;
  metate_tree *bound = bind("nested", memory, levels_nested_BYTES, METATE_BIND_ADOPT);
  const metate_type *type = NULL;
  uint32_t b = 0, v = 0, far = 0;
  EXPECT(!metate_module_find_type(opened, "nested", &type));
  EXPECT(!metate_type_find_member(type, "b", &b) && !metate_type_find_member(type, "v", &v) &&
         !metate_type_find_member(type, "far", &far));
  int wrong = 0;
  for (int64_t i = 0; i < 10; ++i)
    for (int64_t j = 0; j < 12; ++j)
      for (int64_t k = 0; k < 2; ++k) {
        const int64_t at[3] = {i, j, k};
        uint8_t byte = 0;
        float vector[3] = {0, 0, 0};
        wrong += metate_tree_read(bound, b, at, 3, &byte, 1) || byte != i * 24 + j * 2 + k;
        wrong += metate_tree_read(bound, v, at, 3, vector, 12) ||
                 vector[2] != (float)(2 + 10 * (i * 24 + j * 2 + k));
      }
  for (int64_t l = 0; l < 6; ++l) {
    double value = -1;
    wrong += metate_tree_read(bound, far, &l, 1, &value, 8) || value != 0.5 * (double)l;
  }
  EXPECT(wrong == 0);
  EXPECT(!metate_tree_unbind(bound));
  free(memory);
}

void standard_level(const outputs *wanted) {
  metate_device *device = NULL;
  outputs out;
  EXPECT(!metate_device_open(NULL, &device));
  expect(metate_module_open_static(device, levels_module.descriptor, levels_module.bytes,
                                   levels_module.entries, levels_module.entry_count,
                                   &opened) == METATE_OK,
         metate_last_error(), __LINE__);
  if (!opened)
    return;
  run_standard(&out);
  EXPECT(memcmp(&out, wanted, sizeof out) == 0);
  compare_blocks("sparse", levels_sparse_BYTES, levels_sparse_reset);
  compare_blocks("filled", levels_filled_BYTES, levels_filled_reset);
  compare_blocks("large", levels_large_BYTES, levels_large_reset);
  compare_blocks("nested", levels_nested_BYTES, levels_nested_reset);
  compare_small_blocks("sparse", levels_sparse_BYTES, levels_sparse_reset);
  compare_small_blocks("large", levels_large_BYTES, levels_large_reset);
  compare_addresses();
  call_an_entry();
  EXPECT(!metate_module_close(opened));
  EXPECT(!metate_device_close(device));
}
#endif
