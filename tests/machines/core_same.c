/* Random launches, which the core and libmetate are to judge alike: one status for each, and the slots' memory as it was said. */
#include "judged.h"
#include "metate/core.h"
#include "metate/metate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, ELEMENTS = 4096 };

static uint64_t state;
static uint32_t draw(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}

static _Alignas(64) float memory[3 * ELEMENTS];
static int64_t shapes[MOST][4], strides[MOST][4];
static metate_array arrays[MOST];
static metate_argument given[MOST];
static metate_core_argument same[MOST];

/* Mostly as the kernel asks for; now and then of another shape, with steps of either sign, at a place that others have. */
static void make(const metate_core *core, uint32_t kernel, uint32_t k, const int64_t *dims) {
  const metate_argument_info *info = metate_core_argument_info(core, kernel, k);
  uint32_t rank = info->rank;
  given[k] = (metate_argument){.kind = info->kind, .dtype = info->dtype, .rows = 1, .columns = 1};
  same[k] = (metate_core_argument){.kind = info->kind, .dtype = info->dtype, .rank = rank};
  if (info->kind != METATE_ARGUMENT_NDARRAY)
    return;
  for (uint32_t d = 0; d < rank; ++d) {
    shapes[k][d] = info->fixed[d] >= 0    ? info->fixed[d]
                   : info->fixed[d] == -1 ? (int64_t)draw(6)
                                          : dims[METATE_EXTENT_OF_DIM(info->fixed[d])];
    if (!draw(20))
      shapes[k][d] = (int64_t)draw(16) - 2;
  }
  /* Members of one array of structs have one shape, mostly. */
  const char *name = metate_core_text(core, info->name), *dot = strchr(name, '.');
  const metate_argument_info *before = k ? metate_core_argument_info(core, kernel, k - 1) : NULL;
  if (draw(8) && dot && before &&
      !strncmp(name, metate_core_text(core, before->name), (size_t)(dot - name) + 1))
    memcpy(shapes[k], shapes[k - 1], sizeof shapes[k]);
  int64_t reach = draw(3) ? 1 : 2, at = (int64_t)draw(3) * ELEMENTS + ELEMENTS / 2;
  for (uint32_t d = 0; d < rank; ++d) { /* in any order of the dimensions */
    uint32_t way = draw(2);
    for (uint32_t i = 0; i < rank && d == 0; ++i)
      strides[k][way ? rank - 1 - i : i] = reach, reach *= (shapes[k][way ? rank - 1 - i : i] > 0
                                                                ? shapes[k][way ? rank - 1 - i : i]
                                                                : 1) +
                                                           (int64_t)draw(2);
    if (!draw(10))
      strides[k][d] = (int64_t)draw(9) - 3;
    if (!draw(10))
      strides[k][d] = -strides[k][d];
    if (!draw(200))
      strides[k][d] = INT64_MAX / 2;
  }
  arrays[k] = (metate_array){.data = memory + at + draw(2),
                             .dtype = info->dtype,
                             .rank = rank,
                             .shape = shapes[k],
                             .strides = draw(2) ? strides[k] : NULL};
  if (!draw(50))
    arrays[k].data = draw(2) ? NULL : (char *)memory + 2;
  given[k].value.array = &arrays[k];
  same[k].data = arrays[k].data, same[k].shape = shapes[k], same[k].strides = arrays[k].strides;
}

int main(int count, char **words) {
  metate_device *device = NULL;
  metate_module *module = NULL;
  metate_core core;
  long rounds = count > 1 ? atol(words[1]) : 1000;
  state = count > 2 ? (uint64_t)atol(words[2]) : 1;
  if (metate_device_open(NULL, &device) ||
      metate_module_open_static(device, judged_module.descriptor, judged_module.bytes,
                                (const metate_entry *)judged_module.entries,
                                judged_module.entry_count, &module) ||
      metate_core_open(&judged_module, &core))
    return printf("%s\n", metate_last_error()), 2;
  uint32_t graph = metate_core_find_kernel(&core, "fourth");
  const metate_dim_info *dim = metate_core_dim_info(&core, graph, 0);
  printf("%s %d to %d, by %d, then %d; %s in '%s'\n", metate_core_text(&core, dim->name),
         (int)dim->min, (int)dim->max, (int)dim->multiple,
         metate_core_dim_info(&core, graph, 1) != NULL,
         metate_core_text(&core, metate_core_kernel(&core, graph)->name),
         metate_core_pool_memory(&core, graph, 0));
  long met[32] = {0};
  for (long round = 0; round < rounds; ++round) {
    uint32_t kernel = draw(core.descriptor->kernels.count);
    const metate_kernel_info *info = metate_core_kernel(&core, kernel);
    int64_t dims[4];
    for (uint32_t d = 0; d < 4; ++d)
      dims[d] = draw(6) ? 2 + 2 * (int64_t)draw(2) : (int64_t)draw(16);
    for (uint32_t k = 0; k < info->argument_count; ++k)
      make(&core, kernel, k, dims);
    static metate_slot slots[64];
    static _Alignas(64) unsigned char room[1024];
    void *pools[] = {room};
    const metate_kernel *known = NULL;
    metate_module_find_kernel(module, metate_core_text(&core, info->name), &known);
    metate_status theirs = metate_kernel_launch(known, given, info->argument_count);
    metate_status ours =
        metate_core_launch(&core, kernel, same, info->argument_count, slots, pools, NULL);
    ++met[theirs < 32 ? theirs : 31];
    if (ours != theirs) {
      printf("round %ld, kernel '%s': the core says %d, libmetate %d: %s\n", round,
             metate_core_text(&core, info->name), (int)ours, (int)theirs, metate_last_error());
      return 1;
    }
  }
  for (int k = 0; k < 32; ++k)
    if (met[k])
      printf("%d: %ld\n", k, met[k]);
  metate_module_close(module);
  metate_device_close(device);
  return 0;
}
