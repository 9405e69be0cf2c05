// The driver "vulkan": opening and closing a device, and what goes wrong on it.
#include "driver/vulkan/recording.h"

#include <cstdio>
#include <cstring>
#include <new>

namespace metate::vulkan {

bool isOutOfMemory(VkResult result) {
  return result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
         result == VK_ERROR_TOO_MANY_OBJECTS || result == VK_ERROR_FRAGMENTATION ||
         result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_MEMORY_MAP_FAILED;
}

metate_status checkAlive(const Vulkan &vulkan) {
  VkResult lost = vulkan.lost.load(std::memory_order_relaxed);
  if (lost == VK_SUCCESS)
    return METATE_OK;
  return fail(METATE_E_INTERNAL, "vulkan: the device is lost: %s", nameOf(lost));
}

metate_status check(Vulkan &vulkan, VkResult result, const char *function) {
  if (result == VK_SUCCESS)
    return METATE_OK;
  if (result == VK_ERROR_DEVICE_LOST) {
    vulkan.lost.store(result, std::memory_order_relaxed);
    return checkAlive(vulkan);
  }
  return fail(isOutOfMemory(result) ? METATE_E_OUT_OF_MEMORY : METATE_E_INTERNAL, "vulkan: %s: %s",
              function, nameOf(result));
}

int32_t outcomeOf(const Vulkan &vulkan, const metate_grid_frame &frame, const metate_host *host) {
  if (!(frame.status & METATE_GRID_LOOP_ENDED))
    return grid::outcomeOf(frame, host);
  return fail(
      METATE_E_UNSUPPORTED,
      "a loop of the task of line %u was not done when '%s' ended it: lavapipe ends loops once an "
      "invocation has made 65,535 turns in all: run the kernel on a GPU, or on the CPU (mt.cpu)",
      frame.status & ~METATE_GRID_LOOP_ENDED, vulkan.name);
}

namespace {

// ---- opening

metate_status begin(Vulkan &vulkan, const metate_vulkan_options &options) {
  METATE_TRY(openMachine(vulkan, options));
  METATE_TRY(openQueue(vulkan));
  VkPushConstantRange told{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(Addresses)};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &told;
  METATE_TRY(check(vulkan, vulkan.api.createLayout(vulkan.device, &layout, nullptr, &vulkan.layout),
                   "vkCreatePipelineLayout"));
  return makeBuffer(vulkan, sizeof(Results), Use::host, &vulkan.results);
}

// Gives back what was taken; what a lost device says to it does not matter.
void drop(Vulkan &vulkan) {
  if (vulkan.device && vulkan.api.destroyPipeline) { // the last of the functions
    closeQueue(vulkan);
    for (Buffer *buffer : {&vulkan.results, &vulkan.staging, &vulkan.frame, &vulkan.ring})
      dropBuffer(vulkan, buffer);
    if (vulkan.layout)
      vulkan.api.destroyLayout(vulkan.device, vulkan.layout, nullptr);
    forgetAll(vulkan);
  }
  closeMachine(vulkan);
  metate_allocator allocator = vulkan.allocator;
  vulkan.~Vulkan();
  allocator.release(allocator.self, &vulkan, sizeof vulkan, alignof(Vulkan));
}

metate_status openDevice(const metate_allocator &allocator, const void *options, void **self) {
  void *place = allocator.allocate(allocator.self, sizeof(Vulkan), alignof(Vulkan));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes for a device",
                sizeof(Vulkan));
  auto *vulkan = new (place) Vulkan(allocator);
  static const metate_vulkan_options none{sizeof none, 0, nullptr, nullptr, nullptr,
                                          nullptr,     0, 0,       nullptr};
  metate_status status =
      begin(*vulkan, options ? *static_cast<const metate_vulkan_options *>(options) : none);
  if (status != METATE_OK) {
    drop(*vulkan);
    return status;
  }
  *self = vulkan;
  return METATE_OK;
}

void close(void *self) { drop(of(self)); }

void describe(const void *self, metate_device_info *info) {
  info->arch = METATE_ARCH_VULKAN;
  info->level = of(self).features;
  snprintf(info->name, sizeof info->name, "%s", of(self).name);
}

metate_status inspect(const void *self, metate_machine_info *info) {
  const Vulkan &vulkan = of(self);
  info->features = vulkan.features;
  for (uint32_t i = 0; i < vulkan.memory.memoryHeapCount; ++i)
    if (vulkan.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      info->memory_bytes += vulkan.memory.memoryHeaps[i].size;
  info->version[0] = VK_API_VERSION_MAJOR(vulkan.version);
  info->version[1] = VK_API_VERSION_MINOR(vulkan.version);
  return METATE_OK;
}

metate_status wait(void *self) {
  Session session(of(self));
  METATE_TRY(session.status());
  return synchronize(of(self));
}

// ---- what it runs

// Code for Mesa's CPU, which goes around its faults, and no other, runs there.
const char *problemOf(const Vulkan &vulkan, bool isForLavapipe) {
  if (isForLavapipe == vulkan.isLavapipe)
    return "";
  return vulkan.isLavapipe ? "it is for GPUs, and Mesa's lavapipe gets other numbers from it: "
                             "build it with --target vulkan:lavapipe"
                           : "it is for Mesa's lavapipe: build it with --target vulkan";
}

Verdict judge(const void *self, const Descriptor &descriptor, uint32_t index, bool inProcess) {
  const metate_variant_info &variant = descriptor.variants()[index];
  Verdict verdict;
  if (inProcess)
    snprintf(verdict.reason, sizeof verdict.reason, "its entries are functions of the host");
  else if (variant.arch != METATE_ARCH_VULKAN)
    snprintf(verdict.reason, sizeof verdict.reason, "it is for another architecture (%u)",
             variant.arch);
  else if (variant.format != METATE_FORMAT_GRID)
    snprintf(verdict.reason, sizeof verdict.reason, "its code is no grid");
  else
    snprintf(verdict.reason, sizeof verdict.reason, "%s",
             problemOf(of(self), !strcmp(descriptor.text(variant.cpu), "lavapipe")));
  return verdict;
}

metate_status adopt(void *, const Descriptor &, const metate_entry *, Code *) {
  return fail(METATE_E_UNSUPPORTED, "entries of the host do not run on a GPU: open a module that "
                                    "was built for it");
}

const Driver driver = {
    .name = "vulkan",
    .open = openDevice,
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
    .wait = wait,
    .settles = true,
    .treeWorkers = 1024,
};

metate_status findMachine(const metate_device *device, Vulkan **vulkan) {
  void *machine = metate_device_machine(device, &driver);
  if (!machine)
    return fail(METATE_E_INVALID_ARGUMENT,
                "device: expected one of metate_vulkan_device_open, got another one");
  *vulkan = static_cast<Vulkan *>(machine);
  return METATE_OK;
}

} // namespace

} // namespace metate::vulkan

