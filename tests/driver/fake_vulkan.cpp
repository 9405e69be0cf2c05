// Stands for Vulkan's loader: the machine's own, which it asks, except where a test wants a lie.
#include "fake_vulkan.h"

#include <cstring>
#include <dlfcn.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT fake_vulkan_control fake_vulkan;
fake_vulkan_control fake_vulkan;

namespace {

// The real function behind each of those that lie.
#define LYING(F)                                                                                   \
  F(vkEnumerateInstanceVersion)                                                                    \
  F(vkEnumeratePhysicalDevices)                                                                    \
  F(vkGetPhysicalDeviceProperties2)                                                                \
  F(vkGetPhysicalDeviceFeatures2)                                                                  \
  F(vkGetPhysicalDeviceQueueFamilyProperties)                                                      \
  F(vkGetDeviceProcAddr)                                                                           \
  F(vkGetBufferDeviceAddress)                                                                      \
  F(vkQueueSubmit)                                                                                 \
  F(vkWaitForFences)
#define REAL(name) PFN_##name name = nullptr;
struct Real {
  LYING(REAL)
} real;
#undef REAL

VKAPI_ATTR VkResult VKAPI_CALL enumerateVersion(uint32_t *version) {
  VkResult result = real.vkEnumerateInstanceVersion(version);
  if (fake_vulkan.loaderVersion)
    *version = fake_vulkan.loaderVersion;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerateDevices(VkInstance instance, uint32_t *count,
                                                VkPhysicalDevice *devices) {
  if (!fake_vulkan.hasNoDevices)
    return real.vkEnumeratePhysicalDevices(instance, count, devices);
  *count = 0;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL getProperties(VkPhysicalDevice device,
                                         VkPhysicalDeviceProperties2 *properties) {
  real.vkGetPhysicalDeviceProperties2(device, properties);
  if (fake_vulkan.deviceVersion)
    properties->properties.apiVersion = fake_vulkan.deviceVersion;
  for (auto *next = static_cast<VkBaseOutStructure *>(properties->pNext); next; next = next->pNext)
    if (fake_vulkan.driver &&
        next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES)
      reinterpret_cast<VkPhysicalDeviceVulkan12Properties *>(next)->driverID =
          VkDriverId(fake_vulkan.driver);
}

VKAPI_ATTR void VKAPI_CALL getFeatures(VkPhysicalDevice device,
                                       VkPhysicalDeviceFeatures2 *features) {
  real.vkGetPhysicalDeviceFeatures2(device, features);
  auto lacks = [](const char *name) {
    return fake_vulkan.feature && !strcmp(fake_vulkan.feature, name);
  };
  if (lacks("shaderInt64"))
    features->features.shaderInt64 = VK_FALSE;
  if (lacks("shaderFloat64"))
    features->features.shaderFloat64 = VK_FALSE;
  for (auto *next = static_cast<VkBaseOutStructure *>(features->pNext); next; next = next->pNext) {
    if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
      continue;
    auto *of12 = reinterpret_cast<VkPhysicalDeviceVulkan12Features *>(next);
#define LACK(member)                                                                               \
  if (lacks(#member))                                                                              \
    of12->member = VK_FALSE;
    LACK(bufferDeviceAddress)
    LACK(vulkanMemoryModel)
    LACK(vulkanMemoryModelDeviceScope)
    LACK(shaderBufferInt64Atomics)
#undef LACK
  }
}

VKAPI_ATTR void VKAPI_CALL getQueueFamilies(VkPhysicalDevice device, uint32_t *count,
                                            VkQueueFamilyProperties *families) {
  real.vkGetPhysicalDeviceQueueFamilyProperties(device, count, families);
  for (uint32_t i = 0; families && fake_vulkan.hasNoQueues && i < *count; ++i)
    families[i].queueFlags &= ~VkQueueFlags(VK_QUEUE_COMPUTE_BIT);
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL getAddress(VkDevice device,
                                                 const VkBufferDeviceAddressInfo *info) {
  return fake_vulkan.hasNoAddresses ? 0 : real.vkGetBufferDeviceAddress(device, info);
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits,
                                      VkFence fence) {
  return fake_vulkan.isLost ? VK_ERROR_DEVICE_LOST
                            : real.vkQueueSubmit(queue, count, submits, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL wait(VkDevice device, uint32_t count, const VkFence *fences,
                                    VkBool32 all, uint64_t timeout) {
  VkResult result = real.vkWaitForFences(device, count, fences, all, timeout);
  return fake_vulkan.isLost ? VK_ERROR_DEVICE_LOST : result;
}

PFN_vkVoidFunction lie(const char *name, PFN_vkVoidFunction found);

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL deviceFunction(VkDevice device, const char *name) {
  return lie(name, real.vkGetDeviceProcAddr(device, name));
}

// The function that stands for the one that was found.
PFN_vkVoidFunction lie(const char *name, PFN_vkVoidFunction found) {
  if (fake_vulkan.function && !strcmp(fake_vulkan.function, name))
    return nullptr;
#define LIE(function, ours)                                                                        \
  if (!strcmp(name, #function)) {                                                                  \
    real.function = reinterpret_cast<PFN_##function>(found);                                       \
    PFN_##function lying = ours;                                                                   \
    return reinterpret_cast<PFN_vkVoidFunction>(lying);                                            \
  }
  LIE(vkEnumerateInstanceVersion, enumerateVersion)
  LIE(vkEnumeratePhysicalDevices, enumerateDevices)
  LIE(vkGetPhysicalDeviceProperties2, getProperties)
  LIE(vkGetPhysicalDeviceFeatures2, getFeatures)
  LIE(vkGetPhysicalDeviceQueueFamilyProperties, getQueueFamilies)
  LIE(vkGetDeviceProcAddr, deviceFunction)
  LIE(vkGetBufferDeviceAddress, getAddress)
  LIE(vkQueueSubmit, submit)
  LIE(vkWaitForFences, wait)
#undef LIE
  return found;
}

} // namespace

EXPORT PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name) {
  static const auto find = [] {
    void *loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    return loader
               ? reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"))
               : nullptr;
  }();
  return find ? lie(name, find(instance, name)) : nullptr;
}
