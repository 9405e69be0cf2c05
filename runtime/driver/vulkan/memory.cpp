// The memory of the device "vulkan": pieces that it gave out, and the application's buffers that it was told of. Vulkan copies between
// buffers and not between addresses, so it must know whose an address is.
#include "driver/vulkan/vulkan.h"

#include "support/checked.h"

#include <new>

namespace metate::vulkan {

namespace {

// The least alignment of what is given out.
constexpr uint64_t givenAlign = 256;
// The most that a tree takes when nobody says, and the part of the device's memory.
constexpr uint64_t roomBytes = uint64_t(1) << 30;
constexpr uint64_t roomPart = 16;

unsigned long long show(uint64_t number) { return number; }

Buffer &bufferOf(const grid::Range &range) { return *static_cast<Buffer *>(range.owner); }

Buffer *newPiece(Vulkan &vulkan) {
  void *place = vulkan.allocator.allocate(vulkan.allocator.self, sizeof(Buffer), alignof(Buffer));
  return place ? new (place) Buffer() : nullptr;
}

// Within a session, when nothing uses it any more.
void dropPiece(Vulkan &vulkan, Buffer *piece) {
  if (piece->memory)
    dropBuffer(vulkan, piece);
  vulkan.allocator.release(vulkan.allocator.self, piece, sizeof(Buffer), alignof(Buffer));
}

bool keep(Vulkan &vulkan, Buffer *piece) {
  os::Lock lock(vulkan.piecesMutex);
  return vulkan.pieces.insert({piece->address, piece->address + piece->bytes, piece});
}

metate_status failPiece() {
  return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for a device's range");
}

metate_status take(Vulkan &vulkan, uint64_t bytes, uint64_t align, Origin origin, Region *region) {
  if (align < givenAlign)
    align = givenAlign;
  // An address may be a multiple of less; whole words are filled.
  Checked whole = (Checked(bytes ? bytes : 1) + align).alignedTo(4);
  if (whole.overflowed())
    return fail(METATE_E_OUT_OF_MEMORY, "vulkan: the device refused %llu bytes", show(bytes));
  Buffer *piece = newPiece(vulkan);
  if (!piece)
    return failPiece();
  metate_status status = makeBuffer(vulkan, whole.value(), Use::kernels, piece);
  if (status == METATE_OK && !keep(vulkan, piece))
    status = failPiece();
  if (status != METATE_OK) {
    dropPiece(vulkan, piece);
    return status;
  }
  *region = {Checked(piece->address).alignedTo(align).value(), nullptr, bytes, align, origin};
  return METATE_OK;
}

// The range that bytes lie in, as it is now; METATE_E_INTERNAL: in none.
metate_status find(Vulkan &vulkan, uint64_t address, uint64_t bytes, grid::Range *range) {
  os::Lock lock(vulkan.piecesMutex);
  *range = vulkan.pieces.find(address);
  if (range->owner && bytes <= range->end - address)
    return METATE_OK;
  return fail(METATE_E_INTERNAL, "vulkan: an access that leaves the device's memory");
}

// What stands under that address is none of the device's from here on.
grid::Range remove(Vulkan &vulkan, uint64_t address) {
  os::Lock lock(vulkan.piecesMutex);
  grid::Range range = vulkan.pieces.find(address);
  vulkan.pieces.remove(range.begin);
  return range;
}

} // namespace

metate_status create(void *self, uint64_t bytes, uint64_t align, Region *region) {
  Session session(of(self));
  METATE_TRY(session.status());
  return take(of(self), bytes, align, Origin::allocated, region);
}

metate_status reserve(void *self, uint64_t bytes, Region *region) {
  Vulkan &vulkan = of(self);
  {
    Session session(vulkan);
    METATE_TRY(session.status());
    METATE_TRY(take(vulkan, bytes, 0, Origin::reserved, region));
  }
  metate_status status = zero(self, region->address, bytes);
  if (status != METATE_OK)
    release(self, *region);
  return status;
}

metate_status wrap(void *self, void *address, uint64_t bytes, Region *region) {
  METATE_TRY(checkAlive(of(self)));
  *region = {reinterpret_cast<uintptr_t>(address), nullptr, bytes, 0, Origin::wrapped};
  if (reaches(self, region->address, bytes))
    return METATE_OK;
  return fail(
      METATE_E_INVALID_ARGUMENT,
      "memory: expected %llu bytes of the device's (of metate_memory_create, or of a buffer "
      "that metate_vulkan_address was given), got the address 0x%llx, which is not",
      show(bytes), show(region->address));
}

void release(void *self, const Region &region) {
  if (region.origin == Origin::wrapped)
    return;
  Vulkan &vulkan = of(self);
  grid::Range range = remove(vulkan, region.address);
  Session session(vulkan);
  if (session.status() == METATE_OK)
    synchronize(vulkan);
  dropPiece(vulkan, &bufferOf(range));
}

metate_status read(void *self, uint64_t address, void *to, uint64_t bytes) {
  Vulkan &vulkan = of(self);
  Session session(vulkan);
  METATE_TRY(session.status());
  if (!bytes)
    return synchronize(vulkan);
  grid::Range range;
  METATE_TRY(find(vulkan, address, bytes, &range));
  return copyOut(vulkan, bufferOf(range), address - range.begin, to, bytes);
}

metate_status write(void *self, uint64_t address, const void *from, uint64_t bytes) {
  Vulkan &vulkan = of(self);
  Session session(vulkan);
  METATE_TRY(session.status());
  if (!bytes)
    return synchronize(vulkan);
  grid::Range range;
  METATE_TRY(find(vulkan, address, bytes, &range));
  return copyIn(vulkan, bufferOf(range), address - range.begin, from, bytes);
}

metate_status zero(void *self, uint64_t address, uint64_t bytes) {
  Vulkan &vulkan = of(self);
  Session session(vulkan);
  METATE_TRY(session.status());
  if (!bytes)
    return synchronize(vulkan);
  grid::Range range;
  METATE_TRY(find(vulkan, address, bytes, &range));
  return clear(vulkan, bufferOf(range), address - range.begin, bytes);
}

Room room(const void *self) {
  const Vulkan &vulkan = of(self);
  uint64_t largest = 0;
  for (uint32_t i = 0; i < vulkan.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap &heap = vulkan.memory.memoryHeaps[i];
    if (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT && heap.size > largest)
      largest = heap.size;
  }
  uint64_t bytes = largest / roomPart < roomBytes ? largest / roomPart : roomBytes;
  uint64_t most = vulkan.limits.allocation / 2; // what is given out is a little larger
  return {bytes < most ? bytes : most, 0};
}

bool reaches(const void *self, uint64_t address, uint64_t bytes) {
  Vulkan &vulkan = of(self);
  os::Lock lock(vulkan.piecesMutex);
  return vulkan.pieces.holds(address, bytes);
}

// ---- the application's buffers

metate_status remember(Vulkan &vulkan, VkBuffer buffer, uint64_t bytes, uint64_t *address) {
  METATE_TRY(checkAlive(vulkan));
  VkBufferDeviceAddressInfo asked{};
  asked.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  asked.buffer = buffer;
  uint64_t found = vulkan.api.bufferAddress(vulkan.device, &asked);
  VkMemoryRequirements needs;
  vulkan.api.bufferRequirements(vulkan.device, buffer, &needs);
  if (!found || !bytes || bytes > needs.size)
    return fail(METATE_E_INVALID_ARGUMENT,
                "vulkan: bytes: expected at most %llu, which the buffer has, and one at least, got "
                "%llu",
                show(needs.size), show(bytes));
  Buffer *piece = newPiece(vulkan);
  if (!piece)
    return failPiece();
  piece->handle = buffer;
  piece->address = found;
  piece->bytes = bytes;
  bool isFree;
  {
    os::Lock lock(vulkan.piecesMutex);
    isFree = !vulkan.pieces.meets(found, found + bytes);
  }
  metate_status status = isFree
                             ? METATE_OK
                             : fail(METATE_E_INVALID_ARGUMENT,
                                    "vulkan: the buffer's bytes are the device's already: expected "
                                    "metate_vulkan_forget before they are another buffer's");
  if (isFree && !keep(vulkan, piece))
    status = failPiece();
  if (status != METATE_OK) {
    dropPiece(vulkan, piece);
    return status;
  }
  *address = found;
  return METATE_OK;
}

metate_status forget(Vulkan &vulkan, uint64_t address) {
  grid::Range range;
  {
    os::Lock lock(vulkan.piecesMutex);
    range = vulkan.pieces.find(address);
    if (!range.owner || range.begin != address || bufferOf(range).memory)
      return fail(METATE_E_INVALID_ARGUMENT,
                  "vulkan: address: expected one of metate_vulkan_address, got 0x%llx",
                  show(address));
    vulkan.pieces.remove(address);
  }
  Session session(vulkan);
  metate_status status = session.status();
  if (status == METATE_OK)
    status = synchronize(vulkan);
  dropPiece(vulkan, &bufferOf(range));
  return status;
}

void forgetAll(Vulkan &vulkan) {
  for (const grid::Range &range : vulkan.pieces)
    dropPiece(vulkan, &bufferOf(range));
}

} // namespace metate::vulkan