using namespace metate;

metate_status metate_vulkan_device_open(const metate_vulkan_options *options,
                                        const metate_device_hooks *hooks, metate_device **device) {
  if (options)
    METATE_REQUIRE_STRUCT(options);
  return metate_device_open_plugin(&vulkan::driver, pluginVersion, options, hooks, device);
}

metate_status metate_vulkan_address(metate_device *device, void *buffer, uint64_t bytes,
                                    uint64_t *address) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(buffer);
  METATE_REQUIRE(address);
  vulkan::Vulkan *machine = nullptr;
  METATE_TRY(vulkan::findMachine(device, &machine));
  return vulkan::remember(*machine, vulkan::handleOf<VkBuffer>(buffer), bytes, address);
}

metate_status metate_vulkan_recording_open(metate_device *device, void *commands,
                                           metate_vulkan_recording **recording) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(commands);
  METATE_REQUIRE(recording);
  vulkan::Vulkan *machine = nullptr;
  METATE_TRY(vulkan::findMachine(device, &machine));
  return vulkan::openRecording(device, *machine, vulkan::handleOf<VkCommandBuffer>(commands),
                               recording);
}

metate_status metate_vulkan_forget(metate_device *device, uint64_t address) {
  METATE_REQUIRE(device);
  vulkan::Vulkan *machine = nullptr;
  METATE_TRY(vulkan::findMachine(device, &machine));
  return vulkan::forget(*machine, address);
}
