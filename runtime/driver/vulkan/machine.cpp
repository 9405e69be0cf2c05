// The physical device and the device: which one is taken, what it can do, what of that is enabled.
#include "driver/vulkan/vulkan.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace metate::vulkan {

namespace {

constexpr uint32_t mostDevices = 64;
constexpr uint32_t oldestVersion = VK_API_VERSION_1_2;

// The structures of a physical device's features, in one chain. They point at one another: not to be copied.
struct Features {
  VkPhysicalDeviceFeatures2 base{};
  VkPhysicalDeviceVulkan11Features of11{};
  VkPhysicalDeviceVulkan12Features of12{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomicFloat{};

  explicit Features(bool hasAtomicFloat) {
    base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    base.pNext = &of11;
    of11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    of11.pNext = &of12;
    of12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    of12.pNext = hasAtomicFloat ? &atomicFloat : nullptr;
    atomicFloat.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
  }
  Features(const Features &) = delete;
  Features &operator=(const Features &) = delete;

  // What all kernels need and is not there, or NULL.
  const char *missing() const {
    return !of12.bufferDeviceAddress            ? "bufferDeviceAddress"
           : !base.features.shaderInt64         ? "shaderInt64"
           : !of12.vulkanMemoryModel            ? "vulkanMemoryModel"
           : !of12.vulkanMemoryModelDeviceScope ? "vulkanMemoryModelDeviceScope"
                                                : nullptr;
  }
  uint32_t optional() const {
    uint32_t found = 0;
    if (base.features.shaderFloat64)
      found |= METATE_FEATURE_F64;
    if (of12.shaderFloat16 && of11.storageBuffer16BitAccess)
      found |= METATE_FEATURE_F16;
    if (base.features.shaderInt16 && of11.storageBuffer16BitAccess)
      found |= METATE_FEATURE_I16;
    if (of12.shaderInt8 && of12.storageBuffer8BitAccess)
      found |= METATE_FEATURE_I8;
    if (of12.shaderBufferInt64Atomics)
      found |= METATE_FEATURE_I64_ATOMICS;
    if (atomicFloat.shaderBufferFloat32AtomicAdd)
      found |= METATE_FEATURE_F32_ATOMIC_ADD;
    return found;
  }
  // Of what is there that which kernels may use: this goes to vkCreateDevice.
  void keepOwn() {
    const VkPhysicalDeviceFeatures there = base.features;
    base.features = {};
    base.features.shaderInt64 = there.shaderInt64;
    base.features.shaderInt16 = there.shaderInt16;
    base.features.shaderFloat64 = there.shaderFloat64;
    const auto there11 = of11;
    of11 = {};
    of11.sType = there11.sType;
    of11.pNext = there11.pNext;
    of11.storageBuffer16BitAccess = there11.storageBuffer16BitAccess;
    const auto there12 = of12;
    of12 = {};
    of12.sType = there12.sType;
    of12.pNext = there12.pNext;
    of12.bufferDeviceAddress = there12.bufferDeviceAddress;
    of12.vulkanMemoryModel = there12.vulkanMemoryModel;
    of12.vulkanMemoryModelDeviceScope = there12.vulkanMemoryModelDeviceScope;
    of12.shaderInt8 = there12.shaderInt8;
    of12.shaderFloat16 = there12.shaderFloat16;
    of12.storageBuffer8BitAccess = there12.storageBuffer8BitAccess;
    of12.shaderBufferInt64Atomics = there12.shaderBufferInt64Atomics;
    of12.scalarBlockLayout = there12.scalarBlockLayout;
    of12.timelineSemaphore = there12.timelineSemaphore;
    const VkBool32 adds = atomicFloat.shaderBufferFloat32AtomicAdd;
    void *next = atomicFloat.pNext;
    atomicFloat = {};
    atomicFloat.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
    atomicFloat.pNext = next;
    atomicFloat.shaderBufferFloat32AtomicAdd = adds;
  }
};

// Room for what Vulkan enumerates.
template <typename Record> class Records {
public:
  explicit Records(const metate_allocator &allocator) : memory(allocator) {}
  ~Records() {
    if (data)
      memory.release(memory.self, data, count * sizeof(Record), alignof(Record));
  }
  Records(const Records &) = delete;
  Records &operator=(const Records &) = delete;
  // False when memory ran out.
  bool allocate(uint32_t wanted) {
    void *place =
        wanted ? memory.allocate(memory.self, wanted * sizeof(Record), alignof(Record)) : nullptr;
    data = static_cast<Record *>(place);
    count = data ? wanted : 0;
    return data || !wanted;
  }

  Record *data = nullptr;
  uint32_t count = 0;

private:
  metate_allocator memory;
};

bool hasExtension(const Vulkan &vulkan, VkPhysicalDevice physical, const char *name) {
  uint32_t count = 0;
  Records<VkExtensionProperties> found(vulkan.allocator);
  if (vulkan.api.deviceExtensions(physical, nullptr, &count, nullptr) != VK_SUCCESS ||
      !found.allocate(count) ||
      vulkan.api.deviceExtensions(physical, nullptr, &count, found.data) < VK_SUCCESS)
    return false;
  for (uint32_t i = 0; i < count && i < found.count; ++i)
    if (!strcmp(found.data[i].extensionName, name))
      return true;
  return false;
}

// ---- the physical device

VkPhysicalDeviceProperties propertiesOf(const Vulkan &vulkan, VkPhysicalDevice physical) {
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  vulkan.api.properties(physical, &properties);
  return properties.properties;
}

// What it lacks, as a text, or NULL.
const char *problemOf(const Vulkan &vulkan, VkPhysicalDevice physical) {
  if (propertiesOf(vulkan, physical).apiVersion < oldestVersion)
    return "Vulkan 1.2";
  Features features(false);
  vulkan.api.features(physical, &features.base);
  return features.missing();
}

// The lowest is the best.
uint32_t rankOf(const Vulkan &vulkan, VkPhysicalDevice physical) {
  uint32_t rank = problemOf(vulkan, physical) ? 10 : 0;
  switch (propertiesOf(vulkan, physical).deviceType) {
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    return rank;
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    return rank + 1;
  case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
    return rank + 2;
  case VK_PHYSICAL_DEVICE_TYPE_CPU:
    return rank + 3;
  default:
    return rank + 4;
  }
}

metate_status findPhysical(Vulkan &vulkan, uint32_t ordinal) {
  VkPhysicalDevice found[mostDevices];
  uint32_t count = mostDevices;
  VkResult result = vulkan.api.physicalDevices(vulkan.instance, &count, found);
  if (result < VK_SUCCESS && result != VK_ERROR_INITIALIZATION_FAILED)
    return check(vulkan, result, "vkEnumeratePhysicalDevices");
  if (result < VK_SUCCESS || count == 0)
    return fail(METATE_E_UNSUPPORTED, "vulkan: this machine has no device of Vulkan's");
  if (ordinal >= count)
    return fail(METATE_E_UNSUPPORTED, "vulkan: ordinal: expected less than %u, got %u", count,
                ordinal);
  uint32_t ranks[mostDevices];
  for (uint32_t i = 0; i < count; ++i)
    ranks[i] = rankOf(vulkan, found[i]);
  for (uint32_t left = ordinal;; --left) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; ++i)
      if (ranks[i] < ranks[best])
        best = i;
    vulkan.physical = found[best];
    ranks[best] = UINT32_MAX;
    if (!left)
      return METATE_OK;
  }
}

