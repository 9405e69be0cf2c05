// The verifier of .metate files. It looks at bytes only: nothing is mapped, nothing is run.
#ifndef METATE_RUNTIME_FORMAT_CARRIER_H
#define METATE_RUNTIME_FORMAT_CARRIER_H

#include "format/descriptor.h"

namespace metate {

struct Span {
  const uint8_t *data = nullptr;
  uint64_t bytes = 0;
};

// Checks the whole file: hash first, then sections, then the descriptor. `bytes` is 8-byte aligned.
metate_status verifyCarrier(const void *bytes, uint64_t count);

// Of a verified file: its descriptor, and the payload of a variant (empty without one).
Span descriptorOf(const void *carrier);
Span payloadOf(const void *carrier, uint32_t variant);

} // namespace metate

#endif
