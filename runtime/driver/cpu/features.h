// What the host's CPU can do, in LLVM's names, so that a module's variants can be compared with it.
#ifndef METATE_RUNTIME_DRIVER_CPU_FEATURES_H
#define METATE_RUNTIME_DRIVER_CPU_FEATURES_H

#include <cstddef>
#include <cstdint>

namespace metate::cpu {

struct Machine {
  uint32_t arch = 0;     // METATE_ARCH_*
  uint32_t level = 0;    // x86-64: 1..4
  uint64_t features = 0; // bit i: row i of the table in features.cpp
  char vendor[16] = {};
};

Machine detect();
void nameOf(const Machine &machine, char *text, size_t bytes);

enum class Has { yes, no, unknown };
// `name` as LLVM writes it ("avx512vbmi"), `length` bytes of it.
Has hasFeature(const Machine &machine, const char *name, size_t length);

} // namespace metate::cpu

#endif
