// The CPU driver: which variant of a module this machine can run, and its code in this process.
#ifndef METATE_RUNTIME_DRIVER_CPU_DRIVER_H
#define METATE_RUNTIME_DRIVER_CPU_DRIVER_H

#include "driver/cpu/features.h"
#include "format/carrier.h"
#include "os/os.h"

namespace metate::cpu {

// The best variant that is a shared object for this machine; METATE_E_UNSUPPORTED says why none is.
metate_status choose(const Machine &machine, const Descriptor &descriptor, uint32_t *variant);

// Can this machine run a variant whose code is in the process already? Features that this libmetate
// does not know are taken for granted.
metate_status check(const Machine &machine, const Descriptor &descriptor, uint32_t variant);

struct Code {
  os::SharedObject object;
  const metate_entry *entries = nullptr;
};
// Maps the payload and checks that it belongs to the descriptor. Only for verified files.
metate_status load(const Descriptor &descriptor, Span payload, Code *code);

} // namespace metate::cpu

#endif
