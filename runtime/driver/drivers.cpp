// The drivers of this build, a declaration and a line each. The first one is the host's.
#include "driver/driver.h"

namespace metate {

extern const Driver cpuDriver;

const Driver *const drivers[] = {
    &cpuDriver,
    nullptr,
};

} // namespace metate
