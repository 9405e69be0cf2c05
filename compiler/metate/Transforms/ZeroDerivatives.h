//===- ZeroDerivatives.h - derivatives that are zero where one may have meant otherwise ---------*- C++ -*-===//
//
// What goes through a conversion to an integer, a rounding or a comparison has the derivative zero. Where all of what a kernel computes of a
// variable does, a reader wants to know.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_ZERODERIVATIVES_H
#define METATE_TRANSFORMS_ZERODERIVATIVES_H

#include "metate/Transforms/DerivativePlaces.h"

namespace metate {

/// Remarks on the operations that such variables go through, one of each member or array. The kernel's variables are values.
void remarkZeroDerivatives(KernelOp kernel, const DerivativePlaces &places);

} // namespace metate

#endif
