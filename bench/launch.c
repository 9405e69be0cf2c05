/* launch MODULE.metate: what a C host pays. Times opening a module up to its first launch (B17) and
 * launches of kernels of that module (B15: empty0, empty5, empty20, with that many i32 arguments;
 * graphs of one and of 16 kernels of five, and of kernels over arrays of 8 elements).
 * Prints one JSON object of sample lists, in nanoseconds. Links libmetate only. */
#define _POSIX_C_SOURCE 199309L
#include "metate/metate.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES = 11, BATCH = 20000, MOST_ARGUMENTS = 20 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void check(metate_status status) {
  if (status == METATE_OK)
    return;
  fprintf(stderr, "launch: %s: %s\n", metate_status_name(status), metate_last_error());
  exit(1);
}

static const metate_kernel *find(const metate_module *module, const char *name) {
  const metate_kernel *kernel;
  check(metate_module_find_kernel(module, name, &kernel));
  return kernel;
}

static void print_samples(const char *name, const double *samples, const char *end) {
  printf("\"%s\": [", name);
  for (int n = 0; n < SAMPLES; ++n)
    printf("%s%.2f", n ? ", " : "", samples[n]);
  printf("]%s", end);
}

static void time_open(metate_device *device, const char *path) {
  double samples[SAMPLES];
  for (int n = 0; n < SAMPLES; ++n) {
    metate_module *module;
    double start = now();
    check(metate_module_open_file(device, path, 0, &module));
    check(metate_kernel_launch(find(module, "empty0"), NULL, 0));
    samples[n] = now() - start;
    check(metate_module_close(module));
  }
  print_samples("open", samples, ", ");
}

static void time_launch(const metate_module *module, const char *name, uint32_t count,
                        const char *end) {
  metate_argument arguments[MOST_ARGUMENTS] = {{0}};
  for (uint32_t n = 0; n < count; ++n)
    arguments[n] = (metate_argument){.kind = METATE_ARGUMENT_SCALAR,
                                     .dtype = METATE_I32,
                                     .rows = 1,
                                     .columns = 1,
                                     .value.bits = n};
  const metate_kernel *kernel = find(module, name);
  double samples[SAMPLES];
  for (int n = 0; n < SAMPLES; ++n) {
    double start = now();
    for (int k = 0; k < BATCH; ++k)
      check(metate_kernel_launch(kernel, arguments, count));
    samples[n] = (now() - start) / BATCH;
  }
  print_samples(name, samples, end);
}

/* Of a graph over a number and three short arrays. */
static void time_arrays(const metate_module *module, const char *name, const char *end) {
  static float memory[3][8];
  const int64_t extent = 8;
  metate_array arrays[3];
  metate_argument arguments[4] = {
      {.kind = METATE_ARGUMENT_SCALAR, .dtype = METATE_F32, .rows = 1, .columns = 1}};
  for (int k = 0; k < 3; ++k) {
    arrays[k] = (metate_array){.data = memory[k], .dtype = METATE_F32, .rank = 1, .shape = &extent};
    arguments[1 + k] =
        (metate_argument){.kind = METATE_ARGUMENT_NDARRAY, .value.array = &arrays[k]};
  }
  const metate_kernel *kernel = find(module, name);
  uint32_t count = name[6] == '1' && !name[7] ? 3 : 4; /* one kernel has two of the arrays */
  double samples[SAMPLES];
  for (int n = 0; n < SAMPLES; ++n) {
    double start = now();
    for (int k = 0; k < BATCH; ++k)
      check(metate_kernel_launch(kernel, arguments, count));
    samples[n] = (now() - start) / BATCH;
  }
  print_samples(name, samples, end);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: launch MODULE.metate\n");
    return 2;
  }
  metate_device *device;
  metate_module *module;
  check(metate_device_open(NULL, &device));
  printf("{");
  time_open(device, argv[1]);
  check(metate_module_open_file(device, argv[1], 0, &module));
  time_launch(module, "empty0", 0, ", ");
  time_launch(module, "empty5", 5, ", ");
  time_launch(module, "empty20", 20, ", ");
  time_launch(module, "graph1", 5, ", ");
  time_launch(module, "graph16", 5, ", ");
  time_arrays(module, "arrays1", ", ");
  time_arrays(module, "arrays16", "}\n");
  check(metate_module_close(module));
  check(metate_device_close(device));
  return 0;
}
