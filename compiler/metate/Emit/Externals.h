//===- Externals.h - what object code may leave undefined -------*- C++ -*-===//
//
// The allow-list of functions that a payload takes from the C library, with the library and the
// symbol version that a shared-object payload asks the loader for. Everything else a kernel needs
// comes through hooks.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_EXTERNALS_H
#define METATE_EMIT_EXTERNALS_H

#include "metate/Emit/Architecture.h"
#include "metate/Emit/Machine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSet.h"

#include <set>
#include <string>
#include <vector>

namespace metate {

/// One function of the C library.
struct External {
  const char *name;
  const char *library; ///< the name the loader knows: "libm.so.6"
  unsigned since;      ///< 25: glibc has it, as it is called now, since 2.25; 0: always
};

/// The entry of the allow-list, or null.
const External *findExternal(llvm::StringRef name);

/// The symbol's version on Linux with glibc.
std::string externalVersion(const External &external, const Architecture &architecture);

/// Is it a function of the compiler's run-time library (libgcc, compiler-rt), which code generators call where an architecture has
/// no instruction? Only code for programs that are linked may leave it to them.
bool isCompilersOwn(llvm::StringRef symbol, const Architecture &architecture);

/// What object files that are linked together define for others, and what they leave undefined.
struct Symbols {
  llvm::StringSet<> defined;
  std::set<std::string> undefined;
};

/// Fails if an object cannot be read.
llvm::Expected<Symbols> symbolsOf(llvm::ArrayRef<llvm::StringRef> objects);

/// Names that linkers define themselves.
bool isLinkersOwn(llvm::StringRef symbol);

/// What is said of a symbol outside of an allow-list.
llvm::Error undefinedSymbolError(llvm::StringRef symbol);

/// Names of the undefined symbols, all of which the C library or the compiler's has, sorted. Fails if there is another
/// one, naming it; those of `sanitizer`'s runtime are the host's and pass.
llvm::Expected<std::vector<std::string>> undefinedSymbols(const Symbols &symbols,
                                                          const Architecture &architecture,
                                                          Sanitizer sanitizer = Sanitizer::None);

} // namespace metate

#endif
