// Timestamps of a launch whose times somebody asks for: one before the first task, one behind each.
#ifndef METATE_RUNTIME_DRIVER_VULKAN_TIMESTAMPS_H
#define METATE_RUNTIME_DRIVER_VULKAN_TIMESTAMPS_H

#include "driver/grid/times.h"
#include "driver/vulkan/vulkan.h"

namespace metate::vulkan {

// Within a session. Nothing is done where nobody asks, nor on a queue without a clock.
class Timestamps {
public:
  Timestamps(Vulkan &vulkan, grid::Times &times) : vulkan(vulkan), times(times) {}
  ~Timestamps();
  Timestamps(const Timestamps &) = delete;
  Timestamps &operator=(const Timestamps &) = delete;

  metate_status create(uint32_t tasks);
  void begin(VkCommandBuffer commands);
  // The next one: what was recorded so far has ended then.
  void write(VkCommandBuffer commands);
  // Once the queue was waited for.
  metate_status read();

private:
  Vulkan &vulkan;
  grid::Times &times;
  VkQueryPool pool = VK_NULL_HANDLE;
  uint32_t count = 0, written = 0;
};

} // namespace metate::vulkan

#endif
