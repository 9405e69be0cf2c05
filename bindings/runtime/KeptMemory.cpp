// Blocks of the C library's, in large pages. Nobody waits for the mutex: while another thread has it nothing is kept or found. A child of a fork
// may have it taken for ever.
#include "KeptMemory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>

namespace metate::python {

static constexpr size_t hugePage = size_t(2) << 20;

KeptMemory::~KeptMemory() { clear(); }

void *KeptMemory::find(size_t bytes, size_t align) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock)
    return nullptr;
  for (size_t k = count; k-- > 0;)
    if (kept[k].bytes == bytes && reinterpret_cast<uintptr_t>(kept[k].data) % align == 0) {
      void *found = kept[k].data;
      std::move(kept + k + 1, kept + count, kept + k);
      --count;
      return found;
    }
  return nullptr;
}

bool KeptMemory::keep(void *pointer, size_t bytes) {
#ifdef MADV_FREE
  // Whole pages of it: what is written next is there, and what is not written may be gone.
  if (madvise(pointer, bytes / hugePage * hugePage, MADV_FREE) != 0)
    return false;
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock)
    return false;
  void *oldest = nullptr;
  if (count == mostBlocks) {
    oldest = kept[0].data;
    std::move(kept + 1, kept + count, kept);
    --count;
  }
  kept[count++] = {pointer, bytes};
  lock.unlock();
  free(oldest);
  return true;
#else
  (void)pointer, (void)bytes;
  return false;
#endif
}

bool KeptMemory::clear() {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || !count)
    return false;
  while (count)
    free(kept[--count].data);
  return true;
}

void *KeptMemory::allocate(void *self, size_t bytes, size_t align) {
  auto &memory = *static_cast<KeptMemory *>(self);
  bool isLarge = bytes >= leastBytes;
  void *pointer = isLarge ? memory.find(bytes, align) : nullptr;
  align = std::max(align, isLarge ? hugePage : sizeof(void *));
  if (!pointer && posix_memalign(&pointer, align, bytes ? bytes : 1) != 0)
    // What is kept may be in the way where address space is limited.
    if (!memory.clear() || posix_memalign(&pointer, align, bytes ? bytes : 1) != 0)
      return nullptr;
#ifdef MADV_HUGEPAGE
  if (isLarge)
    madvise(pointer, bytes, MADV_HUGEPAGE); // advice only
#endif
  return pointer;
}

void KeptMemory::release(void *self, void *pointer, size_t bytes, size_t) {
  auto &memory = *static_cast<KeptMemory *>(self);
  if (bytes < leastBytes || bytes > mostBytes || !memory.keep(pointer, bytes))
    free(pointer);
}

} // namespace metate::python
