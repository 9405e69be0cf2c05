/* Two instances of three sparse tree types in this program's own memory, by direct calls: points in a
 * file scattered into the first half and the second, one instance moved to other memory in between.
 * With WITH_METATE the blocks are checked by libmetate. Prints what `measure` found, a line each time. */
#include "sparse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_METATE
#include <metate/metate.h>
#endif

enum { BINS_BYTES = 1 << 20, COUNT = 7 };

typedef struct instance {
  void *cells, *lists, *bins;
} instance;

static void *allocate(uint64_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory)
    exit(2);
  memset(memory, 0x5a, bytes); /* what a block was before is nobody's business */
  return memory;
}

static void expect(int holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}

/* How often the set of active cells changed (metate_tree_header, without its header). */
static uint64_t topology_of(const void *block) {
  uint64_t number;
  memcpy(&number, (const unsigned char *)block + 96, sizeof number);
  return number;
}

static void expect_topologies(const instance *of, uint64_t cells, uint64_t lists, uint64_t bins) {
  expect(topology_of(of->cells) == cells,
         "the topology of cells is another one only if it changed");
  expect(topology_of(of->lists) == lists,
         "the topology of lists is another one only if it changed");
  expect(topology_of(of->bins) == bins, "the topology of bins is another one only if it changed");
}

static instance make(void) {
  instance made = {allocate(sparse_cells_BYTES), allocate(sparse_lists_BYTES),
                   allocate(BINS_BYTES)};
  expect(sparse_cells_reset(made.cells, sparse_cells_BYTES) == 0, "reset of cells");
  expect(sparse_lists_reset(made.lists, sparse_lists_BYTES) == 0, "reset of lists");
  expect(sparse_bins_reset(made.bins, BINS_BYTES) == 0, "reset of bins in a part of their bytes");
  return made;
}

static void drop(instance *old) {
  free(old->cells);
  free(old->lists);
  free(old->bins);
}

/* The bytes are the instance: a copy elsewhere goes on where this one was. */
static void move(instance *from) {
  instance to = {allocate(sparse_cells_BYTES), allocate(sparse_lists_BYTES), allocate(BINS_BYTES)};
  memcpy(to.cells, from->cells, sparse_cells_BYTES);
  memcpy(to.lists, from->lists, sparse_lists_BYTES);
  memcpy(to.bins, from->bins, BINS_BYTES);
  drop(from);
  *from = to;
}

#ifdef WITH_METATE
static void check(const metate_module *module, const char *name, const void *block,
                  uint64_t bytes) {
  const metate_type *type = NULL;
  expect(metate_module_find_type(module, name, &type) == METATE_OK, "find_type");
  expect(metate_tree_check(type, block, bytes) == METATE_OK, metate_last_error());
}
#endif

static void measure(const instance *of) {
  int64_t out[COUNT] = {0};
  expect(sparse_measure(of->cells, of->lists, of->bins, out, COUNT, NULL, NULL) == 0, "measure");
  for (int k = 0; k < COUNT; ++k)
    printf("%" PRId64 "%c", out[k], k + 1 < COUNT ? ' ' : '\n');
#ifdef WITH_METATE
  metate_device *device = NULL;
  metate_module *module = NULL;
  expect(metate_device_open(NULL, &device) == METATE_OK, "device");
  expect(metate_module_open_static(device, sparse_module.descriptor, sparse_module.bytes,
                                   sparse_module.entries, sparse_module.entry_count,
                                   &module) == METATE_OK,
         "module");
  check(module, "cells", of->cells, sparse_cells_BYTES);
  check(module, "lists", of->lists, sparse_lists_BYTES);
  check(module, "bins", of->bins, BINS_BYTES);
  expect(metate_module_close(module) == METATE_OK, "close");
  expect(metate_device_close(device) == METATE_OK, "close of the device");
#endif
}

int main(int count, char **arguments) {
  expect(count == 2, "usage: sparse_host POINTS");
  FILE *file = fopen(arguments[1], "rb");
  expect(file != NULL, "points");
  static int32_t points[200][2];
  int64_t rows = (int64_t)fread(points, sizeof points[0], 200, file), half = rows / 2;
  fclose(file);
  static _Alignas(64) char counts[sparse_scatter_place_counts_BYTES]; /* what the kernel plans */
  void *pools[] = {counts};
  instance a = make(), b = make();
  expect(sparse_scatter(&points[0][0], half, 2, a.cells, a.lists, a.bins, pools, NULL) == 0,
         "scatter");
  expect(sparse_scatter(&points[half][0], rows - half, 2, b.cells, b.lists, b.bins, pools, NULL) ==
             0,
         "scatter");
  expect_topologies(&a, 2, 2, 2); /* a reset and a call that activates */
  measure(&a);
  measure(&b);
  expect_topologies(&a, 2, 2, 2);
  expect(sparse_thin(a.cells, a.lists, NULL, NULL) == 0, "thin");
  expect_topologies(&a, 3, 3, 2);
  expect(sparse_thin(a.cells, a.lists, NULL, NULL) == 0, "thin what is thin");
  expect_topologies(&a, 3, 3, 2);
  move(&a);
  measure(&a);
  expect(sparse_scatter(&points[half][0], rows - half, 2, a.cells, a.lists, a.bins, pools, NULL) ==
             0,
         "scatter");
  measure(&a);
  measure(&b);
  drop(&a);
  drop(&b);
  return 0;
}
