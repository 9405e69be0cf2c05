// Loading and running code of the device "simt". The system's loader maps the image, after the file's hash matched.
#include "driver/simt/simt.h"

#include "driver/grid/frame.h"
#include "driver/grid/prints.h"
#include "driver/grid/runs.h"
#include "driver/grid/shape.h"
#include "driver/grid/times.h"

#include <cstring>
#include <new>
#include <thread>

namespace metate::simt {

namespace {

// Few, so that functions go around their loops. Where only the device knows the iterations, an odd number of workgroups of 1024, 512,
// ..., 32 invocations: nobody may rely on a power of two.
constexpr grid::Bounds bounds{4096, 2048 + 32};
constexpr uint32_t mostThreads = 64;
// What memory holds that nobody has written: an address of nothing.
constexpr int unwritten = 0xdb;

using Function = void (*)(const metate_slot *slots, void *frame, uint64_t invocation,
                          uint64_t invocations);

// A module's code, and its functions in the order of the tasks.
struct Loaded {
  explicit Loaded(const metate_allocator &allocator) : payload(allocator) {}
  grid::Payload payload;
  os::SharedObject object;
  Function *functions = nullptr;
  uint32_t count = 0;
};

void drop(Simt &simt, Loaded *loaded) {
  const metate_allocator &allocator = simt.allocator;
  if (loaded->functions)
    allocator.release(allocator.self, loaded->functions, loaded->count * sizeof(Function),
                      alignof(Function));
  os::unload(&loaded->object);
  loaded->~Loaded();
  allocator.release(allocator.self, loaded, sizeof(Loaded), alignof(Loaded));
}

metate_status findFunctions(Simt &simt, const Descriptor &descriptor, Loaded *loaded) {
  const grid::Section &section = loaded->payload.section();
  uint32_t count = section.header().tasks.count;
  if (!count)
    return METATE_OK;
  void *place =
      simt.allocator.allocate(simt.allocator.self, count * sizeof(Function), alignof(Function));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for %u tasks", count);
  loaded->functions = static_cast<Function *>(place);
  loaded->count = count;
  for (uint32_t i = 0; i < count; ++i) {
    const char *name = section.name(section.tasks()[i]);
    loaded->functions[i] = reinterpret_cast<Function>(os::symbol(loaded->object, name));
    if (!loaded->functions[i])
      return fail(METATE_E_CORRUPT, "the code of module '%s': it does not export the task '%s'",
                  descriptor.text(descriptor.header().name), name);
  }
  return METATE_OK;
}

metate_status open(Simt &simt, const Descriptor &descriptor, uint32_t variant, Span payload,
                   Loaded *loaded) {
  METATE_TRY(loaded->payload.open(descriptor, variant, payload));
  const grid::Section &section = loaded->payload.section();
  const metate_grid_image *image = section.images();
  const metate_grid_image *end = image + section.header().images.count;
  while (image != end && image->format != METATE_GRID_OBJECT)
    ++image;
  if (image == end)
    return fail(METATE_E_UNSUPPORTED,
                "the code of module '%s' has no shared object among its images",
                descriptor.text(descriptor.header().name));
  METATE_TRY(os::load(section.at(image->offset), image->bytes, &loaded->object));
  return findFunctions(simt, descriptor, loaded);
}

// A launch's own memory: the frame, and a ring where somebody prints.
class Memory {
public:
  explicit Memory(const metate_allocator &allocator) : allocator(allocator) {}
  ~Memory() {
    if (place)
      allocator.release(allocator.self, place, bytes, align);
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  metate_status allocate(uint64_t count, int fill) {
    place = static_cast<uint8_t *>(allocator.allocate(allocator.self, count, align));
    if (!place)
      return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %llu bytes for a launch",
                  static_cast<unsigned long long>(count));
    bytes = count;
    memset(place, fill, count);
    return METATE_OK;
  }
  uint64_t address() const { return reinterpret_cast<uintptr_t>(place); }
  template <typename T> T *as(uint64_t offset = 0) const {
    return reinterpret_cast<T *>(place + offset);
  }

private:
  static constexpr size_t align = 64;
  const metate_allocator &allocator;
  uint8_t *place = nullptr;
  uint64_t bytes = 0;
};

// The invocations first, first + step, ... until the host wants the launch to stop.
void runSome(Function function, const Launch &launch, const metate_slot *slots, void *frame,
             uint64_t first, uint64_t step, uint64_t invocations) {
  for (uint64_t i = first; i < invocations && !grid::isInterrupted(launch.host); i += step)
    function(slots, frame, i, invocations);
}

void runTask(uint32_t threads, Function function, const Launch &launch, const metate_slot *slots,
             void *frame, uint64_t invocations) {
  if (threads > invocations)
    threads = uint32_t(invocations);
  std::thread others[mostThreads];
  for (uint32_t i = 1; i < threads; ++i)
    others[i] =
        std::thread(runSome, function, std::cref(launch), slots, frame, i, threads, invocations);
  runSome(function, launch, slots, frame, 0, threads, invocations);
  for (uint32_t i = 1; i < threads; ++i)
    others[i].join();
}

// Did the host stop a graph between two of its kernels? `marks`: for times, or null.
bool runTasks(Simt &simt, const Loaded &loaded, const Launch &launch, void *frame,
              uint64_t *marks) {
  const grid::Section &section = loaded.payload.section();
  uint32_t threads = simt.threads < mostThreads ? simt.threads : mostThreads;
  Unlocked unlocked(simt);
  if (marks)
    *marks++ = os::now();
  const metate_grid_kernel &kernel = section.kernels()[launch.kernel];
  grid::Runs runs(section, kernel, launch.slots, uint64_t(reinterpret_cast<uintptr_t>(frame)),
                  grid::interruptOf(launch.host));
  for (grid::Run run; runs.next(&run);)
    for (uint32_t i = 0; i < run.kernel->task_count; ++i) {
      uint32_t task = run.kernel->first_task + i;
      grid::Shape shape = grid::shapeOf(section, section.tasks()[task], run.slots, bounds);
      if (shape.invocations() == 1) // what collects and settles among them
        loaded.functions[task](run.slots, frame, 0, 1);
      else
        runTask(threads, loaded.functions[task], launch, run.slots, frame, shape.invocations());
      if (marks)
        *marks++ = os::now();
      if (grid::isInterrupted(launch.host) && kernel.flags & METATE_GRID_MAY_FAIL) {
        uint32_t none = METATE_OK; // tasks behind it do nothing but clean up
        __atomic_compare_exchange_n(&static_cast<metate_grid_frame *>(frame)->status, &none,
                                    uint32_t(METATE_E_INTERRUPTED), false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
      }
    }
  return runs.wereInterrupted();
}

} // namespace

metate_status load(void *self, const Descriptor &descriptor, uint32_t variant, Span payload,
                   Code *code) {
  Simt &simt = of(self);
  void *place = simt.allocator.allocate(simt.allocator.self, sizeof(Loaded), alignof(Loaded));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes", sizeof(Loaded));
  auto *loaded = new (place) Loaded(simt.allocator);
  metate_status status = open(simt, descriptor, variant, payload, loaded);
  if (status != METATE_OK) {
    drop(simt, loaded);
    return status;
  }
  *code = {nullptr, loaded};
  return METATE_OK;
}

void unload(void *self, Code *code) {
  if (code->handle)
    drop(of(self), static_cast<Loaded *>(code->handle));
  *code = {};
}

int32_t launch(void *self, const Code &code, const Launch &launch) {
  Simt &simt = of(self);
  const auto &loaded = *static_cast<const Loaded *>(code.handle);
  const metate_grid_kernel &kernel = loaded.payload.section().kernels()[launch.kernel];
  if (grid::isInterrupted(launch.host))
    return METATE_E_INTERRUPTED;
  Memory memory(simt.allocator), ring(simt.allocator);
  METATE_TRY(memory.allocate(grid::launchBytes(kernel), unwritten));
  grid::Places places{memory.address()};
  bool isPrinting = grid::isPrinting(kernel, launch.host);
  if (isPrinting) {
    METATE_TRY(ring.allocate(grid::ringBytes, 0xff));
    places.ring = ring.address();
    *ring.as<metate_grid_ring>() = {grid::ringWords, 0};
  }
  if (launch.host)
    places.interrupt = reinterpret_cast<uintptr_t>(launch.host->interrupt);
  uint32_t pools = loaded.payload.poolCount(launch.kernel);
  if (kernel.flags || pools)
    grid::writeHead(memory.as<grid::Head>(), places, launch.pools, pools);
  auto *frame = memory.as<metate_grid_frame>(grid::frameOffset);
  const grid::Section &section = loaded.payload.section();
  grid::Times times(simt.allocator, launch);
  METATE_TRY(times.allocate(times.tasks(section, kernel)));
  bool wasInterrupted = runTasks(simt, loaded, launch, frame, times.marks());
  if (isPrinting) {
    grid::Prints prints(simt.allocator);
    METATE_TRY(prints.allocate(ring.as<metate_grid_ring>()->taken));
    if (prints.bytes())
      memcpy(prints.data(), ring.as<uint32_t>(sizeof(metate_grid_ring)), prints.bytes());
    prints.deliver(loaded.payload, *launch.host);
  }
  int32_t status = METATE_OK;
  if (kernel.flags & METATE_GRID_MAY_FAIL)
    status = grid::outcomeOf(*frame, launch.host);
  else if (grid::isInterrupted(launch.host))
    status = METATE_E_INTERRUPTED;
  status = grid::outcomeOf(status, wasInterrupted);
  if (status == METATE_OK)
    times.tell(section, kernel);
  return status;
}

} // namespace metate::simt
