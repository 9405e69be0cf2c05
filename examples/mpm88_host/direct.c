/* mpm88 in a C program without libmetate: the kernels are linked in (mpm88.o), called by the functions of
 * their header, and every field lies in a static array. What firmware would do.
 *
 *   mpm88_direct OUTPUT_FOLDER STEPS
 *
 * Build:  cc direct.c FOLDER/mpm88.o -IFOLDER -lm */
#include "mpm88.h"

#include "picture.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef PARTICLES
#define PARTICLES 8192
#endif

#define FIELD(name) _Alignas(mpm88_##name##_ALIGN) static unsigned char name[mpm88_##name##_BYTES]
FIELD(x);
FIELD(v);
FIELD(C);
FIELD(J);
FIELD(grid_v);
FIELD(grid_m);

static float points[2 * PARTICLES];
static uint8_t pixels[MPM88_PIXELS * MPM88_PIXELS * 3];

static int simulate(int steps, double *mass) {
  int failed = mpm88_x_reset(x, sizeof x) || mpm88_v_reset(v, sizeof v) ||
               mpm88_C_reset(C, sizeof C) || mpm88_J_reset(J, sizeof J) ||
               mpm88_grid_v_reset(grid_v, sizeof grid_v) ||
               mpm88_grid_m_reset(grid_m, sizeof grid_m) || mpm88_fill(x, v, C, J, NULL, NULL);
  for (int step = 0; step < steps && !failed; ++step)
    failed = mpm88_substep(grid_m, grid_v, x, J, C, v, NULL, NULL);
  return failed || mpm88_positions(points, PARTICLES, x, NULL, NULL) ||
         mpm88_mass_on_grid(grid_m, mass, NULL, NULL);
}

static int write_file(const char *folder, const char *name, const char *head, const void *data,
                      size_t bytes) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file)
    return 1;
  int failed = fputs(head, file) < 0 || fwrite(data, 1, bytes, file) != bytes;
  return fclose(file) || failed;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: mpm88_direct OUTPUT_FOLDER STEPS\n");
    return 2;
  }
  double mass = 0;
  int steps = atoi(argv[2]);
  if (simulate(steps, &mass)) {
    fprintf(stderr, "mpm88_direct: a kernel failed\n");
    return 1;
  }
  const char *problem = mpm88_check(points, PARTICLES, mass);
  if (problem) {
    fprintf(stderr, "mpm88_direct: %s\n", problem);
    return 1;
  }
  mpm88_draw(points, PARTICLES, pixels);
  char head[64];
  snprintf(head, sizeof head, "P6 %d %d 255\n", MPM88_PIXELS, MPM88_PIXELS);
  if (write_file(argv[1], "direct.ppm", head, pixels, sizeof pixels) ||
      write_file(argv[1], "direct_positions.f32", "", points, sizeof points)) {
    fprintf(stderr, "mpm88_direct: cannot write into %s\n", argv[1]);
    return 1;
  }
  printf("%d steps of %d particles, mass %.6g\n", steps, PARTICLES, mass);
  return 0;
}
