// The CPU driver: which variant of a module this machine can run, and its code in this process.
// Nothing of a payload is interpreted here: the system's loader maps it, after the file's hash
// matched, and the symbol it exports must name this very descriptor. Memory is the host's own.
#include "driver/driver.h"
#include "driver/cpu/features.h"
#include "metate/abi/library.h"
#include "os/os.h"
#include "support/checked.h"

#include <cstdio>
#include <cstring>
#include <new>

namespace metate::cpu {

namespace {

// Address space on both sides of a tree's own memory. Kernels without debug check no coordinates:
// what reads a row outside of a dense tree finds these pages, and does not crash.
constexpr uint64_t marginBytes = 2 << 20;
// The most that a tree reserves. Address space, not memory: 64 GiB lets two thousand trees live in a
// 47-bit address space.
constexpr uint64_t policyBytes = uint64_t(64) << 30;
// Under an address-space limit a tree takes at most this part of what is left, so that several fit.
constexpr uint64_t limitedPart = 8;

struct Cpu {
  metate_allocator allocator;
  Machine machine;
};

const Machine &machineOf(const void *self) { return static_cast<const Cpu *>(self)->machine; }
void *pointer(uint64_t address) { return reinterpret_cast<void *>(uintptr_t(address)); }

metate_status open(const metate_allocator &allocator, const void *, void **self) {
  void *place = allocator.allocate(allocator.self, sizeof(Cpu), alignof(Cpu));
  if (!place)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes for a device",
                sizeof(Cpu));
  *self = new (place) Cpu{allocator, detect()};
  return METATE_OK;
}

void close(void *self) {
  metate_allocator allocator = static_cast<Cpu *>(self)->allocator;
  allocator.release(allocator.self, self, sizeof(Cpu), alignof(Cpu));
}

void describe(const void *self, metate_device_info *info) {
  info->arch = machineOf(self).arch;
  info->level = machineOf(self).level;
  nameOf(machineOf(self), info->name, sizeof info->name);
}

// Kernels add to floats by compare-exchange.
metate_status inspect(const void *, metate_machine_info *info) {
  info->features = METATE_FEATURE_F64 | METATE_FEATURE_F16 | METATE_FEATURE_I16 |
                   METATE_FEATURE_I8 | METATE_FEATURE_I64_ATOMICS;
  info->memory_bytes = os::memoryBytes();
  return METATE_OK;
}

// ---- memory

Region regionOf(void *data, uint64_t bytes, uint64_t align, Origin origin) {
  return {reinterpret_cast<uintptr_t>(data), static_cast<uint8_t *>(data), bytes, align, origin};
}

metate_status create(void *self, uint64_t bytes, uint64_t align, Region *region) {
  const metate_allocator &allocator = static_cast<Cpu *>(self)->allocator;
  void *data = allocator.allocate(allocator.self, bytes ? bytes : 1, align);
  if (!data)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %llu bytes aligned to %llu",
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(align));
  *region = regionOf(data, bytes, align, Origin::allocated);
  return METATE_OK;
}

metate_status reserve(void *, uint64_t bytes, Region *region) {
  Checked rounded = Checked(bytes ? bytes : 1).alignedTo(os::pageBytes());
  void *data = rounded.fitsIn(SIZE_MAX) ? os::reserve(rounded.value()) : nullptr;
  if (!data)
    return fail(METATE_E_OUT_OF_MEMORY, "the system refused %llu bytes",
                static_cast<unsigned long long>(bytes));
  *region = regionOf(data, rounded.value(), 0, Origin::reserved);
  return METATE_OK;
}

metate_status wrap(void *, void *address, uint64_t bytes, Region *region) {
  *region = regionOf(address, bytes, 0, Origin::wrapped);
  return METATE_OK;
}

void release(void *self, const Region &region) {
  const metate_allocator &allocator = static_cast<Cpu *>(self)->allocator;
  if (region.origin == Origin::allocated)
    allocator.release(allocator.self, region.host, region.bytes ? region.bytes : 1, region.align);
  else if (region.origin == Origin::reserved)
    os::release(region.host, region.bytes);
}

