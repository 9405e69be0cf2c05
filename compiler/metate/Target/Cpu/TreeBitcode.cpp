//===- TreeBitcode.cpp - the tree protocol for CPUs -------------*- C++ -*-===//
#include "metate/Target/Cpu/TreeBitcode.h"

#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace metate;
using llvm::StringRef;
using llvm::Triple;

// Of each architecture (TreeCode.S).
#define METATE_TREE_CODE(name)                                                                     \
  extern "C" const char metate_bitcode_##name##_begin[], metate_bitcode_##name##_end[];            \
  static StringRef name() {                                                                        \
    return {metate_bitcode_##name##_begin,                                                         \
            size_t(metate_bitcode_##name##_end - metate_bitcode_##name##_begin)};                  \
  }
METATE_TREE_CODE(Tree_x86_64)
METATE_TREE_CODE(Tree_aarch64)

StringRef cpu::treeBitcode(const Machine &machine) {
  Triple triple(machine.triple.empty() ? llvm::sys::getProcessTriple() : machine.triple);
  switch (triple.getArch()) {
  case Triple::x86_64:
    return Tree_x86_64();
  case Triple::aarch64:
    return Tree_aarch64();
  default:
    return "";
  }
}
