// Stands for libcuda: its functions, on the host's memory. What goes into a stream happens when somebody waits for it, one piece at each
// cuStreamQuery: a buffer that is used too early is found. Device memory is locked while nothing of the stream happens. An image is a
// shared object whose functions are called for each invocation, or the text "object PATH". FAKE_CUDA_INCOMPLETE leaves a function out.
#include "fake_cuda.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <elf.h>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Function = void (*)(const void *slots, void *frame, uint64_t invocation,
                          uint64_t invocations);

struct Piece {
  size_t bytes;
  int kind;
};
struct Kernel {
  Function function;
  uint32_t slots;
  bool isCrash;
};
struct Module {
  void *handle;
  std::deque<Kernel> kernels;
};

enum { invalidValue = 1, noMemory = 2, invalidContext = 201, invalidPtx = 218, notFound = 500 };

std::map<uint64_t, Piece> pieces;
std::map<const char *, size_t> pinned;
std::deque<std::function<void()>> stream;
std::map<void *, std::unique_ptr<Module>> modules; // also those that were lost with a device
float clockNow;                                    // milliseconds
std::vector<void *> contexts;                      // that are current
int primary, other;                                // their addresses are contexts

uint64_t allocate(size_t bytes, int kind);
void release(uint64_t address);
void reset();

} // namespace

EXPORT fake_cuda_control fake_cuda;
fake_cuda_control fake_cuda;

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

// A call's own failure, or 0.
int enter(const char *name, bool needsContext) {
  if (fake_cuda.failing && !strcmp(fake_cuda.failing, name) && fake_cuda.failAfter-- <= 0)
    return fake_cuda.failResult;
  if (needsContext && contexts.empty())
    return invalidContext;
  return needsContext ? fake_cuda.isLost : 0;
}
#define ENTER(needsContext)                                                                        \
  if (int failed = enter(__func__, needsContext))                                                  \
  return failed

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
void finish() {
  while (!stream.empty())
    happen();
}

size_t sizeOfElf(const void *image) {
  const auto *head = static_cast<const Elf64_Ehdr *>(image);
  return head->e_shoff + size_t(head->e_shnum) * head->e_shentsize;
}

void *openElf(const void *image) {
  int file = memfd_create("fake", MFD_CLOEXEC);
  size_t bytes = sizeOfElf(image);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  void *handle = write(file, image, bytes) == ssize_t(bytes) ? dlopen(path, RTLD_NOW) : nullptr;
  return handle; // the file stays open: a number that is used again would be taken for this one
}

} // namespace

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

// ---- code

EXPORT int cuModuleLoadDataEx(void **made, const void *image, unsigned count, const int *options,
                              void **values) {
  ENTER(true);
  const char *text = static_cast<const char *>(image);
  bool isBinary = !memcmp(text, ELFMAG, SELFMAG);
  void *handle = isBinary                       ? openElf(image)
                 : !strncmp(text, "object ", 7) ? dlopen(text + 7, RTLD_NOW)
                                                : nullptr;
  if (!handle) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5)
        strcpy(static_cast<char *>(values[i]), "line 1: no such instruction");
    return invalidPtx;
  }
  fake_cuda.lastImage = isBinary ? 2 : 1;
  ++fake_cuda.liveModules;
  auto module = std::make_unique<Module>(Module{handle, {}});
  *made = module.get();
  modules[*made] = std::move(module);
  return 0;
}
EXPORT int cuModuleUnload(void *module) {
  finish();
  dlclose(static_cast<Module *>(module)->handle);
  modules.erase(module);
  --fake_cuda.liveModules;
  return 0;
}
EXPORT int cuModuleGetFunction(void **function, void *of, const char *name) {
  ENTER(true);
  auto &module = *static_cast<Module *>(of);
  void *found = dlsym(module.handle, name);
  void *slots = dlsym(module.handle, (std::string(name) + "_slots").c_str());
  if (!found || !slots)
    return notFound;
  module.kernels.push_back(
      {reinterpret_cast<Function>(found), *static_cast<uint32_t *>(slots), !strcmp(name, "crash")});
  *function = &module.kernels.back();
  return 0;
}
EXPORT int cuFuncGetAttribute(int *value, int, void *) {
  ENTER(true);
  ++fake_cuda.questions;
  *value = fake_cuda.threadsPerBlock;
  return 0;
}
EXPORT int cuFuncSetAttribute(void *, int, int) {
  ENTER(true);
  return 0;
}
namespace {

// What a kernel is given is read when it is put somewhere.
struct Queued {
  Kernel kernel;
  std::vector<uint64_t> slots;
  uint64_t frame;
  unsigned grid, block, shared;

