//===- HalfConversions.h - f16 and bf16 without their own units -*- C++ -*-===//
//
// LLVM calls conversion functions of its own support library where a CPU has no instruction for
// them. A payload has no such library, so it brings the functions along. Must not decide where
// conversions happen.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_HALFCONVERSIONS_H
#define METATE_EMIT_HALFCONVERSIONS_H

#include "llvm/Support/Error.h"

namespace llvm {
class Module;
}

namespace metate {

/// Adds the conversion functions to an optimised module of which some value is a half or a bfloat,
/// but on AArch64; changes no other module. To be called right before code generation: the optimiser
/// drops what has no caller yet.
llvm::Error addHalfConversions(llvm::Module &module);

} // namespace metate

#endif
