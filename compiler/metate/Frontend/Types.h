//===- Types.h - data types of kernels --------------------------*- C++ -*-===//
//
// What a value in a kernel is: a scalar type with its sign, and a shape for
// vectors and matrices; the rules of promotion; the spelling in IR and in error
// texts. IR types are signless, so the sign lives here and nowhere else. Must
// not build operations.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_FRONTEND_TYPES_H
#define METATE_FRONTEND_TYPES_H

#include "metate/abi/base.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

namespace metate::frontend {

using Scalar = metate_dtype;

bool isFloat(Scalar scalar);
/// Signed integers and floats.
bool isSigned(Scalar scalar);
/// Integers of more than one bit.
bool isInteger(Scalar scalar);
unsigned bitWidth(Scalar scalar);
/// "f32"; of a value that is no scalar type, an empty string.
llvm::StringRef scalarName(Scalar scalar);

/// A scalar (empty shape), a vector (n) or a matrix (n, m).
struct DataType {
  Scalar scalar = METATE_I32;
  llvm::SmallVector<int64_t, 2> shape;

  DataType() = default;
  DataType(Scalar scalar, llvm::ArrayRef<int64_t> shape = {}) : scalar(scalar), shape(shape) {}

  bool isScalar() const { return shape.empty(); }
  bool isVector() const { return shape.size() == 1; }
  bool isMatrix() const { return shape.size() == 2; }
  bool isFloat() const { return frontend::isFloat(scalar); }
  bool isInteger() const { return frontend::isInteger(scalar); }
  bool isBool() const { return scalar == METATE_U1; }
  bool isSigned() const { return frontend::isSigned(scalar); }
  int64_t count() const;
  DataType element() const { return DataType(scalar); }
  DataType withScalar(Scalar other) const { return DataType(other, shape); }
  bool operator==(const DataType &other) const {
    return scalar == other.scalar && shape == other.shape;
  }
  /// "f32", "vector(3, f32)", "matrix(2, 2, i32)".
  std::string name() const;
};

/// The type in registers: signless, vectors for vectors and matrices.
mlir::Type registerType(mlir::MLIRContext *context, const DataType &type);
mlir::Type registerType(mlir::MLIRContext *context, Scalar scalar);
/// The scalar type with its sign (`ui32`), as the module descriptor states it.
mlir::Type signedType(mlir::MLIRContext *context, Scalar scalar);
/// The data type of a tree member's type, which carries its sign.
DataType fromMemberType(mlir::Type type);

/// The common scalar type of two operands: any float beats any integer, the
/// wider wins, unsigned wins at equal width; f16 with bf16 gives f32.
Scalar promote(Scalar left, Scalar right);
/// True if a cast keeps every value: the wider of the same kind, or integers to
/// a float that holds them.
bool isLossless(Scalar from, Scalar to);

} // namespace metate::frontend

#endif
