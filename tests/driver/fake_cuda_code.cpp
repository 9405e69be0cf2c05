// The fake libcuda's modules, launches and graphs. An image is a shared object whose functions are called for each invocation, or the text
// "object PATH". FAKE_CUDA_INCOMPLETE leaves a function out.
#include "fake_cuda_stream.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace fake;

namespace {

using Function = void (*)(const void *slots, void *frame, uint64_t invocation,
                          uint64_t invocations);

struct Kernel {
  Function function;
  uint32_t slots;
  bool isCrash;
};
struct Module {
  void *handle;
  std::deque<Kernel> kernels;
};

std::map<void *, std::unique_ptr<Module>> modules; // also those that were lost with a device

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

// ---- modules

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

// ---- launches

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
