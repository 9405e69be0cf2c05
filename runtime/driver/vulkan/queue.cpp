// The queue: a ring of command buffers, each with a fence. They run one behind the other: whoever waits for one waits for all before it.
#include "driver/vulkan/vulkan.h"

namespace metate::vulkan {

metate_status openQueue(Vulkan &vulkan) {
  const Library &library = vulkan.api;
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = vulkan.family;
  METATE_TRY(check(vulkan, library.createPool(vulkan.device, &pool, nullptr, &vulkan.pool),
                   "vkCreateCommandPool"));
  VkCommandBuffer commands[mostFlights];
  VkCommandBufferAllocateInfo wanted{};
  wanted.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  wanted.commandPool = vulkan.pool;
  wanted.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  wanted.commandBufferCount = mostFlights;
  METATE_TRY(check(vulkan, library.allocateCommands(vulkan.device, &wanted, commands),
                   "vkAllocateCommandBuffers"));
  VkFenceCreateInfo fence{};
  fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  for (uint32_t i = 0; i < mostFlights; ++i) {
    Flight &flight = vulkan.flights[i];
    flight.commands = commands[i];
    METATE_TRY(check(vulkan, library.createFence(vulkan.device, &fence, nullptr, &flight.fence),
                     "vkCreateFence"));
  }
  return METATE_OK;
}

void closeQueue(Vulkan &vulkan) {
  if (checkAlive(vulkan) == METATE_OK)
    synchronize(vulkan);
  for (Flight &flight : vulkan.flights) {
    if (flight.fence)
      vulkan.api.destroyFence(vulkan.device, flight.fence, nullptr);
    dropBuffer(vulkan, &flight.slots);
  }
  if (vulkan.pool)
    vulkan.api.destroyPool(vulkan.device, vulkan.pool, nullptr);
}

metate_status synchronize(Vulkan &vulkan) {
  if (!vulkan.last)
    return METATE_OK;
  METATE_TRY(check(
      vulkan, vulkan.api.waitFences(vulkan.device, 1, &vulkan.last->fence, VK_TRUE, UINT64_MAX),
      "vkWaitForFences"));
  for (Flight &flight : vulkan.flights)
    flight.isFlying = false;
  vulkan.last = nullptr;
  return METATE_OK;
}

Commands::~Commands() {
  if (isOpen)
    vulkan.api.resetCommands(own->commands, 0);
}

metate_status Commands::begin() {
  const Library &library = vulkan.api;
  Flight &next = vulkan.flights[vulkan.nextFlight];
  if (next.isFlying)
    METATE_TRY(check(vulkan, library.waitFences(vulkan.device, 1, &next.fence, VK_TRUE, UINT64_MAX),
                     "vkWaitForFences"));
  next.isFlying = false;
  if (vulkan.last == &next)
    vulkan.last = nullptr;
  METATE_TRY(check(vulkan, library.resetFences(vulkan.device, 1, &next.fence), "vkResetFences"));
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  METATE_TRY(check(vulkan, library.beginCommands(next.commands, &info), "vkBeginCommandBuffer"));
  own = &next;
  isOpen = true;
  order(vulkan, own->commands);
  return METATE_OK;
}

void order(const Vulkan &vulkan, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  const VkPipelineStageFlags stages =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  vulkan.api.barrier(commands, stages, stages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void Commands::copy(const Buffer &from, uint64_t fromOffset, const Buffer &to, uint64_t toOffset,
                    uint64_t bytes) {
  VkBufferCopy region{fromOffset, toOffset, bytes};
  vulkan.api.copyBuffer(own->commands, from.handle, to.handle, 1, &region);
}

metate_status Commands::submit() {
  const Library &library = vulkan.api;
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  library.barrier(own->commands,
                  VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                  VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  METATE_TRY(check(vulkan, library.endCommands(own->commands), "vkEndCommandBuffer"));
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &own->commands;
  METATE_TRY(check(vulkan, library.submit(vulkan.queue, 1, &info, own->fence), "vkQueueSubmit"));
  isOpen = false;
  own->isFlying = true;
  vulkan.last = own;
  vulkan.nextFlight = (vulkan.nextFlight + 1) % mostFlights;
  return METATE_OK;
}

VkResult Commands::wait(uint64_t nanoseconds) {
  return vulkan.api.waitFences(vulkan.device, 1, &own->fence, VK_TRUE, nanoseconds);
}

} // namespace metate::vulkan
