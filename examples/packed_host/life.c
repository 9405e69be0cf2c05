/* The Game of Life on single bits in a C program without libmetate: the kernels are linked in (packed.o), the worlds lie in static
 * arrays, and cells are set and read by the accessors of the generated header. What firmware would do.
 *
 *   packed_life PATTERN.cells GENERATIONS EVERY     prints one generation of EVERY
 *
 * Build:  cc life.c FOLDER/packed.o -IFOLDER -lm */
#include "packed.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 24, COLUMNS = 64 };

_Alignas(packed_world_ALIGN) static unsigned char worlds[2][packed_world_BYTES];

/* A pattern from the upper left of the middle on: a line a row, 'O' lives, a comment begins with '!'. */
static int read_pattern(const char *path, void *world) {
  char line[256];
  int64_t row = ROWS / 3;
  FILE *file = fopen(path, "r");
  if (!file)
    return 1;
  while (fgets(line, sizeof line, file)) {
    if (line[0] == '!')
      continue;
    for (int64_t k = 0; line[k] && line[k] != '\n'; ++k)
      packed_world_alive_set(world, row % ROWS, (COLUMNS / 3 + k) % COLUMNS, line[k] == 'O');
    ++row;
  }
  return fclose(file);
}

static void print_world(const void *world, long generation, int32_t alive) {
  printf("generation %ld: %d alive\n", generation, (int)alive);
  for (int64_t i = 0; i < ROWS; ++i) {
    for (int64_t j = 0; j < COLUMNS; ++j)
      putchar(packed_world_alive_get(world, i, j) ? 'O' : '.');
    putchar('\n');
  }
}

int main(int argc, char **argv) {
  long generations = argc == 4 ? atol(argv[2]) : 0, every = argc == 4 ? atol(argv[3]) : 0;
  if (generations < 1 || every < 1) {
    fprintf(stderr, "usage: packed_life PATTERN.cells GENERATIONS EVERY\n");
    return 2;
  }
  for (int k = 0; k < 2; ++k)
    if (packed_world_reset(worlds[k], sizeof worlds[k]))
      return 1;
  if (read_pattern(argv[1], worlds[0])) {
    fprintf(stderr, "packed_life: cannot read %s\n", argv[1]);
    return 1;
  }
  printf("%d x %d cells in %d bytes\n", ROWS, COLUMNS, (int)packed_world_BYTES);
  for (long n = 0; n <= generations; ++n) {
    void *now = worlds[n % 2], *next = worlds[(n + 1) % 2];
    int32_t alive = 0;
    if (packed_living(now, &alive, NULL, NULL) || packed_generation(now, next, NULL, NULL)) {
      fprintf(stderr, "packed_life: a kernel failed\n");
      return 1;
    }
    if (n % every == 0)
      print_world(now, n, alive);
  }
  return 0;
}
