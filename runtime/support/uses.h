// Counts the launches that use an object at this moment, so that closing it can be refused. The
// thread that comes first counts with plain stores; all others share an atomic counter: a launch
// from one thread, the usual one, locks no bus. It protects against closing an object whose launch
// is running, not against a launch that starts while the object is being freed.
#ifndef METATE_RUNTIME_SUPPORT_USES_H
#define METATE_RUNTIME_SUPPORT_USES_H

#include <atomic>
#include <cstdint>

namespace metate {

class Uses {
public:
  void begin() {
    if (mine())
      own.store(own.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
      others.fetch_add(1, std::memory_order_relaxed);
  }
  // By the thread that began.
  void end() {
    if (owner.load(std::memory_order_relaxed) == self())
      own.store(own.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    else
      others.fetch_sub(1, std::memory_order_release);
  }
  // What the launches that ended have done is seen when there is none.
  uint32_t count() const {
    return own.load(std::memory_order_acquire) + others.load(std::memory_order_acquire);
  }

private:
  // A number of the calling thread; a later thread may have it again, never one at the same time.
  static uintptr_t self() { return reinterpret_cast<uintptr_t>(__builtin_thread_pointer()); }
  bool mine() {
    uintptr_t first = owner.load(std::memory_order_relaxed);
    if (first)
      return first == self();
    return owner.compare_exchange_strong(first, self(), std::memory_order_relaxed);
  }

  std::atomic<uintptr_t> owner{0};
  std::atomic<uint32_t> own{0}; // written by the owner only
  std::atomic<uint32_t> others{0};
};

} // namespace metate

#endif
