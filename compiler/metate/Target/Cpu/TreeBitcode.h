//===- TreeBitcode.h - the tree protocol for CPUs ---------------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_TREEBITCODE_H
#define METATE_TARGET_CPU_TREEBITCODE_H

#include "metate/Emit/Machine.h"

#include "llvm/Support/Error.h"

namespace metate::cpu {

/// Emit/Support/Tree.c as bitcode for the machine's architecture, compiled for it, since C has its own idea of each.
llvm::StringRef treeBitcode(const Machine &machine);

/// What of it is the same in all payloads, as an object file for any CPU of the machine's architecture; empty without a system,
/// where code is compiled for the very CPU.
llvm::StringRef treeObject(const Machine &machine);

} // namespace metate::cpu

#endif
