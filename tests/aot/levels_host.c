/* A C program that links levels.o: calls every kernel at each level, compares the levels with each
 * other, and writes what they gave for the test that compiled it (test_static.py), which compares it
 * with NumPy.  levels_host INPUTS OUTPUTS
 *
 * Compiled with WITH_METATE it links libmetate and has the standard level too, and compares blocks
 * that the object reset with libmetate's; without, it links nothing but the C library. */
#include "levels_host.h"

int failures = 0;
void expect(int condition, const char *what, int line) {
  if (condition)
    return;
  fprintf(stderr, "line %d: expected %s\n", line, what);
  ++failures;
}

struct inputs in;
_Alignas(64) unsigned char sparse[levels_sparse_BYTES], filled[levels_filled_BYTES];

uint64_t topology_of(const void *block) {
  uint64_t number;
  memcpy(&number, (const unsigned char *)block + 96, sizeof number);
  return number;
}

void start(outputs *out) {
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
  uint64_t before = topology_of(sparse);
  EXPECT(!levels_paint(sparse, in.scale, NULL, NULL));
  EXPECT(topology_of(sparse) == before + 1);
  EXPECT(!levels_paint(sparse, in.scale, NULL, NULL));
  EXPECT(!levels_weight(sparse, &out->weight, NULL, NULL));
  EXPECT(topology_of(sparse) == before + 1); /* the same cells are active */
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
  EXPECT(levels_sparse_reset(few, levels_sparse_BYTES - 15484) == 0);
  EXPECT(levels_paint(few, 1, NULL, NULL) == 8);
  EXPECT(topology_of(few) == 2);                 /* also where it fails */
  EXPECT(levels_paint(few, 1, NULL, NULL) == 0); /* nothing new, and the status is this call's */
}

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
