//===- QuantArith.cpp - decoding and encoding as arithmetic -----*- C++ -*-===//
#include "metate/Transforms/QuantArith.h"

#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace metate;

namespace {
/// Arithmetic of values of one shape.
class Arith {
public:
  Arith(OpBuilder &builder, Location loc, Type shape, const QuantFormat &format)
      : builder(builder), loc(loc), vector(dyn_cast<VectorType>(shape)),
        real(isa<FloatType>(format.compute) ? format.compute : Type()) {
    if (real)
      word = integerType(width());
  }

  unsigned width() const { return real.getIntOrFloatBitWidth(); }
  /// Digits of the compute type behind its hidden one, and what its exponents count from.
  unsigned digits() const { return real.isF64() ? 52 : 23; }
  int64_t bias() const { return real.isF64() ? 1023 : 127; }

  Type shaped(Type element) const {
    return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
  }
  Type integerType(unsigned bits) const { return shaped(builder.getIntegerType(bits)); }
  Value integer(int64_t value, unsigned bits) const {
    return constant(
        builder.getIntegerAttr(builder.getIntegerType(bits), APInt(64, value).sextOrTrunc(bits)));
  }
  Value wordOf(uint64_t value) const { return integer(int64_t(value), width()); }
  Value number(double value) const { return constant(builder.getFloatAttr(real, value)); }
  Value power(int64_t exponent) const { return number(std::ldexp(1.0, int(exponent))); }

  template <typename Op> Value make(Value a, Value b) const {
    return Op::create(builder, loc, a, b);
  }
  Value resized(Value integer, unsigned bits, bool isSigned) const {
    unsigned from = getElementTypeOrSelf(integer.getType()).getIntOrFloatBitWidth();
    if (from == bits)
      return integer;
    if (from > bits)
      return arith::TruncIOp::create(builder, loc, integerType(bits), integer);
    if (isSigned)
      return arith::ExtSIOp::create(builder, loc, integerType(bits), integer);
    return arith::ExtUIOp::create(builder, loc, integerType(bits), integer);
  }
  Value toReal(Value integer) const {
    return arith::SIToFPOp::create(builder, loc, shaped(real), integer);
  }
  Value toInteger(Value number, unsigned bits) const {
    return arith::FPToSIOp::create(builder, loc, integerType(bits), number);
  }
  Value asWord(Value number) const { return arith::BitcastOp::create(builder, loc, word, number); }
  Value asReal(Value bits) const {
    return arith::BitcastOp::create(builder, loc, shaped(real), bits);
  }
  Value shl(Value value, int64_t by) const {
    return by ? make<arith::ShLIOp>(value, wordOf(by)) : value;
  }
  Value shr(Value value, int64_t by) const {
    return by ? make<arith::ShRUIOp>(value, wordOf(by)) : value;
  }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>(a, b); }
  Value abs(Value value) const { return math::AbsFOp::create(builder, loc, value); }
  Value round(Value value) const { return math::RoundOp::create(builder, loc, value); }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) const {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) const {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) const {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  /// The value times 2^exponent, an integer of the compute type's width: in two steps, so that neither leaves its range.
  Value scaled(Value value, Value exponent) const {
    Value half = make<arith::ShRSIOp>(exponent, wordOf(1));
    Value rest = make<arith::SubIOp>(exponent, half);
    auto power = [&](Value e) {
      return asReal(shl(make<arith::AddIOp>(e, wordOf(bias())), digits()));
    };
    return mul(mul(value, power(half)), power(rest));
  }

private:
  Value constant(TypedAttr value) const {
    if (!vector)
      return arith::ConstantOp::create(builder, loc, value);
    Type type = VectorType::get(vector.getShape(), value.getType());
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(cast<ShapedType>(type), Attribute(value)));
  }

  OpBuilder &builder;
  Location loc;
  VectorType vector;
  Type real; ///< null of integers
  Type word;
};
} // namespace

//===-- decode --------------------------------------------------------------===//

/// A power of two that takes the exponents of a format to those of the compute type; subnormal numbers come out right.
static Value decodeFloat(const Arith &at, Value bits, const QuantFormat &format) {
  Value word = at.resized(bits, at.width(), false);
  unsigned below = format.digits() + format.exponentBits;
  Value magnitude = at.make<arith::AndIOp>(word, at.wordOf((uint64_t(1) << below) - 1));
  Value value = at.asReal(at.shl(magnitude, at.digits() - format.digits()));
  if (int64_t shift = at.bias() - format.bias())
    value = at.mul(value, at.power(shift));
  if (!format.isSigned)
    return value;
  Value sign = at.shl(at.shr(word, below), at.width() - 1);
  return at.asReal(at.make<arith::OrIOp>(at.asWord(value), sign));
}

