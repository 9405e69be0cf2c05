/* The packed level of levels_host: what a caller by tvm-ffi's convention has. */
#include "ffi.h"
#include "levels_host.h"

/* A tensor as an object: 24 bytes of header, then the DLTensor. */
typedef struct object {
  uint64_t header[3];
  tensor value;
} object;
static any of_object(object *value) {
  any result = {70, 0, {.p = value}};
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

void run_packed(outputs *out) {
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
  uint64_t before = topology_of(sparse);
  EXPECT(!__tvm_ffi_levels_paint(NULL, paint, 2, &result));
  EXPECT(topology_of(sparse) == before + 1);
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

void check_refusals(void) {
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
  const int64_t negative[1] = {-1}, huge[1] = {(int64_t)1 << 40}, nowhere[1] = {0};
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
  wrong = y;
  wrong.strides = nowhere;
  arguments[1] = of_tensor(&x);
  arguments[2] = of_tensor(&wrong);
  REFUSED("ValueError", "argument 2 'y': the kernel writes it, but its elements may overlap");
  arguments[1] = of_tensor(&wrong);
  arguments[2] = of_tensor(&y);
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