metate_status read(void *, uint64_t address, void *to, uint64_t bytes) {
  memcpy(to, pointer(address), bytes);
  return METATE_OK;
}

metate_status write(void *, uint64_t address, const void *from, uint64_t bytes) {
  memcpy(pointer(address), from, bytes);
  return METATE_OK;
}

metate_status zero(void *, uint64_t address, uint64_t bytes) {
  memset(pointer(address), 0, bytes);
  return METATE_OK;
}

Room room(const void *) {
  uint64_t left = os::addressSpaceLeft();
  if (left == UINT64_MAX)
    return {policyBytes, marginBytes};
  return {left / limitedPart < policyBytes ? left / limitedPart : policyBytes, 0};
}

void discard(void *, uint64_t address, uint64_t bytes) { os::discard(pointer(address), bytes); }

void scatter(void *, uint64_t address, uint64_t bytes) {
  os::keepPagesSmall(pointer(address), bytes);
}

// ---- code

// Instrumented code calls its sanitizer's runtime, which a process has from its start or not at all.
// False when the feature is none of these.
bool checkSanitizer(const char *name, size_t size, Verdict *verdict) {
  constexpr size_t prefix = sizeof METATE_FEATURE_SANITIZER - 1;
  if (size <= prefix || memcmp(name, METATE_FEATURE_SANITIZER, prefix) != 0)
    return false;
  const char *which = name + prefix;
  int length = int(size - prefix);
  bool here = (length == 6 && memcmp(which, "thread", 6) == 0 && os::hasSymbol("__tsan_init")) ||
              (length == 7 && memcmp(which, "address", 7) == 0 && os::hasSymbol("__asan_init"));
  if (!here && !*verdict->reason)
    snprintf(verdict->reason, sizeof verdict->reason,
             "its code is instrumented for the %.*s sanitizer, which is not in this process (build "
             "the host with -fsanitize=%.*s)",
             length, which, length, which);
  return true;
}

// `lenient`: a feature that is not known here may be there.
void checkFeatures(const Machine &machine, const char *list, bool lenient, Verdict *verdict) {
  while (*list) {
    size_t length = strcspn(list, ",");
    const char *name = list;
    size_t size = length;
    if (size && *name == '+') {
      ++name;
      --size;
    }
    bool sanitizer = checkSanitizer(name, size, verdict);
    Has has = size && !sanitizer ? hasFeature(machine, name, size) : Has::yes;
    if (has != Has::yes && !(lenient && has == Has::unknown) && !*verdict->reason)
      snprintf(verdict->reason, sizeof verdict->reason, "%s %.*s",
               has == Has::no ? "this CPU lacks" : "this libmetate does not know the feature",
               int(size), name);
    verdict->rank += size != 0;
    list += length + (list[length] == ',');
  }
}

Verdict judge(const void *self, const Descriptor &descriptor, uint32_t index, bool inProcess) {
  const Machine &machine = machineOf(self);
  const metate_variant_info &variant = descriptor.variants()[index];
  Verdict verdict;
  verdict.rank = uint64_t(variant.level) << 32; // then what it asks for beyond its level
  if (!inProcess && variant.format != METATE_FORMAT_SHARED_OBJECT)
    snprintf(verdict.reason, sizeof verdict.reason, "its code is not in the file");
  else if (variant.arch != machine.arch)
    snprintf(verdict.reason, sizeof verdict.reason, "it is for another architecture (%u)",
             variant.arch);
  else if (variant.level > machine.level)
    snprintf(verdict.reason, sizeof verdict.reason, "it needs x86-64-v%u, this CPU is x86-64-v%u",
             variant.level, machine.level);
  else
    checkFeatures(machine, descriptor.text(variant.features), inProcess, &verdict);
  return verdict;
}

