// Buffers, each with a piece of memory of its own, and how their bytes come from the host and go there.
#include "driver/vulkan/vulkan.h"

#include <cstring>

namespace metate::vulkan {

namespace {

constexpr VkMemoryPropertyFlags hosts =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
// Memory of a kind that is asked for by name.
constexpr VkMemoryPropertyFlags special =
    VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;

bool isMapped(const Vulkan &vulkan, Use use, VkMemoryPropertyFlags flags) {
  return (flags & hosts) == hosts &&
         (use != Use::kernels || (vulkan.maps && flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT));
}

// How good a type of memory is for a use; 0: it will not do.
uint32_t rankOf(const Vulkan &vulkan, Use use, VkMemoryPropertyFlags flags) {
  bool isLocal = flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  bool isCached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  bool isVisible = (flags & hosts) == hosts;
  if (flags & special || (use != Use::kernels && !isVisible))
    return 0;
  switch (use) {
  case Use::kernels:
    return 1 + 4 * isLocal + (vulkan.maps ? isVisible + isCached : 2 * !isVisible);
  case Use::slots:
    return 1 + 2 * isLocal + !isCached;
  case Use::host:
    return 1 + 2 * isCached + !isLocal;
  }
  return 0;
}

constexpr uint32_t noType = UINT32_MAX;
uint32_t typeFor(const Vulkan &vulkan, Use use, uint32_t allowed) {
  uint32_t best = noType, bestRank = 0;
  for (uint32_t i = 0; i < vulkan.memory.memoryTypeCount; ++i) {
    uint32_t rank = rankOf(vulkan, use, vulkan.memory.memoryTypes[i].propertyFlags);
    if (allowed >> i & 1 && rank > bestRank) {
      best = i;
      bestRank = rank;
    }
  }
  return best;
}

metate_status failRefused(uint64_t bytes, VkResult result) {
  return fail(METATE_E_OUT_OF_MEMORY, "vulkan: the device refused %llu bytes: %s",
              static_cast<unsigned long long>(bytes), nameOf(result));
}

metate_status checkMemory(Vulkan &vulkan, uint64_t bytes, VkResult result, const char *function) {
  return isOutOfMemory(result) ? failRefused(bytes, result) : check(vulkan, result, function);
}

metate_status fillBuffer(Vulkan &vulkan, uint64_t bytes, Use use, Buffer *buffer) {
  const Library &library = vulkan.api;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  METATE_TRY(checkMemory(vulkan, bytes,
                         library.createBuffer(vulkan.device, &info, nullptr, &buffer->handle),
                         "vkCreateBuffer"));
  VkMemoryRequirements needs;
  library.bufferRequirements(vulkan.device, buffer->handle, &needs);
  uint32_t type = typeFor(vulkan, use, needs.memoryTypeBits);
  if (type == noType)
    return fail(METATE_E_UNSUPPORTED, "vulkan: '%s' has no memory for a buffer that %s",
                vulkan.name, use == Use::kernels ? "kernels work in" : "the host reaches");
  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo wanted{};
  wanted.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  wanted.pNext = &flags;
  wanted.allocationSize = needs.size;
  wanted.memoryTypeIndex = type;
  METATE_TRY(checkMemory(vulkan, bytes,
                         library.allocateMemory(vulkan.device, &wanted, nullptr, &buffer->memory),
                         "vkAllocateMemory"));
  METATE_TRY(checkMemory(vulkan, bytes,
                         library.bindBuffer(vulkan.device, buffer->handle, buffer->memory, 0),
                         "vkBindBufferMemory"));
  void *mapped = nullptr;
  if (isMapped(vulkan, use, vulkan.memory.memoryTypes[type].propertyFlags))
    METATE_TRY(
        checkMemory(vulkan, bytes,
                    library.mapMemory(vulkan.device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &mapped),
                    "vkMapMemory"));
  buffer->mapped = static_cast<uint8_t *>(mapped);
  VkBufferDeviceAddressInfo asked{};
  asked.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  asked.buffer = buffer->handle;
  buffer->address = library.bufferAddress(vulkan.device, &asked);
  buffer->bytes = bytes;
  if (!buffer->address)
    return fail(METATE_E_INTERNAL, "vulkan: vkGetBufferDeviceAddress gave no address");
  return METATE_OK;
}

metate_status needStaging(Vulkan &vulkan) {
  return vulkan.staging.handle ? METATE_OK
                               : makeBuffer(vulkan, stagingBytes, Use::host, &vulkan.staging);
}

uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

} // namespace

metate_status makeBuffer(Vulkan &vulkan, uint64_t bytes, Use use, Buffer *buffer) {
  if (bytes > vulkan.limits.allocation)
    return failRefused(bytes, VK_ERROR_OUT_OF_DEVICE_MEMORY);
  Buffer made;
  metate_status status = fillBuffer(vulkan, bytes, use, &made);
  if (status == METATE_OK)
    *buffer = made;
  else
    dropBuffer(vulkan, &made);
  return status;
}

void dropBuffer(Vulkan &vulkan, Buffer *buffer) {
  if (buffer->handle)
    vulkan.api.destroyBuffer(vulkan.device, buffer->handle, nullptr);
  if (buffer->memory)
    vulkan.api.freeMemory(vulkan.device, buffer->memory, nullptr);
  *buffer = {};
}

metate_status copyOut(Vulkan &vulkan, const Buffer &from, uint64_t offset, void *to,
                      uint64_t bytes) {
  METATE_TRY(synchronize(vulkan));
  if (from.mapped) {
    memcpy(to, from.mapped + offset, bytes);
    return METATE_OK;
  }
  METATE_TRY(needStaging(vulkan));
  for (uint64_t done = 0; done < bytes;) {
    uint64_t count = least(bytes - done, stagingBytes);
    Commands commands(vulkan);
    METATE_TRY(commands.begin());
    commands.copy(from, offset + done, vulkan.staging, 0, count);
    METATE_TRY(commands.submit());
    METATE_TRY(synchronize(vulkan));
    memcpy(static_cast<uint8_t *>(to) + done, vulkan.staging.mapped, count);
    done += count;
  }
  return METATE_OK;
}

metate_status copyIn(Vulkan &vulkan, const Buffer &to, uint64_t offset, const void *from,
                     uint64_t bytes) {
  METATE_TRY(synchronize(vulkan));
  if (to.mapped) {
    memcpy(to.mapped + offset, from, bytes);
    return METATE_OK;
  }
  METATE_TRY(needStaging(vulkan));
  for (uint64_t done = 0; done < bytes;) {
    uint64_t count = least(bytes - done, stagingBytes);
    memcpy(vulkan.staging.mapped, static_cast<const uint8_t *>(from) + done, count);
    Commands commands(vulkan);
    METATE_TRY(commands.begin());
    commands.copy(vulkan.staging, 0, to, offset + done, count);
    METATE_TRY(commands.submit());
    METATE_TRY(synchronize(vulkan));
    done += count;
  }
  return METATE_OK;
}

metate_status clear(Vulkan &vulkan, const Buffer &buffer, uint64_t offset, uint64_t bytes) {
  METATE_TRY(synchronize(vulkan));
  if (buffer.mapped) {
    memset(buffer.mapped + offset, 0, bytes);
    return METATE_OK;
  }
  // Whole words are filled, what is before and behind them is copied.
  static const uint8_t zeros[8] = {};
  uint64_t begin = (offset + 3) / 4 * 4, end = (offset + bytes) / 4 * 4;
  if (begin >= end)
    return copyIn(vulkan, buffer, offset, zeros, bytes);
  if (begin > offset)
    METATE_TRY(copyIn(vulkan, buffer, offset, zeros, begin - offset));
  if (end < offset + bytes)
    METATE_TRY(copyIn(vulkan, buffer, end, zeros, offset + bytes - end));
  Commands commands(vulkan);
  METATE_TRY(commands.begin());
  vulkan.api.fillBuffer(commands.handle(), buffer.handle, begin, end - begin, 0);
  METATE_TRY(commands.submit());
  return synchronize(vulkan);
}

} // namespace metate::vulkan
