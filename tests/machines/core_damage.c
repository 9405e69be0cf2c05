/* Descriptors with wrong bytes, under sanitizers: the core refuses them, or nothing that it offers leaves their memory. */
#include "metate/core.h"

#include MODULE_HEADER

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;
static uint32_t draw(void) {
  return (uint32_t)((state = state * 6364136223846793005u + 1442695040888963407u) >> 33);
}

static void use(metate_core *core, unsigned char *memory, uint64_t bytes) {
  metate_slot *slots = calloc(1 << 16, sizeof *slots);
  for (uint32_t k = 0; metate_core_kernel(core, k); ++k) {
    const metate_kernel_info *kernel = metate_core_kernel(core, k);
    metate_core_find_kernel(core, metate_core_text(core, kernel->name));
    for (uint32_t a = 0; a < kernel->argument_count; ++a)
      (void)strlen(metate_core_text(core, metate_core_argument_info(core, k, a)->name));
    for (uint32_t p = 0; p < kernel->pool_count; ++p)
      metate_core_pool_bytes(core, k, p, slots, 4),
          (void)strlen(metate_core_pool_memory(core, k, p));
    for (uint32_t d = 0; metate_core_dim_info(core, k, d); ++d)
      (void)strlen(metate_core_text(core, metate_core_dim_info(core, k, d)->name));
  }
  for (uint32_t t = 0; metate_core_type(core, t); ++t) {
    const metate_tree_type *type = metate_core_type(core, t);
    (void)strlen((const char *)type + type->text);
    metate_core_type_bytes(type, 3);
    if (metate_core_tree_reset(type, 1, memory, bytes) == METATE_OK &&
        metate_core_tree_bind(type, memory, bytes) != METATE_OK) {
      printf("a fresh tree is refused\n");
      exit(1);
    }
  }
  free(slots);
}

int main(int argc, char **argv) {
  uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000, bytes = 64 << 10, opened = 0;
  state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  unsigned char *memory = aligned_alloc(64, bytes);
  for (uint64_t k = 0; k < rounds; ++k) {
    metate_static_module module = MODULE;
    unsigned char *copy = malloc(module.bytes);
    memcpy(copy, MODULE.descriptor, module.bytes);
    for (uint32_t n = 0, count = draw() % 4; n < count; ++n) {
      static const unsigned char odd[] = {0, 1, 2, 4, 8, 0x7f, 0x80, 0xff};
      copy[draw() % module.bytes] = draw() % 2 ? odd[draw() % sizeof odd] : (unsigned char)draw();
    }
    metate_core core;
    module.descriptor = copy;
    if (metate_core_open(&module, &core) == METATE_OK) {
      ++opened;
      use(&core, memory, bytes);
    }
    free(copy);
  }
  free(memory);
  printf("%llu of %llu\n", (unsigned long long)opened, (unsigned long long)rounds);
  return 0;
}
