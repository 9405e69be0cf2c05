// The memory of the device "simt". It calls the system for what no other part of the runtime needs: locking pages. Behind each piece
// stands a page that is never within reach.
#include "driver/simt/simt.h"

#include "support/checked.h"

#include <cstring>
#include <sys/mman.h>

namespace metate::simt {

namespace {

void *pointer(uint64_t address) { return reinterpret_cast<void *>(uintptr_t(address)); }

metate_status failMemory(uint64_t bytes) {
  return fail(METATE_E_OUT_OF_MEMORY, "the system refused %llu bytes of the device's memory",
              static_cast<unsigned long long>(bytes));
}

// Locked pages that are zero, the first one at a multiple of `align`, with one more behind them.
bool map(uint64_t bytes, uint64_t align, uint64_t *address) {
  uint64_t page = os::pageBytes();
  uint64_t slack = align > page ? align - page : 0;
  void *data = mmap(nullptr, bytes + page + slack, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return false;
  uint64_t begin = reinterpret_cast<uintptr_t>(data);
  *address = slack ? Checked(begin).alignedTo(align).value() : begin;
  uint64_t before = *address - begin, behind = slack - before;
  if (before)
    munmap(data, before);
  if (behind)
    munmap(pointer(*address + bytes + page), behind);
  return true;
}

metate_status take(Simt &simt, uint64_t bytes, uint64_t align, Origin origin, Region *region) {
  Checked whole = Checked(bytes ? bytes : 1).alignedTo(os::pageBytes());
  uint64_t address = 0;
  if (!(whole + align + 2 * os::pageBytes()).fitsIn(INT64_MAX) ||
      !map(whole.value(), align, &address))
    return failMemory(bytes);
  os::Lock lock(simt.mutex);
  if (!simt.owned.insert({address, address + whole.value()})) {
    munmap(pointer(address), whole.value() + os::pageBytes());
    return failMemory(bytes);
  }
  *region = {address, nullptr, bytes, align, origin};
  return METATE_OK;
}

metate_status checkInside(const Simt &simt, uint64_t address, uint64_t bytes) {
  if (!bytes || simt.owned.holds(address, bytes))
    return METATE_OK;
  return fail(METATE_E_INTERNAL, "an access that leaves the device's memory");
}

void protect(const Simt &simt, int access) {
  for (const grid::Range &range : simt.owned)
    mprotect(pointer(range.begin), range.end - range.begin, access);
}

} // namespace

Unlocked::Unlocked(Simt &simt) : simt(simt), lock(simt.mutex) {
  protect(simt, PROT_READ | PROT_WRITE);
}
Unlocked::~Unlocked() { protect(simt, PROT_NONE); }

metate_status create(void *self, uint64_t bytes, uint64_t align, Region *region) {
  return take(of(self), bytes, align, Origin::allocated, region);
}

metate_status reserve(void *self, uint64_t bytes, Region *region) {
  return take(of(self), bytes, 0, Origin::reserved, region);
}

metate_status wrap(void *self, void *address, uint64_t bytes, Region *region) {
  *region = {reinterpret_cast<uintptr_t>(address), nullptr, bytes, 0, Origin::wrapped};
  if (reaches(self, region->address, bytes))
    return METATE_OK;
  return fail(METATE_E_INVALID_ARGUMENT,
              "memory: expected %llu bytes of the device's, which metate_memory_create gives",
              static_cast<unsigned long long>(bytes));
}

void release(void *self, const Region &region) {
  if (region.origin == Origin::wrapped)
    return;
  Simt &simt = of(self);
  os::Lock lock(simt.mutex);
  grid::Range range = simt.owned.find(region.address);
  simt.owned.remove(range.begin);
  munmap(pointer(range.begin), range.end - range.begin + os::pageBytes());
}

metate_status read(void *self, uint64_t address, void *to, uint64_t bytes) {
  Unlocked unlocked(of(self));
  METATE_TRY(checkInside(of(self), address, bytes));
  memcpy(to, pointer(address), bytes);
  return METATE_OK;
}

metate_status write(void *self, uint64_t address, const void *from, uint64_t bytes) {
  Unlocked unlocked(of(self));
  METATE_TRY(checkInside(of(self), address, bytes));
  memcpy(pointer(address), from, bytes);
  return METATE_OK;
}

metate_status zero(void *self, uint64_t address, uint64_t bytes) {
  Unlocked unlocked(of(self));
  METATE_TRY(checkInside(of(self), address, bytes));
  memset(pointer(address), 0, bytes);
  return METATE_OK;
}

bool reaches(const void *self, uint64_t address, uint64_t bytes) {
  Simt &simt = of(self);
  os::Lock lock(simt.mutex);
  return simt.owned.holds(address, bytes);
}

} // namespace metate::simt
