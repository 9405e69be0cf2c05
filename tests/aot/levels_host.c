/* A C program that links levels.o: calls every kernel at each level, compares the levels with each
 * other, and writes what they gave for the test that compiled it (test_static.py), which compares it
 * with NumPy.  levels_host INPUTS OUTPUTS
 *
 * Compiled with WITH_METATE it links libmetate and has the standard level too, and compares blocks
 * that the object reset with libmetate's; without, it links nothing but the C library. */
#ifdef WITH_METATE
#include "metate/metate.h"
#endif
#include "levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
static void expect(int condition, const char *what, int line) {
  if (condition)
    return;
  fprintf(stderr, "line %d: expected %s\n", line, what);
  ++failures;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

/* ---- the packed level: what a caller by tvm-ffi's convention has ---- */

typedef struct tensor {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t *shape, *strides;
  uint64_t byte_offset;
} tensor;
typedef struct any {
  int32_t type_index;
  uint32_t padding;
  union {
    int64_t i;
    double d;
    void *p;
  } value;
} any;

static any of_int(int64_t value) {
  any result = {1, 0, {.i = value}};
  return result;
}
static any of_float(double value) {
  any result = {3, 0, {.d = value}};
  return result;
}
static any of_block(void *block) {
  any result = {4, 0, {.p = block}};
  return result;
}
static any of_tensor(tensor *value) {
  any result = {7, 0, {.p = value}};
  return result;
}
/* A tensor as an object: 24 bytes of header, then the DLTensor. */
typedef struct object {
  uint64_t header[3];
  tensor value;
} object;
static any of_object(object *value) {
  any result = {70, 0, {.p = value}};
  return result;
}
enum { INT = 0, UINT = 1, FLOAT = 2 };
static tensor make(void *data, uint8_t code, uint8_t bits, int32_t ndim, const int64_t *shape) {
  tensor result = {data, 1, 0, ndim, code, bits, 1, shape, NULL, 0};
  return result;
}

/* The process has this symbol, so the object finds it: no libtvm_ffi is needed to see the texts. */
static char kind[64], message[1024];
#ifndef WITHOUT_ERRORS
void TVMFFIErrorSetRaisedFromCStr(const char *error_kind, const char *error_message);
void TVMFFIErrorSetRaisedFromCStr(const char *error_kind, const char *error_message) {
  snprintf(kind, sizeof kind, "%s", error_kind);
  snprintf(message, sizeof message, "%s", error_message);
}
#endif
static void expect_raised(int32_t code, const char *wanted, const char *piece, int line) {
  expect(code == -1, "a packed call that fails to return -1", line);
#ifndef WITHOUT_ERRORS
  if (strcmp(kind, wanted) != 0 || !strstr(message, piece)) {
    fprintf(stderr, "line %d: expected %s with '%s', got %s: %s\n", line, wanted, piece, kind,
            message);
    ++failures;
  }
#else
  (void)wanted;
  (void)piece;
#endif
  kind[0] = message[0] = 0;
}
#define EXPECT_RAISED(call, kind, piece) expect_raised(call, kind, piece, __LINE__)

/* ---- inputs, outputs ---- */

enum { N = 100, ROWS = 6, COLUMNS = 5, POINTS = 50 };
static struct inputs {
  float x[N], y[N];
  double matrix[ROWS * COLUMNS];
  double m[4];
  float by[3], points[3 * POINTS], scale;
} in;
typedef struct particle {
  float pos[3];
  double mass;
  int32_t kind;
} particle;
enum { PARTICLES = 6 };
typedef struct outputs {
  float y[N], turned[3 * POINTS], weight;
  double total, scalars[7], untouched[7];
  int32_t positive, rotated[10];
  particle particles[PARTICLES], heaviest;
} outputs;

_Alignas(64) static unsigned char sparse[levels_sparse_BYTES], filled[levels_filled_BYTES];
/* Strides of a particle's members, in elements of each. */
enum { BY_F32 = sizeof(particle) / 4, BY_F64 = sizeof(particle) / 8 };
static const int64_t count[2] = {PARTICLES, 3}, by_pos[2] = {BY_F32, 1}, by_mass[1] = {BY_F64},
                     by_kind[1] = {BY_F32};
static const int64_t n[1] = {N}, shape2[2] = {ROWS, COLUMNS}, shape22[2] = {2, 2}, three[1] = {3},
                     seven[1] = {7}, ten[1] = {10}, points[2] = {POINTS, 3};

static void start(outputs *out) {
  memset(out, 0, sizeof *out);
  memcpy(out->y, in.y, sizeof in.y);
  for (int32_t k = 0; k < 10; ++k)
    out->rotated[k] = k;
  for (int32_t k = 0; k < PARTICLES; ++k) {
    particle *one = &out->particles[k];
    memcpy(one->pos, &in.points[3 * k], sizeof one->pos);
    one->mass = in.matrix[k];
    one->kind = k;
  }
  EXPECT(levels_sparse_reset(sparse, sizeof sparse) == 0);
  EXPECT(levels_filled_reset(filled, sizeof filled) == 0);
}

static void run_direct(outputs *out) {
  start(out);
  EXPECT(!levels_axpy(2.5f, in.x, N, out->y, N, NULL, NULL));
  EXPECT(!levels_total(in.matrix, ROWS, COLUMNS, &out->total, NULL, NULL));
  EXPECT(!levels_scalars(7, -100, 65535, -((int64_t)1 << 40), 4000000000u, 0.1, 0x3e00,
                         out->scalars, 7, NULL, NULL));
  EXPECT(!levels_turn(in.m, in.by, in.points, POINTS, out->turned, POINTS, NULL, NULL));
  EXPECT(!levels_paint(sparse, in.scale, NULL, NULL));
  EXPECT(!levels_weight(sparse, &out->weight, NULL, NULL));
  EXPECT(!levels_positive(5, 2, &out->positive, NULL, NULL));
  EXPECT(levels_positive(-5, 2, &out->positive, NULL, NULL) == 14);
  EXPECT(!levels_untouched(filled, out->untouched, 7, NULL, NULL));
  EXPECT(!levels_rotate(out->rotated, 10, out->rotated, 10, NULL, NULL));
  particle *all = out->particles, *top = &out->heaviest;
  EXPECT(!levels_push(in.by, 0.25, 1, all->pos, PARTICLES, BY_F32, &all->mass, PARTICLES, BY_F64,
                      &all->kind, PARTICLES, BY_F32, top->pos, &top->mass, &top->kind, NULL, NULL));
  EXPECT(levels_sparse_reset(NULL, 0) == 1);
  EXPECT(levels_sparse_reset(sparse + 1, sizeof sparse - 1) == 6);
  EXPECT(levels_sparse_reset(sparse, 600) == 5);
  EXPECT(*levels_filled_w_at(filled, 6) == 0.5 && *levels_filled_v_at(filled, 0) == -3);
  unsigned char *few = sparse; /* enough for some of the cells that paint activates */
  EXPECT(levels_sparse_reset(few, 10500) == 0);
  EXPECT(levels_paint(few, 1, NULL, NULL) == 8);
  EXPECT(levels_paint(few, 1, NULL, NULL) == 0); /* nothing new, and the status is this call's */
}

static void run_packed(outputs *out) {
  start(out);
  any result = {0, 0, {.i = 0}};
  tensor x = make(in.x, FLOAT, 32, 1, n), y = make(out->y, FLOAT, 32, 1, n);
  any arguments[8] = {of_float(2.5), of_tensor(&x), of_tensor(&y)};
  EXPECT(!__tvm_ffi_levels_axpy(NULL, arguments, 3, &result));
  EXPECT(result.type_index == 0);

  object matrix = {{1, 70, 0}, make(in.matrix, FLOAT, 64, 2, shape2)};
  arguments[0] = of_object(&matrix);
  EXPECT(!__tvm_ffi_levels_total(NULL, arguments, 1, &result));
  EXPECT(result.type_index == 3);
  out->total = result.value.d;

  tensor seven_out = make(out->scalars, FLOAT, 64, 1, seven);
  any scalars[8] = {of_int(1),           of_int(-100),  of_int(65535), of_int(-((int64_t)1 << 40)),
                    of_int(4000000000u), of_float(0.1), of_float(1.5), of_tensor(&seven_out)};
  scalars[0].type_index = 2; /* a bool */
  EXPECT(!__tvm_ffi_levels_scalars(NULL, scalars, 8, &result));

  tensor m = make(in.m, FLOAT, 64, 2, shape22), by = make(in.by, FLOAT, 32, 1, three);
  tensor from = make(in.points, FLOAT, 32, 2, points), to = make(out->turned, FLOAT, 32, 2, points);
  any turn[4] = {of_tensor(&m), of_tensor(&by), of_tensor(&from), of_tensor(&to)};
  EXPECT(!__tvm_ffi_levels_turn(NULL, turn, 4, &result));

  const int64_t bytes[1] = {sizeof sparse};
  tensor memory = make(sparse, UINT, 8, 1, bytes);
  any paint[2] = {of_block(sparse), of_float(in.scale)};
  EXPECT(!__tvm_ffi_levels_paint(NULL, paint, 2, &result));
  paint[0] = of_tensor(&memory);
  EXPECT(!__tvm_ffi_levels_weight(NULL, paint, 1, &result));
  out->weight = (float)result.value.d;

  any positive[2] = {of_int(5), of_int(2)};
  EXPECT(!__tvm_ffi_levels_positive(NULL, positive, 2, &result));
  EXPECT(result.type_index == 1);
  out->positive = (int32_t)result.value.i;
  positive[0] = of_int(-5);
  EXPECT_RAISED(__tvm_ffi_levels_positive(NULL, positive, 2, &result), "AssertionError",
                "kernel 'positive': assertion failed: {x} must be positive, got -5 and 0.5, False");

  tensor untouched = make(out->untouched, FLOAT, 64, 1, seven);
  any read[2] = {of_block(filled), of_tensor(&untouched)};
  EXPECT(!__tvm_ffi_levels_untouched(NULL, read, 2, &result));
  tensor rotated = make(out->rotated, INT, 32, 1, ten);
  any both[2] = {of_tensor(&rotated), of_tensor(&rotated)};
  EXPECT(!__tvm_ffi_levels_rotate(NULL, both, 2, &result));

  particle *all = out->particles, *top = &out->heaviest;
  tensor pos = make(all->pos, FLOAT, 32, 2, count), mass = make(&all->mass, FLOAT, 64, 1, count),
         members = make(&all->kind, INT, 32, 1, count),
         top_pos = make(top->pos, FLOAT, 32, 1, three),
         top_mass = make(&top->mass, FLOAT, 64, 0, NULL),
         top_kind = make(&top->kind, INT, 32, 0, NULL);
  pos.strides = by_pos;
  mass.strides = by_mass;
  members.strides = by_kind;
  any push[9] = {of_tensor(&by),      of_float(0.25),       of_int(1),
                 of_tensor(&pos),     of_tensor(&mass),     of_tensor(&members),
                 of_tensor(&top_pos), of_tensor(&top_mass), of_tensor(&top_kind)};
  EXPECT(!__tvm_ffi_levels_push(NULL, push, 9, &result));
  EXPECT(result.type_index == 0);
}

static void check_refusals(void) {
  any result = {0, 0, {.i = 0}};
  static float data[N], other[N];
  tensor x = make(data, FLOAT, 32, 1, n), y = make(other, FLOAT, 32, 1, n), wrong;
  any arguments[3] = {of_float(1), of_tensor(&x), of_tensor(&y)};
#define REFUSED(kind, piece)                                                                       \
  EXPECT_RAISED(__tvm_ffi_levels_axpy(NULL, arguments, 3, &result), kind, piece)
  EXPECT_RAISED(__tvm_ffi_levels_axpy(NULL, arguments, 2, &result), "TypeError",
                "kernel 'axpy': expected 3 arguments (a, x, y), got 2");
  arguments[0] = of_block(data);
  REFUSED("TypeError", "kernel 'axpy' argument 0 'a': expected f32, got a pointer");
  arguments[0] = of_int(1);
  wrong = make(data, FLOAT, 64, 1, n);
  arguments[1] = of_tensor(&wrong);
  REFUSED("TypeError", "argument 1 'x': expected a 1-dimensional array of f32, got a 1-dimensional "
                       "array of f64");
  wrong = make(data, INT, 32, 2, shape2);
  REFUSED("TypeError", "got a 2-dimensional array of i32");
  wrong = x;
  wrong.lanes = 4;
  REFUSED("TypeError", "array of f32x4");
  wrong = x;
  wrong.device_type = 2;
  REFUSED("ValueError", "expected an array in the memory of the CPU");
  const int64_t negative[1] = {-1}, huge[1] = {(int64_t)1 << 40}, back[1] = {-1};
  wrong = x;
  wrong.shape = negative;
  REFUSED("ValueError", "dimension 0: expected at most 2147483647, got -1");
  wrong.shape = huge;
  REFUSED("ValueError", "dimension 0: expected at most 2147483647, got 1099511627776");
  wrong = x;
  wrong.data = NULL;
  REFUSED("ValueError", "its data is NULL");
  wrong = x;
  wrong.byte_offset = 2;
  REFUSED("ValueError", "not aligned");
  wrong = x;
  wrong.strides = back;
  REFUSED("ValueError", "contiguous copy");
  wrong = make(other + 99, FLOAT, 32, 1, n);
  REFUSED("ValueError", "argument 2 'y': it is written and overlaps argument 1 'x'");
  arguments[1] = of_int(0);
  arguments[1].type_index = 65;
  REFUSED("TypeError", "got a value of tvm-ffi's type 65");

  any small[2] = {of_int(1), of_int((int64_t)1 << 31)};
  EXPECT_RAISED(__tvm_ffi_levels_positive(NULL, small, 2, &result), "ValueError",
                "argument 1 'int': expected a value of i32, got 2147483648");
  small[1] = of_float(1);
  EXPECT_RAISED(__tvm_ffi_levels_positive(NULL, small, 2, &result), "TypeError",
                "expected i32, got a float");
  tensor points_in = make(data, FLOAT, 32, 2, shape2), m = make(data, FLOAT, 64, 2, shape22),
         by = make(data, FLOAT, 32, 1, three);
  any turn[4] = {of_tensor(&m), of_tensor(&by), of_tensor(&points_in), of_tensor(&points_in)};
  EXPECT_RAISED(__tvm_ffi_levels_turn(NULL, turn, 4, &result), "ValueError",
                "argument 2 'points': dimension 1: expected 3, got 5");

  any block[1] = {of_block(filled)};
  EXPECT_RAISED(__tvm_ffi_levels_weight(NULL, block, 1, &result), "TypeError",
                "expected the block of a tree of type 'sparse' (a pointer, or a 1-dimensional "
                "array of u8), got a block of another tree type");
  block[0] = of_block(sparse + 8);
  EXPECT_RAISED(__tvm_ffi_levels_weight(NULL, block, 1, &result), "ValueError",
                "expected a block aligned to 64 bytes");
  _Alignas(64) static unsigned char none[256];
  block[0] = of_block(none);
  EXPECT_RAISED(__tvm_ffi_levels_weight(NULL, block, 1, &result), "ValueError",
                "the memory holds no tree");
  const int64_t few[1] = {sizeof sparse - 1};
  tensor memory = make(sparse, UINT, 8, 1, few);
  block[0] = of_tensor(&memory);
  EXPECT_RAISED(__tvm_ffi_levels_weight(NULL, block, 1, &result), "ValueError",
                "the memory is smaller than the tree that it holds");
  memory = make(sparse, INT, 8, 1, few);
  EXPECT_RAISED(__tvm_ffi_levels_weight(NULL, block, 1, &result), "TypeError",
                "got a 1-dimensional array of i8");
}

/* ---- the standard level ---- */

#ifdef WITH_METATE
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

/* ---- the direct level with the hooks of abi/kernel.h ---- */

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

static void hooks_of_the_direct_level(void) {
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

static void standard_level(const outputs *wanted) {
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
  EXPECT(!metate_module_close(opened));
  EXPECT(!metate_device_close(device));
}
#endif

int main(int argc, char **argv) {
  FILE *from = argc == 3 ? fopen(argv[1], "rb") : NULL;
  if (!from || fread(&in, 1, sizeof in, from) != sizeof in || fclose(from)) {
    fprintf(stderr, "usage: levels_host INPUTS OUTPUTS\n");
    return 2;
  }
  static outputs direct, packed;
  run_direct(&direct);
  run_packed(&packed);
  EXPECT(memcmp(&direct, &packed, sizeof direct) == 0);
  check_refusals();
#ifdef WITH_METATE
  standard_level(&direct);
  hooks_of_the_direct_level();
#endif
  FILE *to = fopen(argv[2], "wb");
  EXPECT(to && fwrite(&direct, 1, sizeof direct, to) == sizeof direct && !fclose(to));
  return failures != 0;
}
