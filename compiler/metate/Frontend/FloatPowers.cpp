//===- FloatPowers.cpp - powers of floats that are products -----*- C++ -*-===//
//
// By repeated squaring x ** n is at most (n - 1) / 2 units in the last place off, and takes a twentieth of pow's time; (1 / x) ** n has a rounding
// more, n times. Halves have a root. What is left is pow, as are f16 and bf16 but for constant whole exponents: theirs is rounded once.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Frontend/KernelBuilder.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

/// Up to which exponent products stand for a power.
static int64_t mostMultiplied(bool isFastMath) { return isFastMath ? 64 : 16; }
/// Bits of an exponent that is known at run time.
static constexpr unsigned exponentBits = 4;

static bool isSingleOrDouble(const DataType &type) {
  return type.scalar == METATE_F32 || type.scalar == METATE_F64;
}

/// 2 n, of a scalar or all components of a vector that are the constant n, a multiple of a half.
static std::optional<int64_t> twiceKnown(Value value, int64_t most) {
  APFloat known(0.0);
  if (!matchPattern(value, m_ConstantFloat(&known)))
    return std::nullopt;
  bool inexact;
  known.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  double twice = 2 * known.convertToDouble();
  bool isSmall = std::abs(twice) <= double(2 * most);
  return isSmall && twice == double(int64_t(twice)) ? std::optional(int64_t(twice)) : std::nullopt;
}

KernelValue KernelBuilder::powerByProducts(const KernelValue &left, const KernelValue &right) {
  const int64_t most = mostMultiplied(settings.fastMath);
  KernelValue base = left, exponent = right;
  if (std::optional<int64_t> known = knownInteger(right)) {
    base = cast(left, promote(left.type.scalar, right.type.scalar));
    return *known >= 0 || isSingleOrDouble(base.type) ? wholePower(base, *known) : KernelValue{};
  }
  if (right.type.isFloat()) {
    std::optional<int64_t> twice = twiceKnown(right.ir, most);
    if (!twice || !unify("**", base, exponent, true) || !isSingleOrDouble(base.type))
      return {};
    return *twice % 2 ? halfPower(base, *twice) : wholePower(base, *twice / 2);
  }
  bool isWhole = right.type.isInteger() && right.type.isScalar() && right.type.scalar != METATE_U1;
  return isWhole && isSingleOrDouble(left.type) ? smallPower(left, right) : KernelValue{};
}

/// x ** n of a known n; null: of too large a one. Of n below zero n times the inverse, which is not rounded to 0 for an infinite power.
KernelValue KernelBuilder::wholePower(const KernelValue &base, int64_t exponent) {
  if (std::abs(exponent) > mostMultiplied(settings.fastMath))
    return {};
  if (exponent >= 0)
    return multiplyOut(base, exponent);
  KernelValue one = {constant(base.type, int64_t(1)), base.type};
  if (settings.fastMath)
    return divide(one, multiplyOut(base, -exponent));
  return multiplyOut(divide(one, base), -exponent);
}

/// x ** (twice / 2): a product with the root. As pow has it, -0 and -infinity have roots, other numbers below zero none.
KernelValue KernelBuilder::halfPower(const KernelValue &base, int64_t twice) {
  const DataType &type = base.type;
  KernelValue number = base, zero = {constant(type, 0.0), type};
  if (twice < 0)
    number = divide({constant(type, int64_t(1)), type}, base);
  KernelValue size = settings.fastMath ? number : function("abs", number);
  KernelValue result = function("sqrt", size);
  if (int64_t whole = std::abs(twice) / 2)
    result = arithmetic("*", multiplyOut(size, whole), result);
  if (settings.fastMath)
    return result;
  double infinity = std::numeric_limits<double>::infinity();
  KernelValue isBelow = compare("<", number, zero),
              isFinite = compare(">", number, {constant(type, -infinity), type});
  KernelValue none = {constant(type, std::numeric_limits<double>::quiet_NaN()), type};
  return select(bitwise("&", isBelow, isFinite), none, result);
}

/// x ** n of a number n of integers that is known at run time: where it is small, products by the bits of the exponent.
KernelValue KernelBuilder::smallPower(const KernelValue &base, const KernelValue &exponent) {
  const DataType &type = base.type, &whole = exponent.type;
  auto chosen = [&](Value condition, Value yes, Value no) {
    return builder.createOrFold<arith::SelectOp>(loc(), condition, yes, no);
  };
  Value n = exponent.ir, zero = constant(whole, int64_t(0)), isNegative;
  if (whole.isSigned()) {
    isNegative = builder.createOrFold<arith::CmpIOp>(loc(), arith::CmpIPredicate::slt, n, zero);
    n = chosen(isNegative, builder.createOrFold<arith::SubIOp>(loc(), zero, n), n);
  }
  Value isSmall = builder.createOrFold<arith::CmpIOp>(loc(), arith::CmpIPredicate::ult, n,
                                                      constant(whole, int64_t(1) << exponentBits));
  auto products = [&](OpBuilder &, Location) {
    KernelValue one = {constant(type, int64_t(1)), type}, square = base, result = one;
    if (isNegative) { // a branch: a loop whose exponents are one divides nothing, or all
      auto inverse = [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc(), divide(one, base).ir);
      };
      auto same = [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc(), base.ir); };
      square.ir = scf::IfOp::create(builder, loc(), isNegative, inverse, same).getResult(0);
    }
    for (unsigned bit = 0; bit < exponentBits; ++bit) {
      Value part =
          builder.createOrFold<arith::AndIOp>(loc(), n, constant(whole, int64_t(1) << bit));
      Value isSet =
          builder.createOrFold<arith::CmpIOp>(loc(), arith::CmpIPredicate::ne, part, zero);
      if (bit + 1 < exponentBits || !isMutant(Mutant::SmallPowerShort))
        result.ir = chosen(isSet, arithmetic("*", result, square).ir, result.ir);
      if (bit + 1 < exponentBits)
        square = arithmetic("*", square, square);
    }
    scf::YieldOp::create(builder, loc(), result.ir);
  };
  auto power = [&](OpBuilder &, Location) {
    KernelValue number = cast(exponent, type.scalar);
    if (!type.isScalar())
      number = {spread(number.ir, type), type};
    Value result = ElementaryOp::create(builder, loc(), ElementaryFunction::Pow,
                                        ValueRange{base.ir, number.ir});
    scf::YieldOp::create(builder, loc(), result);
  };
  auto either = scf::IfOp::create(builder, loc(), isSmall, products, power);
  return {either.getResult(0), type};
}
