// The device "simt": pages that are locked while nobody reads, writes or launches, and functions that are called invocation by
// invocation.
#ifndef METATE_RUNTIME_DRIVER_SIMT_SIMT_H
#define METATE_RUNTIME_DRIVER_SIMT_SIMT_H

#include "driver/grid/ranges.h"
#include "driver/plugin.h"
#include "os/os.h"

namespace metate::simt {

struct Simt {
  metate_allocator allocator;
  uint32_t threads; // that run a task's invocations
  os::Mutex mutex;  // reads, writes, launches: one at a time
  grid::Ranges owned;
};

inline Simt &of(void *self) { return *static_cast<Simt *>(self); }
inline Simt &of(const void *self) { return of(const_cast<void *>(self)); }

// The device's memory is within reach while one of these lives.
class Unlocked {
public:
  explicit Unlocked(Simt &simt);
  ~Unlocked();
  Unlocked(const Unlocked &) = delete;
  Unlocked &operator=(const Unlocked &) = delete;

private:
  Simt &simt;
  os::Lock lock;
};

// ---- memory (memory.cpp)
metate_status create(void *self, uint64_t bytes, uint64_t align, Region *region);
metate_status reserve(void *self, uint64_t bytes, Region *region);
metate_status wrap(void *self, void *address, uint64_t bytes, Region *region);
void release(void *self, const Region &region);
metate_status read(void *self, uint64_t address, void *to, uint64_t bytes);
metate_status write(void *self, uint64_t address, const void *from, uint64_t bytes);
metate_status zero(void *self, uint64_t address, uint64_t bytes);
bool reaches(const void *self, uint64_t address, uint64_t bytes);

// ---- code (code.cpp)
metate_status load(void *self, const Descriptor &descriptor, uint32_t variant, Span payload,
                   Code *code);
void unload(void *self, Code *code);
int32_t launch(void *self, const Code &code, const Launch &launch);

} // namespace metate::simt

#endif
