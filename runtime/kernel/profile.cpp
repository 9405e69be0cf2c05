// What launches and tasks took, for the device's profiler.
#include "kernel/profile.h"

#include "tree/tree.h"

using namespace metate;

// Bytes of an argument that a kernel may touch; 0: they are not known.
static uint64_t bytesOf(const metate_argument &argument) {
  if (argument.kind == METATE_ARGUMENT_TREE) {
    const metate_tree &tree = *argument.value.tree;
    return tree.type->poolCount() ? 0 : tree.layout.bytes;
  }
  if (argument.kind != METATE_ARGUMENT_NDARRAY)
    return 0;
  const metate_array &array = *argument.value.array;
  uint64_t bytes = metate_dtype_bytes(array.dtype);
  for (uint32_t k = 0; k < array.rank; ++k)
    bytes *= uint64_t(array.shape[k]);
  return bytes;
}

Profile::Profile(const metate_kernel &kernel)
    : kernel(kernel), hooks{this, &Profile::beginTask, &Profile::endTask},
      onDevice{this, &Profile::tellTask}, begin(os::now()) {}

void Profile::end(const metate_argument *arguments) const {
  uint64_t now = os::now(), bytes = 0;
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    uint32_t access = kernel.arguments[i].access;
    bytes += bytesOf(arguments[i]) *
             (((access & METATE_ACCESS_READ) != 0) + ((access & METATE_ACCESS_WRITE) != 0));
  }
  const metate_profiler &profiler = kernel.device->profiler;
  profiler.launch(profiler.self, &kernel, begin, now, bytes);
}

void Profile::beginTask(void *self, uint32_t, uint32_t line, int64_t iterations) {
  auto &profile = *static_cast<Profile *>(self);
  profile.taskLine = line;
  profile.taskIterations = iterations;
  profile.taskBegin = os::now();
}

void Profile::endTask(void *self, uint32_t task) {
  uint64_t now = os::now();
  const auto &profile = *static_cast<Profile *>(self);
  const metate_profiler &profiler = profile.kernel.device->profiler;
  profiler.task(profiler.self, &profile.kernel, task, profile.taskLine, profile.taskIterations,
                profile.taskBegin, now);
}

// The last task has ended a moment ago, by the device's clock, which is another one.
void Profile::tellTask(void *self, uint32_t task, uint32_t line, int64_t iterations, uint64_t begun,
                       uint64_t ended) {
  auto &profile = *static_cast<Profile *>(self);
  if (!profile.told)
    profile.told = os::now();
  const metate_profiler &profiler = profile.kernel.device->profiler;
  profiler.task(profiler.self, &profile.kernel, task, line, iterations, profile.told - begun,
                profile.told - ended);
}