// Is all memory the device's own and the host's?
bool isUnified(const VkPhysicalDeviceMemoryProperties &memory) {
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (!(memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT))
      return false;
  return true;
}

// Invocations where only the device knows the iterations. Mesa's CPU gives each of them 65,535 turns in all: never few.
uint32_t unknownOf(VkPhysicalDeviceType type) {
  return type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? 1u << 17 : 1u << 14;
}
constexpr uint32_t mostInvocations = 1u << 20;

// Widths of 16, 32 and 64 bits. Where not all are the device's to choose, those that go together are promised together.
uint32_t widthsOf(VkBool32 of16, VkBool32 of32, VkBool32 of64,
                  VkShaderFloatControlsIndependence independence) {
  if (independence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL)
    of16 = of64 = of16 && of64;
  if (independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE)
    of16 = of32 = of64 = of16 && of32;
  return (of16 ? 16 : 0) | (of32 ? 32 : 0) | (of64 ? 64 : 0);
}

FloatModes modesOf(const VkPhysicalDeviceVulkan12Properties &has) {
  FloatModes modes;
  modes.keepsSubnormals = widthsOf(has.shaderDenormPreserveFloat16, has.shaderDenormPreserveFloat32,
                                   has.shaderDenormPreserveFloat64, has.denormBehaviorIndependence);
  modes.keepsSpecial = widthsOf(
      has.shaderSignedZeroInfNanPreserveFloat16, has.shaderSignedZeroInfNanPreserveFloat32,
      has.shaderSignedZeroInfNanPreserveFloat64, VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL);
  modes.roundsToNearest =
      widthsOf(has.shaderRoundingModeRTEFloat16, has.shaderRoundingModeRTEFloat32,
               has.shaderRoundingModeRTEFloat64, has.roundingModeIndependence);
  return modes;
}

