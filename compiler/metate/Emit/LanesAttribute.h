//===- LanesAttribute.h - functions whose vectors are iterations -*- C++ -*-===//
#ifndef METATE_EMIT_LANESATTRIBUTE_H
#define METATE_EMIT_LANESATTRIBUTE_H

#include "llvm/ADT/StringRef.h"

namespace metate {

/// A function attribute of the map stage: its vectors are iterations side by side, not the language's.
inline constexpr llvm::StringLiteral lanesAttribute = "metate-lanes";

} // namespace metate

#endif
