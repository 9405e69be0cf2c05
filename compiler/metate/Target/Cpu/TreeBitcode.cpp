//===- TreeBitcode.cpp - the tree protocol for CPUs -------------*- C++ -*-===//
#include "metate/Target/Cpu/TreeBitcode.h"

#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace metate;
using llvm::StringRef;
using llvm::Triple;

// Of each architecture (TreeCode.S).
#define METATE_EMBEDDED(name)                                                                      \
  extern "C" const char metate_##name##_begin[], metate_##name##_end[];                            \
  static StringRef name() {                                                                        \
    return {metate_##name##_begin, size_t(metate_##name##_end - metate_##name##_begin)};           \
  }
METATE_EMBEDDED(bitcode_Tree_x86_64)
METATE_EMBEDDED(bitcode_Tree_aarch64)
METATE_EMBEDDED(object_Tree_x86_64)
METATE_EMBEDDED(object_Tree_aarch64)

/// Of those by architecture, the machine's.
static StringRef choose(const Machine &machine, StringRef ofX86, StringRef ofAArch64) {
  Triple triple(machine.triple.empty() ? llvm::sys::getProcessTriple() : machine.triple);
  switch (triple.getArch()) {
  case Triple::x86_64:
    return ofX86;
  case Triple::aarch64:
    return ofAArch64;
  default:
    return "";
  }
}

StringRef cpu::treeBitcode(const Machine &machine) {
  return choose(machine, bitcode_Tree_x86_64(), bitcode_Tree_aarch64());
}

StringRef cpu::treeObject(const Machine &machine) {
  return choose(machine, object_Tree_x86_64(), object_Tree_aarch64());
}
