// A kernel, resolved when its module is opened: whatever a launch needs is one pointer away.
#ifndef METATE_RUNTIME_KERNEL_KERNEL_H
#define METATE_RUNTIME_KERNEL_KERNEL_H

#include "device/device.h"
#include "format/descriptor.h"
#include "metate/abi/pool.h"
#include "support/uses.h"
#include "type/type.h"

struct metate_kernel {
  metate_device *device = nullptr;
  const metate_kernel_info *info = nullptr;
  const metate_argument_info *arguments = nullptr;
  const char *name = nullptr;
  const void *descriptor = nullptr;
  metate_type *const *types = nullptr; // of the module, by type index
  metate_entry entry =
      nullptr; // a function of this process; NULL: `code` is launched by its driver
  const metate::Code *code = nullptr;    // the module's; NULL in one opened for queries
  uint32_t number = 0;                   // in the descriptor
  const metate_dim_info *dims = nullptr; // named extents of its arrays
  uint32_t dimCount = 0;
  const metate_kernel *slice = nullptr;     // counts the slots that it takes; NULL: there is none
  const metate_kernel *derivatives[2] = {}; // by mode, from 1 on; NULL: there is none
  metate::Uses *uses = nullptr;             // the module's
  const metate_pool_info *pools = nullptr;  // that the code in use plans
  uint32_t poolCount = 0;
  bool perWorker = false; // some of them are a worker's
  uint32_t trees = 0;     // arguments that are trees
  bool writes = false;    // some ndarray or tree is written
  bool activates = false; // some tree's cells may be activated

  metate::Descriptor description() const { return metate::Descriptor(descriptor); }
  const char *argumentName(uint32_t index) const {
    return description().text(arguments[index].name);
  }
  // "" where the program names none.
  const char *memoryOf(const metate_pool_info &pool) const;
};

namespace metate {

// A range of bytes that a launch's argument covers; empty when it has none.
struct Extent {
  uint64_t begin = 0, end = 0;
};

// Checks one argument against its description and writes its slots among all; those before are written.
metate_status packArgument(const metate_kernel &kernel, uint32_t index,
                           const metate_argument &argument, metate_slot *all);

// Whether the argument is a tree whose cells the kernel may activate.
bool activates(const metate_kernel &kernel, uint32_t index);

// The status and text of the first exhausted pool; METATE_OK when there is none.
metate_status reportCapacity(const metate_kernel &kernel, const metate_argument *arguments);
// The status and text of what the kernel recorded.
metate_status reportFailure(const metate_kernel &kernel, const metate_argument *arguments,
                            const metate_failure &failure);

// Refuses a kernel whose code is not there.
metate_status checkCode(const metate_kernel &kernel);

// The bytes of an array or a tree, from the first to the last one that it reaches; empty of others.
Extent extentOf(const metate_argument &argument);
// Refuses a written argument whose bytes meet another argument's.
metate_status checkAlias(const metate_kernel &kernel, const metate_argument *arguments);
// The first argument that has bytes in an extent; METATE_NONE.
uint32_t argumentWithin(const metate_kernel &kernel, const metate_argument *arguments,
                        const Extent &extent);

} // namespace metate

#endif
