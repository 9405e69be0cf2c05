//===- SlotRecord.h - reads of what a slot's record says --------*- C++ -*-===//
//
// A record says whether its slot is in use and where its cells lie. The protocol alone changes it, when a slot is claimed or given up: what
// else a task writes is never there. That is said on the reads, as a mark of no dialect, which whoever does not know it loses for nothing.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_LEVEL_SLOTRECORD_H
#define METATE_LEVEL_SLOTRECORD_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace metate {

struct SlotRecord {
  static constexpr llvm::StringLiteral name = "metate_grid.record";

  static mlir::Value read(mlir::Value number) {
    mlir::Operation *op = number.getDefiningOp();
    op->setAttr(name, mlir::UnitAttr::get(op->getContext()));
    return number;
  }
  static bool isRead(mlir::Operation *op) { return op->hasAttr(name); }
};

} // namespace metate

#endif
