// Arrays of the host's whose bytes a device does not reach, for one launch: copies in the device's memory, which the launch's slots
// point at, and what the kernel wrote of them afterwards. It must not know what a kernel does beyond its descriptor.
#ifndef METATE_RUNTIME_KERNEL_STAGING_H
#define METATE_RUNTIME_KERNEL_STAGING_H

#include "kernel/kernel.h"

namespace metate {

class Staging {
public:
  Staging(const metate_kernel &kernel, const metate_argument *arguments)
      : kernel(kernel), arguments(arguments), device(*kernel.device), staged(device),
        groups(device), host(device) {}
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;
  // The device's memory goes back to it: a launch that still runs comes before whoever gets it next.
  ~Staging();

  // Before the launch, of packed arguments that were checked: copies arrays and changes their slots.
  metate_status begin(metate_slot *slots);
  // After it: what was written is copied back, element by element, so that nothing between the elements changes. Of a launch that
  // failed, too, except for results.
  metate_status end(bool hasFailed);

private:
  // Arrays of so many bytes and fewer go together, by one copy.
  static constexpr uint64_t smallBytes = 1 << 16;

  // An argument that is copied.
  struct Staged {
    uint32_t argument;
    uint32_t group;
    Extent extent;
  };
  // Bytes that arguments share, which are copied once, and so still shared.
  struct Group {
    Extent extent;
    bool isRead;     // what they held before is needed
    bool isSmall;    // they lie with others
    uint64_t offset; // of the first one from the region's beginning
    Region region;   // of a group that is not small
    uint64_t bytes() const { return extent.end - extent.begin; }
  };

  metate_status find();
  void unite();
  void place();
  metate_status take(uint64_t bytes, Region *region);
  metate_status copyIn();
  bool isResultOnly(uint32_t argument) const;
  uint64_t addressOf(const Group &group) const {
    return (group.isSmall ? small.address : group.region.address) + group.offset;
  }
  metate_status copyBack(const Staged &one);

  const metate_kernel &kernel;
  const metate_argument *arguments;
  metate_device &device;
  Array<Staged> staged; // in the order of their addresses
  Array<Group> groups;
  uint32_t stagedCount = 0, groupCount = 0;
  Region small;          // what the small groups share
  uint64_t together = 0; // its bytes that are in use
  Array<uint8_t> host;   // the same bytes
};

} // namespace metate

#endif
