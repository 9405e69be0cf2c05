// The driver "simt": this machine's CPU as a device of grids.
#include "metate/metate_simt.h"

#include "driver/simt/simt.h"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace metate::simt {

namespace {

// The most that a tree takes when nobody says: as much as of a small device.
constexpr uint64_t roomBytes = uint64_t(256) << 20;

metate_status open(const metate_allocator &allocator, const void *, void **self) {
  void *place = allocator.allocate(allocator.self, sizeof(Simt), alignof(Simt));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes for a device",
                sizeof(Simt));
  const char *threads = getenv("METATE_SIMT_THREADS");
  unsigned long wanted = threads ? strtoul(threads, nullptr, 10) : 1;
  *self = new (place)
      Simt{allocator, wanted ? uint32_t(wanted) : 1, os::Mutex(), grid::Ranges(allocator)};
  return METATE_OK;
}

void close(void *self) {
  metate_allocator allocator = of(self).allocator;
  of(self).~Simt();
  allocator.release(allocator.self, self, sizeof(Simt), alignof(Simt));
}

void describe(const void *self, metate_device_info *info) {
  info->arch = METATE_ARCH_SIMT;
  snprintf(info->name, sizeof info->name, "simt (%u threads)", of(self).threads);
}

metate_status inspect(const void *, metate_machine_info *info) {
  info->features = METATE_FEATURE_F64 | METATE_FEATURE_F16 | METATE_FEATURE_I16 |
                   METATE_FEATURE_I8 | METATE_FEATURE_I64_ATOMICS;
  info->memory_bytes = os::memoryBytes();
  return METATE_OK;
}

Room room(const void *) { return {roomBytes, 0}; }

Verdict judge(const void *, const Descriptor &descriptor, uint32_t index, bool inProcess) {
  const metate_variant_info &variant = descriptor.variants()[index];
  Verdict verdict;
  if (inProcess)
    snprintf(verdict.reason, sizeof verdict.reason, "its entries are functions of the host");
  else if (variant.arch != METATE_ARCH_SIMT)
    snprintf(verdict.reason, sizeof verdict.reason, "it is for another architecture (%u)",
             variant.arch);
  else if (variant.format != METATE_FORMAT_GRID)
    snprintf(verdict.reason, sizeof verdict.reason, "its code is no grid");
  return verdict;
}

metate_status adopt(void *, const Descriptor &, const metate_entry *, Code *) {
  return fail(METATE_E_UNSUPPORTED, "entries of the host do not run on the device 'simt': open a "
                                    "module that was built for it");
}

const Driver driver = {
    .name = "simt",
    .open = open,
    .close = close,
    .describe = describe,
    .inspect = inspect,
    .create = create,
    .reserve = reserve,
    .wrap = wrap,
    .release = release,
    .read = read,
    .write = write,
    .zero = zero,
    .room = room,
    .discard = nullptr,
    .scatter = nullptr,
    .judge = judge,
    .load = load,
    .adopt = adopt,
    .unload = unload,
    .launch = launch,
    .reaches = reaches,
    .wait = nullptr,
    .settles = true,
    .treeWorkers = 64,
};

} // namespace

} // namespace metate::simt

metate_status metate_simt_device_open(const metate_device_hooks *hooks, metate_device **device) {
  return metate_device_open_plugin(&metate::simt::driver, metate::pluginVersion, nullptr, hooks,
                                   device);
}
