//===- Architecture.h - the architectures of CPUs ---------------*- C++ -*-===//
//
// What the compiler knows of each architecture: a row of Architectures.def. Must not know machines, which are CPUs of one.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_ARCHITECTURE_H
#define METATE_EMIT_ARCHITECTURE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdint>

namespace metate {

/// A row of Architectures.def, whose head says what its columns are.
struct Architecture {
  uint32_t code;
  uint32_t level;
  llvm::StringLiteral name, others, what;
  void (*initialise)(); ///< LLVM's back end
  llvm::StringLiteral support, triple, cpu, features, abi, glibc;
  bool hasLanes;

  /// No operating system, no threads, no loader.
  bool isBare() const { return glibc.empty(); }
};

llvm::ArrayRef<Architecture> architectures();

/// The one that a machine's name begins with, as users write it; null where it names none.
const Architecture *findArchitecture(llvm::StringRef machine);

/// The one that a triple is of, or null.
const Architecture *architectureOf(const llvm::Triple &triple);

/// Of several pieces of code, one for each row METATE_SUPPORT_*: a table of them, and the architecture's.
struct SupportCode {
  llvm::StringLiteral support;
  llvm::StringRef (*code)();
};
llvm::StringRef supportFor(const llvm::Triple &triple, llvm::ArrayRef<SupportCode> table);

} // namespace metate

#endif
