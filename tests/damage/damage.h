// What the damage tests share: a seeded generator, values that break readers, and a reader that
// uses every function of the C API on whatever was accepted.
#ifndef METATE_TESTS_DAMAGE_H
#define METATE_TESTS_DAMAGE_H

#include "metate/metate.hpp"
#include "module.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace metate::test {

// SplitMix64: the same stream everywhere. The seed is printed, and METATE_DAMAGE_SEED sets it.
class Random {
public:
  Random();
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t bits();
  uint64_t below(uint64_t bound) { return bound ? bits() % bound : 0; }
  // Small, huge, negative, a power of two, near `old`: what readers forget to check.
  uint64_t nasty(uint64_t old);

private:
  uint64_t state;
};

// A copy on the heap of exactly `bytes` bytes: one byte too far is AddressSanitizer's to report.
struct Exact {
  uint8_t *data;
  size_t bytes;
  // At a multiple of 64.
  explicit Exact(size_t bytes) : data(nullptr), bytes(bytes) {
    void *place = nullptr;
    if (posix_memalign(&place, 64, bytes ? bytes : 1) == 0)
      data = static_cast<uint8_t *>(place);
  }
  Exact(const void *from, size_t bytes)
      : data(static_cast<uint8_t *>(std::malloc(bytes))), bytes(bytes) {
    if (bytes)
      std::memcpy(data, from, bytes);
  }
  ~Exact() { std::free(data); }
  Exact(const Exact &) = delete;
};

// Uses everything that an accepted module offers. "" or what contradicted itself.
std::string exercise(metate_module *module, Random &random);
// Writes, reads, enumerates and checks a fresh tree of the type.
std::string exercise(const metate_type *type, Random &random);
// Reads everything of a bound tree with every reading function.
std::string readAll(metate_tree *tree);
// Activates and writes random cells, and reads back what was written.
std::string writeSome(metate_tree *tree, const metate_type *type, Random &random);

} // namespace metate::test

#endif
