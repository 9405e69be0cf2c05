// The memory that a kernel plans (abi/metate/abi/pool.h), for one launch.
#ifndef METATE_RUNTIME_KERNEL_POOLS_H
#define METATE_RUNTIME_KERNEL_POOLS_H

#include "kernel/run.h"

namespace metate {

// Addresses of a kernel's pools: the caller's memory where he gives some, else the device's allocator's,
// which gets it back at the end of the scope.
class Pools {
public:
  explicit Pools(const metate_kernel &kernel)
      : kernel(kernel), morePlaces(*kernel.device), moreTaken(*kernel.device) {}
  Pools(const Pools &) = delete;
  Pools &operator=(const Pools &) = delete;
  ~Pools();

  // `slots` are the packed arguments; `workers` is how many of them worker's pools are for.
  metate_status take(const metate_argument *arguments, const metate_slot *slots, uint32_t workers,
                     const metate_launch_options *options);
  void *const *addresses() const { return places; }

private:
  // Most kernels have a few: no memory is asked for to hold their addresses.
  static constexpr uint32_t few = 16;

  metate_status check(const metate_argument *arguments, const metate_launch_options &options);
  metate_status takeOne(uint32_t index, uint64_t bytes, const metate_pool_memory *given);

  const metate_kernel &kernel;
  void *fewPlaces[few];
  Region fewTaken[few];
  Array<void *> morePlaces; // of a kernel with more pools
  Array<Region> moreTaken;
  void **places = fewPlaces;
  Region *taken = fewTaken; // what the device gave; no bytes of the caller's memory
  uint32_t count = 0;       // that are in place
};

} // namespace metate

#endif
