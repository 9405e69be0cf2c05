//===- SplitBorders.h - loops without their borders ------------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_SPLITBORDERS_H
#define METATE_TARGET_CPU_SPLITBORDERS_H

#include "metate/Target/Cpu/BorderForms.h"

namespace metate::cpu {

/// Cuts the loop, or the innermost ones in it, in border and interior; the loop that its turns are then mostly in: the interior, or
/// the loop itself. What stands where the loop stood is one operation again. `sizes`: what the bounds of the whole task are computed of;
/// `keepsLoops`: loops inside stay whole.
mlir::scf::ForOp splitBorders(mlir::scf::ForOp parallel, const Guesses &guesses,
                              const Sources &sizes, bool keepsLoops);

} // namespace metate::cpu

#endif
