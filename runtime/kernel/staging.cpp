// Copying the host's arrays to a device for a launch, and back.
#include "kernel/staging.h"

#include <cstring>

namespace metate {

namespace {

// What kernels may assume of an address, they may assume of its copy's.
constexpr uint64_t copyAlign = METATE_BLOCK_ALIGN;

// An array as runs of bytes that lie `steps` apart, from the lowest address on.
struct Runs {
  uint64_t run;
  uint32_t rank = 0;
  int64_t counts[METATE_MAX_RANK];
  uint64_t steps[METATE_MAX_RANK]; // bytes, ascending
};

Runs runsOf(const metate_array &array) {
  Runs runs;
  runs.run = metate_dtype_bytes(array.dtype);
  int64_t dense = 1;
  for (uint32_t k = array.rank; k-- > 0; dense *= array.shape[k]) {
    if (array.shape[k] == 1)
      continue;
    int64_t stride = array.strides ? array.strides[k] : dense;
    uint64_t step =
        (stride < 0 ? 0 - uint64_t(stride) : uint64_t(stride)) * metate_dtype_bytes(array.dtype);
    uint32_t at = runs.rank++;
    for (; at > 0 && runs.steps[at - 1] > step; --at) {
      runs.steps[at] = runs.steps[at - 1];
      runs.counts[at] = runs.counts[at - 1];
    }
    runs.steps[at] = step;
    runs.counts[at] = array.shape[k];
  }
  uint32_t whole = 0;
  while (whole < runs.rank && runs.steps[whole] == runs.run)
    runs.run *= uint64_t(runs.counts[whole++]);
  runs.rank -= whole;
  memmove(runs.counts, runs.counts + whole, runs.rank * sizeof *runs.counts);
  memmove(runs.steps, runs.steps + whole, runs.rank * sizeof *runs.steps);
  return runs;
}

// The array's elements, from a copy of all bytes between the first and the last of them.
void copyElements(const Runs &runs, uint8_t *to, const uint8_t *from) {
  int64_t at[METATE_MAX_RANK] = {};
  uint64_t offset = 0;
  for (;;) {
    memcpy(to + offset, from + offset, runs.run);
    uint32_t k = 0;
    for (; k < runs.rank && ++at[k] == runs.counts[k]; ++k) {
      offset -= uint64_t(runs.counts[k] - 1) * runs.steps[k];
      at[k] = 0;
    }
    if (k == runs.rank)
      return;
    offset += runs.steps[k];
  }
}

uint8_t *hostAt(uint64_t address) { return reinterpret_cast<uint8_t *>(uintptr_t(address)); }

} // namespace

Staging::~Staging() {
  for (uint32_t i = 0; i < groupCount; ++i)
    device.giveBack(groups[i].region);
  device.giveBack(small);
}

// The kernel gives it a value whatever it held.
bool Staging::isResultOnly(uint32_t argument) const {
  const metate_argument_info &info = kernel.arguments[argument];
  return (info.flags & METATE_ARGUMENT_RESULT) && !(info.access & METATE_ACCESS_READ);
}

metate_status Staging::find() {
  for (uint32_t i = 0; i < kernel.info->argument_count; ++i) {
    if (kernel.arguments[i].kind != METATE_ARGUMENT_NDARRAY)
      continue;
    Extent extent = extentOf(arguments[i]);
    if (extent.begin == extent.end ||
        device.driver->reaches(device.machine, extent.begin, extent.end - extent.begin))
      continue;
    if (!stagedCount)
      METATE_TRY(staged.allocate(kernel.info->argument_count));
    uint32_t at = stagedCount++;
    for (; at > 0 && staged[at - 1].extent.begin > extent.begin; --at)
      staged[at] = staged[at - 1];
    staged[at] = {i, 0, extent};
  }
  return stagedCount ? groups.allocate(stagedCount) : METATE_OK;
}

void Staging::unite() {
  for (uint32_t i = 0; i < stagedCount; ++i) {
    Staged &one = staged[i];
    bool isRead = !isResultOnly(one.argument);
    if (groupCount && one.extent.begin < groups[groupCount - 1].extent.end) {
      Group &last = groups[groupCount - 1];
      last.extent.end = one.extent.end > last.extent.end ? one.extent.end : last.extent.end;
      last.isRead |= isRead;
    } else {
      groups[groupCount++] = {one.extent, isRead, false, 0, {}};
    }
    one.group = groupCount - 1;
  }
}

void Staging::place() {
  for (uint32_t i = 0; i < groupCount; ++i) {
    Group &group = groups[i];
    group.isSmall = group.bytes() <= smallBytes;
    group.offset = group.extent.begin % copyAlign;
    if (!group.isSmall)
      continue;
    group.offset += together;
    together = (group.offset + group.bytes() + copyAlign - 1) / copyAlign * copyAlign;
  }
}

metate_status Staging::take(uint64_t bytes, Region *region) {
  if (device.borrow(bytes, copyAlign, region) == METATE_OK)
    return METATE_OK;
  *region = {};
  return fail(METATE_E_OUT_OF_MEMORY,
              "kernel '%s': the device refused %llu bytes for copies of its arrays", kernel.name,
              show(bytes));
}

// Small groups go by way of the host's copy of their memory, others from where they are.
metate_status Staging::copyIn() {
  const Driver &driver = *device.driver;
  bool isSmallRead = false;
  if (together) {
    METATE_TRY(take(together, &small));
    METATE_TRY(host.allocate(together));
  }
  for (uint32_t i = 0; i < groupCount; ++i) {
    Group &group = groups[i];
    if (!group.isSmall)
      METATE_TRY(take(group.offset + group.bytes(), &group.region));
    if (!group.isRead)
      continue;
    const uint8_t *from = hostAt(group.extent.begin);
    isSmallRead |= group.isSmall;
    if (group.isSmall)
      memcpy(host.data() + group.offset, from, group.bytes());
    else
      METATE_TRY(driver.write(device.machine, addressOf(group), from, group.bytes()));
  }
  return isSmallRead ? driver.write(device.machine, small.address, host.data(), together)
                     : METATE_OK;
}

metate_status Staging::begin(metate_slot *slots) {
  if (!device.driver->reaches)
    return METATE_OK;
  METATE_TRY(find());
  if (!stagedCount)
    return METATE_OK;
  unite();
  place();
  METATE_TRY(copyIn());
  for (uint32_t i = 0; i < stagedCount; ++i) {
    const Group &group = groups[staged[i].group];
    metate_slot &slot = slots[kernel.arguments[staged[i].argument].first_slot];
    slot.u = addressOf(group) + (slot.u - group.extent.begin);
  }
  return METATE_OK;
}

// An argument whose group's bytes are not the host's yet. Where something lies between its elements the bytes come to memory of
// their own first.
metate_status Staging::copyBack(const Staged &one) {
  const Driver &driver = *device.driver;
  uint64_t from =
      addressOf(groups[one.group]) + (one.extent.begin - groups[one.group].extent.begin);
  uint64_t bytes = one.extent.end - one.extent.begin;
  Runs runs = runsOf(*arguments[one.argument].value.array);
  if (!runs.rank)
    return driver.read(device.machine, from, hostAt(one.extent.begin), bytes);
  Array<uint8_t> whole(device);
  METATE_TRY(whole.allocate(bytes));
  METATE_TRY(driver.read(device.machine, from, whole.data(), bytes));
  copyElements(runs, hostAt(one.extent.begin), whole.data());
  return METATE_OK;
}

metate_status Staging::end(bool hasFailed) {
  bool isSmallHere = false;
  for (uint32_t i = 0; i < stagedCount; ++i) {
    const Staged &one = staged[i];
    const Group &group = groups[one.group];
    if (!(kernel.arguments[one.argument].access & METATE_ACCESS_WRITE) ||
        (hasFailed && isResultOnly(one.argument)))
      continue;
    if (!group.isSmall) {
      METATE_TRY(copyBack(one));
      continue;
    }
    if (!isSmallHere)
      METATE_TRY(device.driver->read(device.machine, small.address, host.data(), together));
    isSmallHere = true;
    copyElements(runsOf(*arguments[one.argument].value.array), hostAt(one.extent.begin),
                 host.data() + group.offset + (one.extent.begin - group.extent.begin));
  }
  return METATE_OK;
}

} // namespace metate
