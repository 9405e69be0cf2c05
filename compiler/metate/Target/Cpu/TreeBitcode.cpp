//===- TreeBitcode.cpp - the tree protocol for CPUs -------------*- C++ -*-===//
#include "metate/Target/Cpu/TreeBitcode.h"

#include "metate/Emit/Architecture.h"

#include "llvm/TargetParser/Host.h"

using namespace metate;
using llvm::StringRef;
using llvm::Triple;

// Of each architecture (TreeCode.S).
#define METATE_EMBEDDED(name)                                                                      \
  extern "C" const char metate_##name##_begin[], metate_##name##_end[];                            \
  static StringRef name() {                                                                        \
    return {metate_##name##_begin, size_t(metate_##name##_end - metate_##name##_begin)};           \
  }
#define METATE_SUPPORT_OF_SYSTEM(support, flags)                                                   \
  METATE_EMBEDDED(bitcode_Tree_##support) METATE_EMBEDDED(object_Tree_##support)
#define METATE_SUPPORT_ALONE(support, flags) METATE_EMBEDDED(bitcode_Tree_##support)
#include "metate/Emit/Architectures.def"

static constexpr SupportCode bitcodes[] = {
#define METATE_SUPPORT_OF_SYSTEM(support, flags) {#support, bitcode_Tree_##support},
#define METATE_SUPPORT_ALONE(support, flags) {#support, bitcode_Tree_##support},
#include "metate/Emit/Architectures.def"
};

static constexpr SupportCode objects[] = {
#define METATE_SUPPORT_OF_SYSTEM(support, flags) {#support, object_Tree_##support},
#define METATE_SUPPORT_ALONE(support, flags)
#include "metate/Emit/Architectures.def"
};

static Triple tripleOf(const Machine &machine) {
  return Triple(machine.triple.empty() ? llvm::sys::getProcessTriple() : machine.triple);
}

StringRef cpu::treeBitcode(const Machine &machine) {
  return supportFor(tripleOf(machine), bitcodes);
}

StringRef cpu::treeObject(const Machine &machine) { return supportFor(tripleOf(machine), objects); }
