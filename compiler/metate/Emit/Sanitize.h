//===- Sanitize.h - generated code under LLVM's sanitizers ------*- C++ -*-===//
//
// Instruments a kernel module for ThreadSanitizer or AddressSanitizer, and knows the names that
// such code leaves to its host. An instrumented payload carries no runtime and no constructor of
// its own: the process that loads it must have been built with the same sanitizer, which is then up
// already. Must not decide when code is instrumented.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_SANITIZE_H
#define METATE_EMIT_SANITIZE_H

#include "metate/Options/Options.h"

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace metate {

/// Whether code instrumented for the sanitizer may leave this symbol to its host.
bool isSanitizerSymbol(llvm::StringRef name, Sanitizer sanitizer);

/// The symbol that a process has if and only if it is built with the sanitizer.
llvm::StringRef sanitizerHostSymbol(Sanitizer sanitizer);

/// Before optimisation: the attributes by which the optimiser knows that accesses are watched.
void markForSanitizer(llvm::Module &module, Sanitizer sanitizer);

/// After optimisation, at any level: every access to memory that others can see becomes known to
/// the sanitizer, atomic ones as atomic.
void instrument(llvm::Module &module, Sanitizer sanitizer, llvm::TargetMachine &machine);

} // namespace metate

#endif
