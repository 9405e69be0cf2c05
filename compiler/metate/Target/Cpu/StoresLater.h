//===- StoresLater.h - stores wait for the next turn's loads ----*- C++ -*-===//
#ifndef METATE_TARGET_CPU_STORESLATER_H
#define METATE_TARGET_CPU_STORESLATER_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate::cpu {

/// Each turn makes the stores, which stand in the loop's own block, of the one before it, once it has read all that it reads: no load overlaps a
/// store that is on its way. The first turn stores what is there. No turn may read what it has stored, and no two may store the same place. The loop that
/// carries them takes the place of the one given.
mlir::scf::ForOp storeLater(mlir::scf::ForOp loop, llvm::ArrayRef<WriteOp> stores);

} // namespace metate::cpu

#endif // METATE_TARGET_CPU_STORESLATER_H
