// An application of Vulkan's as small as one can be: a device that runs compute shaders, a queue, buffers with addresses, one command
// buffer. It knows nothing of Metate but what a device must have enabled for its kernels.
#ifndef METATE_EXAMPLES_APPLICATION_HPP
#define METATE_EXAMPLES_APPLICATION_HPP

#include "metate/metate.hpp"

#include <vulkan/vulkan.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace host {

inline void check(VkResult result, const char *function) {
  if (result != VK_SUCCESS)
    throw std::runtime_error(std::string(function) + ": VkResult " + std::to_string(result));
}
inline void check(metate_status status, const char *function) {
  if (status != METATE_OK)
    throw std::runtime_error(std::string(function) + ": " + metate_status_name(status) + ": " +
                             metate_last_error());
}

class Application {
public:
  VkInstance instance = nullptr;
  VkPhysicalDevice physical = nullptr;
  VkDevice device = nullptr; // null: `problem` says why
  VkQueue queue = nullptr;
  uint32_t family = 0;
  uint32_t features = 0; // METATE_FEATURE_*: what is enabled beyond what all kernels need
  std::string name, problem;

  Application() {
    VkApplicationInfo about{};
    about.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    about.apiVersion = VK_API_VERSION_1_2;
    VkInstanceCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    wanted.pApplicationInfo = &about;
    if (vkCreateInstance(&wanted, nullptr, &instance) != VK_SUCCESS) {
      instance = nullptr;
      problem = "there is no driver of Vulkan's";
      return;
    }
    if (findPhysical())
      createDevice();
  }
  ~Application() {
    if (device) {
      vkDestroyCommandPool(device, pool, nullptr);
      vkDestroyDevice(device, nullptr);
    }
    if (instance)
      vkDestroyInstance(instance, nullptr);
  }
  Application(const Application &) = delete;
  Application &operator=(const Application &) = delete;

  VkCommandBuffer begin() {
    VkCommandBufferAllocateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    wanted.commandPool = pool;
    wanted.commandBufferCount = 1;
    VkCommandBuffer commands = nullptr;
    check(vkAllocateCommandBuffers(device, &wanted, &commands), "vkAllocateCommandBuffers");
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(vkBeginCommandBuffer(commands, &info), "vkBeginCommandBuffer");
    return commands;
  }
  // Returns when they have ended.
  void submit(VkCommandBuffer commands) {
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    check(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    check(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
    vkFreeCommandBuffers(device, pool, 1, &commands);
  }

private:
  VkCommandPool pool = VK_NULL_HANDLE;

  bool findPhysical() {
    uint32_t count = 1;
    VkResult result = vkEnumeratePhysicalDevices(instance, &count, &physical);
    if (result < VK_SUCCESS || !count) {
      problem = "Vulkan has no device";
      return false;
    }
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(physical, &properties);
    name = properties.deviceName;
    if (properties.apiVersion < VK_API_VERSION_1_2)
      problem = name + " has no Vulkan 1.2";
    return problem.empty();
  }

  void createDevice() {
    // What is there; what kernels of Metate need; what they may use beyond it.
    VkPhysicalDeviceVulkan12Features there12{}, want12{};
    there12.sType = want12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    VkPhysicalDeviceFeatures2 there{}, want{};
    there.sType = want.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    there.pNext = &there12;
    want.pNext = &want12;
    vkGetPhysicalDeviceFeatures2(physical, &there);
    if (!there12.bufferDeviceAddress || !there.features.shaderInt64 || !there12.vulkanMemoryModel ||
        !there12.vulkanMemoryModelDeviceScope) {
      problem = name + " lacks buffer addresses, 64-bit integers or the memory model";
      return;
    }
    want12.bufferDeviceAddress = want12.vulkanMemoryModel = want12.vulkanMemoryModelDeviceScope =
        want.features.shaderInt64 = VK_TRUE;
    want.features.shaderFloat64 = there.features.shaderFloat64;
    want12.shaderInt8 = there12.shaderInt8;
    want12.storageBuffer8BitAccess = there12.storageBuffer8BitAccess;
    want12.shaderBufferInt64Atomics = there12.shaderBufferInt64Atomics;
    if (there.features.shaderFloat64)
      features |= METATE_FEATURE_F64;
    if (there12.shaderInt8 && there12.storageBuffer8BitAccess)
      features |= METATE_FEATURE_I8;
    if (there12.shaderBufferInt64Atomics)
      features |= METATE_FEATURE_I64_ATOMICS;

    family = findFamily();
    const float priority = 1;
    VkDeviceQueueCreateInfo one{};
    one.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    one.queueFamilyIndex = family;
    one.queueCount = 1;
    one.pQueuePriorities = &priority;
    VkDeviceCreateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    wanted.pNext = &want;
    wanted.queueCreateInfoCount = 1;
    wanted.pQueueCreateInfos = &one;
    check(vkCreateDevice(physical, &wanted, nullptr, &device), "vkCreateDevice");
    vkGetDeviceQueue(device, family, 0, &queue);
    VkCommandPoolCreateInfo commands{};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    commands.queueFamilyIndex = family;
    check(vkCreateCommandPool(device, &commands, nullptr, &pool), "vkCreateCommandPool");
  }

  uint32_t findFamily() const {
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
    for (uint32_t i = 0; i < count; ++i)
      if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)
        return i;
    throw std::runtime_error("no queue computes");
  }
};

// Who reads and writes a buffer besides commands.
enum class Reach { device, host };

// A buffer with memory of its own and, of the device's, an address.
class Buffer {
public:
  VkBuffer handle = VK_NULL_HANDLE;
  VkDeviceSize bytes;
  void *mapped = nullptr; // of the host's

  Buffer(const Application &application, VkDeviceSize bytes, Reach reach)
      : bytes(bytes), application(application) {
    const bool isDevices = reach == Reach::device;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    if (isDevices)
      info.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    check(vkCreateBuffer(application.device, &info, nullptr, &handle), "vkCreateBuffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(application.device, handle, &needs);
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    wanted.pNext = isDevices ? &flags : nullptr;
    wanted.allocationSize = needs.size;
    wanted.memoryTypeIndex = typeOf(needs.memoryTypeBits, reach);
    check(vkAllocateMemory(application.device, &wanted, nullptr, &memory), "vkAllocateMemory");
    check(vkBindBufferMemory(application.device, handle, memory, 0), "vkBindBufferMemory");
    if (!isDevices)
      check(vkMapMemory(application.device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
  }
  ~Buffer() {
    vkDestroyBuffer(application.device, handle, nullptr);
    vkFreeMemory(application.device, memory, nullptr);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

private:
  const Application &application;
  VkDeviceMemory memory = VK_NULL_HANDLE;

  uint32_t typeOf(uint32_t allowed, Reach reach) const {
    const VkMemoryPropertyFlags needed =
        reach == Reach::device
            ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
            : VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memories;
    vkGetPhysicalDeviceMemoryProperties(application.physical, &memories);
    for (uint32_t i = 0; i < memories.memoryTypeCount; ++i)
      if ((allowed >> i & 1) && (memories.memoryTypes[i].propertyFlags & needed) == needed)
        return i;
    throw std::runtime_error("no memory for a buffer");
  }
};

} // namespace host

#endif