metate_status askPhysical(Vulkan &vulkan) {
  if (const char *problem = problemOf(vulkan, vulkan.physical))
    return fail(METATE_E_UNSUPPORTED, "vulkan: '%s' has no %s, which all kernels need",
                propertiesOf(vulkan, vulkan.physical).deviceName, problem);
  VkPhysicalDeviceVulkan11Properties of11{};
  of11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &of11;
  VkPhysicalDeviceVulkan12Properties of12{};
  of12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  of11.pNext = &of12;
  vulkan.api.properties(vulkan.physical, &all);
  const VkPhysicalDeviceProperties &properties = all.properties;
  const VkPhysicalDeviceLimits &limits = properties.limits;
  vulkan.api.memoryProperties(vulkan.physical, &vulkan.memory);
  uint32_t group = limits.maxComputeWorkGroupSize[0];
  if (limits.maxComputeWorkGroupInvocations < group)
    group = limits.maxComputeWorkGroupInvocations;
  vulkan.limits = {limits.maxComputeWorkGroupCount[0], group, limits.maxComputeSharedMemorySize,
                   of11.maxMemoryAllocationSize};
  vulkan.version = properties.apiVersion;
  vulkan.clock.nanoseconds = double(limits.timestampPeriod);
  vulkan.floats = modesOf(of12);
  vulkan.isLavapipe = of12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  vulkan.bounds = {mostInvocations, unknownOf(properties.deviceType)};
  const char *staged = getenv("METATE_VULKAN_STAGED");
  vulkan.maps = isUnified(vulkan.memory) && !(staged && strcmp(staged, "1") == 0);
  snprintf(vulkan.name, sizeof vulkan.name, "%.63s", properties.deviceName);
  return METATE_OK;
}

// ---- the device

using Families = Records<VkQueueFamilyProperties>;

metate_status askFamilies(const Vulkan &vulkan, Families *families) {
  uint32_t count = 0;
  vulkan.api.queueFamilies(vulkan.physical, &count, nullptr);
  if (!families->allocate(count))
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for %u queues", count);
  vulkan.api.queueFamilies(vulkan.physical, &count, families->data);
  return METATE_OK;
}

