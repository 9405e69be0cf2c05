// How many slots a launch would take: the kernel's slice counts them, in memory of the device's
// allocator, and changes nothing.
#include "kernel/run.h"
#include "kernel/staging.h"
#include "metate/abi/reservation.h"

#include <cstring>

using namespace metate;

namespace {

// Cells that are counted before more memory is asked for, and how much more each time.
constexpr uint64_t firstRecords = 4096;
constexpr uint64_t growth = 8;

// What one slice counted, while it lives: memory of the kernel's device, and what the host reads of it.
class Counts {
public:
  Counts(const metate_kernel &kernel, const metate_tree &tree)
      : kernel(kernel), tree(tree), copy(*kernel.device) {}
  Counts(const Counts &) = delete;
  Counts &operator=(const Counts &) = delete;
  ~Counts() { release(); }

  // Room for so many cells; what was counted before is forgotten.
  metate_status make(const metate_argument *arguments, uint64_t records) {
    release();
    metate_reservation head{};
    head.trees = kernel.info->argument_count;
    head.pools = tree.type->poolCount();
    head.record_count = uint32_t(records);
    for (head.bucket_count = 1; head.bucket_count < 2 * records;)
      head.bucket_count *= 2;
    fixed = sizeof head + 4ull * ((head.trees + 1) / 2 * 2) + 8ull * head.trees * head.pools +
            4ull * head.bucket_count;
    METATE_TRY(create(fixed + records * sizeof(metate_reserved)));
    memset(counted, 0, fixed);
    *counted = head;
    for (uint32_t i = 0; i < head.trees; ++i)
      metate_reservation_same(counted)[i] =
          kernel.arguments[i].kind == METATE_ARGUMENT_TREE && arguments[i].value.tree == &tree
              ? first(arguments)
              : METATE_NONE;
    return memory.host ? METATE_OK : writeRegion(*kernel.device, memory, 0, counted, fixed);
  }
  // After the slice has run.
  metate_status fetch() {
    return memory.host ? METATE_OK : readRegion(*kernel.device, memory, 0, counted, fixed);
  }

  bool isComplete() const { return counted->taken <= counted->record_count; }
  uint64_t records() const { return counted->record_count; }
  uint64_t address() const { return memory.address; }
  // The level of a list that would be too long; METATE_NONE.
  uint32_t fullLevel() const { return counted->full ? counted->full - 1 : METATE_NONE; }
  uint64_t missing(const metate_argument *arguments, uint32_t pool) const {
    return metate_reservation_missing(counted)[uint64_t(first(arguments)) * counted->pools + pool];
  }
  // The first argument that is the tree; the count if none is.
  uint32_t first(const metate_argument *arguments) const {
    uint32_t i = 0;
    while (i < kernel.info->argument_count &&
           (kernel.arguments[i].kind != METATE_ARGUMENT_TREE || arguments[i].value.tree != &tree))
      ++i;
    return i;
  }

private:
  metate_status create(uint64_t bytes) {
    metate_device &device = *kernel.device;
    if (device.driver->create(device.machine, bytes, METATE_BLOCK_ALIGN, &memory) != METATE_OK)
      return fail(METATE_E_OUT_OF_MEMORY,
                  "kernel '%s': the allocator refused %llu bytes to count its slots in",
                  kernel.name, show(bytes));
    made = true;
    if (!memory.host)
      METATE_TRY(copy.allocate(fixed / sizeof(uint64_t) + 1));
    counted = static_cast<metate_reservation *>(memory.host ? static_cast<void *>(memory.host)
                                                            : copy.data());
    return METATE_OK;
  }
  void release() {
    if (made)
      kernel.device->driver->release(kernel.device->machine, memory);
    made = false;
    copy.clear();
  }

