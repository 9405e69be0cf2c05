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
  uint32_t features;            /* METATE_FEATURE_*: what else the application has enabled */
  void *get_instance_proc_addr; /* PFN_vkGetInstanceProcAddr; NULL: the loader's */
} metate_vulkan_options;

/* A device as of metate_device_open; NULL options: the best one, without anything of the application's. A launch of a kernel that
 * cannot fail returns when it is in the queue. metate_device_info.level holds the METATE_FEATURE_* (metate/abi/base.h) that it
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

/* ---- launches in a command buffer of the application's --------------------------------------- */

typedef struct metate_vulkan_recording metate_vulkan_recording; /* launches, and what they need */

/* Launches that go into a VkCommandBuffer: one that is being recorded, outside of a render pass, of a family that computes. It may
 * have other commands before, between and behind them: kernels see what shaders and transfers before them wrote, and all that stands
 * behind them sees what they wrote. The recording outlives the command buffer's last run, and it ends before its device does. One
 * thread at a time uses it. */
METATE_API metate_status metate_vulkan_recording_open(metate_device *device, void *commands,
                                                      metate_vulkan_recording **recording);
/* metate_kernel_launch_with, except that the kernel runs when the application submits the command buffer, with the scalars of now and
 * what arrays and trees hold then. Nothing is copied, and nobody interrupts it: arrays lie in memory of the device's
 * (METATE_E_INVALID_ARGUMENT), `options` (NULL: none) give memory for each pool that the kernel plans. Module and trees are busy until
 * the recording is closed. It binds pipelines of its own and pushes constants. */
METATE_API metate_status metate_vulkan_record(metate_vulkan_recording *recording,
                                              const metate_kernel *kernel,
                                              const metate_argument *arguments, uint32_t count,
                                              const metate_launch_options *options);
/* After the application has waited for the command buffer: gives what kernels printed to the device's sink, and the status of the
 * first launch that failed, as metate_kernel_launch says it. Launches behind it have run nevertheless. To be called after each run:
 * the next one forgets what this one left. */
METATE_API metate_status metate_vulkan_recording_finish(metate_vulkan_recording *recording);
/* The command buffer must not run any more. */
METATE_API metate_status metate_vulkan_recording_close(metate_vulkan_recording *recording);

#ifdef __cplusplus
}
#endif

#endif
