//===- BinSpan.h - bytes that a loop only accumulates in --------*- C++ -*-===//
#ifndef METATE_TARGET_GRID_BINSPAN_H
#define METATE_TARGET_GRID_BINSPAN_H

#include "metate/Dialect/Marks.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <optional>

namespace metate::grid {

/// Where the target of an atomic operation lies in its block: all of its cells, with what stands between them. As `metate.bins` says it.
struct BinSpan {
  int64_t begin = 0, bytes = 0;

  void setOn(mlir::Operation *op) const {
    op->setAttr(mark::bins, mlir::Builder(op->getContext()).getDenseI64ArrayAttr({begin, bytes}));
  }
  static std::optional<BinSpan> of(mlir::Operation *op) {
    auto numbers = op->getAttrOfType<mlir::DenseI64ArrayAttr>(mark::bins);
    if (!numbers)
      return std::nullopt;
    return BinSpan{numbers[0], numbers[1]};
  }
};

} // namespace metate::grid

#endif
