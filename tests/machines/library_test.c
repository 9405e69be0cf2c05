/* compiler/metate/Module/Support/Library.h, compiled under other names, against this machine's C library and 128-bit products, bit for bit. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define round own_round
#define roundf own_roundf
#define fmod own_fmod
#define fmodf own_fmodf
#define fmax own_fmax
#define fmaxf own_fmaxf
#define fmin own_fmin
#define fminf own_fminf
#define __multi3 own_product
#include "metate/Module/Support/Library.h"
#undef round
#undef roundf
#undef fmod
#undef fmodf
#undef fmax
#undef fminf

static uint64_t state = 1;
static uint64_t draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state ^ state >> 29;
}

typedef union {
  uint64_t u;
  double f;
} f64;
typedef union {
  uint32_t u;
  float f;
} f32;

static int differ(double got, double wanted) {
  f64 one = {.f = got}, other = {.f = wanted};
  return one.u != other.u && (got == got || wanted == wanted);
}

int main(void) {
  long wrong = 0;
  for (long k = 0; k < 200000; ++k) {
    f64 x = {draw()}, y = {draw()};
    f32 p = {(uint32_t)draw()}, q = {(uint32_t)draw()};
    if (k % 3 == 0) /* near one another */
      y.u = (x.u & 0xfff0000000000000u) - (draw() % 60 << 52) | draw() >> 12;
    if (k % 5 == 0) /* subnormal, or a few bits */
      x.u = draw() >> (12 + draw() % 40), y.u = draw() >> (12 + draw() % 50);
    wrong += differ(own_round(x.f), round(x.f)) + differ(own_roundf(p.f), roundf(p.f));
    if ((x.u >> 52 & 0x7ff) < (y.u >> 52 & 0x7ff) + 200)
      wrong += differ(own_fmod(x.f, y.f), fmod(x.f, y.f));
    wrong += differ(own_fmodf(p.f, q.f), fmodf(p.f, q.f));
    wrong +=
        differ(own_fmax(x.f, y.f), fmax(x.f, y.f)) + differ(own_fminf(p.f, q.f), fminf(p.f, q.f));
    unsigned __int128 a = (unsigned __int128)draw() << 64 | draw(),
                      b = (unsigned __int128)draw() << 64 | draw();
    wrong += (unsigned __int128)own_product((__int128)a, (__int128)b) != a * b;
  }
  printf("%ld\n", wrong);
  return wrong != 0;
}
