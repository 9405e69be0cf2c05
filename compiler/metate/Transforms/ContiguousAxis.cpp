//===- ContiguousAxis.cpp - which coordinate lies side by side --*- C++ -*-===//
#include "metate/Transforms/ContiguousAxis.h"

#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;

/// Axes by the outermost level that splits them, then as the innermost one has them; the last one is contiguous.
static SmallVector<Value> inStorageOrder(const CellAccess &cell) {
  TreePath path = cell.resolve();
  SmallVector<unsigned> axes;
  for (LevelInterface level : path.levels)
    for (unsigned axis : levelAxes(level)) {
      llvm::erase(axes, axis);
      axes.push_back(axis);
    }
  SmallVector<Value> ordered;
  for (unsigned axis : axes)
    ordered.push_back(cell.coordinates[llvm::find(path.axes, axis) - path.axes.begin()]);
  return ordered;
}

SmallVector<Value> metate::coordinatesByStride(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return llvm::to_vector_of<Value>(load.getIndices());
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return llvm::to_vector_of<Value>(store.getIndices());
  if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op))
    return llvm::to_vector_of<Value>(atomic.getIndices());
  if (!isa<LoadOp, StoreOp, AtomicOp>(op))
    return {};
  auto cell = CellAccess::of(op);
  return cell ? inStorageOrder(*cell) : SmallVector<Value>();
}

/// What a coordinate was computed as, in 32 bits.
static LinearForm formOf(Value coordinate) {
  auto cast = coordinate.getDefiningOp<arith::IndexCastOp>();
  return LinearForm::of(cast ? cast.getIn() : coordinate);
}

/// The variable's factor, be it named as an index or as a number of 32 bits.
static int64_t factorOf(Value coordinate, Value variable) {
  int64_t factor = 0;
  for (auto [term, coefficient] : formOf(coordinate).terms) {
    auto cast = term.getDefiningOp<arith::IndexCastOp>();
    if (term == variable || (cast && cast.getIn() == variable))
      factor += coefficient;
  }
  return factor;
}

bool metate::isContiguousIn(ArrayRef<Value> byStride, Value variable) {
  return !byStride.empty() && std::abs(factorOf(byStride.back(), variable)) == 1 &&
         !isNamedBy(byStride.drop_back(), variable);
}

bool metate::isNamedBy(ArrayRef<Value> byStride, Value variable) {
  return llvm::any_of(byStride, [&](Value value) { return factorOf(value, variable) != 0; });
}
