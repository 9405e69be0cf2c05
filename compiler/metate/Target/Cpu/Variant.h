//===- Variant.h - what a CPU's payload asks of its machine ------*- C++ -*-===//
//
// From a payload's triple, CPU and features to what the descriptor states about it: architecture,
// psABI level and the features beyond the level. Must not look at the code itself.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_VARIANT_H
#define METATE_TARGET_CPU_VARIANT_H

#include "metate/Target/Target.h"

namespace metate::cpu {

/// `level`: on x86-64 the highest psABI level whose features the code may use. `features`: sorted; a sanitizer of the
/// host's comes last.
llvm::Expected<Variant> variantOf(PayloadOp payload);

} // namespace metate::cpu

#endif
