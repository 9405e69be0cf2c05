// Stands for libcuda: its functions, on the host's memory. What goes into a stream happens when somebody waits for it, one piece at each
// cuStreamQuery: a buffer that is used too early is found. Device memory is locked while nothing of the stream happens. An image is a
// shared object whose functions are called for each invocation (fake_cuda_code.cpp).
#include "fake_cuda_stream.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace fake;

namespace {

struct Piece {
  size_t bytes;
  int kind;
};
std::map<uint64_t, Piece> pieces;
std::map<const char *, size_t> pinned;
std::vector<void *> contexts; // that are current
int primary, other;           // their addresses are contexts

uint64_t allocate(size_t bytes, int kind);
void release(uint64_t address);
void reset();

} // namespace

EXPORT fake_cuda_control fake_cuda;
fake_cuda_control fake_cuda;
std::deque<std::function<void()>> fake::stream;
float fake::clockNow;

namespace {

// The functions of the library before the tests: nothing fails.
[[maybe_unused]] bool isReset = (reset(), true);

void reset() {
  fake_cuda.initResult = 0;
  fake_cuda.version = 12040;
  fake_cuda.devices = 2;
  fake_cuda.major = 8;
  fake_cuda.minor = 6;
  fake_cuda.threadsPerBlock = 1024;
  fake_cuda.millisecondsEach = 0.25f;
  fake_cuda.failing = nullptr;
  fake_cuda.failAfter = fake_cuda.failResult = fake_cuda.isLost = 0;
  fake_cuda.isCapturing = fake_cuda.priority = 0;
  fake_cuda.crash = 700;
  fake_cuda.allocate = allocate;
  fake_cuda.release = release;
  fake_cuda.reset = reset;
  stream.clear();
}

size_t whole(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

uint64_t allocate(size_t bytes, int kind) {
  void *data = mmap(nullptr, whole(bytes) + 4096, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED || bytes > size_t(1) << 40)
    return 0;
  if (bytes < 1 << 20) { // never zero by luck
    mprotect(data, whole(bytes), PROT_READ | PROT_WRITE);
    memset(data, 0xdb, bytes);
    mprotect(data, whole(bytes), PROT_NONE);
  }
  pieces[reinterpret_cast<uintptr_t>(data)] = {bytes, kind};
  return reinterpret_cast<uintptr_t>(data);
}

void release(uint64_t address) {
  munmap(reinterpret_cast<void *>(address), whole(pieces[address].bytes) + 4096);
  pieces.erase(address);
}

std::map<uint64_t, Piece>::iterator pieceOf(uint64_t address) {
  auto after = pieces.upper_bound(address);
  if (after == pieces.begin())
    return pieces.end();
  --after;
  return address - after->first < after->second.bytes ? after : pieces.end();
}

bool holds(uint64_t address, size_t bytes) {
  auto piece = pieceOf(address);
  return piece != pieces.end() && bytes <= piece->second.bytes - (address - piece->first);
}

bool isPinned(const void *data) {
  auto after = pinned.upper_bound(static_cast<const char *>(data));
  if (after == pinned.begin())
    return false;
  --after;
  return static_cast<const char *>(data) < after->first + after->second;
}

void protect(int access) {
  for (auto &[address, piece] : pieces)
    mprotect(reinterpret_cast<void *>(address), whole(piece.bytes), access);
}

void happen() {
  auto next = std::move(stream.front());
  stream.pop_front();
  if (fake_cuda.isLost)
    return;
  protect(PROT_READ | PROT_WRITE);
  next();
  protect(PROT_NONE);
}

} // namespace

int fake::enter(const char *name, bool needsContext) {
  if (fake_cuda.failing && !strcmp(fake_cuda.failing, name) && fake_cuda.failAfter-- <= 0)
    return fake_cuda.failResult;
  if (needsContext && contexts.empty())
    return invalidContext;
  return needsContext ? fake_cuda.isLost : 0;
}
void fake::finish() {
  while (!stream.empty())
    happen();
}

// ---- the library and its devices

EXPORT int cuInit(unsigned) {
  ENTER(false);
  return fake_cuda.initResult;
}
EXPORT int cuDriverGetVersion(int *version) {
  *version = fake_cuda.version;
  return 0;
}
EXPORT int cuGetErrorName(int result, const char **text) {
  *text = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == 100 ? "CUDA_ERROR_NO_DEVICE"
          : result == 201 ? "CUDA_ERROR_INVALID_CONTEXT"
          : result == 218 ? "CUDA_ERROR_INVALID_PTX"
          : result == 500 ? "CUDA_ERROR_NOT_FOUND"
          : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
          : result == 801 ? "CUDA_ERROR_NOT_SUPPORTED"
                          : nullptr;
  return *text ? 0 : invalidValue;
}
EXPORT int cuGetErrorString(int, const char **text) {
  *text = "what it means";
  return 0;
}
EXPORT int cuDeviceGetCount(int *count) {
  ENTER(false);
  *count = fake_cuda.devices;
  return 0;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  ENTER(false);
  *device = ordinal;
  return 0;
}
EXPORT int cuDeviceGetName(char *name, int bytes, int device) {
  ENTER(false);
  snprintf(name, size_t(bytes), "Fake GPU %d", device);
  return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  ENTER(false);
  ++fake_cuda.questions;
  *value = attribute == 16   ? 2
           : attribute == 39 ? 1024
           : attribute == 75 ? fake_cuda.major
           : attribute == 76 ? fake_cuda.minor
                             : -1;
  return 0;
}

// ---- contexts and streams

EXPORT int cuDevicePrimaryCtxRetain(void **context, int) {
  ENTER(false);
  *context = &primary;
  ++fake_cuda.liveContexts;
  return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  --fake_cuda.liveContexts;
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  ENTER(false);
  contexts.push_back(context);
  ++fake_cuda.pushed;
  return 0;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  if (contexts.empty())
    return invalidContext;
  *context = contexts.back();
  contexts.pop_back();
  --fake_cuda.pushed;
  return 0;
}
EXPORT int cuCtxGetDevice(int *device) {
  ENTER(true);
  *device = 0;
  return 0;
}
EXPORT int cuStreamCreate(void **made, unsigned) {
  ENTER(true);
  *made = new int;
  ++fake_cuda.liveStreams;
  return 0;
}
EXPORT int cuStreamDestroy_v2(void *made) {
  delete static_cast<int *>(made);
  --fake_cuda.liveStreams;
  return 0;
}
EXPORT int cuStreamSynchronize(void *) {
  ENTER(true);
  ++fake_cuda.waits;
  finish();
  return fake_cuda.isLost;
}
EXPORT int cuStreamQuery(void *) {
  ENTER(true);
  if (stream.empty())
    return 0;
  happen();
  return fake_cuda.isLost ? fake_cuda.isLost : 600;
}

// ---- events: when they happen, by a clock that launches move on

EXPORT int cuEventCreate(void **made, unsigned) {
  ENTER(true);
  *made = new float(-1);
  ++fake_cuda.liveEvents;
  return 0;
}
EXPORT int cuEventRecord(void *event, void *) {
  ENTER(true);
  stream.push_back([=] { *static_cast<float *>(event) = clockNow; });
  return 0;
}
EXPORT int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  ENTER(true);
  float from = *static_cast<float *>(begin), to = *static_cast<float *>(end);
  if (from < 0 || to < 0)
    return 600;
  *milliseconds = to - from;
  return 0;
}
EXPORT int cuEventDestroy_v2(void *event) {
  finish();
  delete static_cast<float *>(event);
  --fake_cuda.liveEvents;
  return 0;
}

