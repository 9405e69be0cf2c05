// Which kind of carrier some bytes are.
#include "format/carrier.h"

namespace metate {

static const CarrierFormat *const formats[] = {&fileFormat, &libraryFormat};

const CarrierFormat &carrierFormat(const void *bytes, uint64_t count) {
  for (const CarrierFormat *format : formats)
    if (format->recognises(bytes, count))
      return *format;
  return fileFormat;
}

} // namespace metate
