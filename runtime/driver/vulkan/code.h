// A module's code on the device "vulkan".
#ifndef METATE_RUNTIME_DRIVER_VULKAN_CODE_H
#define METATE_RUNTIME_DRIVER_VULKAN_CODE_H

#include "driver/grid/payload.h"
#include "driver/vulkan/vulkan.h"

namespace metate::vulkan {

struct Loaded {
  explicit Loaded(const metate_allocator &allocator) : payload(allocator) {}
  grid::Payload payload;
  VkShaderModule module = VK_NULL_HANDLE;
  VkPipeline *pipelines = nullptr; // in the order of the tasks
  uint32_t count = 0;
  Buffer constants; // without a handle: there are none
};

// What a task's code is told (metate_grid_format).
struct Addresses {
  uint64_t slots, frame, constants;
};
static_assert(sizeof(Addresses) == 24);

} // namespace metate::vulkan

#endif
