/* What the files of the program levels_host share: inputs and outputs of a run, the blocks, and how a
 * failure is noted. levels_host.c has the direct level, levels_packed.c the packed one,
 * levels_standard.c what needs libmetate. */
#ifndef LEVELS_HOST_H
#define LEVELS_HOST_H

#ifdef WITH_METATE
#include "metate/metate.h"
#endif
#include "levels.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int failures;
void expect(int condition, const char *what, int line);
#define EXPECT(condition) expect(condition, #condition, __LINE__)

/* ---- inputs, outputs ---- */

enum { N = 100, ROWS = 6, COLUMNS = 5, POINTS = 50 };
extern struct inputs {
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

extern unsigned char sparse[levels_sparse_BYTES], filled[levels_filled_BYTES];
/* Strides of a particle's members, in elements of each. */
enum { BY_F32 = sizeof(particle) / 4, BY_F64 = sizeof(particle) / 8 };
static const int64_t count[2] = {PARTICLES, 3}, by_pos[2] = {BY_F32, 1}, by_mass[1] = {BY_F64},
                     by_kind[1] = {BY_F32};
static const int64_t n[1] = {N}, shape2[2] = {ROWS, COLUMNS}, shape22[2] = {2, 2}, three[1] = {3},
                     seven[1] = {7}, ten[1] = {10}, points[2] = {POINTS, 3};

/* A block's `topology` (metate_tree_header, of which a host of the object alone has no header). */
uint64_t topology_of(const void *block);
/* Fresh blocks and outputs. */
void start(outputs *out);
/* Every kernel by packed calls, and what they refuse. */
void run_packed(outputs *out);
void check_refusals(void);
/* The same through libmetate, which must give `wanted`; blocks and addresses as libmetate has them. */
void standard_level(const outputs *wanted);
void hooks_of_the_direct_level(void);

#endif