metate_status findClock(Vulkan &vulkan) {
  Families families(vulkan.allocator);
  METATE_TRY(askFamilies(vulkan, &families));
  if (vulkan.family >= families.count)
    return fail(METATE_E_INVALID_ARGUMENT, "vulkan: queue_family: expected less than %u, got %u",
                families.count, vulkan.family);
  uint32_t bits = families.data[vulkan.family].timestampValidBits;
  vulkan.clock.mask = bits >= 64 ? UINT64_MAX : (uint64_t(1) << bits) - 1;
  return METATE_OK;
}

metate_status findFamily(Vulkan &vulkan) {
  Families families(vulkan.allocator);
  METATE_TRY(askFamilies(vulkan, &families));
  for (vulkan.family = 0; vulkan.family < families.count; ++vulkan.family)
    if (families.data[vulkan.family].queueFlags & VK_QUEUE_COMPUTE_BIT)
      return METATE_OK;
  return fail(METATE_E_UNSUPPORTED, "vulkan: '%s' has no queue that computes", vulkan.name);
}

metate_status createDevice(Vulkan &vulkan) {
  METATE_TRY(findFamily(vulkan));
  METATE_TRY(findClock(vulkan));
  const char *extension = VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME;
  bool hasAtomicFloat = hasExtension(vulkan, vulkan.physical, extension);
  Features features(hasAtomicFloat);
  vulkan.api.features(vulkan.physical, &features.base);
  features.keepOwn();
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = vulkan.family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.base;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = hasAtomicFloat;
  info.ppEnabledExtensionNames = &extension;
  VkResult result = vulkan.api.createDevice(vulkan.physical, &info, nullptr, &vulkan.device);
  if (result != VK_SUCCESS)
    vulkan.device = nullptr;
  METATE_TRY(check(vulkan, result, "vkCreateDevice"));
  vulkan.ownsDevice = true;
  vulkan.features = features.optional();
  METATE_TRY(findFunctions(&vulkan.api, vulkan.device));
  vulkan.api.deviceQueue(vulkan.device, vulkan.family, 0, &vulkan.queue);
  return METATE_OK;
}

metate_status takeApplications(Vulkan &vulkan, const metate_vulkan_options &options) {
  if (!options.instance || !options.physical_device || !options.queue)
    return fail(METATE_E_NULL, "vulkan: with a device, expected its instance, physical_device and "
                               "queue as well, got NULL");
  vulkan.instance = handleOf<VkInstance>(options.instance);
  METATE_TRY(findFunctions(&vulkan.api, vulkan.instance));
  vulkan.physical = handleOf<VkPhysicalDevice>(options.physical_device);
  METATE_TRY(askPhysical(vulkan));
  vulkan.device = handleOf<VkDevice>(options.device);
  vulkan.queue = handleOf<VkQueue>(options.queue);
  vulkan.family = options.queue_family;
  vulkan.features = options.features;
  METATE_TRY(findClock(vulkan));
  return findFunctions(&vulkan.api, vulkan.device);
}

} // namespace

metate_status openMachine(Vulkan &vulkan, const metate_vulkan_options &options) {
  vulkan.api.instanceFunction =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(options.get_instance_proc_addr);
  if (!vulkan.api.instanceFunction)
    METATE_TRY(open(&vulkan.api));
  if (options.device)
    return takeApplications(vulkan, options);
  METATE_TRY(createInstance(vulkan.api, &vulkan.instance));
  vulkan.ownsInstance = true;
  METATE_TRY(findFunctions(&vulkan.api, vulkan.instance));
  METATE_TRY(findPhysical(vulkan, options.ordinal));
  METATE_TRY(askPhysical(vulkan));
  return createDevice(vulkan);
}

void closeMachine(Vulkan &vulkan) {
  if (vulkan.ownsDevice && vulkan.api.destroyDevice)
    vulkan.api.destroyDevice(vulkan.device, nullptr);
  if (vulkan.ownsInstance && vulkan.api.destroyInstance)
    vulkan.api.destroyInstance(vulkan.instance, nullptr);
}

} // namespace metate::vulkan
