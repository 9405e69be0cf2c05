/* Calls each kernel of machine_kernels.py by its direct entry, and prints the bits of what it gives: a line for each, which must be
 * the same on every machine. Includes the generated header and nothing of a C library but fixed-width types; where() is the machine's:
 * stdio here, semihosting on a bare one. */
#include "../aot/ffi.h"
#include "careful.h"
#include "machine.h"
#include "metate/abi/kernel.h"
#include "metate/abi/tree.h"

void out(const char *text);

static void put_hex(uint64_t value, int digits) {
  char text[20];
  text[0] = ' ';
  for (int k = 0; k < digits; ++k)
    text[1 + k] = "0123456789abcdef"[value >> 4 * (digits - 1 - k) & 15];
  text[1 + digits] = 0;
  out(text);
}

static void put_bytes(const void *data, uint64_t count, uint64_t size) {
  const uint8_t *bytes = data;
  for (uint64_t k = 0; k < count; ++k) {
    uint64_t value = 0;
    for (uint64_t j = 0; j < size; ++j)
      value |= (uint64_t)bytes[k * size + j] << 8 * j;
    put_hex(value, (int)(2 * size));
  }
}

static void begin(const char *name, int32_t status) {
  out(name);
  put_hex((uint32_t)status, 2);
}
#define SHOW(array) put_bytes(array, sizeof array / sizeof *array, sizeof *array)
#define END() out("\n")

static uint32_t state = 12345;
static uint32_t draw(void) { return (state = state * 1664525u + 1013904223u) >> 8; }
static float fraction(void) {
  return (float)((int32_t)draw() - (1 << 23)) / (float)(1 << 21);
} /* -4 to 4 */
static void fill(float *x, int n) {
  for (int k = 0; k < n; ++k)
    x[k] = fraction();
}

static void numbers(void) {
  static float x[50], y[50], a[36], b[36];
  fill(x, 50), fill(y, 50), fill(a, 36);
  begin("dense", machine_dense(2.5f, x, 50, y, 50, NULL, NULL));
  SHOW(y), END();
  begin("matrices", machine_matrices(a, 6, 6, b, 6, 6, NULL, NULL));
  SHOW(b), END();

  static double d[20], total[1];
  for (int k = 0; k < 20; ++k)
    d[k] = (double)fraction() + (double)fraction() / 1048576;
  begin("doubles", machine_doubles(d, 20, total, NULL, NULL));
  SHOW(d), SHOW(total), END();

  static int64_t p[24], q[24];
  for (int k = 0; k < 24; ++k) {
    p[k] = (int64_t)((uint64_t)draw() << (k % 40) | draw());
    q[k] = (k & 1 ? -1 : 1) * (int64_t)draw() * (k < 12 ? 1 : 100003);
  }
  begin("integers", machine_integers(p, 24, q, 24, NULL, NULL));
  SHOW(p), SHOW(q), END();

  static uint16_t h[8] = {0x3c00, 0xb800, 0x0001, 0x4d01, 0x3555, 0x4100, 0x8000, 0xc200};
  static int8_t c[8] = {1, -2, 3, 100, -100, 0, 7, -8};
  static uint8_t u[8];
  static uint16_t w[8] = {0x3f80, 0xbf80, 0x0001, 0x7f7f, 0x3eab, 0x4049, 0x8000, 0xc2c8};
  begin("narrow", machine_narrow(h, 8, c, 8, u, 8, w, 8, 0.1, NULL, NULL));
  SHOW(h), SHOW(c), SHOW(u), SHOW(w), END();

  static double larges[3] = {-100, 100, -100};
  x[7] = (float)(x[6] - x[6]) / (float)(x[6] - x[6]); /* no number */
  begin("largest", machine_largest(x, 20, d, 20, larges, 3, NULL, NULL));
  SHOW(larges), END();
  x[7] = 1;

  static int32_t bins[7];
  static float most[4];
  void *pools[1] = {NULL};
#ifdef machine_histogram_POOLS /* where workers could be in each other's way */
  static _Alignas(machine_histogram_private_copies_ALIGN) unsigned char
      copies[machine_histogram_private_copies_BYTES];
  pools[0] = copies;
#endif
  begin("histogram", machine_histogram(x, 50, bins, 7, most, 4, pools, NULL));
  SHOW(bins), SHOW(most), END();
}

