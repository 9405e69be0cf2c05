#include "driver/vulkan/timestamps.h"

namespace metate::vulkan {

Timestamps::~Timestamps() {
  if (!pool)
    return;
  if (checkAlive(vulkan) == METATE_OK)
    synchronize(vulkan); // a launch that failed may have left commands that write there
  vulkan.api.destroyQueries(vulkan.device, pool, nullptr);
}

metate_status Timestamps::create(uint32_t tasks) {
  if (!tasks || !vulkan.clock.mask)
    return METATE_OK;
  METATE_TRY(times.allocate(tasks));
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = count = tasks + 1;
  VkResult result = vulkan.api.createQueries(vulkan.device, &info, nullptr, &pool);
  if (result != VK_SUCCESS)
    pool = VK_NULL_HANDLE;
  return check(vulkan, result, "vkCreateQueryPool");
}

void Timestamps::begin(VkCommandBuffer commands) {
  if (!pool)
    return;
  vulkan.api.resetQueries(commands, pool, 0, count);
  write(commands);
}

void Timestamps::write(VkCommandBuffer commands) {
  if (pool)
    vulkan.api.writeTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, written++);
}

metate_status Timestamps::read() {
  if (!pool)
    return METATE_OK;
  uint64_t *marks = times.marks();
  METATE_TRY(check(vulkan,
                   vulkan.api.queryResults(vulkan.device, pool, 0, count, count * sizeof *marks,
                                           marks, sizeof *marks,
                                           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                   "vkGetQueryPoolResults"));
  const uint64_t first = marks[0];
  for (uint32_t i = 0; i < count; ++i)
    marks[i] = uint64_t(double((marks[i] - first) & vulkan.clock.mask) * vulkan.clock.nanoseconds);
  return METATE_OK;
}

} // namespace metate::vulkan
