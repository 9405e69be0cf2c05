//===- SourceType.h - how C declares what LLVM IR defines -------*- C++ -*-===//
#ifndef METATE_EMIT_SOURCETYPE_H
#define METATE_EMIT_SOURCETYPE_H

#include "llvm/ADT/StringRef.h"

namespace metate {

/// Where C's data lie that are printed: long numbers are aligned to their size, and an address takes 8 bytes, of which machines
/// of 32 bits use the first four, as in the structs of abi/. Little-endian.
inline constexpr llvm::StringLiteral sourceDataLayout = "e-m:e-p:64:64-i64:64-n8:16:32:64-S128";

/// An attribute of functions (of what they return), of their parameters and of global variables: the C type that a header declares
/// them with. '@' stands where the name does, if that is not the end.
inline constexpr llvm::StringLiteral sourceTypeAttribute = "metate-c-type";

/// An attribute of functions: the macro that leaves them out, if whoever compiles the file defines it.
inline constexpr llvm::StringLiteral sourceGuardAttribute = "metate-c-without";

} // namespace metate

#endif
