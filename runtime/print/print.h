// The default print hook: one statement of a kernel becomes one text for the device's sink.
#ifndef METATE_RUNTIME_PRINT_PRINT_H
#define METATE_RUNTIME_PRINT_PRINT_H

#include "metate/metate.h"

namespace metate::print {

// A metate_print whose `self` is the metate_device.
void deliver(void *device, const metate_print_item *items, uint32_t count);

// Writes a float as Python's repr and NumPy's str do: the shortest digits that read back as the
// same value, positional for 1e-4 <= |x| < 1e16. At most 40 bytes, without a final zero; returns
// the end.
char *formatF64(double value, char *to);
char *formatF32(float value, char *to);

} // namespace metate::print

#endif
