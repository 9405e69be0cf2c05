// Writing a launch's commands.
#include "driver/vulkan/script.h"

#include <cstddef>
#include <cstring>

namespace metate::vulkan {

static void copy(const Vulkan &vulkan, VkCommandBuffer commands, const Piece &from,
                 uint64_t fromOffset, const Piece &to, uint64_t toOffset, uint64_t bytes) {
  VkBufferCopy region{from.offset + fromOffset, to.offset + toOffset, bytes};
  vulkan.api.copyBuffer(commands, from.buffer->handle, to.buffer->handle, 1, &region);
}

void Script::writeRun(VkCommandBuffer commands, const Places &places, const grid::Run &run,
                      const Piece &slots, bool isBehind, Timestamps *timestamps) const {
  if (run.kernel->slot_count)
    memcpy(slots.mapped(), run.slots, run.kernel->slot_count * sizeof(metate_slot));
  const Addresses told{slots.address(), places.frameAddress(), loaded.constants.address};
  vulkan.api.pushConstants(commands, vulkan.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof told,
                           &told);
  for (uint32_t i = 0; i < run.kernel->task_count; ++i) {
    if (i != 0 || isBehind)
      order(vulkan, commands);
    dispatch(commands, run, run.kernel->first_task + i);
    if (timestamps)
      timestamps->write(commands);
  }
}

void Script::writeFrame(VkCommandBuffer commands, const Places &places) const {
  if (prints())
    writeRing(commands, places);
  grid::Head head;
  uint64_t from =
      grid::writeHead(&head, {places.frame.address(), places.ring.address(), places.interrupt},
                      launch.pools, poolCount);
  vulkan.api.updateBuffer(commands, places.frame.buffer->handle, places.frame.offset + from,
                          sizeof head - from, reinterpret_cast<const uint8_t *>(&head) + from);
}

// Statements' numbers that nobody wrote are none.
void Script::writeRing(VkCommandBuffer commands, const Places &places) const {
  const Piece &ring = places.ring;
  const uint32_t head[] = {grid::ringWords, 0};
  vulkan.api.updateBuffer(commands, ring.buffer->handle, ring.offset, sizeof head, head);
  if (places.ringUsed)
    vulkan.api.fillBuffer(commands, ring.buffer->handle, ring.offset + sizeof(metate_grid_ring),
                          places.ringUsed * sizeof(uint32_t), grid::unwrittenWord);
}

void Script::dispatch(VkCommandBuffer commands, const grid::Run &run, uint32_t task) const {
  grid::Shape shape = grid::shapeOf(section, section.tasks()[task], run.slots, vulkan.bounds);
  uint32_t groups = shape.groups < vulkan.limits.groups ? shape.groups : vulkan.limits.groups;
  vulkan.api.bindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, loaded.pipelines[task]);
  vulkan.api.dispatch(commands, groups, 1, 1);
}

void Script::askResults(VkCommandBuffer commands, const Places &places) const {
  order(vulkan, commands);
  copy(vulkan, commands, places.frame, grid::frameOffset, places.results, offsetof(Results, frame),
       sizeof(metate_grid_frame));
  if (prints())
    copy(vulkan, commands, places.ring, offsetof(metate_grid_ring, taken), places.results,
         offsetof(Results, taken), sizeof(uint32_t));
}

} // namespace metate::vulkan
