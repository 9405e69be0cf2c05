// Modules as shared objects, for tests of what reads them.
#ifndef METATE_TESTS_LIBRARY_H
#define METATE_TESTS_LIBRARY_H

#include "builder.h"

namespace metate::test {

// A shared object for machine 62 (ELF's number of x86-64) with the descriptor and no code: sound for whoever only reads.
Bytes library(const Bytes &descriptor, uint16_t machine = 62);
// Makes the file's size and hash right in the record at that offset.
void sealLibrary(uint8_t *file, size_t bytes, size_t record);
// Where the record of a file is, found by its magic number; `bytes`: nowhere.
size_t findLibrary(const uint8_t *file, size_t bytes);

} // namespace metate::test

#endif
