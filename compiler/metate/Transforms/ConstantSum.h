//===- ConstantSum.h - a coordinate as a value and a constant ---*- C++ -*-===//
#ifndef METATE_TRANSFORMS_CONSTANTSUM_H
#define METATE_TRANSFORMS_CONSTANTSUM_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace metate {

/// `base + constant`, seen through casts of integers to indices; without a base: a constant.
struct ConstantSum {
  mlir::Value base;
  int64_t constant = 0;

  static ConstantSum of(mlir::Value value) {
    ConstantSum sum{value};
    llvm::APInt number;
    while (true) {
      mlir::Operation *op = sum.base.getDefiningOp();
      if (matchPattern(sum.base, mlir::m_ConstantInt(&number)))
        return {mlir::Value(), sum.constant + number.getSExtValue()};
      if (llvm::isa_and_present<mlir::arith::IndexCastOp>(op)) {
        sum.base = op->getOperand(0);
      } else if (llvm::isa_and_present<mlir::arith::AddIOp, mlir::arith::SubIOp>(op) &&
                 matchPattern(op->getOperand(1), mlir::m_ConstantInt(&number))) {
        int64_t added = number.getSExtValue();
        sum.constant += llvm::isa<mlir::arith::AddIOp>(op) ? added : -added;
        sum.base = op->getOperand(0);
      } else {
        return sum;
      }
    }
  }
};

/// Has the value one value in all of the launch? Computed from arguments of the kernel, and from constants, alone.
bool isOfLaunch(mlir::Value value);

/// Two values that differ in every launch, and in all of it.
inline bool areApart(const ConstantSum &a, const ConstantSum &b) {
  return a.base == b.base && a.constant != b.constant && (!a.base || isOfLaunch(a.base));
}

} // namespace metate

#endif
