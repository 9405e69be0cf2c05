//===- QuantArith.h - decoding and encoding as arithmetic -------*- C++ -*-===//
//
// What the bits of a quantised member mean (docs/semantics.md, QV1 to QV4), as operations of arith and math: of scalars, and of
// vectors of them.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_QUANTARITH_H
#define METATE_TRANSFORMS_QUANTARITH_H

#include "metate/Dialect/Quant.h"

namespace metate {

/// The value, of the format's compute type without its sign, of stored bits.
mlir::Value expandDecode(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits,
                         const QuantFormat &format);
/// The stored bits of a value. Not of a format whose exponent is shared.
mlir::Value expandEncode(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         const QuantFormat &format);

/// Floats that share an exponent, each with its digits and sign as lowest bits.
struct SharedBits {
  mlir::Value exponent; ///< as wide as the exponent
  llvm::SmallVector<mlir::Value> fractions;
};
SharedBits expandShared(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange values,
                        llvm::ArrayRef<QuantFormat> formats);

/// Whether a store says the value as it is, but for rounding: i1. False of what is beyond the greatest and least number, and of NaN.
mlir::Value isInRange(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      const QuantFormat &format);
/// The least and the greatest number of a format, as texts.
std::pair<std::string, std::string> shownRange(const QuantFormat &format);

} // namespace metate

#endif