static Value decodeShared(const Arith &at, Value bits, const QuantFormat &format) {
  Value word = at.resized(bits, at.width(), false);
  Value digits = at.make<arith::AndIOp>(word, at.wordOf((uint64_t(1) << format.digits()) - 1));
  Value exponent = at.shr(word, format.fractionBits());
  Value unit = at.make<arith::SubIOp>(exponent, at.wordOf(format.bias() + format.digits() - 1));
  Value value = at.scaled(at.toReal(digits), unit);
  if (!format.isSigned)
    return value;
  Value sign = at.make<arith::AndIOp>(at.shr(word, format.digits()), at.wordOf(1));
  return at.asReal(at.make<arith::OrIOp>(at.asWord(value), at.shl(sign, at.width() - 1)));
}

Value metate::expandDecode(OpBuilder &builder, Location loc, Value bits,
                           const QuantFormat &format) {
  Arith at(builder, loc, bits.getType(), format);
  bool isSigned = format.isSigned && !isMutant(Mutant::QuantSignForgotten);
  if (format.kind == QuantFormat::Int)
    return at.resized(bits, format.compute.getIntOrFloatBitWidth(), isSigned);
  if (format.kind == QuantFormat::Float)
    return format.isShared ? decodeShared(at, bits, format) : decodeFloat(at, bits, format);
  unsigned width = format.bits + !format.isSigned <= 32 ? 32 : 64;
  return at.mul(at.toReal(at.resized(bits, width, isSigned)), at.number(format.scale));
}

//===-- encode --------------------------------------------------------------===//

/// Half away from zero; what no integer of the width holds, and NaN, gives 0.
static Value toRoundedInteger(const Arith &at, Value value, unsigned width) {
  Value rounded = isMutant(Mutant::QuantTruncated) ? value : at.round(value);
  Value isHeld = at.compare(arith::CmpFPredicate::OLT, at.abs(rounded), at.power(width - 1));
  return at.toInteger(at.select(isHeld, rounded, at.number(0)), width);
}

static Value encodeFloat(const Arith &at, Value value, const QuantFormat &format) {
  unsigned digits = format.digits(), cut = at.digits() - digits;
  Value word = at.asWord(value);
  Value magnitude = at.make<arith::AndIOp>(word, at.wordOf(~uint64_t(0) >> (65 - at.width())));
  // Half of the last digit is added, which rounds away from zero and carries into the exponent.
  Value half = at.wordOf(cut ? uint64_t(1) << (cut - 1) : 0);
  Value code = at.shr(at.make<arith::AddIOp>(magnitude, half), cut);
  int64_t shift = at.bias() - format.bias();
  if (shift) { // numbers below the first exponent count steps of the least one
    code = at.make<arith::SubIOp>(code, at.wordOf(uint64_t(shift) << digits));
    Value size = at.abs(value);
    Value isSmall = at.compare(arith::CmpFPredicate::OLT, size, at.power(1 - format.bias()));
    Value steps = at.mul(at.select(isSmall, size, at.number(0)),
                         at.power(format.bias() - 1 + int64_t(digits)));
    code = at.select(isSmall, at.toInteger(at.round(steps), at.width()), code);
  }
  uint64_t most = (uint64_t(format.greatestExponent()) << digits) + (uint64_t(1) << digits) - 1;
  code = at.make<arith::MinSIOp>(code, at.wordOf(most));
  Value isNone = at.compare(arith::CmpFPredicate::UNO, value, value);
  if (!format.isSigned) {
    Value isNegative = at.compare(arith::CmpIPredicate::slt, word, at.wordOf(0));
    isNone = at.make<arith::OrIOp>(isNone, isNegative);
  } else {
    Value sign = at.shl(at.shr(word, at.width() - 1), digits + format.exponentBits);
    code = at.make<arith::OrIOp>(code, sign);
  }
  return at.resized(at.select(isNone, at.wordOf(0), code), format.bits, false);
}

Value metate::expandEncode(OpBuilder &builder, Location loc, Value value,
                           const QuantFormat &format) {
  Arith at(builder, loc, value.getType(), format);
  if (format.kind == QuantFormat::Int)
    return at.resized(value, format.bits, false);
  if (format.kind == QuantFormat::Float)
    return encodeFloat(at, value, format);
  // The number of the compute type that is next to 1 / scale.
  double reciprocal = 1 / format.scale;
  Value steps = at.mul(value, at.number(reciprocal));
  return at.resized(toRoundedInteger(at, steps, format.bits < 32 ? 32 : 64), format.bits, false);
}

