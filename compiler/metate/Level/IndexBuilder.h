//===- IndexBuilder.h - arithmetic of offsets and coordinates ---*- C++ -*-===//
//
// Writes sums, products and quotients of `index` values; what is known of constants is folded. Knows no block.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_LEVEL_INDEXBUILDER_H
#define METATE_LEVEL_INDEXBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace metate {

class IndexBuilder {
public:
  IndexBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value index(int64_t value);
  mlir::Value integer(int64_t value, unsigned width);
  /// Sums and products of `index` values, folded where constants allow it.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value multiply(mlir::Value a, int64_t b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value divide(mlir::Value a, int64_t b);
  mlir::Value divide(mlir::Value a, mlir::Value b);
  /// The less and the greater of signed values.
  mlir::Value least(mlir::Value a, mlir::Value b);
  mlir::Value greatest(mlir::Value a, mlir::Value b);
  /// Of signed values, rounded down.
  mlir::Value divideFloor(mlir::Value a, int64_t b);
  mlir::Value remainder(mlir::Value a, int64_t b);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value isNonzero(mlir::Value value);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Unsigned conversion to `index`.
  mlir::Value toIndex(mlir::Value value);
  mlir::Value toSignedIndex(mlir::Value value);
  mlir::Value toInteger(mlir::Value index, unsigned width);
};

} // namespace metate

#endif
