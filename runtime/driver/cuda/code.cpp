// Loading code: the best image that the GPU runs, and the functions of its tasks, each looked up once.
#include "driver/cuda/code.h"

#include <new>

namespace metate::cuda {

namespace {

// More of a workgroup's memory has to be asked for, function by function.
constexpr uint32_t freeSharedBytes = 48 << 10;

// How good an image is for a GPU, 0: it does not run there. Code for this GPU, then for an older one of its generation, then text.
uint64_t rankOf(const metate_grid_image &image, uint32_t level) {
  if (image.level > level)
    return 0;
  if (image.format == METATE_GRID_PTX)
    return uint64_t(1) << 32 | image.level;
  if (image.format == METATE_GRID_CUBIN && image.level / 10 == level / 10)
    return uint64_t(2) << 32 | image.level;
  return 0;
}

// The best image below a rank.
const metate_grid_image *bestBelow(const grid::Section &section, uint32_t level, uint64_t *below) {
  const metate_grid_image *best = nullptr;
  uint64_t bestRank = 0;
  for (uint32_t i = 0; i < section.header().images.count; ++i) {
    const metate_grid_image &image = section.images()[i];
    uint64_t rank = rankOf(image, level);
    if (rank > bestRank && rank < *below) {
      best = &image;
      bestRank = rank;
    }
  }
  *below = bestRank;
  return best;
}

metate_status loadImage(Cuda &cuda, const char *name, const void *image, Loaded *loaded) {
  char log[600] = "";
  int options[] = {jitErrorLog, jitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(uintptr_t(sizeof log - 1))};
  Result result = cuda.api.moduleLoad(&loaded->module, image, 2, options, values);
  if (result == success)
    return METATE_OK;
  loaded->module = nullptr;
  if (isFatal(result) || result == outOfMemory)
    return check(cuda, result, "cuModuleLoadDataEx");
  return fail(METATE_E_UNSUPPORTED, "the driver refused the code of module '%s': %s: %s%s%s", name,
              cuda.api.nameOf(result), cuda.api.textOf(result), *log ? ": " : "", log);
}

// The best image, and if the driver refuses it, the next one: the first refusal is told.
metate_status loadBest(Cuda &cuda, const char *name, Loaded *loaded) {
  const grid::Section &section = loaded->payload.section();
  uint64_t below = UINT64_MAX;
  const metate_grid_image *first = bestBelow(section, cuda.level, &below);
  if (!first)
    return fail(METATE_E_UNSUPPORTED,
                "the code of module '%s' has no image for a GPU of compute capability %u.%u", name,
                cuda.level / 10, cuda.level % 10);
  metate_status status = loadImage(cuda, name, section.at(first->offset), loaded);
  while (status == METATE_E_UNSUPPORTED) {
    const metate_grid_image *next = bestBelow(section, cuda.level, &below);
    if (!next)
      return loadImage(cuda, name, section.at(first->offset), loaded);
    status = loadImage(cuda, name, section.at(next->offset), loaded);
  }
  return status;
}

// A function that can be launched as its task says.
metate_status findFunction(Cuda &cuda, const char *module, const metate_grid_task &task,
                           const char *name, Loaded *loaded, void **function) {
  const Library &library = cuda.api;
  Result result = library.moduleFunction(function, loaded->module, name);
  if (result != success && !isFatal(result))
    return fail(METATE_E_CORRUPT, "the code of module '%s': it has no task '%s': %s", module, name,
                library.nameOf(result));
  METATE_TRY(check(cuda, result, "cuModuleGetFunction"));
  int most = 0;
  METATE_TRY(check(cuda, library.functionAttribute(&most, threadsPerBlock, *function),
                   "cuFuncGetAttribute"));
  if (most < 0 || task.group > uint32_t(most))
    return fail(METATE_E_UNSUPPORTED,
                "the code of module '%s': task '%s' is for %u invocations in a workgroup, of which "
                "this GPU has room for %d",
                module, name, task.group, most);
  if (task.shared_bytes <= freeSharedBytes)
    return METATE_OK;
  result =
      task.shared_bytes > INT32_MAX
          ? invalidValue
          : library.setFunctionAttribute(*function, dynamicSharedBytes, int(task.shared_bytes));
  if (result == invalidValue)
    return fail(
        METATE_E_UNSUPPORTED,
        "the code of module '%s': task '%s' needs %u bytes of shared memory in a workgroup, "
        "which this GPU does not have",
        module, name, task.shared_bytes);
  return check(cuda, result, "cuFuncSetAttribute");
}

metate_status findFunctions(Cuda &cuda, const char *module, Loaded *loaded) {
  const grid::Section &section = loaded->payload.section();
  uint32_t count = section.header().tasks.count;
  if (!count)
    return METATE_OK;
  const metate_allocator &allocator = cuda.allocator;
  loaded->functions = static_cast<void **>(
      allocator.allocate(allocator.self, count * sizeof(void *), alignof(void *)));
  if (!loaded->functions)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for %u tasks", count);
  loaded->count = count;
  for (uint32_t i = 0; i < count; ++i) {
    const metate_grid_task &task = section.tasks()[i];
    METATE_TRY(findFunction(cuda, module, task, section.name(task), loaded, &loaded->functions[i]));
  }
  return METATE_OK;
}

metate_status makeSubmissions(Cuda &cuda, Loaded *loaded) {
  uint32_t count = loaded->payload.section().header().kernels.count;
  if (!count)
    return METATE_OK;
  const metate_allocator &allocator = cuda.allocator;
  loaded->submissions = static_cast<Submission *>(
      allocator.allocate(allocator.self, count * sizeof(Submission), alignof(Submission)));
  if (!loaded->submissions)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for %u kernels", count);
  for (uint32_t i = 0; i < count; ++i)
    new (loaded->submissions + i) Submission;
  return METATE_OK;
}

void dropSubmissions(Cuda &cuda, Loaded *loaded) {
  if (!loaded->submissions)
    return;
  uint32_t count = loaded->payload.section().header().kernels.count;
  for (uint32_t i = 0; i < count; ++i)
    loaded->submissions[i].giveUp(cuda);
  cuda.allocator.release(cuda.allocator.self, loaded->submissions, count * sizeof(Submission),
                         alignof(Submission));
}

metate_status openCode(Cuda &cuda, const Descriptor &descriptor, uint32_t variant, Span payload,
                       Loaded *loaded) {
  METATE_TRY(loaded->payload.open(descriptor, variant, payload));
  const char *name = descriptor.text(descriptor.header().name);
  Session session(cuda);
  METATE_TRY(session.status());
  METATE_TRY(makeSubmissions(cuda, loaded));
  METATE_TRY(loadBest(cuda, name, loaded));
  return findFunctions(cuda, name, loaded);
}

// What a lost device says to it does not matter.
void dropCode(Cuda &cuda, Loaded *loaded) {
  if (loaded->module) {
    Session session(cuda);
    bool isIdle = session.status() == METATE_OK && synchronize(cuda) == METATE_OK;
    dropSubmissions(cuda, loaded);
    if (isIdle)
      check(cuda, cuda.api.moduleUnload(loaded->module), "cuModuleUnload");
  } else {
    dropSubmissions(cuda, loaded); // none was made
  }
  const metate_allocator &allocator = cuda.allocator;
  if (loaded->functions)
    allocator.release(allocator.self, loaded->functions, loaded->count * sizeof(void *),
                      alignof(void *));
  loaded->~Loaded();
  allocator.release(allocator.self, loaded, sizeof(Loaded), alignof(Loaded));
}

} // namespace

metate_status load(void *self, const Descriptor &descriptor, uint32_t variant, Span payload,
                   Code *code) {
  Cuda &cuda = of(self);
  void *place = cuda.allocator.allocate(cuda.allocator.self, sizeof(Loaded), alignof(Loaded));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes", sizeof(Loaded));
  auto *loaded = new (place) Loaded(cuda.allocator);
  metate_status status = openCode(cuda, descriptor, variant, payload, loaded);
  if (status != METATE_OK) {
    dropCode(cuda, loaded);
    return status;
  }
  *code = {nullptr, loaded};
  return METATE_OK;
}

void unload(void *self, Code *code) {
  if (code->handle)
    dropCode(of(self), static_cast<Loaded *>(code->handle));
  *code = {};
}

} // namespace metate::cuda