static _Alignas(64) unsigned char sparse[128 << 10], packed[machine_packed_BYTES];

static void trees(void) {
  static int32_t points[40];
  static int64_t sums[4], after[4];
  for (int k = 0; k < 40; ++k)
    points[k] = (int32_t)(draw() % 5000);
  begin("reset", machine_sparse_reset(sparse, sizeof sparse));
  put_hex(machine_sparse_reset(sparse, 128), 2), END(); /* too small, and nothing is written */
  begin("paint", machine_paint(sparse, points, 40, NULL, NULL));
  begin("", machine_gather(sparse, sums, 4, NULL, NULL));
  SHOW(sums), END();
  begin("erase", machine_erase(sparse, NULL, NULL));
  begin("", machine_gather(sparse, after, 4, NULL, NULL));
  SHOW(after), END();
  uint64_t least =
      4096; /* with which each pool has a slot, and not the ones that the points need */
  while (machine_sparse_reset(sparse, least) == METATE_E_TOO_SMALL)
    least += 256;
  begin("full", machine_sparse_reset(sparse, least));
  put_hex((uint32_t)machine_paint(sparse, points, 40, NULL, NULL), 2), END();

  static float x[16];
  fill(x, 16);
  begin("quantised", machine_packed_reset(packed, sizeof packed));
  put_hex((uint32_t)machine_quantised(packed, x, 16, NULL, NULL), 2);
  SHOW(x), END();
}

static void say(void *self, const metate_print_item *items, uint32_t count) {
  *(int *)self += 1;
  for (uint32_t k = 0; k < count; ++k)
    if (items[k].kind == METATE_PRINT_TEXT)
      out(items[k].value.text);
    else
      put_hex(items[k].value.u, 16);
}

/* Chunk after chunk, each of one iteration, whatever the grain. */
static int32_t in_turns(void *self, int64_t count, int64_t grain, uint32_t most,
                        metate_task_body body, void *context) {
  *(int *)self += 1;
  for (int64_t at = 0; at < count; ++at) {
    int32_t status = body(context, at, at + 1, (uint32_t)(at % (most ? most : 1)));
    if (status)
      return status;
  }
  (void)grain;
  return METATE_OK;
}

static void hooks(void) {
  static int32_t x[3] = {1, 5, 1000}, few[4];
  static float shown[3] = {0, 1.5f, 0};
  static int tasks, prints;
  static metate_failure failure;
  metate_host host = {.struct_size = sizeof host,
                      .max_workers = 2,
                      .executor_self = &tasks,
                      .parallel_for = in_turns,
                      .print_self = &prints,
                      .print = say,
                      .failure = &failure};
  begin("stop", machine_stop(x, 3, NULL, &host));
  put_hex(failure.code, 2), put_hex((uint64_t)failure.index[0], 4),
      put_hex((uint64_t)failure.shape[0], 8);
  SHOW(x), END();
  failure.code = METATE_OK;
  begin("beyond", careful_beyond(few, 4, 9, NULL, &host));
  put_hex(failure.rank, 2), put_hex((uint64_t)failure.index[0], 4),
      put_hex((uint64_t)failure.shape[0], 4), END();
  out("say ");
  begin("told", machine_say(shown, 3, NULL, &host));
  put_hex((uint64_t)prints, 2), END();

  static int32_t values[3];
  begin("recurse", machine_recurse(values, 3, NULL, NULL));
  SHOW(values), END();
  static _Alignas(64) unsigned char weights[machine_weights_BYTES];
  static float graph[8];
  machine_weights_reset(weights, sizeof weights);
  begin("steps", machine_steps(graph, 8, 0.5f, 3, weights, NULL, &host));
  SHOW(graph), END();
}

