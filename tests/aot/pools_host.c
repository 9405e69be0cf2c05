/* A host that brings the memory that a kernel plans: pools that end where an unmapped page begins, for the direct entry
 * and for the packed one, serially and on workers that take turns. Prints y, a line each way. */
#define _GNU_SOURCE
#include "pools.h"

#include "ffi.h"
#include "metate/abi/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { N = 1000, WORKERS = 3 };

/* `bytes` bytes whose end is an unmapped page, full of what is no number. */
static void *guarded(size_t bytes) {
  size_t pages = (bytes + 4095) / 4096 * 4096;
  char *base = mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + pages, 4096, PROT_NONE))
    exit(2);
  memset(base, 0xff, pages);
  return base + pages - bytes;
}

static int32_t in_turns(void *self, int64_t count, int64_t grain, uint32_t most,
                        metate_task_body body, void *context) {
  (void)self;
  int32_t status = 0;
  grain = grain < 7 ? 7 : grain / 64 + 1;
  uint32_t worker = 0;
  for (int64_t at = 0; at < count && !status; at += grain)
    status = body(context, at, at + grain < count ? at + grain : count, worker++ % most);
  return status;
}

static char message[1024];
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) {
  snprintf(message, sizeof message, "%s: %s", kind, text);
}

static void show(const char *name, int32_t status, const float *y) {
  printf("%s %d", name, status);
  for (int i = 0; i < N; ++i)
    printf(" %a", (double)y[i]);
  printf("\n");
}

static int32_t packed(float *x, float *y, void *copy, int64_t copy_bytes, void *tile) {
  int64_t n = N, tile_bytes = 64;
  tensor arrays[] = {make(x, FLOAT, 32, 1, &n), make(y, FLOAT, 32, 1, &n),
                     make(copy, UINT, 8, 1, &copy_bytes), make(tile, UINT, 8, 1, &tile_bytes)};
  any arguments[5] = {of_int(N)}, result;
  for (int k = 0; k < 4; ++k)
    arguments[1 + k] = of_tensor(&arrays[k]);
  message[0] = 0;
  return __tvm_ffi_pools_mirror(NULL, arguments, 5, &result);
}

/* What an entry says where there are no pools. */
static void without_pools(float *x, float *y) {
  metate_failure failure = {.code = 0};
  metate_host host = {.struct_size = sizeof host, .failure = &failure};
  int32_t status = pools_mirror(N, x, N, y, N, NULL, &host);
  printf("%d %u %s\n", status, failure.code, failure.detail);
  host.failure = NULL;
  printf("%d %d\n", pools_mirror(N, x, N, y, N, NULL, &host),
         pools_mirror(N, x, N, y, N, NULL, NULL));
}

int main(void) {
  float x[N];
  _Alignas(64) float y[N];
  for (int i = 0; i < N; ++i)
    x[i] = 0.25f * (float)(i * i % 97);
  static unsigned char
      fixed[pools_mirror_tile_BYTES(WORKERS)]; /* a constant: memory of a firmware */
  if (sizeof fixed != 192 || pools_mirror_copy_BYTES(N) != 4032 || pools_mirror_POOLS != 2)
    return 3;
  void *pools[] = {guarded(pools_mirror_copy_BYTES(N)), guarded(pools_mirror_tile_BYTES(1))};
  memset(y, 0, sizeof y);
  show("serial", pools_mirror(N, x, N, y, N, pools, NULL), y);
  metate_host host = {.struct_size = sizeof host, .max_workers = WORKERS, .parallel_for = in_turns};
  pools[1] = guarded(pools_mirror_tile_BYTES(WORKERS));
  memset(y, 0, sizeof y);
  show("workers", pools_mirror(N, x, N, y, N, pools, &host), y);
  host.max_workers = 0; /* no bound: room for one worker's tile is all that it may use */
  pools[1] = guarded(pools_mirror_tile_BYTES(1));
  memset(y, 0, sizeof y);
  show("unbounded", pools_mirror(N, x, N, y, N, pools, &host), y);
  memset(y, 0, sizeof y);
  show("packed", packed(x, y, pools[0], pools_mirror_copy_BYTES(N), pools[1]), y);
  int64_t small = pools_mirror_copy_BYTES(N) - 1;
  printf("%d %s\n", packed(x, y, pools[0], small, pools[1]), message);
  printf("%d %s\n", packed(x, y, (char *)pools[0] + 4, small + 1, pools[1]), message);
  printf("%d %s\n", packed(x, y, y, small + 1, pools[1]), message);
  printf("%d %s\n", packed(x, y, pools[0], small + 1, pools[0]), message);
  without_pools(x, y);
  return 0;
}
