//===- QuantChecks.h - values that quantised members cannot hold -*- C++ -*-===//
//
// The check `quant-range`: a store or atomic leaves another value than the one given or computed, and more than rounding made it so.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_QUANTCHECKS_H
#define METATE_INTERP_QUANTCHECKS_H

#include "metate/Interp/Machine.h"

namespace metate::interp {

/// A value, of the compute type, that the operation stores in a member of this type.
void checkStored(Machine &machine, mlir::Operation *op, mlir::Type type, const QuantFormat &format,
                 uint64_t value);
/// Bits that the operation stores: the value that they were encoded from, where it is known.
void checkStored(Machine &machine, mlir::Operation *op, mlir::Type type, const QuantFormat &format,
                 mlir::Value bits);
/// An atomic on stored integers that are now `old`.
void checkCombined(Machine &machine, AtomicOp op, mlir::Type type, const QuantFormat &format,
                   uint64_t old);

} // namespace metate::interp

#endif
