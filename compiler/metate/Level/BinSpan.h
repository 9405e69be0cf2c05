//===- BinSpan.h - bytes that a loop only accumulates in --------*- C++ -*-===//
//
// What a family's own pass says of an atomic operation before members become bytes, and reads behind it: a mark of no dialect, which whoever
// does not know it loses for nothing.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_LEVEL_BINSPAN_H
#define METATE_LEVEL_BINSPAN_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <optional>

namespace metate {

/// Where the target of an atomic operation lies in its block: all of its cells, with what stands between them.
struct BinSpan {
  static constexpr llvm::StringLiteral name = "metate_grid.bins";
  int64_t begin = 0, bytes = 0;

  void setOn(mlir::Operation *op) const {
    op->setAttr(name, mlir::Builder(op->getContext()).getDenseI64ArrayAttr({begin, bytes}));
  }
  static std::optional<BinSpan> of(mlir::Operation *op) {
    auto numbers = op->getAttrOfType<mlir::DenseI64ArrayAttr>(name);
    if (!numbers)
      return std::nullopt;
    return BinSpan{numbers[0], numbers[1]};
  }
};

} // namespace metate

#endif