SharedBits metate::expandShared(OpBuilder &builder, Location loc, ValueRange values,
                                ArrayRef<QuantFormat> formats) {
  Arith at(builder, loc, values[0].getType(), formats[0]);
  Value exponent = at.wordOf(0);
  SmallVector<Value> sizes;
  for (auto [value, format] : llvm::zip(values, formats)) {
    Value isNone = at.compare(arith::CmpFPredicate::UNO, value, value);
    if (!format.isSigned)
      isNone = at.make<arith::OrIOp>(
          isNone, at.compare(arith::CmpIPredicate::slt, at.asWord(value), at.wordOf(0)));
    sizes.push_back(at.select(isNone, at.number(0), at.abs(value)));
    // The exponent of the number rounded to so many digits, the first one counted.
    unsigned cut = at.digits() + 1 - format.digits();
    Value rounded = at.make<arith::AddIOp>(at.asWord(sizes.back()),
                                           at.wordOf(cut ? uint64_t(1) << (cut - 1) : 0));
    Value own =
        at.make<arith::SubIOp>(at.shr(rounded, at.digits()), at.wordOf(at.bias() - format.bias()));
    exponent = at.make<arith::MaxSIOp>(exponent, own);
  }
  exponent = at.make<arith::MinSIOp>(exponent, at.wordOf(formats[0].greatestExponent()));
  SharedBits result{at.resized(exponent, formats[0].exponentBits, false), {}};
  for (auto [value, size, format] : llvm::zip(values, sizes, formats)) {
    Value unit = at.make<arith::SubIOp>(at.wordOf(format.bias() + format.digits() - 1), exponent);
    double most = std::ldexp(1.0, int(format.digits())) - 1;
    Value scaled = at.round(at.scaled(size, unit));
    Value isHeld = at.compare(arith::CmpFPredicate::OLT, scaled, at.number(most));
    Value digits = at.toInteger(at.select(isHeld, scaled, at.number(most)), at.width());
    if (format.isSigned) {
      Value isNumber = at.compare(arith::CmpFPredicate::ORD, value, value);
      Value sign = at.shl(at.shr(at.asWord(value), at.width() - 1), format.digits());
      digits = at.make<arith::OrIOp>(digits, at.select(isNumber, sign, at.wordOf(0)));
    }
    result.fractions.push_back(at.resized(digits, format.fractionBits(), false));
  }
  return result;
}

//===-- range ---------------------------------------------------------------===//

/// The least and the greatest of the integers that are stored.
static std::pair<double, double> integerRange(const QuantFormat &format) {
  unsigned above = format.bits - format.isSigned;
  return {format.isSigned ? -std::ldexp(1.0, int(above)) : 0.0, std::ldexp(1.0, int(above)) - 1};
}

static double greatestFloat(const QuantFormat &format) {
  int64_t exponent = format.greatestExponent() - format.bias();
  unsigned digits = format.digits();
  if (format.isShared) // d * 2^(E - bias - (digits - 1))
    return std::ldexp(std::ldexp(1.0, int(digits)) - 1, int(exponent - (digits - 1)));
  return std::ldexp(2 - std::ldexp(1.0, -int(digits)), int(exponent));
}

std::pair<std::string, std::string> metate::shownRange(const QuantFormat &format) {
  auto shown = [](double number) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.9g", number);
    return text;
  };
  if (format.kind == QuantFormat::Float) {
    double most = greatestFloat(format);
    return {format.isSigned ? shown(-most) : "0", shown(most)};
  }
  if (format.kind == QuantFormat::Int) {
    APInt least = format.isSigned ? APInt::getSignedMinValue(format.bits) : APInt(format.bits, 0);
    APInt most =
        format.isSigned ? APInt::getSignedMaxValue(format.bits) : APInt::getMaxValue(format.bits);
    return {llvm::toString(least, 10, format.isSigned), llvm::toString(most, 10, format.isSigned)};
  }
  auto [least, most] = integerRange(format);
  return {shown(least * format.scale), shown(most * format.scale)};
}

Value metate::isInRange(OpBuilder &builder, Location loc, Value value, const QuantFormat &format) {
  Arith at(builder, loc, value.getType(), format);
  if (format.kind == QuantFormat::Int) {
    unsigned width = format.compute.getIntOrFloatBitWidth();
    if (width == format.bits)
      return at.integer(1, 1);
    Value kept = at.resized(at.resized(value, format.bits, false), width, format.isSigned);
    return at.compare(arith::CmpIPredicate::eq, kept, value);
  }
  if (format.kind == QuantFormat::Fixed) {
    auto [least, most] = integerRange(format);
    Value steps = at.round(at.mul(value, at.number(1 / format.scale)));
    return at.make<arith::AndIOp>(at.compare(arith::CmpFPredicate::OGE, steps, at.number(least)),
                                  at.compare(arith::CmpFPredicate::OLE, steps, at.number(most)));
  }
  // What rounds to the greatest is within half of its last digit.
  double most = greatestFloat(format);
  Value within = at.compare(arith::CmpFPredicate::OLE, at.abs(value), at.number(most));
  if (format.isSigned)
    return within;
  return at.make<arith::AndIOp>(within, at.compare(arith::CmpFPredicate::OGE, value, at.number(0)));
}
