/* The Game of Life as a plug-in: a C program that loads its kernels while it runs (packed.so), and so can be given others
 * without being built again. The header says how large a world is and where its cells are; it links nothing of Metate.
 *
 *   packed_plugin FOLDER/packed.so GENERATIONS      prints how many cells of a row of ten live in each generation
 *
 * Build:  cc plugin.c -IFOLDER -ldl */
#include "packed.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int32_t reset_function(void *block, uint64_t bytes);
typedef int32_t generation_function(void *now, void *next, void *const *pools,
                                    const struct metate_host *host);
typedef int32_t living_function(void *now, int32_t *result, void *const *pools,
                                const struct metate_host *host);

_Alignas(packed_world_ALIGN) static unsigned char worlds[2][packed_world_BYTES];

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (!address) {
    fprintf(stderr, "packed_plugin: %s\n", dlerror());
    exit(1);
  }
  return address;
}

int main(int argc, char **argv) {
  long generations = argc == 3 ? atol(argv[2]) : 0;
  if (generations < 1) {
    fprintf(stderr, "usage: packed_plugin FOLDER/packed.so GENERATIONS\n");
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "packed_plugin: %s\n", dlerror());
    return 1;
  }
  reset_function *reset;
  generation_function *advance;
  living_function *living;
  *(void **)&reset = symbol(library, "packed_world_reset");
  *(void **)&advance = symbol(library, "packed_generation");
  *(void **)&living = symbol(library, "packed_living");
  for (int k = 0; k < 2; ++k)
    if (reset(worlds[k], sizeof worlds[k]))
      return 1;
  for (int64_t j = 20; j < 30; ++j)
    packed_world_alive_set(worlds[0], 12, j, 1);
  for (long n = 0; n <= generations; ++n) {
    void *now = worlds[n % 2], *next = worlds[(n + 1) % 2];
    int32_t alive = 0;
    if (living(now, &alive, NULL, NULL) || advance(now, next, NULL, NULL)) {
      fprintf(stderr, "packed_plugin: a kernel failed\n");
      return 1;
    }
    printf("%d%s", (int)alive, n < generations ? " " : "\n");
  }
  return dlclose(library);
}
