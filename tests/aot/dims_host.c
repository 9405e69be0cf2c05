/* A host of kernels with named extents: static arrays of the largest size, the direct entry, the packed one and libmetate's. */
#include "dims.h"

#include "ffi.h"
#include "metate/metate.h"

#include <stdio.h>

_Static_assert(dims_norm_n_MIN == 8 && dims_norm_n_MAX == 64 && dims_norm_n_MULTIPLE == 8,
               "bounds");

static float x[dims_norm_n_MAX * 3], y[dims_norm_n_MAX];

static char message[1024];
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) {
  snprintf(message, sizeof message, "%s: %s", kind, text);
}

static void show(const char *way, int32_t status, int64_t n) {
  printf("%s %d", way, status);
  for (int64_t i = 0; i < n && !status; ++i)
    printf(" %a", (double)y[i]);
  printf("%s%s\n", message[0] ? " " : "", message);
  message[0] = 0;
}

static int32_t packed(int64_t n, int64_t others) {
  int64_t shape[2] = {n, 3};
  tensor arrays[] = {make(x, FLOAT, 32, 2, shape), make(y, FLOAT, 32, 1, &others)};
  any arguments[2] = {of_tensor(&arrays[0]), of_tensor(&arrays[1])}, result;
  return __tvm_ffi_dims_norm(NULL, arguments, 2, &result);
}

static int32_t launched(const metate_kernel *kernel, int64_t n, int64_t others) {
  int64_t shape[2] = {n, 3};
  metate_array of_x = {x, METATE_F32, 2, 0, 0, shape, NULL},
               of_y = {y, METATE_F32, 1, 0, 0, &others, NULL};
  metate_argument arguments[2] = {{METATE_ARGUMENT_NDARRAY, 0, 0, 0, {.array = &of_x}},
                                  {METATE_ARGUMENT_NDARRAY, 0, 0, 0, {.array = &of_y}}};
  int32_t status = metate_kernel_launch(kernel, arguments, 2);
  snprintf(message, sizeof message, "%s", status ? metate_last_error() : "");
  return status;
}

int main(void) {
  metate_device *device = NULL;
  metate_module *module = NULL;
  const metate_kernel *kernel = NULL;
  if (metate_device_open(NULL, &device) ||
      metate_module_open_static(device, dims_module.descriptor, dims_module.bytes,
                                (const metate_entry *)dims_module.entries, dims_module.entry_count,
                                &module) ||
      metate_module_find_kernel(module, "norm", &kernel))
    return printf("%s\n", metate_last_error()), 2;
  for (int i = 0; i < dims_norm_n_MAX * 3; ++i)
    x[i] = 0.5f * (float)(i % 7);
  static const int64_t extents[] = {8, 64, 12, 0, 72};
  for (int k = 0; k < 5; ++k) {
    show("direct", dims_norm(x, extents[k], y, NULL, NULL), extents[k]);
    show("packed", packed(extents[k], extents[k]), extents[k]);
    show("launch", launched(kernel, extents[k], extents[k]), extents[k]);
  }
  show("packed", packed(16, 24), 16);
  show("launch", launched(kernel, 16, 24), 16);
  metate_kernel_description about = {.struct_size = sizeof about};
  metate_dim_description dim = {.struct_size = sizeof dim};
  if (metate_kernel_describe(kernel, &about) || metate_kernel_dim_info(kernel, 0, &dim))
    return printf("%s\n", metate_last_error()), 2;
  printf("%u %s %d %d %d %u\n", about.dim_count, dim.name, (int)dim.min, (int)dim.max,
         (int)dim.multiple, dim.slot);
  printf("%d %s\n", metate_kernel_dim_info(kernel, 1, &dim), metate_last_error());
  metate_module_close(module);
  metate_device_close(device);
  return 0;
}
