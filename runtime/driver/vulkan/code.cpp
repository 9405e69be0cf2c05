// Loading code: the image with most of what the device can do, a pipeline for each task, the constants.
#include "driver/vulkan/code.h"

#include "driver/vulkan/words.h"

#include <new>

namespace metate::vulkan {

namespace {

const char *featureName(uint32_t missing) {
  static const struct {
    uint32_t feature;
    const char *name;
  } names[] = {
      {METATE_FEATURE_F64, "64-bit floats (shaderFloat64)"},
      {METATE_FEATURE_F16, "16-bit floats (shaderFloat16, storageBuffer16BitAccess)"},
      {METATE_FEATURE_I16, "16-bit integers (shaderInt16, storageBuffer16BitAccess)"},
      {METATE_FEATURE_I8, "8-bit integers (shaderInt8, storageBuffer8BitAccess)"},
      {METATE_FEATURE_I64_ATOMICS, "64-bit atomics (shaderBufferInt64Atomics)"},
      {METATE_FEATURE_F32_ATOMIC_ADD, "atomic additions of floats (shaderBufferFloat32AtomicAdd)"},
  };
  for (auto [feature, name] : names)
    if (missing & feature)
      return name;
  return "a feature that this driver does not know";
}

// The image that needs most of what is there.
metate_status findImage(const Vulkan &vulkan, const char *name, const grid::Section &section,
                        const metate_grid_image **found) {
  uint32_t missing = 0;
  bool isThere = false;
  *found = nullptr;
  for (uint32_t i = 0; i < section.header().images.count; ++i) {
    const metate_grid_image &image = section.images()[i];
    if (image.format != METATE_GRID_SPIRV)
      continue;
    isThere = true;
    if (image.level & ~vulkan.features)
      missing = image.level & ~vulkan.features;
    else if (!*found || __builtin_popcount(image.level) > __builtin_popcount((*found)->level))
      *found = &image;
  }
  if (*found)
    return METATE_OK;
  if (isThere)
    return fail(METATE_E_UNSUPPORTED, "the code of module '%s' needs %s, which '%s' does not have",
                name, featureName(missing), vulkan.name);
  return fail(METATE_E_UNSUPPORTED, "the code of module '%s' has no SPIR-V among its images", name);
}

metate_status loadImage(Vulkan &vulkan, const char *name, const metate_grid_image &image,
                        Loaded *loaded) {
  const void *bytes = loaded->payload.section().at(image.offset);
  if (const char *problem = Words(bytes, image.bytes).problem())
    return fail(METATE_E_CORRUPT, "the code of module '%s': %s", name, problem);
  const metate_allocator &allocator = vulkan.allocator;
  void *copy = allocator.allocate(allocator.self, image.bytes, alignof(uint32_t));
  if (!copy)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for the code of module '%s'",
                name);
  auto *words = static_cast<uint32_t *>(copy);
  VkShaderModuleCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = Words(bytes, image.bytes).copyFor(vulkan.floats, words) * sizeof(uint32_t);
  info.pCode = words;
  VkResult result = vulkan.api.createShaderModule(vulkan.device, &info, nullptr, &loaded->module);
  allocator.release(allocator.self, copy, image.bytes, alignof(uint32_t));
  if (result != VK_SUCCESS)
    loaded->module = VK_NULL_HANDLE;
  return check(vulkan, result, "vkCreateShaderModule");
}

// A task's code is there, and the device runs its workgroups.
metate_status checkTask(const Vulkan &vulkan, const char *module, const metate_grid_task &task,
                        const char *name, const Words &words) {
  if (!words.hasEntry(name))
    return fail(METATE_E_CORRUPT, "the code of module '%s': it has no task '%s'", module, name);
  uint32_t most = task.most_invocations ? task.most_invocations : UINT32_MAX;
  uint32_t group = task.group < most ? task.group : most;
  if (words.groupOf(name) != group)
    return fail(METATE_E_CORRUPT,
                "the code of module '%s': task '%s' is for %u invocations in a workgroup, its code "
                "is not",
                module, name, group);
  if (group > vulkan.limits.group)
    return fail(METATE_E_UNSUPPORTED,
                "the code of module '%s': task '%s' is for %u invocations in a workgroup, of which "
                "'%s' has room for %u",
                module, name, group, vulkan.name, vulkan.limits.group);
  if (task.shared_bytes > vulkan.limits.sharedBytes)
    return fail(
        METATE_E_UNSUPPORTED,
        "the code of module '%s': task '%s' needs %u bytes of shared memory in a workgroup, "
        "of which '%s' has %u",
        module, name, task.shared_bytes, vulkan.name, vulkan.limits.sharedBytes);
  return METATE_OK;
}

metate_status makePipeline(Vulkan &vulkan, const char *module, const char *name,
                           VkShaderModule code, VkPipeline *pipeline) {
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = code;
  info.stage.pName = name;
  info.layout = vulkan.layout;
  VkResult result =
      vulkan.api.createPipelines(vulkan.device, VK_NULL_HANDLE, 1, &info, nullptr, pipeline);
  if (result == VK_SUCCESS)
    return METATE_OK;
  *pipeline = VK_NULL_HANDLE;
  if (result == VK_ERROR_DEVICE_LOST || isOutOfMemory(result))
    return check(vulkan, result, "vkCreateComputePipelines");
  return fail(METATE_E_UNSUPPORTED, "the driver refused task '%s' of module '%s': %s", name, module,
              nameOf(result));
}

metate_status makePipelines(Vulkan &vulkan, const char *module, const metate_grid_image &image,
                            Loaded *loaded) {
  const grid::Section &section = loaded->payload.section();
  uint32_t count = section.header().tasks.count;
  if (!count)
    return METATE_OK;
  const metate_allocator &allocator = vulkan.allocator;
  loaded->pipelines = static_cast<VkPipeline *>(
      allocator.allocate(allocator.self, count * sizeof(VkPipeline), alignof(VkPipeline)));
  if (!loaded->pipelines)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for %u tasks", count);
  loaded->count = count;
  for (uint32_t i = 0; i < count; ++i)
    loaded->pipelines[i] = VK_NULL_HANDLE;
  Words words(section.at(image.offset), image.bytes);
  for (uint32_t i = 0; i < count; ++i) {
    const metate_grid_task &task = section.tasks()[i];
    const char *name = section.name(task);
    METATE_TRY(checkTask(vulkan, module, task, name, words));
    METATE_TRY(makePipeline(vulkan, module, name, loaded->module, &loaded->pipelines[i]));
  }
  return METATE_OK;
}

metate_status uploadConstants(Vulkan &vulkan, Loaded *loaded) {
  const metate_table &constants = loaded->payload.section().header().constants;
  if (!constants.count)
    return METATE_OK;
  METATE_TRY(makeBuffer(vulkan, constants.count, Use::kernels, &loaded->constants));
  return copyIn(vulkan, loaded->constants, 0, loaded->payload.section().at(constants.offset),
                constants.count);
}

metate_status openCode(Vulkan &vulkan, const Descriptor &descriptor, uint32_t variant, Span payload,
                       Loaded *loaded) {
  METATE_TRY(loaded->payload.open(descriptor, variant, payload));
  if (!loaded->payload.section().header().tasks.count) // words without an entry point are no module
    return METATE_OK;
  const char *name = descriptor.text(descriptor.header().name);
  const metate_grid_image *image = nullptr;
  METATE_TRY(findImage(vulkan, name, loaded->payload.section(), &image));
  Session session(vulkan);
  METATE_TRY(session.status());
  METATE_TRY(loadImage(vulkan, name, *image, loaded));
  METATE_TRY(makePipelines(vulkan, name, *image, loaded));
  return uploadConstants(vulkan, loaded);
}

void dropCode(Vulkan &vulkan, Loaded *loaded) {
  const Library &library = vulkan.api;
  const metate_allocator &allocator = vulkan.allocator;
  {
    Session session(vulkan);
    if (session.status() == METATE_OK)
      synchronize(vulkan);
    for (uint32_t i = 0; i < loaded->count; ++i)
      if (loaded->pipelines[i])
        library.destroyPipeline(vulkan.device, loaded->pipelines[i], nullptr);
    if (loaded->module)
      library.destroyShaderModule(vulkan.device, loaded->module, nullptr);
    dropBuffer(vulkan, &loaded->constants);
  }
  if (loaded->pipelines)
    allocator.release(allocator.self, loaded->pipelines, loaded->count * sizeof(VkPipeline),
                      alignof(VkPipeline));
  loaded->~Loaded();
  allocator.release(allocator.self, loaded, sizeof(Loaded), alignof(Loaded));
}

} // namespace

metate_status load(void *self, const Descriptor &descriptor, uint32_t variant, Span payload,
                   Code *code) {
  Vulkan &vulkan = of(self);
  void *place = vulkan.allocator.allocate(vulkan.allocator.self, sizeof(Loaded), alignof(Loaded));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes", sizeof(Loaded));
  auto *loaded = new (place) Loaded(vulkan.allocator);
  metate_status status = openCode(vulkan, descriptor, variant, payload, loaded);
  if (status != METATE_OK) {
    dropCode(vulkan, loaded);
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

} // namespace metate::vulkan
