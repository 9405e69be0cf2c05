// The memory of the device "cuda". The host reads and writes it by copies in the stream's order.
#include "driver/cuda/cuda.h"

#include "support/checked.h"

#include <cstring>

namespace metate::cuda {

namespace {

// Alignment that cuMemAlloc gives.
constexpr uint64_t givenAlign = 256;
// The most that a tree takes when nobody says, and the part of what is free.
constexpr uint64_t roomBytes = uint64_t(1) << 30;
constexpr uint64_t roomPart = 16;

metate_status take(Cuda &cuda, uint64_t bytes, uint64_t align, Origin origin, Region *region) {
  uint64_t slack = align > givenAlign ? align - givenAlign : 0;
  Checked whole = Checked(bytes ? bytes : 1) + slack;
  Address base = 0;
  if (whole.overflowed())
    return fail(METATE_E_OUT_OF_MEMORY, "cuda: there are no %llu bytes",
                static_cast<unsigned long long>(bytes));
  Result result = cuda.api.allocate(&base, whole.value());
  if (result == outOfMemory)
    return fail(METATE_E_OUT_OF_MEMORY, "cuda: the device refused %llu bytes: %s",
                static_cast<unsigned long long>(bytes), cuda.api.nameOf(result));
  METATE_TRY(check(cuda, result, "cuMemAlloc"));
  bool isKept;
  {
    os::Lock lock(cuda.ownedMutex);
    isKept = cuda.owned.insert({base, base + whole.value()});
  }
  if (!isKept) {
    cuda.api.release(base);
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for a device's range");
  }
  uint64_t address = slack ? Checked(base).alignedTo(align).value() : base;
  *region = {address, nullptr, bytes, align, origin};
  return METATE_OK;
}

// Memory of somebody else's in the context, as CUDA knows it.
bool isCudas(const Cuda &cuda, uint64_t address, uint64_t bytes) {
  void *context = nullptr;
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  uint64_t begin = 0, size = 0;
  int attributes[] = {contextOf, memoryTypeOf, isManaged, ordinalOf, rangeBegin, rangeBytes};
  void *values[] = {&context, &type, &managed, &ordinal, &begin, &size};
  if (cuda.api.pointerAttributes(6, attributes, values, address) != success)
    return false;
  // Memory of pools and mapped one has no context: its device tells.
  bool isHere = context ? context == cuda.context : ordinal == cuda.device;
  bool isDevices = (managed & 0xff) || (type == deviceMemory && isHere);
  return isDevices && address >= begin && inRange(address - begin, bytes, size);
}

} // namespace

metate_status create(void *self, uint64_t bytes, uint64_t align, Region *region) {
  Session session(of(self));
  METATE_TRY(session.status());
  return take(of(self), bytes, align, Origin::allocated, region);
}

metate_status reserve(void *self, uint64_t bytes, Region *region) {
  Cuda &cuda = of(self);
  {
    Session session(cuda);
    METATE_TRY(session.status());
    METATE_TRY(take(cuda, bytes, 0, Origin::reserved, region));
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
      "memory: expected %llu bytes of the device's (device or managed memory of its context), got "
      "the address 0x%llx, which is not",
      static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(region->address));
}

void release(void *self, const Region &region) {
  if (region.origin == Origin::wrapped)
    return;
  Cuda &cuda = of(self);
  grid::Range range;
  {
    os::Lock lock(cuda.ownedMutex);
    range = cuda.owned.find(region.address);
    cuda.owned.remove(range.begin);
  }
  Session session(cuda);
  if (session.status() != METATE_OK || synchronize(cuda) != METATE_OK)
    return; // it went with the context
  check(cuda, cuda.api.release(range.begin), "cuMemFree");
}

metate_status read(void *self, uint64_t address, void *to, uint64_t bytes) {
  Cuda &cuda = of(self);
  Session session(cuda);
  METATE_TRY(session.status());
  if (!bytes)
    return synchronize(cuda);
  bool isSmall = bytes <= stagingBytes;
  void *place = isSmall ? cuda.pinned->staging : to;
  METATE_TRY(check(cuda, cuda.api.toHost(place, address, bytes, cuda.stream), "cuMemcpyDtoHAsync"));
  METATE_TRY(synchronize(cuda));
  if (isSmall)
    memcpy(to, place, bytes);
  return METATE_OK;
}

metate_status write(void *self, uint64_t address, const void *from, uint64_t bytes) {
  Cuda &cuda = of(self);
  Session session(cuda);
  METATE_TRY(session.status());
  if (!bytes)
    return synchronize(cuda);
  if (bytes <= stagingBytes)
    from = memcpy(cuda.pinned->staging, from, bytes);
  METATE_TRY(
      check(cuda, cuda.api.toDevice(address, from, bytes, cuda.stream), "cuMemcpyHtoDAsync"));
  return synchronize(cuda);
}

metate_status zero(void *self, uint64_t address, uint64_t bytes) {
  Cuda &cuda = of(self);
  Session session(cuda);
  METATE_TRY(session.status());
  if (bytes)
    METATE_TRY(check(cuda, cuda.api.fillBytes(address, 0, bytes, cuda.stream), "cuMemsetD8Async"));
  return synchronize(cuda);
}

Room room(const void *self) {
  Cuda &cuda = of(self);
  Session session(cuda);
  size_t available = 0, total = 0;
  if (session.status() != METATE_OK || cuda.api.memoryInfo(&available, &total) != success)
    return {roomBytes, 0};
  return {available / roomPart < roomBytes ? available / roomPart : roomBytes, 0};
}

bool reaches(const void *self, uint64_t address, uint64_t bytes) {
  Cuda &cuda = of(self);
  {
    os::Lock lock(cuda.ownedMutex);
    if (cuda.owned.holds(address, bytes))
      return true;
  }
  return isCudas(cuda, address, bytes);
}

} // namespace metate::cuda
