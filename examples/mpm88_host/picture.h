/* What both hosts do with the particles: draw them, and ask whether they are what they must be. C99 and C++. */
#ifndef MPM88_PICTURE_H
#define MPM88_PICTURE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define MPM88_PIXELS 512

/* Points in the unit square as water on a dark ground: rows from the top, three bytes a pixel. */
static inline void mpm88_draw(const float *points, int64_t count, uint8_t *pixels) {
  static const uint8_t ground[3] = {0x11, 0x2f, 0x41}, water[3] = {0x06, 0x85, 0x87};
  for (size_t k = 0; k < (size_t)MPM88_PIXELS * MPM88_PIXELS * 3; ++k)
    pixels[k] = ground[k % 3];
  for (int64_t p = 0; p < count; ++p) {
    int column = (int)(points[2 * p] * MPM88_PIXELS);
    int row = MPM88_PIXELS - 1 - (int)(points[2 * p + 1] * MPM88_PIXELS);
    for (int k = 0; k < 4; ++k) { /* two by two pixels */
      int x = column + (k & 1), y = row + (k >> 1);
      if (x < 0 || y < 0 || x >= MPM88_PIXELS || y >= MPM88_PIXELS)
        continue;
      for (int channel = 0; channel < 3; ++channel)
        pixels[((size_t)y * MPM88_PIXELS + (size_t)x) * 3 + (size_t)channel] = water[channel];
    }
  }
}

/* NULL, or what is wrong: all mass is on the grid, and no particle has left the box. */
static inline const char *mpm88_check(const float *points, int64_t count, double mass) {
  const double each = 1.0 / 256 * (1.0 / 256); /* mpm88.py's mass_of_particle */
  if (!(fabs(mass - (double)count * each) <= 1e-4 * (double)count * each))
    return "the mass on the grid is not the particles'";
  for (int64_t k = 0; k < 2 * count; ++k)
    if (!(points[k] > 1.0f / 128 && points[k] < 1 - 1.0f / 128))
      return "a particle has left the box";
  return NULL;
}

#endif
