// An application with an instance, a device, a queue, a buffer and commands of its own.
#ifndef METATE_TESTS_VULKAN_APPLICATION_H
#define METATE_TESTS_VULKAN_APPLICATION_H

#include "fixture.h"
#include "metate/abi/grid.h"
#include "metate/metate_vulkan.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace metate::test {

class Application {
public:
  VkInstance instance = nullptr;
  VkPhysicalDevice physical = nullptr;
  VkDevice device = nullptr;
  VkQueue queue = nullptr;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkCommandBuffer commands = nullptr;
  bool hasAtomics = false;

  Application(PFN_vkGetInstanceProcAddr find, uint32_t bytes) : find(find) {
    VkInstanceCreateInfo created{};
    VkApplicationInfo about{};
    about.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    about.apiVersion = VK_API_VERSION_1_2;
    created.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    created.pApplicationInfo = &about;
    call<PFN_vkCreateInstance>("vkCreateInstance")(&created, nullptr, &instance);
    uint32_t count = 1;
    call<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(instance, &count, &physical);
    VkPhysicalDeviceVulkan12Features there{};
    there.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &there;
    call<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(physical, &features);
    hasAtomics = there.shaderBufferInt64Atomics;
    float priority = 1;
    VkDeviceQueueCreateInfo one{};
    one.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    one.queueCount = 1;
    one.pQueuePriorities = &priority;
    VkDeviceCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    wanted.pNext = &features;
    wanted.queueCreateInfoCount = 1;
    wanted.pQueueCreateInfos = &one;
    call<PFN_vkCreateDevice>("vkCreateDevice")(physical, &wanted, nullptr, &device);
    call<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(device, 0, 0, &queue);
    makeBuffer(bytes);
    makeCommands();
  }
  ~Application() {
    call<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(device, pool, nullptr);
    call<PFN_vkDestroyBuffer>("vkDestroyBuffer")(device, buffer, nullptr);
    call<PFN_vkFreeMemory>("vkFreeMemory")(device, memory, nullptr);
    call<PFN_vkDestroyDevice>("vkDestroyDevice")(device, nullptr);
    call<PFN_vkDestroyInstance>("vkDestroyInstance")(instance, nullptr);
  }
  metate_vulkan_options options() const {
    auto options = sized<metate_vulkan_options>();
    options.instance = instance;
    options.physical_device = physical;
    options.device = device;
    options.queue = queue;
    options.features = hasAtomics ? METATE_FEATURE_I64_ATOMICS : 0u;
    return options;
  }

  // Commands that are being recorded.
  void begin() {
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    call<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, &info);
  }
  void fill(uint64_t offset, uint64_t bytes, uint32_t word) {
    call<PFN_vkCmdFillBuffer>("vkCmdFillBuffer")(commands, buffer, offset, bytes, word);
  }
  void end() { call<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands); }
  // Returns when they have ended.
  VkResult submit() {
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    VkResult result = call<PFN_vkQueueSubmit>("vkQueueSubmit")(queue, 1, &info, VK_NULL_HANDLE);
    return result ? result : call<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(queue);
  }

private:
  const PFN_vkGetInstanceProcAddr find;
  VkCommandPool pool = VK_NULL_HANDLE;
  template <typename Function> Function call(const char *name) const {
    return reinterpret_cast<Function>(find(instance, name));
  }
  void makeCommands() {
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    call<PFN_vkCreateCommandPool>("vkCreateCommandPool")(device, &info, nullptr, &pool);
    VkCommandBufferAllocateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    wanted.commandPool = pool;
    wanted.commandBufferCount = 1;
    call<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(device, &wanted, &commands);
  }
  void makeBuffer(uint32_t bytes) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    call<PFN_vkCreateBuffer>("vkCreateBuffer")(device, &info, nullptr, &buffer);
    VkMemoryRequirements needs;
    call<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(device, buffer,
                                                                             &needs);
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    wanted.pNext = &flags;
    wanted.allocationSize = needs.size;
    wanted.memoryTypeIndex = uint32_t(__builtin_ctz(needs.memoryTypeBits));
    call<PFN_vkAllocateMemory>("vkAllocateMemory")(device, &wanted, nullptr, &memory);
    call<PFN_vkBindBufferMemory>("vkBindBufferMemory")(device, buffer, memory, 0);
  }
};

} // namespace metate::test

#endif
