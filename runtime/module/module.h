// An open module: its descriptor, its types and kernels, and the code behind them.
#ifndef METATE_RUNTIME_MODULE_MODULE_H
#define METATE_RUNTIME_MODULE_MODULE_H

#include "format/carrier.h"
#include "kernel/kernel.h"

struct metate_module {
  metate_device *device;
  const void *descriptor = nullptr;
  uint64_t descriptorBytes = 0;
  uint8_t *copy = nullptr; // the descriptor's memory when the module owns it
  uint32_t variant = METATE_NONE;
  metate::Code code; // nothing in a module opened for queries
  metate_type **types = nullptr;
  metate_kernel *kernels = nullptr;
  uint64_t *payloadBytes = nullptr; // of each variant
  metate::Uses uses;                // launches of its kernels

  explicit metate_module(metate_device *device) : device(device) {}
  metate::Descriptor description() const { return metate::Descriptor(descriptor); }
};

#endif
