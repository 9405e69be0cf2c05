//===- Types.cpp - data types of kernels ------------------------*- C++ -*-===//
#include "metate/Frontend/Types.h"
#include "metate/Dialect/Quant.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

namespace {
enum class Kind { BOOL, INT, UINT, FLOAT, BFLOAT };

struct ScalarInfo {
  const char *name;
  unsigned bits;
  Kind kind;
};
} // namespace

/// Indexed by metate_dtype.
static constexpr ScalarInfo scalars[] = {{"", 0, Kind::BOOL},
#define METATE_DTYPE(NAME, code, name, bits, KIND, type) {#name, bits, Kind::KIND},
                                         METATE_DTYPES(METATE_DTYPE)
#undef METATE_DTYPE
};

bool frontend::isFloat(Scalar scalar) {
  return scalars[scalar].kind == Kind::FLOAT || scalars[scalar].kind == Kind::BFLOAT;
}
bool frontend::isSigned(Scalar scalar) {
  return scalars[scalar].kind == Kind::INT || isFloat(scalar);
}
bool frontend::isInteger(Scalar scalar) { return !isFloat(scalar) && scalar != METATE_U1; }
unsigned frontend::bitWidth(Scalar scalar) { return scalars[scalar].bits; }
StringRef frontend::scalarName(Scalar scalar) { return scalars[scalar].name; }

int64_t DataType::count() const {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

std::string DataType::name() const {
  if (isScalar())
    return scalarName(scalar).str();
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << (isVector() ? "vector(" : "matrix(");
  for (int64_t extent : shape)
    stream << extent << ", ";
  stream << scalarName(scalar) << ")";
  return text;
}

Type frontend::registerType(MLIRContext *context, Scalar scalar) {
  switch (scalar) {
  case METATE_F16:
    return Float16Type::get(context);
  case METATE_BF16:
    return BFloat16Type::get(context);
  case METATE_F32:
    return Float32Type::get(context);
  case METATE_F64:
    return Float64Type::get(context);
  default:
    return IntegerType::get(context, bitWidth(scalar));
  }
}

Type frontend::registerType(MLIRContext *context, const DataType &type) {
  Type scalar = registerType(context, type.scalar);
  return type.isScalar() ? scalar : VectorType::get(type.shape, scalar);
}

Type frontend::signedType(MLIRContext *context, Scalar scalar) {
  if (isInteger(scalar) && !isSigned(scalar))
    return IntegerType::get(context, bitWidth(scalar), IntegerType::Unsigned);
  return registerType(context, scalar);
}

static Scalar fromScalarType(Type type) {
  if (isa<Float16Type>(type))
    return METATE_F16;
  if (isa<BFloat16Type>(type))
    return METATE_BF16;
  if (isa<Float32Type>(type))
    return METATE_F32;
  if (isa<Float64Type>(type))
    return METATE_F64;
  auto integer = cast<IntegerType>(type);
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return METATE_U1;
  case 8:
    return isUnsigned ? METATE_U8 : METATE_I8;
  case 16:
    return isUnsigned ? METATE_U16 : METATE_I16;
  case 32:
    return isUnsigned ? METATE_U32 : METATE_I32;
  default:
    return isUnsigned ? METATE_U64 : METATE_I64;
  }
}

DataType frontend::fromMemberType(Type type) {
  if (std::optional<QuantFormat> format = QuantFormat::of(type))
    return DataType(fromScalarType(format->compute));
  if (auto vector = dyn_cast<VectorType>(type))
    return DataType(fromScalarType(vector.getElementType()), vector.getShape());
  return DataType(fromScalarType(type));
}

Scalar frontend::promote(Scalar left, Scalar right) {
  if (left == right)
    return left;
  if (isFloat(left) != isFloat(right))
    return isFloat(left) ? left : right;
  if (bitWidth(left) != bitWidth(right))
    return bitWidth(left) > bitWidth(right) ? left : right;
  if (isFloat(left))
    return METATE_F32; // f16 and bf16
  return isSigned(left) != isMutant(Mutant::PromoteSignedWins) ? right : left;
}

bool frontend::isLossless(Scalar from, Scalar to) {
  if (from == to || from == METATE_U1)
    return true;
  if (to == METATE_U1)
    return false;
  if (isFloat(from))
    return isFloat(to) && bitWidth(to) > bitWidth(from);
  if (isFloat(to)) // a local that counts in floats is common: integers to
                   // floats do not warn
    return true;
  if (isSigned(from) != isSigned(to))
    return isSigned(to) && bitWidth(to) > bitWidth(from);
  return bitWidth(to) >= bitWidth(from);
}
