/* The standard level without a system: the kernels of machine_kernels.py found by name and launched with checked arguments, and what
 * is refused, by status and argument. Prints lines as host.c does. */
#include "machine.h"
#include "metate/core.h"

void out(const char *text);

static void put(int64_t number) {
  char text[24], *at = text + sizeof text - 1;
  uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  *at = 0;
  do
    *--at = (char)('0' + left % 10);
  while (left /= 10);
  if (number < 0)
    *--at = '-';
  *--at = ' ';
  out(at);
}

static metate_core core;
static metate_slot slots[32];
static _Alignas(64) unsigned char sparse[96 << 10], copy[sizeof sparse];

static metate_core_argument array(void *data, uint32_t dtype, const int64_t *extent) {
  return (metate_core_argument){
      .kind = METATE_ARGUMENT_NDARRAY, .dtype = dtype, .rank = 1, .data = data, .shape = extent};
}
static metate_core_argument tree(void *block) {
  return (metate_core_argument){.kind = METATE_ARGUMENT_TREE, .data = block};
}
static metate_core_argument scalar(float value) {
  union {
    float f;
    uint32_t u;
  } bits = {.f = value};
  return (metate_core_argument){
      .kind = METATE_ARGUMENT_SCALAR, .dtype = METATE_F32, .bits = bits.u};
}

static metate_status launch(const char *name, const metate_core_argument *arguments,
                            uint32_t count) {
  return metate_core_launch(&core, metate_core_find_kernel(&core, name), arguments, count, slots,
                            NULL, NULL);
}

static void show(const char *what, metate_status status) {
  out(what), put((int64_t)status), put(core.refused == METATE_NONE ? -1 : (int64_t)core.refused),
      out("\n");
}

static void arrays(void) {
  static _Alignas(8) float x[4] = {1, 2, 3, 4}, y[4] = {0.5f, 1, 1.5f, 2};
  const int64_t four = 4, minus = -1;
  metate_core_argument good[3] = {scalar(2), array(x, METATE_F32, &four),
                                  array(y, METATE_F32, &four)},
                       bad[3];
#define BAD(index, argument)                                                                       \
  for (int k = 0; k < 3; ++k)                                                                      \
    bad[k] = good[k];                                                                              \
  bad[index] = argument
  show("launched", launch("dense", good, 3));
  for (int k = 0; k < 4; ++k)
    put((int64_t)(y[k] * 1000000));
  out("\n");
  BAD(1, array(x, METATE_F64, &four));
  show("dtype", launch("dense", bad, 3));
  BAD(2, array((char *)y + 2, METATE_F32, &four));
  show("alignment", launch("dense", bad, 3));
  BAD(2, array(NULL, METATE_F32, &four));
  show("null", launch("dense", bad, 3));
  BAD(1, array(x, METATE_F32, &minus));
  show("extent", launch("dense", bad, 3));
  BAD(2, array(x + 1, METATE_F32, &four));
  show("alias", launch("dense", bad, 3));
  BAD(0, tree(sparse));
  show("kind", launch("dense", bad, 3));
  show("count", launch("dense", good, 2));
  show("name", launch("no such kernel", good, 3));
}

static void trees(void) {
  static int32_t points[6] = {5, 300, 4999, 5, 17, 1234};
  static int64_t sums[4];
  const int64_t six = 6, four = 4;
  const metate_tree_type *type = metate_core_type(&core, metate_core_find_type(&core, "sparse"));
  const metate_tree_type *other = metate_core_type(&core, metate_core_find_type(&core, "packed"));
  metate_core_argument paint[2] = {tree(sparse), array(points, METATE_I32, &six)};
  metate_core_argument gather[2] = {tree(sparse), array(sums, METATE_I64, &four)};
  show("unset", launch("paint", paint, 2));
  show("small", metate_core_tree_reset(type, 1, sparse, 64));
  show("reset", metate_core_tree_reset(type, 1, sparse, sizeof sparse));
  show("paint", launch("paint", paint, 2));
  show("gather", launch("gather", gather, 2));
  for (int k = 0; k < 4; ++k)
    put(sums[k]);
  out("\n");
  show("bind", metate_core_tree_bind(type, sparse, sizeof sparse));
  show("other", metate_core_tree_bind(other, sparse, sizeof sparse));
  show("short", metate_core_tree_bind(type, sparse,
                                      ((const metate_tree_header *)(void *)sparse)->bytes - 1));
  int refused = 0; /* of a block with a wrong byte where something follows from something */
  const uint32_t at[] = {0, 8, 12, 16, 32, 40, 48, 68, 128, 136, 144, 148, 200, 204};
  for (uint32_t k = 0; k < sizeof at / sizeof *at; ++k) {
    for (uint32_t j = 0; j < sizeof sparse; ++j)
      copy[j] = sparse[j];
    copy[at[k] + 3] ^= 0x40;
    refused += metate_core_tree_bind(type, copy, sizeof copy) != METATE_OK;
  }
  out("damaged"), put(refused), out("\n");
}

int main(void) {
  metate_static_module wrong = machine_module;
  show("open", metate_core_open(&machine_module, &core));
  out(metate_core_text(&core, core.descriptor->name)), put(core.descriptor->kernels.count),
      out("\n");
  wrong.entry_count -= 1;
  show("entries", metate_core_open(&wrong, &core));
  wrong = machine_module, wrong.bytes -= 8;
  show("bytes", metate_core_open(&wrong, &core));
  arrays();
  trees();
  out("done\n");
  return 0;
}
