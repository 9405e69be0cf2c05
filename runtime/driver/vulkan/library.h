// Vulkan, as its loader says it at run time: the functions that are used here, by their names. Only headers are there when this is
// built.
#ifndef METATE_RUNTIME_DRIVER_VULKAN_LIBRARY_H
#define METATE_RUNTIME_DRIVER_VULKAN_LIBRARY_H

#include "support/status.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace metate::vulkan {

// The name after "vk" as the loader knows it; how it is called here.
#define METATE_VULKAN_INSTANCE_FUNCTIONS(F)                                                        \
  F(DestroyInstance, destroyInstance)                                                              \
  F(EnumeratePhysicalDevices, physicalDevices)                                                     \
  F(GetPhysicalDeviceProperties2, properties)                                                      \
  F(GetPhysicalDeviceFeatures2, features)                                                          \
  F(GetPhysicalDeviceMemoryProperties, memoryProperties)                                           \
  F(GetPhysicalDeviceQueueFamilyProperties, queueFamilies)                                         \
  F(EnumerateDeviceExtensionProperties, deviceExtensions)                                          \
  F(CreateDevice, createDevice)                                                                    \
  F(GetDeviceProcAddr, deviceFunction)

#define METATE_VULKAN_DEVICE_FUNCTIONS(F)                                                          \
  F(DestroyDevice, destroyDevice)                                                                  \
  F(GetDeviceQueue, deviceQueue)                                                                   \
  F(QueueSubmit, submit)                                                                           \
  F(AllocateMemory, allocateMemory)                                                                \
  F(FreeMemory, freeMemory)                                                                        \
  F(MapMemory, mapMemory)                                                                          \
  F(CreateBuffer, createBuffer)                                                                    \
  F(DestroyBuffer, destroyBuffer)                                                                  \
  F(GetBufferMemoryRequirements, bufferRequirements)                                               \
  F(BindBufferMemory, bindBuffer)                                                                  \
  F(GetBufferDeviceAddress, bufferAddress)                                                         \
  F(CreateCommandPool, createPool)                                                                 \
  F(DestroyCommandPool, destroyPool)                                                               \
  F(AllocateCommandBuffers, allocateCommands)                                                      \
  F(BeginCommandBuffer, beginCommands)                                                             \
  F(EndCommandBuffer, endCommands)                                                                 \
  F(ResetCommandBuffer, resetCommands)                                                             \
  F(CreateFence, createFence)                                                                      \
  F(DestroyFence, destroyFence)                                                                    \
  F(ResetFences, resetFences)                                                                      \
  F(WaitForFences, waitFences)                                                                     \
  F(CmdBindPipeline, bindPipeline)                                                                 \
  F(CmdPushConstants, pushConstants)                                                               \
  F(CmdDispatch, dispatch)                                                                         \
  F(CmdPipelineBarrier, barrier)                                                                   \
  F(CmdCopyBuffer, copyBuffer)                                                                     \
  F(CmdFillBuffer, fillBuffer)                                                                     \
  F(CmdUpdateBuffer, updateBuffer)                                                                 \
  F(CreateQueryPool, createQueries)                                                                \
  F(DestroyQueryPool, destroyQueries)                                                              \
  F(GetQueryPoolResults, queryResults)                                                             \
  F(CmdResetQueryPool, resetQueries)                                                               \
  F(CmdWriteTimestamp, writeTimestamp)                                                             \
  F(CreateShaderModule, createShaderModule)                                                        \
  F(DestroyShaderModule, destroyShaderModule)                                                      \
  F(CreatePipelineLayout, createLayout)                                                            \
  F(DestroyPipelineLayout, destroyLayout)                                                          \
  F(CreateComputePipelines, createPipelines)                                                       \
  F(DestroyPipeline, destroyPipeline)

struct Library {
  PFN_vkGetInstanceProcAddr instanceFunction = nullptr;
#define METATE_VULKAN_MEMBER(symbol, name) PFN_vk##symbol name = nullptr;
  METATE_VULKAN_INSTANCE_FUNCTIONS(METATE_VULKAN_MEMBER)
  METATE_VULKAN_DEVICE_FUNCTIONS(METATE_VULKAN_MEMBER)
#undef METATE_VULKAN_MEMBER
};

// Finds the loader. It stays in the process: its drivers' threads live on.
metate_status open(Library *library);
// An instance of one's own.
metate_status createInstance(const Library &library, VkInstance *instance);
metate_status findFunctions(Library *library, VkInstance instance);
metate_status findFunctions(Library *library, VkDevice device);

const char *nameOf(VkResult result);

} // namespace metate::vulkan

#endif