  void happen() const {
    uint64_t count = uint64_t(grid) * block;
    if (kernel.isCrash)
      fake_cuda.isLost = fake_cuda.crash;
    clockNow += 1 + fake_cuda.millisecondsEach * float(count);
    for (uint64_t i = 0; i < count && !kernel.isCrash; ++i)
      kernel.function(slots.data(), reinterpret_cast<void *>(frame), i, count);
  }
  void enter(void *on) const {
    ++fake_cuda.launches;
    fake_cuda.grid = grid;
    fake_cuda.block = block;
    fake_cuda.shared = shared;
    fake_cuda.lastStream = on;
    stream.push_back([one = *this] { one.happen(); });
  }
};

// As cuGraphAddKernelNode takes it.
struct Parameters {
  void *function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, shared;
  void **parameters, **extra;
};

bool queue(const Parameters &given, Queued *queued) {
  if (!given.gridX || !given.blockX || given.blockX > 1024 ||
      given.gridY * given.gridZ * given.blockY * given.blockZ != 1 || given.extra)
    return false;
  const Kernel &kernel = *static_cast<const Kernel *>(given.function);
  const auto *slots = static_cast<const uint64_t *>(given.parameters[0]);
  *queued = {kernel,
             {slots, slots + (kernel.slots ? kernel.slots : 1)},
             *static_cast<const uint64_t *>(given.parameters[1]),
             given.gridX,
             given.blockX,
             given.shared};
  return true;
}

struct Graph {
  std::deque<Queued> nodes;
};
struct Executable {
  const Graph *graph;
  std::deque<Queued> nodes; // as they were when it was made
};

} // namespace

#ifndef FAKE_CUDA_INCOMPLETE
EXPORT int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                          unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                          void *on, void **parameters, void **extra) {
  ENTER(true);
  Queued queued;
  if (!queue({function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, parameters, extra},
             &queued))
    return invalidValue;
  queued.enter(on);
  return 0;
}
#endif

// ---- graphs: chains of kernels

EXPORT int cuStreamIsCapturing(void *, int *status) {
  ENTER(true);
  *status = fake_cuda.isCapturing;
  return 0;
}
EXPORT int cuStreamGetPriority(void *, int *priority) {
  ENTER(true);
  *priority = fake_cuda.priority;
  return 0;
}
EXPORT int cuGraphCreate(void **graph, unsigned) {
  ENTER(true);
  *graph = new Graph;
  ++fake_cuda.liveGraphs;
  return 0;
}
EXPORT int cuGraphAddKernelNode(void **node, void *graph, void *const *after, size_t count,
                                const Parameters *given) {
  ENTER(true);
  auto &nodes = static_cast<Graph *>(graph)->nodes;
  Queued queued;
  bool isChain = nodes.empty() ? count == 0 : count == 1 && *after == &nodes.back();
  if (!isChain || !queue(*given, &queued))
    return invalidValue;
  nodes.push_back(queued);
  *node = &nodes.back();
  return 0;
}
EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  ENTER(true);
  const auto *of = static_cast<const Graph *>(graph);
  *executable = new Executable{of, of->nodes};
  ++fake_cuda.liveGraphs;
  return 0;
}
EXPORT int cuGraphExecKernelNodeSetParams(void *executable, void *node, const Parameters *given) {
  ENTER(true);
  auto &made = *static_cast<Executable *>(executable);
  ++fake_cuda.updates;
  for (size_t i = 0; i < made.nodes.size(); ++i)
    if (&made.graph->nodes[i] == node)
      return queue(*given, &made.nodes[i]) ? 0 : invalidValue;
  return invalidValue;
}
EXPORT int cuGraphLaunch(void *executable, void *on) {
  ENTER(true);
  ++fake_cuda.submissions;
  for (const Queued &node : static_cast<Executable *>(executable)->nodes)
    node.enter(on);
  return 0;
}
EXPORT int cuGraphExecDestroy(void *executable) {
  delete static_cast<Executable *>(executable);
  --fake_cuda.liveGraphs;
  return 0;
}
EXPORT int cuGraphDestroy(void *graph) {
  delete static_cast<Graph *>(graph);
  --fake_cuda.liveGraphs;
  return 0;
}
