// CPU detection: CPUID and XGETBV on x86-64 (Intel SDM vol. 2A, CPUID; the levels are those of the
// x86-64 psABI, table 3.1). Features that the system does not save across a context switch count as
// absent. On AArch64 and RISC-V the base
// architecture is all that is claimed.
#include "driver/cpu/features.h"

#include "metate/abi/module.h"

#include <cstdio>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace metate::cpu {

#if defined(__x86_64__)

namespace {
enum Register { EAX, EBX, ECX, EDX };
enum Needs { NOTHING, AVX, AVX512, AMX }; // state the system must save
struct Row {
  const char *name;
  uint32_t leaf, subleaf;
  Register where;
  uint32_t bit;
  Needs needs;
  uint32_t level; // the psABI level that contains it; 0 = none
};
constexpr uint32_t EXTENDED = 0x80000001u;
constexpr Row table[] = {
    {"cx8", 1, 0, EDX, 8, NOTHING, 1},
    {"cmov", 1, 0, EDX, 15, NOTHING, 1},
    {"mmx", 1, 0, EDX, 23, NOTHING, 1},
    {"fxsr", 1, 0, EDX, 24, NOTHING, 1},
    {"sse", 1, 0, EDX, 25, NOTHING, 1},
    {"sse2", 1, 0, EDX, 26, NOTHING, 1},
    {"sse3", 1, 0, ECX, 0, NOTHING, 2},
    {"ssse3", 1, 0, ECX, 9, NOTHING, 2},
    {"cx16", 1, 0, ECX, 13, NOTHING, 2},
    {"sse4.1", 1, 0, ECX, 19, NOTHING, 2},
    {"sse4.2", 1, 0, ECX, 20, NOTHING, 2},
    {"popcnt", 1, 0, ECX, 23, NOTHING, 2},
    {"sahf", EXTENDED, 0, ECX, 0, NOTHING, 2},
    {"fma", 1, 0, ECX, 12, AVX, 3},
    {"movbe", 1, 0, ECX, 22, NOTHING, 3},
    {"avx", 1, 0, ECX, 28, AVX, 3},
    {"f16c", 1, 0, ECX, 29, AVX, 3},
    {"bmi", 7, 0, EBX, 3, NOTHING, 3},
    {"avx2", 7, 0, EBX, 5, AVX, 3},
    {"bmi2", 7, 0, EBX, 8, NOTHING, 3},
    {"lzcnt", EXTENDED, 0, ECX, 5, NOTHING, 3},
    {"avx512f", 7, 0, EBX, 16, AVX512, 4},
    {"avx512dq", 7, 0, EBX, 17, AVX512, 4},
    {"avx512cd", 7, 0, EBX, 28, AVX512, 4},
    {"avx512bw", 7, 0, EBX, 30, AVX512, 4},
    {"avx512vl", 7, 0, EBX, 31, AVX512, 4},
    {"pclmul", 1, 0, ECX, 1, NOTHING, 0},
    {"aes", 1, 0, ECX, 25, NOTHING, 0},
    {"xsave", 1, 0, ECX, 26, NOTHING, 0},
    {"rdrnd", 1, 0, ECX, 30, NOTHING, 0},
    {"fsgsbase", 7, 0, EBX, 0, NOTHING, 0},
    {"rdseed", 7, 0, EBX, 18, NOTHING, 0},
    {"adx", 7, 0, EBX, 19, NOTHING, 0},
    {"avx512ifma", 7, 0, EBX, 21, AVX512, 0},
    {"clflushopt", 7, 0, EBX, 23, NOTHING, 0},
    {"clwb", 7, 0, EBX, 24, NOTHING, 0},
    {"sha", 7, 0, EBX, 29, NOTHING, 0},
    {"avx512vbmi", 7, 0, ECX, 1, AVX512, 0},
    {"avx512vbmi2", 7, 0, ECX, 6, AVX512, 0},
    {"gfni", 7, 0, ECX, 8, NOTHING, 0},
    {"vaes", 7, 0, ECX, 9, AVX, 0},
    {"vpclmulqdq", 7, 0, ECX, 10, AVX, 0},
    {"avx512vnni", 7, 0, ECX, 11, AVX512, 0},
    {"avx512bitalg", 7, 0, ECX, 12, AVX512, 0},
    {"avx512vpopcntdq", 7, 0, ECX, 14, AVX512, 0},
    {"rdpid", 7, 0, ECX, 22, NOTHING, 0},
    {"movdiri", 7, 0, ECX, 27, NOTHING, 0},
    {"movdir64b", 7, 0, ECX, 28, NOTHING, 0},
    {"avx512vp2intersect", 7, 0, EDX, 8, AVX512, 0},
    {"serialize", 7, 0, EDX, 14, NOTHING, 0},
    {"amx-bf16", 7, 0, EDX, 22, AMX, 0},
    {"avx512fp16", 7, 0, EDX, 23, AVX512, 0},
    {"amx-tile", 7, 0, EDX, 24, AMX, 0},
    {"amx-int8", 7, 0, EDX, 25, AMX, 0},
    {"avxvnni", 7, 1, EAX, 4, AVX, 0},
    {"avx512bf16", 7, 1, EAX, 5, AVX512, 0},
    {"avxifma", 7, 1, EAX, 23, AVX, 0},
    {"prfchw", EXTENDED, 0, ECX, 8, NOTHING, 0},
};
constexpr uint32_t rows = sizeof table / sizeof *table;
static_assert(rows <= 64, "features fit one word");

uint64_t enabledState() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) // OSXSAVE
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool saved(uint64_t state, Needs needs) {
  const uint64_t masks[] = {0, 0x6, 0xe6, 0x60000};
  return (state & masks[needs]) == masks[needs];
}