static char raised[256];
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) {
  uint32_t k = 0;
  for (const char *at = kind; *at && k < sizeof raised - 2; ++at)
    raised[k++] = *at;
  for (raised[k++] = ' '; *text && k < sizeof raised - 1; ++text)
    raised[k++] = *text;
  raised[k] = 0;
}

/* The same kernels by tvm-ffi's calling convention: every argument is checked. */
static void packed_calls(void) {
  static float x[6] = {1, 4, 9, 16, 25, 36}, y[6] = {1, 1, 1, 1, 1, 1};
  static double numbers[3] = {0.5, 1.5, -2.5};
  const int64_t six = 6, three = 3;
  tensor from = make(x, FLOAT, 32, 1, &six), to = make(y, FLOAT, 32, 1, &six);
  tensor wide = make(numbers, FLOAT, 64, 1, &three);
  any result, given[3] = {of_float(0.5), of_tensor(&from), of_tensor(&to)},
              total[1] = {of_tensor(&wide)};
  begin("packed", __tvm_ffi_machine_dense(NULL, given, 3, &result));
  put_hex((uint32_t)__tvm_ffi_machine_doubles(NULL, total, 1, &result), 2);
  put_bytes(&result.value, 1, 8), SHOW(y), END();
  given[2] = of_tensor(&from); /* what is written overlaps what is read */
  begin("raised", __tvm_ffi_machine_dense(NULL, given, 3, &result));
  out(" "), out(raised), END();
}

/* A kernel by steps, in memory of the program's. */
static void session(void) {
  static _Alignas(8) unsigned char memory[2048];
  static float x[4] = {1, 4, 9, 16}, y[4] = {1, 2, 3, 4};
  const int64_t four = 4;
  int64_t bytes = sizeof memory;
  tensor from = make(x, FLOAT, 32, 1, &four), to = make(y, FLOAT, 32, 1, &four),
         own = make(memory, UINT, 8, 1, &bytes);
  any result, kernel = of_text("dense"), given[3] = {of_tensor(&own), kernel};
  begin("session", __tvm_ffi_machine_session_bytes(NULL, &kernel, 1, &result));
  int fits = result.type_index == 1 && result.value.i <= bytes;
  bytes = result.value.i; /* as many as it asks for */
  int32_t status = __tvm_ffi_machine_session_open(NULL, given, 2, &result);
  given[1] = of_text("y"), given[2] = of_tensor(&to);
  status |= __tvm_ffi_machine_session_set_input(NULL, given, 3, &result);
  put_hex((uint32_t)__tvm_ffi_machine_session_run(NULL, given, 1, &result), 8); /* x is not set */
  given[1] = of_text("x"), given[2] = of_tensor(&from);
  status |= __tvm_ffi_machine_session_set_input(NULL, given, 3, &result);
  given[1] = of_text("a"), given[2] = of_float(0.25);
  status |= __tvm_ffi_machine_session_set_input(NULL, given, 3, &result);
  status |= __tvm_ffi_machine_session_run(NULL, given, 1, &result);
  given[1] = of_text("y");
  status |= __tvm_ffi_machine_session_get_output(NULL, given, 2, &result);
  put_hex((uint32_t)(fits && ((tensor *)result.value.p)->data == y), 1);
  status |= __tvm_ffi_machine_session_close(NULL, given, 1, &result);
  put_hex((uint32_t)status, 8), SHOW(y);
  out(" "), out(raised), END();
}

int main(void) {
  numbers();
  packed_calls();
  session();
  trees();
  hooks();
  out("done\n");
  return 0;
}
