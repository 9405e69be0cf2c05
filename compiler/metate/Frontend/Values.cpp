//===- Values.cpp - constants and casts -------------------------*- C++ -*-===//
//
// Casts have one meaning each: integers wrap; a float to an integer truncates
// and then wraps at narrow widths; anything to u1 asks whether it is not zero.
// A float outside 64 bits has no meaning.
//
//===----------------------------------------------------------------------===//
#include "metate/Frontend/KernelBuilder.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

static TypedAttr spreadAttribute(Type type, TypedAttr scalar) {
  if (auto vector = dyn_cast<VectorType>(type))
    return DenseElementsAttr::get(vector, Attribute(scalar));
  return scalar;
}

Value KernelBuilder::constant(const DataType &type, int64_t value) {
  if (type.isFloat())
    return constant(type, double(value));
  Type scalar = registerType(context(), type.scalar);
  APInt bits = APInt(64, uint64_t(value), /*isSigned=*/true).sextOrTrunc(bitWidth(type.scalar));
  auto attribute = IntegerAttr::get(scalar, bits);
  return arith::ConstantOp::create(builder, loc(), spreadAttribute(ir(type), attribute));
}

Value KernelBuilder::constant(const DataType &type, double value) {
  Type scalar = registerType(context(), type.scalar);
  return arith::ConstantOp::create(builder, loc(),
                                   spreadAttribute(ir(type), builder.getFloatAttr(scalar, value)));
}

KernelValue KernelBuilder::integerConstant(int64_t value, Scalar type) {
  if (type == METATE_U1)
    value = value != 0;
  return {constant(DataType(type), value), DataType(type)};
}

KernelValue KernelBuilder::floatConstant(double value, Scalar type) {
  if (!isFloat(type))
    return cast(floatConstant(value, METATE_F64), type);
  return {constant(DataType(type), value), DataType(type)};
}

KernelValue KernelBuilder::integerLiteral(int64_t value, bool isTooWide) {
  Scalar type = settings.defaultInteger;
  unsigned bits = bitWidth(type);
  bool fits = !isTooWide && (isSigned(type) ? llvm::isIntN(bits, value)
                                            : value >= 0 && llvm::isUIntN(bits, uint64_t(value)));
  if (!fits) {
    fail("literal out of range of " + scalarName(type) + (isTooWide ? "" : ", got " + Twine(value)),
         "give it a type of its own, such as ti.i64(...) or ti.u64(...)");
    return {};
  }
  return integerConstant(value, type);
}

KernelValue KernelBuilder::floatLiteral(double value) {
  return floatConstant(value, settings.defaultFloat);
}

KernelValue KernelBuilder::boolean(bool value) { return integerConstant(value, METATE_U1); }

Value KernelBuilder::convertScalars(Value value, const DataType &from, Scalar to) {
  Type target = ir(from.withScalar(to));
  if (from.scalar == to)
    return value;
  if (to == METATE_U1) {
    Value zero = constant(from, int64_t(0));
    if (from.isFloat())
      return builder.createOrFold<arith::CmpFOp>(loc(), arith::CmpFPredicate::UNE, value, zero);
    return builder.createOrFold<arith::CmpIOp>(loc(), arith::CmpIPredicate::ne, value, zero);
  }
  if (from.isFloat() && isFloat(to)) {
    if (bitWidth(to) > bitWidth(from.scalar))
      return builder.createOrFold<arith::ExtFOp>(loc(), target, value, arith::FastMathFlagsAttr());
    if (bitWidth(to) < bitWidth(from.scalar))
      return builder.createOrFold<arith::TruncFOp>(loc(), target, value);
    Value wide = convertScalars(value, from, METATE_F32); // f16 and bf16
    return convertScalars(wide, from.withScalar(METATE_F32), to);
  }
  if (from.isFloat()) {
    if (isMutant(Mutant::CastClampsNegative) && !isSigned(to))
      value = builder.createOrFold<arith::MaxNumFOp>(loc(), value, constant(from, 0.0));
    if (to == METATE_U64) { // negative values wrap, as in the narrower types
      Value isNegative = builder.createOrFold<arith::CmpFOp>(loc(), arith::CmpFPredicate::OLT,
                                                             value, constant(from, 0.0));
      return builder.createOrFold<arith::SelectOp>(
          loc(), isNegative, builder.createOrFold<arith::FPToSIOp>(loc(), target, value),
          builder.createOrFold<arith::FPToUIOp>(loc(), target, value));
    }
    // Through a wider signed integer, so that negative and large values wrap as
    // integers do.
    Scalar through = isSigned(to) && bitWidth(to) >= 32 ? to
                     : bitWidth(to) >= 32               ? METATE_I64
                                                        : METATE_I32;
    Value integer =
        builder.createOrFold<arith::FPToSIOp>(loc(), ir(from.withScalar(through)), value);
    return convertScalars(integer, from.withScalar(through), to);
  }
  if (isFloat(to) && bitWidth(to) < 32) { // f16 and bf16: rounded twice, of constants as of others
    Value wide = convertScalars(value, from, METATE_F32);
    return convertScalars(wide, from.withScalar(METATE_F32), to);
  }
  if (isFloat(to)) {
    if (from.isSigned() || isMutant(Mutant::UnsignedToFloatSigned))
      return builder.createOrFold<arith::SIToFPOp>(loc(), target, value);
    return builder.createOrFold<arith::UIToFPOp>(loc(), target, value);
  }
  if (bitWidth(to) == bitWidth(from.scalar))
    return value;
  if (bitWidth(to) < bitWidth(from.scalar))
    return builder.createOrFold<arith::TruncIOp>(loc(), target, value);
  if (from.isSigned())
    return builder.createOrFold<arith::ExtSIOp>(loc(), target, value);
  return builder.createOrFold<arith::ExtUIOp>(loc(), target, value);
}

