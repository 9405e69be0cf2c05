//===- SourceType.h - how C declares what LLVM IR defines -------*- C++ -*-===//
#ifndef METATE_EMIT_SOURCETYPE_H
#define METATE_EMIT_SOURCETYPE_H

#include "llvm/ADT/StringRef.h"

namespace metate {

/// The machines that C is printed for: addresses and long numbers of 64 bits, aligned to their size, little-endian.
inline constexpr llvm::StringLiteral sourceDataLayout = "e-m:e-p:64:64-i64:64-n8:16:32:64-S128";

/// An attribute of functions (of what they return), of their parameters and of global variables: the C type that a header declares
/// them with. '@' stands where the name does, if that is not the end.
inline constexpr llvm::StringLiteral sourceTypeAttribute = "metate-c-type";

} // namespace metate

#endif
