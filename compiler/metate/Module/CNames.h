//===- CNames.h - names that C programs have without us ---------*- C++ -*-===//
#ifndef METATE_MODULE_CNAMES_H
#define METATE_MODULE_CNAMES_H

#include "llvm/ADT/StringRef.h"

namespace metate {

/// A word of C11 or C++20, or a macro that generated C sees: no parameter may be called so ("int", "INT8_MAX").
bool isWordOfC(llvm::StringRef name);

/// A word of the languages, what the headers of C11 and POSIX declare with an underscore in it, and what Metate's begin with: no
/// function and no macro may be called so ("static_assert", "size_t", "clock_gettime", "INT8_MAX", "metate_reset").
bool isNameOfC(llvm::StringRef name);

} // namespace metate

#endif
