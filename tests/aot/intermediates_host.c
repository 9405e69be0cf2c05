/* A host that brings the memory of a graph's intermediates: exactly as much as is planned, between pages that nobody may touch and
 * full of what is no number; then a static array. Whoever allocates or ends the process while the graph runs is found out. */
#define _GNU_SOURCE
#include "graph.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is_running;

static void trap(const char *name) {
  if (!is_running)
    return;
  ssize_t written = write(1, name, strlen(name));
  _exit(written < 0 ? 4 : 3);
}

void *__real_malloc(size_t bytes);
void __real_free(void *pointer);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) {
  trap("malloc\n");
  return __real_malloc(bytes);
}
void __wrap_free(void *pointer);
void __wrap_free(void *pointer) {
  trap("free\n");
  __real_free(pointer);
}
void __wrap_abort(void);
void __wrap_abort(void) {
  trap("abort\n");
  _exit(5);
}
void __wrap_exit(int status);
void __wrap_exit(int status) {
  trap("exit\n");
  _exit(status);
}

/* From the page's start on: before it and behind it lie unmapped pages. The size is no multiple of a page, so that either the first
 * byte or the last one is at an edge. */
static unsigned char *guarded(size_t bytes, int at_end) {
  size_t pages = (bytes + 4095) / 4096 * 4096;
  unsigned char *base =
      mmap(NULL, pages + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base, 4096, PROT_NONE) ||
      mprotect(base + 4096 + pages, 4096, PROT_NONE))
    return NULL;
  memset(base + 4096, 0xff, pages);
  return base + 4096 + (at_end ? pages - bytes : 0);
}

static _Alignas(64) unsigned char room[graph_g_intermediates_BYTES_MAX];
static float x[graph_g_n_MAX], y[graph_g_n_MAX];

static void show(const char *way, int32_t status, int64_t n) {
  printf("%s %d", way, status);
  for (int64_t i = 0; i < n; ++i)
    printf(" %a", (double)y[i]);
  printf("\n");
}

static int32_t run(unsigned char *memory, int64_t n) {
  void *pools[graph_g_POOLS] = {memory};
  is_running = 1;
  int32_t status = graph_g(x, n, y, pools, NULL);
  is_running = 0;
  return status;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int i = 0; i < graph_g_n_MAX; ++i)
    x[i] = 0.25f * (float)(i % 5);
  unsigned char *first = guarded(graph_g_intermediates_BYTES, 0),
                *last = guarded(graph_g_intermediates_BYTES, 1);
  if (!first || !last)
    return 2;
  static const int64_t extents[] = {1, 63, graph_g_n_MAX};
  for (int k = 0; k < 3; ++k) {
    show("first", run(first, extents[k]), extents[k]);
    show("last", run(last, extents[k]), extents[k]);
    show("static", run(room, extents[k]), extents[k]);
  }
  return 0;
}
