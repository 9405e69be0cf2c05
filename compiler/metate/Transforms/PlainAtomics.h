//===- PlainAtomics.h - atomics that need not be any ------------*- C++ -*-===//
#ifndef METATE_TRANSFORMS_PLAINATOMICS_H
#define METATE_TRANSFORMS_PLAINATOMICS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace metate {

/// `old` and `value` combined as an atomic operation of that kind does; `flags`: of floats, by default as what a kernel writes out.
mlir::Value combinePlain(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::arith::AtomicRMWKind kind, mlir::Value old, mlir::Value value,
                         mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::contract);

/// What changes nothing when it is combined with numbers of that type: of sums -0, which keeps the sign of every zero; of extremes a NaN,
/// which is not a number that could be taken. Null: there is no such value.
mlir::TypedAttr neutralOf(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::arith::AtomicRMWKind kind, mlir::Type scalar);

/// What a kind of operation on the counts of a fixed number is on numbers of that type; of integers it stays.
mlir::arith::AtomicRMWKind kindOfNumbers(mlir::arith::AtomicRMWKind kind, mlir::Type number);

/// The bits of a number, as an integer of its width.
mlir::Value bitsOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value number);

/// An atomic operation on a cell or an element becomes a load and a store.
void makePlain(mlir::Operation *atomic);

} // namespace metate

#endif
