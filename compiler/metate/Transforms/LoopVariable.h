//===- LoopVariable.h - loop variables seen through casts -------*- C++ -*-===//
#ifndef METATE_TRANSFORMS_LOOPVARIABLE_H
#define METATE_TRANSFORMS_LOOPVARIABLE_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate {

/// A loop variable: its bounds were 32-bit values, so it fits 32 bits. Or the number of an iteration of a loop that became a nest.
inline bool isLoopVariable(mlir::Value value) {
  if (auto number = value.getDefiningOp<mlir::arith::AddIOp>())
    return number->hasAttr(mark::number);
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  return argument &&
         llvm::isa_and_present<RangeOp, ForEachOp, CellsOp, mlir::scf::ForOp>(
             argument.getOwner()->getParentOp()) &&
         value.getType().isIndex();
}

/// Of a 32-bit value that is a loop variable, the variable.
inline mlir::Value loopVariableOf(mlir::Value value) {
  auto cast = value.getDefiningOp<mlir::arith::IndexCastOp>();
  return cast && isLoopVariable(cast.getIn()) ? cast.getIn() : mlir::Value();
}

} // namespace metate

#endif