// What the code of a .metate file exports; returns what is wrong with it, or NULL.
const char *entriesOfPayload(const os::SharedObject &object, const Descriptor &descriptor,
                             const metate_entry **entries) {
  const metate_descriptor &head = descriptor.header();
  const auto *found =
      static_cast<const metate_payload *>(os::symbol(object, METATE_PAYLOAD_SYMBOL));
  if (found->magic != METATE_PAYLOAD_MAGIC || found->abi_version != METATE_ABI_VERSION)
    return "its payload record is of another version";
  if (found->descriptor_hash[0] != head.signature_hash[0] ||
      found->descriptor_hash[1] != head.signature_hash[1])
    return "it was compiled for another descriptor";
  if (found->kernel_count != head.kernels.count || (found->kernel_count && !found->entries))
    return "it has another number of kernels";
  *entries = found->entries;
  return nullptr;
}

// The same of a shared object that is a carrier itself (abi/metate/abi/library.h).
const char *entriesOfLibrary(const os::SharedObject &object, const Descriptor &descriptor,
                             const metate_entry **entries) {
  const metate_descriptor &head = descriptor.header();
  char name[1024];
  int length =
      snprintf(name, sizeof name, "%s" METATE_LIBRARY_SYMBOL_SUFFIX, descriptor.text(head.name));
  const auto *found = length > 0 && size_t(length) < sizeof name
                          ? static_cast<const metate_static_module *>(os::symbol(object, name))
                          : nullptr;
  if (!found)
    return "it exports neither " METATE_PAYLOAD_SYMBOL " nor NAME" METATE_LIBRARY_SYMBOL_SUFFIX;
  if (found->bytes != head.bytes || !found->descriptor ||
      memcmp(found->descriptor, &head, head.bytes) != 0)
    return "it was compiled for another descriptor";
  if (found->entry_count != head.kernels.count || (found->entry_count && !found->entries))
    return "it has another number of kernels";
  *entries = found->entries;
  return nullptr;
}

metate_status load(void *self, const Descriptor &descriptor, uint32_t, Span payload, Code *code) {
  const metate_allocator &allocator = static_cast<Cpu *>(self)->allocator;
  os::SharedObject object;
  METATE_TRY(os::load(payload.data, payload.bytes, &object));
  const metate_entry *entries = nullptr;
  const char *problem = os::symbol(object, METATE_PAYLOAD_SYMBOL)
                            ? entriesOfPayload(object, descriptor, &entries)
                            : entriesOfLibrary(object, descriptor, &entries);
  if (problem) {
    os::unload(&object);
    return fail(METATE_E_CORRUPT, "the code of module '%s': %s",
                descriptor.text(descriptor.header().name), problem);
  }
  void *kept = allocator.allocate(allocator.self, sizeof object, alignof(os::SharedObject));
  if (!kept) {
    os::unload(&object);
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %zu bytes", sizeof object);
  }
  code->entries = entries;
  code->handle = new (kept) os::SharedObject(object);
  return METATE_OK;
}

metate_status adopt(void *, const Descriptor &, const metate_entry *entries, Code *code) {
  code->entries = entries;
  return METATE_OK;
}

void unload(void *self, Code *code) {
  const metate_allocator &allocator = static_cast<Cpu *>(self)->allocator;
  auto *object = static_cast<os::SharedObject *>(code->handle);
  if (!object)
    return;
  os::unload(object);
  allocator.release(allocator.self, object, sizeof *object, alignof(os::SharedObject));
  *code = {};
}

int32_t launch(void *, const Code &code, const Launch &launch) {
  return code.entries[launch.kernel](launch.slots, launch.pools, launch.host);
}

} // namespace

} // namespace metate::cpu

namespace metate {

extern const Driver cpuDriver;
const Driver cpuDriver = {
    .name = "cpu",
    .open = cpu::open,
    .close = cpu::close,
    .describe = cpu::describe,
    .inspect = cpu::inspect,
    .create = cpu::create,
    .reserve = cpu::reserve,
    .wrap = cpu::wrap,
    .release = cpu::release,
    .read = cpu::read,
    .write = cpu::write,
    .zero = cpu::zero,
    .room = cpu::room,
    .discard = cpu::discard,
    .scatter = cpu::scatter,
    .judge = cpu::judge,
    .load = cpu::load,
    .adopt = cpu::adopt,
    .unload = cpu::unload,
    .launch = cpu::launch,
    .reaches = nullptr,
    .wait = nullptr,
    .settles = false,
    .treeWorkers = 0,
};

} // namespace metate