  const metate_kernel &kernel;
  const metate_tree &tree;
  Region memory;
  bool made = false;
  Array<uint64_t> copy; // of memory that lies elsewhere, without the records
  metate_reservation *counted = nullptr;
  uint64_t fixed = 0; // bytes before the records
};

// A slice that fails an assertion says why there is none; an interpreted one as a whole message.
metate_status failRefused(const metate_kernel &kernel, const metate_failure &failure) {
  Descriptor descriptor = kernel.description();
  char place[256] = "";
  const char *reason = "";
  if (failure.detail) {
    const char *end = strstr(failure.detail, "kernel '"), *asserted = "assertion failed: ";
    const char *found = strstr(failure.detail, asserted);
    snprintf(place, sizeof place, "%.*s", end ? int(end - failure.detail) : 0, failure.detail);
    reason = found ? found + strlen(asserted) : failure.detail;
  } else if (failure.text < descriptor.header().texts.count) {
    const metate_text &at = descriptor.texts()[failure.text];
    snprintf(place, sizeof place, "%s:%u:%u: ", descriptor.text(at.file), at.line, at.column);
    reason = descriptor.text(at.text);
  }
  return fail(METATE_E_UNSUPPORTED, "%skernel '%s': its slots cannot be counted before it runs: %s",
              place, kernel.name, reason);
}

metate_status reportSlice(const metate_kernel &kernel, const metate_argument *arguments,
                          int32_t code, const metate_failure &failure) {
  if (failure.code == METATE_E_ASSERT)
    return failRefused(kernel, failure);
  if (failure.code != METATE_OK)
    return reportFailure(kernel, arguments, failure);
  return fail(code < 0 || code > METATE_STATUS_LAST ? METATE_E_INTERNAL : metate_status(code),
              "kernel '%s': its slice returned %s", kernel.name, metate_status_name(code));
}

metate_status count(const metate_kernel &kernel, const metate_argument *arguments,
                    metate_slot *slots, Counts &counts) {
  Running running(kernel, arguments);
  Staging staging(kernel, arguments); // the slice writes none of them: nothing comes back
  METATE_TRY(staging.begin(slots));
  for (uint64_t records = firstRecords;; records *= growth) {
    METATE_TRY(counts.make(arguments, records));
    slots[kernel.info->slot_count].u = counts.address();
    metate_failure failure; // only its code is read before it is filled
    metate_host host = hostOf(kernel, 0, failure, nullptr);
    int32_t code = enter(*kernel.slice, slots, nullptr, host);
    if (code != METATE_OK || failure.code != METATE_OK)
      return reportSlice(kernel, arguments, code, failure);
    METATE_TRY(counts.fetch());
    if (counts.isComplete())
      return METATE_OK;
    if (records > UINT32_MAX / 2 / growth)
      return fail(METATE_E_OUT_OF_RANGE, "kernel '%s': it would activate more than %llu cells",
                  kernel.name, show(records));
  }
}

// METATE_E_CAPACITY with all levels that are too small, or METATE_OK.
metate_status compare(const metate_kernel &kernel, const metate_argument *arguments,
                      const metate_tree &tree, const Counts *counts, uint32_t *slots) {
  char levels[400] = "";
  size_t wrote = 0;
  for (uint32_t pool = 0; pool < tree.type->poolCount(); ++pool) {
    uint32_t used = 0;
    METATE_TRY(loadWord(tree, poolWord(pool, offsetof(metate_pool, used)), &used));
    uint64_t needed = used + (counts ? counts->missing(arguments, pool) : 0);
    uint32_t capacity = tree.pools[pool].capacity;
    if (slots)
      slots[pool] = needed < UINT32_MAX ? uint32_t(needed) : UINT32_MAX;
    if (needed > capacity && wrote < sizeof levels)
      wrote += size_t(snprintf(levels + wrote, sizeof levels - wrote,
                               "%slevel '%s' needs %llu slots, its capacity is %u",
                               wrote ? "; " : "", tree.type->levelName(tree.type->poolLevels[pool]),
                               show(needed), capacity));
  }
  uint32_t full = counts ? counts->fullLevel() : METATE_NONE;
  if (full != METATE_NONE)
    return fail(METATE_E_CAPACITY,
                "kernel '%s': level '%s': a list would be longer than its %llu "
                "cells: no capacity helps",
                kernel.name, tree.type->levelName(full), show(tree.type->levels[full].cells));
  if (wrote)
    return fail(METATE_E_CAPACITY, "kernel '%s': %s: migrate the tree to capacities that suffice",
                kernel.name, levels);
  return METATE_OK;
}

metate_status checkArguments(const metate_tree *tree, const metate_kernel *kernel,
                             const metate_argument *arguments, uint32_t count, uint32_t pool_count,
                             const uint32_t *slots) {
  METATE_TRY(checkCount(*kernel, arguments, count));
  if (Counts(*kernel, *tree).first(arguments) == count)
    return fail(METATE_E_INVALID_ARGUMENT,
                "metate_tree_reserve_for: expected a tree that is an argument of kernel '%s'",
                kernel->name);
  if (slots && pool_count != tree->type->poolCount())
    return fail(METATE_E_INVALID_ARGUMENT,
                "metate_tree_reserve_for: pool_count: expected %u, got %u", tree->type->poolCount(),
                pool_count);
  return METATE_OK;
}

} // namespace

metate_status metate_tree_reserve_for(const metate_tree *tree, const metate_kernel *kernel,
                                      const metate_argument *arguments, uint32_t count,
                                      uint32_t pool_count, uint32_t *slots) {
  METATE_REQUIRE(tree);
  METATE_REQUIRE(kernel);
  METATE_TRY(checkArguments(tree, kernel, arguments, count, pool_count, slots));
  Array<metate_slot> packed(*kernel->device);
  METATE_TRY(packed.allocate(kernel->info->slot_count + 1ull));
  METATE_TRY(pack(*kernel, arguments, packed.data()));
  if (!kernel->activates)
    return compare(*kernel, arguments, *tree, nullptr, slots);
  if (!kernel->slice)
    return fail(METATE_E_UNSUPPORTED,
                "kernel '%s': its module was built without the code that counts slots (reserve)",
                kernel->name);
  METATE_TRY(checkCode(*kernel));
  Counts counts(*kernel, *tree);
  METATE_TRY(::count(*kernel, arguments, packed.data(), counts));
  return compare(*kernel, arguments, *tree, &counts, slots);
}
