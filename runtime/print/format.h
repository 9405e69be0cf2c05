// Numbers in Python's formats: what stands after the colon in f"{x:8.3f}".
#ifndef METATE_RUNTIME_PRINT_FORMAT_H
#define METATE_RUNTIME_PRINT_FORMAT_H

#include "metate/metate.h"

#include <cstddef>

namespace metate::print {

// Room for any number in any format: what is longer is cut.
constexpr size_t formattedBytes = 4096;

// Writes the item's value in a format (kernel.h says which there are), or as it stands without one
// where the format is NULL or none. `to` has room for formattedBytes. Returns the end; there is no
// final zero.
char *formatItem(const metate_print_item &item, const char *format, char *to);

} // namespace metate::print

#endif