/// A known integer that does not fit is cut off while the kernel runs, where the interpreter sees
/// it; null for any other value.
Value KernelBuilder::castOfConstant(const KernelValue &value, Scalar to) {
  std::optional<int64_t> known = knownInteger(value);
  if (!known || to == METATE_U1 || !isInteger(to) || bitWidth(to) >= bitWidth(value.type.scalar))
    return {};
  bool fits = isSigned(to) ? llvm::isIntN(bitWidth(to), *known)
                           : *known >= 0 && llvm::isUIntN(bitWidth(to), uint64_t(*known));
  return fits ? Value()
              : arith::TruncIOp::create(builder, loc(), registerType(context(), to), value.ir);
}

/// Are all of an integer type's values in a float type? isLossless takes them to be, because nobody
/// wants to be warned of a counter; the values themselves can be looked at.
static bool isExact(Scalar from, Scalar to) {
  unsigned digits = to == METATE_F64 ? 53 : to == METATE_F32 ? 24 : to == METATE_BF16 ? 8 : 11;
  return !isInteger(from) || !isFloat(to) || bitWidth(from) <= digits;
}

/// `metate.cast`: both types, with their signs, at the last operation of a cast that the user
/// wrote or that an assignment implies; the interpreter looks for values that it changes.
void KernelBuilder::markCast(Value result, const KernelValue &value, Scalar to, bool isExplicit) {
  Operation *op = result.getDefiningOp();
  bool isNew = op && result != value.ir && op->getBlock() == builder.getInsertionBlock() &&
               std::next(op->getIterator()) == builder.getInsertionPoint();
  if (!isNew || op->hasAttr(mark::cast) || to == METATE_U1 ||
      (isLossless(value.type.scalar, to) && isExact(value.type.scalar, to)) ||
      isa<arith::ConstantOp>(op))
    return;
  op->setAttr(mark::cast, builder.getTypeArrayAttr({signedType(context(), value.type.scalar),
                                                    signedType(context(), to)}));
  if (isExplicit)
    setMark(op, mark::isExplicit);
}

KernelValue KernelBuilder::cast(const KernelValue &value, Scalar to, bool isExplicit) {
  if (!value)
    return {};
  Value result = castOfConstant(value, to);
  if (!result)
    result = convertScalars(value.ir, value.type, to);
  markCast(result, value, to, isExplicit);
  return {result, value.type.withScalar(to)};
}

Value KernelBuilder::spread(Value scalar, const DataType &to) {
  return builder.createOrFold<vector::BroadcastOp>(loc(), ir(to), scalar);
}

KernelValue KernelBuilder::convert(const KernelValue &value, const DataType &to, StringRef what) {
  if (!value)
    return {};
  if (value.type.shape != to.shape && !value.type.isScalar()) {
    fail(what + ": expected " + to.name() + ", got " + value.type.name());
    return {};
  }
  KernelValue converted = cast(value, to.scalar);
  if (value.type.shape != to.shape)
    converted = {spread(converted.ir, to), to};
  return converted;
}

KernelValue KernelBuilder::bitCast(const KernelValue &value, Scalar to) {
  if (!value)
    return {};
  if (bitWidth(value.type.scalar) != bitWidth(to)) {
    fail("bit_cast: expected a type of " + Twine(bitWidth(value.type.scalar)) +
         " bits, as the value's " + scalarName(value.type.scalar) + " has, got " + scalarName(to) +
         " with " + Twine(bitWidth(to)));
    return {};
  }
  DataType type = value.type.withScalar(to);
  if (ir(type) == value.ir.getType())
    return {value.ir, type};
  return {builder.createOrFold<arith::BitcastOp>(loc(), ir(type), value.ir), type};
}

KernelValue KernelBuilder::truth(const KernelValue &value, StringRef what) {
  if (!value)
    return {};
  if (!value.type.isScalar()) {
    fail(what + ": expected a scalar condition, got " + value.type.name(),
         "reduce it first: .any() or .all()");
    return {};
  }
  return cast(value, METATE_U1);
}

std::optional<int64_t> KernelBuilder::knownInteger(const KernelValue &value) {
  APInt bits;
  if (!value || value.type.isFloat() || !value.type.isScalar() ||
      !matchPattern(value.ir, m_ConstantInt(&bits)))
    return std::nullopt;
  return value.type.isSigned() ? bits.getSExtValue() : int64_t(bits.getZExtValue());
}