uint32_t levelOf(uint64_t features) {
  uint32_t level = 4;
  for (uint32_t i = 0; i < rows; ++i)
    if (table[i].level && !(features & (uint64_t(1) << i)) && table[i].level <= level)
      level = table[i].level - 1;
  return level ? level : 1;
}
} // namespace

Machine detect() {
  Machine machine;
  machine.arch = METATE_ARCH_X86_64;
  uint32_t registers[4] = {};
  if (__get_cpuid(0, &registers[0], &registers[1], &registers[2], &registers[3])) {
    memcpy(machine.vendor, &registers[1], 4);
    memcpy(machine.vendor + 4, &registers[3], 4);
    memcpy(machine.vendor + 8, &registers[2], 4);
  }
  uint64_t state = enabledState();
  for (uint32_t i = 0; i < rows; ++i) {
    const Row &row = table[i];
    uint32_t got[4] = {};
    if (__get_cpuid_count(row.leaf, row.subleaf, &got[0], &got[1], &got[2], &got[3]) &&
        (got[row.where] >> row.bit & 1) && saved(state, row.needs))
      machine.features |= uint64_t(1) << i;
  }
  machine.level = levelOf(machine.features);
  return machine;
}

void nameOf(const Machine &machine, char *text, size_t bytes) {
  snprintf(text, bytes, "x86-64-v%u (%s)", machine.level, machine.vendor);
}

Has hasFeature(const Machine &machine, const char *name, size_t length) {
  for (uint32_t i = 0; i < rows; ++i)
    if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
      return machine.features >> i & 1 ? Has::yes : Has::no;
  return Has::unknown;
}

#elif defined(__aarch64__)

Machine detect() {
  Machine machine;
  machine.arch = METATE_ARCH_AARCH64;
  return machine;
}

void nameOf(const Machine &, char *text, size_t bytes) { snprintf(text, bytes, "aarch64"); }

Has hasFeature(const Machine &, const char *name, size_t length) {
  static constexpr const char *bases[] = {"neon", "fp-armv8"};
  for (const char *base : bases)
    if (strlen(base) == length && memcmp(base, name, length) == 0)
      return Has::yes;
  return Has::unknown;
}

#elif defined(__riscv) && __riscv_xlen == 64

Machine detect() {
  Machine machine;
  machine.arch = METATE_ARCH_RISCV64;
  return machine;
}

void nameOf(const Machine &, char *text, size_t bytes) { snprintf(text, bytes, "riscv64"); }

// RV64GC: every Linux distribution's base.
Has hasFeature(const Machine &, const char *name, size_t length) {
  static constexpr const char *bases[] = {"i", "m", "a", "f", "d", "c"};
  for (const char *base : bases)
    if (strlen(base) == length && memcmp(base, name, length) == 0)
      return Has::yes;
  return Has::unknown;
}

#else
#error "metate: no driver/cpu for this architecture"
#endif

} // namespace metate::cpu
