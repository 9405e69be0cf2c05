/* libmetate_vulkan: GPUs, and whatever else Vulkan runs compute shaders on, as devices. Optional and separate: libmetate never links
 * it. It needs Vulkan's loader (libvulkan.so.1) and nothing else, and looks for it when a device is opened. */
#ifndef METATE_METATE_VULKAN_H
#define METATE_METATE_VULKAN_H

#include "metate/metate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What of the application's a device uses, if anything; all of it outlives the device. With a `device` all of the handles must be
 * there, without one none of them is read. The application's device is of Vulkan 1.2 or later and has enabled bufferDeviceAddress,
 * shaderInt64, vulkanMemoryModel and vulkanMemoryModelDeviceScope. Its queue is used by whoever launches on, reads or writes the
 * metate_device: the application may not use it at the same time. */
typedef struct metate_vulkan_options {
  uint32_t struct_size; /* sizeof(metate_vulkan_options) */
  uint32_t
      ordinal; /* which physical device, the best one first (discrete GPUs, then integrated ones); not read where there is one */
  void *instance;               /* VkInstance */
  void *physical_device;        /* VkPhysicalDevice */
  void *device;                 /* VkDevice; NULL: the metate_device has its own */
  void *queue;                  /* VkQueue, which computes */
  uint32_t queue_family;        /* of the queue */
  uint32_t features;            /* METATE_GRID_NEEDS_*: what else the application has enabled */
  void *get_instance_proc_addr; /* PFN_vkGetInstanceProcAddr; NULL: the loader's */
} metate_vulkan_options;

/* A device as of metate_device_open; NULL options: the best one, without anything of the application's. A launch of a kernel that
 * cannot fail returns when it is in the queue. metate_device_info.level holds the METATE_GRID_NEEDS_* (metate/abi/grid.h) that it
 * can do. METATE_E_UNSUPPORTED: there is no loader, no such device, or it lacks what all kernels need.
 * The environment variable METATE_VULKAN_LIBRARY names another file than libvulkan.so.1; with METATE_VULKAN_STAGED=1 the host copies
 * to and from all memory, also where it could reach it. */
METATE_API metate_status metate_vulkan_device_open(const metate_vulkan_options *options,
                                                   const metate_device_hooks *hooks,
                                                   metate_device **device);

/* The address of a VkBuffer of the device's, for metate_memory_wrap and for arrays of launches. It has at least `bytes` bytes, and
 * VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, TRANSFER_SRC_BIT and TRANSFER_DST_BIT. From here on its bytes are the device's memory,
 * until metate_vulkan_forget. */
METATE_API metate_status metate_vulkan_address(metate_device *device, void *buffer, uint64_t bytes,
                                               uint64_t *address);
/* Before the application destroys the buffer: what uses it has ended when this returns. */
METATE_API metate_status metate_vulkan_forget(metate_device *device, uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
