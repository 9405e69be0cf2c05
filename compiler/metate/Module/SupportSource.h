//===- SupportSource.h - the support code as text ---------------*- C++ -*-===//
//
// Packed calls and sessions (Support/Packed.c, Support/Session.c) are C already: a C file that is generated gets them as they are
// written, with the structs of abi/, so that sizes and offsets are those of its own compiler. Must not know LLVM IR.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MODULE_SUPPORTSOURCE_H
#define METATE_MODULE_SUPPORTSOURCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace metate {

/// What `roots` need of the C files, in one text of C99: without comments, all of it static. What names there are and do not begin with
/// metate_, METATE_ or TVMFFI gets such a name. `files`: "metate/Module/Support/Packed.c".
std::string supportSource(llvm::ArrayRef<llvm::StringRef> files,
                          llvm::ArrayRef<llvm::StringRef> roots);

} // namespace metate

#endif
