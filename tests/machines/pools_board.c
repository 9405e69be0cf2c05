/* A kernel with two pools, called by both levels with pools in static arrays; prints what it gave, bit by bit. */
#include "../aot/ffi.h"
#include "pools.h"

void out(const char *text);

enum { N = 40 };

static void put_hex(uint32_t value) {
  char text[10] = " ";
  for (int k = 0; k < 8; ++k)
    text[1 + k] = "0123456789abcdef"[value >> 4 * (7 - k) & 15];
  text[9] = 0;
  out(text);
}

static void show(const char *name, int32_t status, const float *y) {
  out(name);
  out(status ? " failed" : " 0");
  for (int k = 0; k < N; ++k) {
    union {
      float f;
      uint32_t u;
    } bits = {y[k]};
    put_hex(bits.u);
  }
  out("\n");
}

static _Alignas(64) unsigned char copy[pools_mirror_copy_BYTES(N)],
    tile[pools_mirror_tile_BYTES(1)];
static _Alignas(64) float x[N], y[N];

int main(void) {
  for (int k = 0; k < N; ++k)
    x[k] = 0.25f * (float)(k * k % 97);
  void *pools[2] = {copy, tile};
  show("direct", pools_mirror(N, x, N, y, N, pools, NULL), y);
  const int64_t n = N, bytes[2] = {sizeof copy, sizeof tile};
  tensor arrays[4] = {make(x, FLOAT, 32, 1, &n), make(y, FLOAT, 32, 1, &n),
                      make(copy, UINT, 8, 1, &bytes[0]), make(tile, UINT, 8, 1, &bytes[1])};
  any result, arguments[5] = {of_int(N)};
  for (int k = 0; k < 4; ++k)
    arguments[1 + k] = of_tensor(&arrays[k]);
  for (int k = 0; k < N; ++k)
    y[k] = 0;
  show("packed", __tvm_ffi_pools_mirror(NULL, arguments, 5, &result), y);
  return 0;
}
