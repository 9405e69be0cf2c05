// Launches in a command buffer of the application's: what they need as long as it may run, and what they left.
#ifndef METATE_RUNTIME_DRIVER_VULKAN_RECORDING_H
#define METATE_RUNTIME_DRIVER_VULKAN_RECORDING_H

#include "driver/vulkan/script.h"

namespace metate::vulkan {

// Pieces of buffers that live together. Within a session.
class Arena {
public:
  Arena(Vulkan &vulkan, Use use) : vulkan(vulkan), use(use) {}
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  metate_status take(uint64_t bytes, Piece *piece);

private:
  struct Block {
    Block *next;
    Buffer buffer;
    uint64_t used;
  };
  Vulkan &vulkan;
  const Use use;
  Block *newest = nullptr;
};

// A launch that was recorded.
struct Recorded {
  Recorded *next = nullptr;
  const metate_kernel *kernel = nullptr;
  metate_argument *arguments = nullptr; // a copy: arrays in it may be gone, trees are not
  uint32_t count = 0;
  const Loaded *loaded = nullptr;
  bool prints = false, mayFail = false;
  Piece results, ring;
  metate_host host{}; // of which the hook that prints is used
};

// Puts a launch into the recording `launch.into`, whose newest one it is.
int32_t record(Vulkan &vulkan, const Loaded &loaded, const Launch &launch);
metate_status openRecording(metate_device *device, Vulkan &vulkan, VkCommandBuffer commands,
                            metate_vulkan_recording **recording);

} // namespace metate::vulkan

struct metate_vulkan_recording {
  metate_vulkan_recording(metate_device *device, metate::vulkan::Vulkan &vulkan,
                          VkCommandBuffer commands)
      : device(device), vulkan(vulkan), commands(commands),
        memory(vulkan, metate::vulkan::Use::kernels), shared(vulkan, metate::vulkan::Use::host) {}

  metate_device *device;
  metate::vulkan::Vulkan &vulkan;
  VkCommandBuffer commands;
  metate::vulkan::Arena memory; // of kernels alone
  metate::vulkan::Arena shared; // that the host reads and writes
  metate::vulkan::Recorded *first = nullptr, *last = nullptr;
  metate::vulkan::Recorded *newest = nullptr; // that is being recorded
};

#endif
