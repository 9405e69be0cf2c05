/* Water on a microcontroller: the kernels are functions of water.h, every field is a static array, and nothing else is needed: no C
 * library, no heap, no runtime. Prints where the particles are after some steps, and what that took. */
#include "board.h"
#include "water.h"

#include <stddef.h>

enum { PARTICLES = 512, STEPS = 200 };

#define FIELD(name) static _Alignas(water_##name##_ALIGN) unsigned char name[water_##name##_BYTES]
FIELD(x);
FIELD(v);
FIELD(C);
FIELD(J);
FIELD(grid_v);
FIELD(grid_m);

static void put(const char *what, uint64_t number) {
  char text[24], *at = text + sizeof text - 1;
  *at = 0;
  do
    *--at = (char)('0' + number % 10);
  while (number /= 10);
  out(what), out(at), out("\n");
}

int main(void) {
  if (water_x_reset(x, sizeof x) || water_v_reset(v, sizeof v) || water_C_reset(C, sizeof C) ||
      water_J_reset(J, sizeof J) || water_grid_v_reset(grid_v, sizeof grid_v) ||
      water_grid_m_reset(grid_m, sizeof grid_m) || water_fill(x, v, C, J, NULL, NULL))
    return 1;
  uint64_t cycles = 0;
  for (int step = 0; step < STEPS; ++step) {
    timer_start();
    if (water_substep(grid_m, grid_v, x, J, C, v, NULL, NULL))
      return 1;
    cycles += timer_cycles();
  }
  /* A checksum of the bits, and how high the water stands. */
  uint64_t sum = 0;
  float height = 0;
  for (int p = 0; p < PARTICLES; ++p) {
    const float *at = water_x_v0_at(x, p);
    union {
      float f;
      uint32_t u;
    } bits[2] = {{.f = at[0]}, {.f = at[1]}};
    sum = sum * 31 + bits[0].u;
    sum = sum * 31 + bits[1].u;
    height += at[1] / PARTICLES;
  }
  put("steps ", STEPS);
  put("checksum ", sum);
  put("height ", (uint64_t)(height * 1e6f));
  put("cycles ", cycles);
  put("flash ", flash_bytes());
  put("fields ", sizeof x + sizeof v + sizeof C + sizeof J + sizeof grid_v + sizeof grid_m);
  put("variables ", variable_bytes());
  put("stack ", stack_bytes());
  return 0;
}
