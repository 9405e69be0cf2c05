// The smallest thing that fulfils the driver's table: the host's own machine, whose memory the host cannot reach. Pages of
// `elsewhere` may be touched while the driver reads, writes or runs something, and at no other time: whoever
// dereferences a block that lies there crashes. A driver of a real device looks like this one, with copies in place
// of unlocked pages.
#include "elsewhere.h"

#include "driver/driver.h"
#include "os/os.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <vector>

namespace metate {

extern const Driver cpuDriver;

namespace {

constexpr uint64_t pageBytes = 4096;

std::atomic<uint64_t> created{0};

// Code of the CPU's driver, or entries of the process.
struct Kernels {
  Descriptor descriptor;
  Code code;
  std::vector<metate_entry> entries;
};

struct Elsewhere {
  void *cpu = nullptr;
  os::Mutex mutex;                     // one at a time: reads, writes and launches
  std::map<uint64_t, uint64_t> pieces; // bytes by address, whole pages

  bool holds(uint64_t address, uint64_t bytes) const {
    auto after = pieces.upper_bound(address);
    if (after == pieces.begin())
      return false;
    --after;
    return bytes <= after->second && address - after->first <= after->second - bytes;
  }
  void protect(int access) const {
    for (auto [address, bytes] : pieces)
      mprotect(reinterpret_cast<void *>(address), bytes, access);
  }
};

Elsewhere &of(void *self) { return *static_cast<Elsewhere *>(self); }

// Memory is within reach while one of these lives.
class Unlocked {
public:
  explicit Unlocked(Elsewhere &machine) : machine(machine), lock(machine.mutex) {
    machine.protect(PROT_READ | PROT_WRITE);
  }
  ~Unlocked() { machine.protect(PROT_NONE); }

private:
  Elsewhere &machine;
  os::Lock lock;
};

metate_status open(const metate_allocator &allocator, const void *, void **self) {
  auto *machine = new Elsewhere;
  *self = machine;
  return cpuDriver.open(allocator, nullptr, &machine->cpu);
}

void close(void *self) {
  if (!of(self).pieces.empty())
    std::abort(); // somebody has not given memory back
  cpuDriver.close(of(self).cpu);
  delete &of(self);
}

void describe(const void *, metate_device_info *info) {
  snprintf(info->name, sizeof info->name, "elsewhere");
}

metate_status reserve(void *self, uint64_t bytes, Region *region) {
  uint64_t whole = (bytes / pageBytes + 1) * pageBytes;
  void *data = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return fail(METATE_E_OUT_OF_MEMORY, "elsewhere has no %llu bytes",
                static_cast<unsigned long long>(bytes));
  *region = {reinterpret_cast<uintptr_t>(data), nullptr, bytes, pageBytes, Origin::reserved};
  os::Lock lock(of(self).mutex);
  of(self).pieces[region->address] = whole;
  ++created;
  return METATE_OK;
}

metate_status create(void *self, uint64_t bytes, uint64_t align, Region *region) {
  if (align > pageBytes)
    return fail(METATE_E_OUT_OF_MEMORY, "elsewhere aligns to at most 4096 bytes");
  return reserve(self, bytes, region);
}

metate_status wrap(void *self, void *address, uint64_t bytes, Region *region) {
  *region = {reinterpret_cast<uintptr_t>(address), nullptr, bytes, 0, Origin::wrapped};
  os::Lock lock(of(self).mutex);
  if (of(self).holds(region->address, bytes))
    return METATE_OK;
  return fail(METATE_E_INVALID_ARGUMENT,
              "memory: expected %llu bytes of the device's, which metate_memory_create gives",
              static_cast<unsigned long long>(bytes));
}

void release(void *self, const Region &region) {
  if (region.origin == Origin::wrapped)
    return;
  os::Lock lock(of(self).mutex);
  munmap(reinterpret_cast<void *>(region.address), of(self).pieces[region.address]);
  of(self).pieces.erase(region.address);
}

metate_status access(void *self, uint64_t address, uint64_t bytes) {
  return of(self).holds(address, bytes)
             ? METATE_OK
             : fail(METATE_E_INTERNAL, "an access that leaves the device's memory");
}

metate_status read(void *self, uint64_t address, void *to, uint64_t bytes) {
  Unlocked unlocked(of(self));
  METATE_TRY(access(self, address, bytes));
  memcpy(to, reinterpret_cast<const void *>(address), bytes);
  return METATE_OK;
}

metate_status write(void *self, uint64_t address, const void *from, uint64_t bytes) {
  Unlocked unlocked(of(self));
  METATE_TRY(access(self, address, bytes));
  memcpy(reinterpret_cast<void *>(address), from, bytes);
  return METATE_OK;
}

metate_status zero(void *self, uint64_t address, uint64_t bytes) {
  Unlocked unlocked(of(self));
  METATE_TRY(access(self, address, bytes));
  memset(reinterpret_cast<void *>(address), 0, bytes);
  return METATE_OK;
}

Room room(const void *) { return {uint64_t(8) << 20, 0}; }

Verdict judge(const void *self, const Descriptor &descriptor, uint32_t variant, bool inProcess) {
  return cpuDriver.judge(of(const_cast<void *>(self)).cpu, descriptor, variant, inProcess);
}

metate_status load(void *self, const Descriptor &descriptor, uint32_t variant, Span payload,
                   Code *code) {
  auto *kernels = new Kernels{descriptor, {}, {}};
  metate_status status = cpuDriver.load(of(self).cpu, descriptor, variant, payload, &kernels->code);
  if (status != METATE_OK) {
    delete kernels;
    return status;
  }
  kernels->entries.assign(kernels->code.entries,
                          kernels->code.entries + descriptor.header().kernels.count);
  *code = {nullptr, kernels};
  return METATE_OK;
}

metate_status adopt(void *, const Descriptor &descriptor, const metate_entry *entries, Code *code) {
  auto *kernels = new Kernels{descriptor, {}, {}};
  kernels->entries.assign(entries, entries + descriptor.header().kernels.count);
  *code = {nullptr, kernels};
  return METATE_OK;
}

void unload(void *self, Code *code) {
  auto *kernels = static_cast<Kernels *>(code->handle);
  if (!kernels)
    return;
  cpuDriver.unload(of(self).cpu, &kernels->code);
  delete kernels;
  *code = {};
}

// Do the arrays of a launch lie in the device's memory? The code is the CPU's, which would reach others as well.
bool holdsArrays(const Elsewhere &machine, const Kernels &kernels, const Launch &launch) {
  const metate_kernel_info &kernel = kernels.descriptor.kernels()[launch.kernel];
  for (uint32_t i = 0; i < kernel.argument_count; ++i) {
    const metate_argument_info &info = kernels.descriptor.arguments()[kernel.first_argument + i];
    if (info.kind != METATE_ARGUMENT_NDARRAY)
      continue;
    const metate_slot *slots = launch.slots + info.first_slot;
    int64_t first = 0, last = 0, bytes = metate_dtype_bytes(info.dtype);
    bool isEmpty = false;
    for (uint32_t k = 0; k < info.rank; ++k) {
      int64_t reach = (slots[1 + k].i - 1) * slots[1 + info.rank + k].i;
      isEmpty |= slots[1 + k].i == 0;
      (reach < 0 ? first : last) += reach;
    }
    if (!isEmpty &&
        !machine.holds(slots[0].u + uint64_t(first * bytes), uint64_t((last - first + 1) * bytes)))
      return false;
  }
  return true;
}

int32_t launch(void *self, const Code &code, const Launch &launch) {
  Unlocked unlocked(of(self));
  const auto &kernels = *static_cast<const Kernels *>(code.handle);
  if (!holdsArrays(of(self), kernels, launch))
    return METATE_E_INTERNAL;
  return kernels.entries[launch.kernel](launch.slots, launch.pools, launch.host);
}

bool reaches(const void *self, uint64_t address, uint64_t bytes) {
  auto &machine = of(const_cast<void *>(self));
  os::Lock lock(machine.mutex);
  return machine.holds(address, bytes);
}

} // namespace

uint64_t elsewhereCreated() { return created; }

extern const Driver elsewhereDriver;
const Driver elsewhereDriver = {
    .name = "elsewhere",
    .open = open,
    .close = close,
    .describe = describe,
    .inspect = [](const void *, metate_machine_info *) { return METATE_OK; },
    .create = create,
    .reserve = reserve,
    .wrap = wrap,
    .release = release,
    .read = read,
    .write = write,
    .zero = zero,
    .room = room,
    .discard = nullptr,
    .scatter = nullptr,
    .judge = judge,
    .load = load,
    .adopt = adopt,
    .unload = unload,
    .launch = launch,
    .reaches = reaches,
    .wait = nullptr,
    .settles = false,
    .treeWorkers = 0,
};

} // namespace metate
