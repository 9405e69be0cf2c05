// The device "cuda": a context, a stream in whose order all of its work is, and the memory that a launch begins with. One thread at a
// time works on it.
#ifndef METATE_RUNTIME_DRIVER_CUDA_CUDA_H
#define METATE_RUNTIME_DRIVER_CUDA_CUDA_H

#include "driver/cuda/library.h"
#include "driver/grid/frame.h"
#include "driver/grid/ranges.h"
#include "driver/plugin.h"
#include "os/os.h"

#include <atomic>

namespace metate::cuda {

// Copies of heads that wait in the stream; more wait for it.
constexpr uint32_t mostUploads = 16;
// Copies of so many bytes and fewer go through memory that the device reads by itself.
constexpr uint64_t stagingBytes = 1 << 16;

// Memory of the host's that the device reads and writes by itself.
struct Pinned {
  grid::Head uploads[mostUploads];
  uint8_t staging[stagingBytes];
  metate_grid_frame frame; // as a launch left it
  uint32_t taken;          // words of the ring
  uint32_t interrupt;      // the word that kernels ask
};

struct Cuda {
  Cuda(const metate_allocator &allocator) : allocator(allocator), owned(allocator) {}

  metate_allocator allocator;
  Library api;
  int device = 0;
  void *context = nullptr, *stream = nullptr;
  bool ownsContext = false, ownsStream = false;
  uint32_t level = 0;     // 10 * major + minor of the compute capability
  uint32_t residents = 0; // threads that run at once
  char name[64] = "";
  std::atomic<Result> lost{success}; // why nothing works any more

  os::Mutex ownedMutex;
  grid::Ranges owned; // guarded by ownedMutex

  os::Mutex mutex; // guards the rest, and the stream
  Pinned *pinned = nullptr;
  Address interrupt = 0; // pinned->interrupt on the device
  uint32_t uploads = 0;  // since the stream was waited for
  Address frame = 0;     // a head and values behind it
  uint64_t frameBytes = 0;
  Address ring = 0;                          // of grid::ringBytes; 0: nobody has printed
  uint32_t ringUsed = 0;                     // words that are not unwritten ones
  grid::Head written;                        // what the frame's beginning on the device holds
  uint64_t writtenFrom = sizeof(grid::Head); // and from which offset on; the end: nothing is known
};

inline Cuda &of(void *self) { return *static_cast<Cuda *>(self); }
inline Cuda &of(const void *self) { return of(const_cast<void *>(self)); }

// A call's result as a status with a text; a fatal one makes the device lost.
metate_status check(Cuda &cuda, Result result, const char *function);
// METATE_E_INTERNAL once the device is lost.
metate_status checkAlive(const Cuda &cuda);

// What one thread does on the device: meanwhile nobody else does, and the context is the thread's.
class Session {
public:
  explicit Session(Cuda &cuda) : cuda(cuda), lock(cuda.mutex), begun(checkAlive(cuda)) {
    if (begun == METATE_OK)
      begun = check(cuda, cuda.api.push(cuda.context), "cuCtxPushCurrent");
  }
  ~Session() {
    void *popped = nullptr;
    if (begun == METATE_OK)
      cuda.api.pop(&popped);
  }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  metate_status status() const { return begun; }

private:
  Cuda &cuda;
  os::Lock lock;
  metate_status begun;
};

// Within a session: returns when the stream has nothing left to do.
metate_status synchronize(Cuda &cuda);

// ---- memory (memory.cpp)
metate_status create(void *self, uint64_t bytes, uint64_t align, Region *region);
metate_status reserve(void *self, uint64_t bytes, Region *region);
metate_status wrap(void *self, void *address, uint64_t bytes, Region *region);
void release(void *self, const Region &region);
metate_status read(void *self, uint64_t address, void *to, uint64_t bytes);
metate_status write(void *self, uint64_t address, const void *from, uint64_t bytes);
metate_status zero(void *self, uint64_t address, uint64_t bytes);
Room room(const void *self);
bool reaches(const void *self, uint64_t address, uint64_t bytes);

// ---- code (code.cpp, launch.cpp)
metate_status load(void *self, const Descriptor &descriptor, uint32_t variant, Span payload,
                   Code *code);
void unload(void *self, Code *code);
int32_t launch(void *self, const Code &code, const Launch &launch);

} // namespace metate::cuda

#endif
