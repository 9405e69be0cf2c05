// A driver: what the runtime asks of the machine that a device stands for, as a table of functions. Each driver is a
// folder beside this file; the host's is a line in drivers.cpp, others are libraries of their own (plugin.h). A driver knows formats
// and the operating system; devices, trees and kernels know drivers through this table only.
//
// Memory has an address, which kernels get, and a place where the host reaches the same bytes, or none: then the host
// reads and writes it through the driver alone.
#ifndef METATE_RUNTIME_DRIVER_DRIVER_H
#define METATE_RUNTIME_DRIVER_DRIVER_H

#include "format/carrier.h"

namespace metate {

enum class Origin { allocated, reserved, wrapped };

// A piece of a device's memory.
struct Region {
  uint64_t address = 0;    // as kernels get it
  uint8_t *host = nullptr; // the same bytes for the host; NULL: it cannot reach them
  uint64_t bytes = 0;
  uint64_t align = 0;
  Origin origin = Origin::wrapped;
};

// How much memory of its own a tree gets at most when nobody says, and how much of it lies unused on both of its sides.
struct Room {
  uint64_t bytes = 0;
  uint64_t margin = 0;
};

// Code that was loaded: the entries in the order of the descriptor's kernels, where they are functions of this process and
// may be called directly; NULL: launch() alone runs them.
struct Code {
  const metate_entry *entries = nullptr;
  void *handle = nullptr; // the driver's own; NULL: nothing was loaded
};

// Can a variant run? `reason` is empty when it can, and says why not otherwise. Of several the one with the highest rank
// is taken.
struct Verdict {
  char reason[160] = "";
  uint64_t rank = 0;
};

// Whom a driver tells what a launch's tasks took on the device, in their order, once all have ended: they began and ended so many
// nanoseconds before the last one's end. `iterations`: 0 where only the device knows.
struct TaskTimes {
  void *self;
  void (*task)(void *self, uint32_t task, uint32_t line, int64_t iterations, uint64_t begun,
               uint64_t ended);
};

// One launch of a kernel, by its number in the descriptor. `pools` holds addresses on the device, for each pool that the
// kernel plans; it is not read where it plans none.
struct Launch {
  uint32_t kernel;
  uint32_t slotCount;
  const metate_slot *slots;
  void *const *pools;
  const metate_host *host;
  const TaskTimes *times = nullptr; // NULL: nobody asks, and nothing is measured
  void *into = nullptr; // a recording of the driver's own that takes the launch; NULL: it runs
};

struct Driver {
  const char *name; // as metate_device_open_driver is asked for it

  // The machine; METATE_E_UNSUPPORTED where there is none. The allocator outlives it. `options`: the driver's own, of the function
  // of its library that opens devices; NULL: as it likes.
  metate_status (*open)(const metate_allocator &allocator, const void *options, void **self);
  void (*close)(void *self);
  // Fills arch, level and name.
  void (*describe)(const void *self, metate_device_info *info);
  // Fills all but struct_size, with what is not zero.
  metate_status (*inspect)(const void *self, metate_machine_info *info);

  // Memory as of the functions metate_memory_*. METATE_E_OUT_OF_MEMORY says what was refused.
  metate_status (*create)(void *self, uint64_t bytes, uint64_t align, Region *region);
  metate_status (*reserve)(void *self, uint64_t bytes, Region *region); // zero
  // Memory that somebody else owns, by its address on the device. METATE_E_INVALID_ARGUMENT: the device has no such memory.
  metate_status (*wrap)(void *self, void *address, uint64_t bytes, Region *region);
  void (*release)(void *self, const Region &region);
  // Of memory that the host cannot reach; what was launched before has ended when they return.
  metate_status (*read)(void *self, uint64_t address, void *to, uint64_t bytes);
  metate_status (*write)(void *self, uint64_t address, const void *from, uint64_t bytes);
  metate_status (*zero)(void *self, uint64_t address, uint64_t bytes);
  Room (*room)(const void *self);
  // Hints, or NULL: what these bytes hold is not needed any more (memory of reserve() then holds zeros or what it held);
  // they are touched here and there.
  void (*discard)(void *self, uint64_t address, uint64_t bytes);
  void (*scatter)(void *self, uint64_t address, uint64_t bytes);

  // `inProcess`: of a variant whose entries are functions of this process already.
  Verdict (*judge)(const void *self, const Descriptor &descriptor, uint32_t variant,
                   bool inProcess);
  // The payload of a verified file; METATE_E_CORRUPT where it does not belong to the descriptor.
  metate_status (*load)(void *self, const Descriptor &descriptor, uint32_t variant, Span payload,
                        Code *code);
  // Entries that are in the process; the array may go away.
  metate_status (*adopt)(void *self, const Descriptor &descriptor, const metate_entry *entries,
                         Code *code);
  void (*unload)(void *self, Code *code);
  // Runs a kernel of code without `entries`: its status. It returns when the kernel is done, or, of one that cannot fail and whose times
  // nobody asks for, once it is in the device's order: read() and write() wait for it.
  int32_t (*launch)(void *self, const Code &code, const Launch &launch);

  // Do kernels reach these bytes, an argument's, where they are? NULL: all of the process. What they do not reach is copied to the
  // device's memory for the launch, and back.
  bool (*reaches)(const void *self, uint64_t address, uint64_t bytes);
  // Returns when all that was launched has ended, and says what has gone wrong. NULL: launches have ended when they return.
  metate_status (*wait)(void *self);
  // Have trees been settled when a launch of code without `entries` ends?
  bool settles;
  // How many iterations at once may activate cells of a tree whose binder names no number, where a slot is small; 0: as on a CPU.
  uint32_t treeWorkers;
};

// All drivers of this build, ended by NULL.
extern const Driver *const drivers[];

// The best variant that a driver can run; METATE_E_UNSUPPORTED says why none is.
metate_status chooseVariant(const Driver &driver, const void *self, const Descriptor &descriptor,
                            uint32_t *variant);
// Can it run this one, whose entries are in the process?
metate_status checkVariant(const Driver &driver, const void *self, const Descriptor &descriptor,
                           uint32_t variant);

} // namespace metate

#endif