// ---- memory

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  ENTER(true);
  *address = bytes ? allocate(bytes, FAKE_OWN) : 0;
  if (!*address)
    return bytes ? noMemory : invalidValue;
  ++fake_cuda.allocations;
  ++fake_cuda.liveAllocations;
  return 0;
}
EXPORT int cuMemFree_v2(uint64_t address) {
  finish();
  --fake_cuda.liveAllocations;
  if (!pieces.count(address))
    return invalidValue;
  release(address);
  ENTER(true);
  return 0;
}
EXPORT int cuMemHostAlloc(void **place, size_t bytes, unsigned) {
  ENTER(true);
  auto *data = new char[bytes];
  memset(data, 0xdb, bytes);
  pinned[data] = bytes;
  *place = data;
  ++fake_cuda.allocations;
  ++fake_cuda.livePinned;
  return 0;
}
EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *address, void *place, unsigned) {
  ENTER(true);
  *address = reinterpret_cast<uintptr_t>(place);
  return isPinned(place) ? 0 : invalidValue;
}
EXPORT int cuMemFreeHost(void *place) {
  finish();
  pinned.erase(static_cast<char *>(place));
  delete[] static_cast<char *>(place);
  --fake_cuda.livePinned;
  return 0;
}
EXPORT int cuMemGetInfo_v2(size_t *available, size_t *total) {
  ENTER(true);
  *available = size_t(1) << 30;
  *total = size_t(2) << 30;
  return 0;
}
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *) {
  ENTER(true);
  if (!holds(to, bytes))
    return invalidValue;
  ++fake_cuda.uploads;
  const auto *data = static_cast<const char *>(from);
  // Memory that the device does not read by itself is read at once.
  std::vector<char> copy(isPinned(from) ? data : data, isPinned(from) ? data : data + bytes);
  stream.push_back(
      [=] { memcpy(reinterpret_cast<void *>(to), copy.empty() ? data : copy.data(), bytes); });
  return 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *) {
  ENTER(true);
  if (!holds(from, bytes))
    return invalidValue;
  stream.push_back([=] { memcpy(to, reinterpret_cast<const void *>(from), bytes); });
  if (!isPinned(to))
    finish();
  return fake_cuda.isLost;
}
EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void *) {
  ENTER(true);
  if (!holds(to, count))
    return invalidValue;
  stream.push_back([=] { memset(reinterpret_cast<void *>(to), value, count); });
  return 0;
}
EXPORT int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *) {
  ENTER(true);
  if (!holds(to, count * 4))
    return invalidValue;
  stream.push_back([=] {
    for (size_t i = 0; i < count; ++i)
      reinterpret_cast<unsigned *>(to)[i] = value;
  });
  return 0;
}
EXPORT int cuPointerGetAttributes(unsigned count, const int *attributes, void **values,
                                  uint64_t address) {
  ENTER(false);
  ++fake_cuda.questions;
  auto piece = pieceOf(address);
  int kind = piece == pieces.end() ? -1 : piece->second.kind;
  for (unsigned i = 0; i < count; ++i) {
    void *context = kind == FAKE_OTHER_CONTEXT        ? &other
                    : kind == FAKE_POOL || kind == -1 ? nullptr
                                                      : &primary;
    if (attributes[i] == 1)
      memcpy(values[i], &context, sizeof context);
    else if (attributes[i] == 2)
      *static_cast<unsigned *>(values[i]) = kind == -1 ? 0 : 2;
    else if (attributes[i] == 8)
      *static_cast<bool *>(values[i]) = kind == FAKE_MANAGED;
    else if (attributes[i] == 9)
      *static_cast<int *>(values[i]) = kind == -1 ? -2 : 0;
    else if (attributes[i] == 11)
      *static_cast<uint64_t *>(values[i]) = kind == -1 ? 0 : piece->first;
    else if (attributes[i] == 12)
      *static_cast<size_t *>(values[i]) = kind == -1 ? 0 : piece->second.bytes;
  }
  return 0;
}
