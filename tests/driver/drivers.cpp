// The drivers of the tests' libmetate: as runtime/driver/drivers.cpp, with one line more.
#include "driver/driver.h"

namespace metate {

extern const Driver cpuDriver;
extern const Driver elsewhereDriver;

const Driver *const drivers[] = {
    &cpuDriver,
    &elsewhereDriver,
    nullptr,
};

} // namespace metate
