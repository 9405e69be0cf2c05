// The verifier of carriers: .metate files, and shared objects with a module in them. It looks at bytes only: nothing is
// mapped, nothing is run.
#ifndef METATE_RUNTIME_FORMAT_CARRIER_H
#define METATE_RUNTIME_FORMAT_CARRIER_H

#include "format/descriptor.h"

namespace metate {

struct Span {
  const uint8_t *data = nullptr;
  uint64_t bytes = 0;
};

// One kind of carrier. `bytes` is 8-byte aligned; what follows verify() is asked of bytes that it accepted.
struct CarrierFormat {
  bool (*recognises)(const void *bytes, uint64_t count);
  metate_status (*verify)(const void *bytes, uint64_t count);
  Span (*descriptor)(const void *bytes, uint64_t count);
  Span (*payload)(const void *bytes, uint64_t count, uint32_t variant); // empty without one
};

extern const CarrierFormat fileFormat;    // file.cpp
extern const CarrierFormat libraryFormat; // library.cpp

// The kind that the first bytes say; bytes of none are a .metate file's, which says what is wrong with them.
const CarrierFormat &carrierFormat(const void *bytes, uint64_t count);

} // namespace metate

#endif
