//===- IntegerRange.h - least and greatest value of an integer --*- C++ -*-===//
//
// What operations make of ranges says upstream's InferIntRangeInterface. Upstream's analysis (mlir::dataflow::IntegerRangeAnalysis)
// computes the ranges of a whole function before anything is changed; passes here ask for one value while they rewrite, so
// that ranges are computed at each question, from the value up.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_INTEGERRANGE_H
#define METATE_TRANSFORMS_INTEGERRANGE_H

#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace metate {

/// Signed bounds, as far as constants, operations, extents and bounds of loops tell.
struct IntegerRange {
  /// Values beyond tell nothing: sums of two of them do not wrap in i32.
  static constexpr int64_t most = (int64_t(1) << 30) - 1;

  int64_t least = 0, greatest = 0;
  static std::optional<IntegerRange> of(mlir::Value value);
  /// The same of all that i32 can hold, such as extents and what is computed of them: sums of two may wrap.
  static std::optional<IntegerRange> of32Bits(mlir::Value value);
};

/// The range of an operation's only result, where its operands are integers in these ranges; nullopt where it does not say.
std::optional<mlir::ConstantIntRanges>
resultRange(mlir::Operation *op, llvm::ArrayRef<mlir::ConstantIntRanges> operands);

} // namespace metate

#endif
