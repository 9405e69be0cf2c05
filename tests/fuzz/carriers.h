// What the fuzz targets of carriers share: a descriptor's sizes and hashes made right, and whatever opens described in every
// way there is.
#ifndef METATE_TESTS_FUZZ_CARRIERS_H
#define METATE_TESTS_FUZZ_CARRIERS_H

#include "harness.h"

namespace metate::fuzz {

inline bool fits(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

// Sizes, versions and hashes from the inside out: types, descriptor. Versions too, so that a corpus outlives a new one.
// Returns the descriptor, or NULL where these bytes are too few.
metate_descriptor *sealDescriptorAt(uint8_t *start, uint64_t size);

// Returns whether the file opened.
bool describe(const Host &device, const test::Bytes &bytes, uint64_t seed);

// What inspect prints is formatted and thrown away.
void silence();

} // namespace metate::fuzz

#endif
