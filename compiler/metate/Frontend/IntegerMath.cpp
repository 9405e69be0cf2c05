//===- IntegerMath.cpp - division, remainder, powers ------------*- C++ -*-===//
//
// `//` and `%` round towards minus infinity, as Python's. A division by zero
// gives zero and the least integer by -1 wraps: no operation of a kernel traps.
// Guards are left out where the divisor is a known constant. `**` of integers
// is exact (and wraps); a negative exponent gives the truncated value: 0, or 1
// and -1 for bases 1 and -1.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Frontend/KernelBuilder.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

namespace {
/// Integer operations on two values of one type, with their folds.
struct IntegerOps {
  OpBuilder &builder;
  Location loc;

  template <typename Op> Value make(Value a, Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
  }
  Value select(Value condition, Value yes, Value no) {
    return builder.createOrFold<arith::SelectOp>(loc, condition, yes, no);
  }
};
} // namespace

/// The constant that a scalar or every component of a vector is.
static std::optional<APInt> knownDivisor(Value value) {
  APInt bits;
  if (matchPattern(value, m_ConstantInt(&bits)))
    return bits;
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return elements.getSplatValue<APInt>();
  return std::nullopt;
}

KernelValue KernelBuilder::integerDivision(StringRef op, const KernelValue &left,
                                           const KernelValue &right) {
  IntegerOps ops{builder, loc()};
  const DataType &type = left.type;
  bool isRemainder = op == "%" || op == "raw_mod", isFloor = op == "//" || op == "%";
  Value a = left.ir, b = right.ir;
  Value zero = constant(type, int64_t(0)), one = constant(type, int64_t(1));
  std::optional<APInt> known = knownDivisor(b);
  auto result = [&](Value value) { return KernelValue{value, type}; };
  // The user's divisor, compared with zero: debug mode and the interpreter look for the mark.
  auto marked = [&] {
    auto compare = arith::CmpIOp::create(builder, loc(), arith::CmpIPredicate::eq, b, zero);
    setMark(compare, mark::divisor);
    return compare.getResult();
  };
  if (known && known->isZero()) {
    marked();
    return result(zero);
  }
  if (known && known->isPowerOf2() && !(type.isSigned() && (known->isNegative() || !isFloor))) {
    if (isRemainder)
      return result(ops.make<arith::AndIOp>(a, ops.make<arith::SubIOp>(b, one)));
    Value amount = constant(type, int64_t(known->logBase2()));
    return result(type.isSigned() ? ops.make<arith::ShRSIOp>(a, amount)
                                  : ops.make<arith::ShRUIOp>(a, amount));
  }
  bool mayBeZero = !known, mayBeMinusOne = type.isSigned() && (!known || known->isAllOnes());
  Value isZero, isMinusOne, divisor = b;
  if (mayBeZero) {
    isZero = marked();
    divisor = ops.select(isZero, one, divisor);
  }
  if (mayBeMinusOne) {
    isMinusOne = ops.compare(arith::CmpIPredicate::eq, b, constant(type, int64_t(-1)));
    divisor = ops.select(isMinusOne, one, divisor);
  }
  Value quotient, remainder;
  if (!type.isSigned()) {
    quotient = ops.make<arith::DivUIOp>(a, divisor);
    remainder = ops.make<arith::RemUIOp>(a, divisor);
  } else {
    quotient = ops.make<arith::DivSIOp>(a, divisor);
    remainder = ops.make<arith::RemSIOp>(a, divisor);
    // towards minus infinity: one less where the remainder has the other sign
    if (isFloor && !isMutant(Mutant::FloorDivisionSign)) {
      Value differs =
          ops.compare(arith::CmpIPredicate::slt, ops.make<arith::XOrIOp>(remainder, divisor), zero);
      Value isInexact = ops.compare(arith::CmpIPredicate::ne, remainder, zero);
      Value adjust = ops.make<arith::AndIOp>(differs, isInexact);
      quotient = ops.select(adjust, ops.make<arith::SubIOp>(quotient, one), quotient);
      remainder = ops.select(adjust, ops.make<arith::AddIOp>(remainder, divisor), remainder);
    }
  }
  Value value = isRemainder ? remainder : quotient;
  if (mayBeMinusOne) // the divisor was replaced by one, so the remainder is
                     // zero already
    value = isRemainder ? value : ops.select(isMinusOne, ops.make<arith::SubIOp>(zero, a), value);
  if (mayBeZero)
    value = ops.select(isZero, zero, value);
  return result(value);
}

/// a - floor(a / b) * b, so that quotient and remainder fit together: of f32, 4.0 // 0.8 is 5 and 4.0 % 0.8 is 0. The
/// product is rounded on its own: fused, it would leave the rounding of the quotient behind.
KernelValue KernelBuilder::floatModulo(const KernelValue &left, const KernelValue &right) {
  const DataType &type = left.type;
  arith::FastMathFlags flags =
      settings.fastMath ? arith::FastMathFlags::fast : arith::FastMathFlags::none;
  KernelValue quotient = {builder.createOrFold<arith::DivFOp>(loc(), left.ir, right.ir, fast()),
                          type};
  quotient = function(isMutant(Mutant::FloatModuloSign) ? "trunc" : "floor", quotient);
  Value product = builder.createOrFold<arith::MulFOp>(loc(), quotient.ir, right.ir, flags);
  return {builder.createOrFold<arith::SubFOp>(loc(), left.ir, product, flags), type};
}

/// Is a scalar, or every component of a vector, the constant 2.0?
static bool isTwo(Value value) {
  APFloat known(0.0);
  return matchPattern(value, m_ConstantFloat(&known)) && known.isExactlyValue(2.0);
}

KernelValue KernelBuilder::power(KernelValue left, KernelValue right) {
  if (!left || !right)
    return {};
  std::optional<int64_t> known = knownInteger(right);
  if (left.type.isFloat() || right.type.isFloat()) {
    if (KernelValue product = powerByProducts(left, right))
      return product;
  } else if (known && *known >= 0) {
    Scalar scalar = promote(left.type.scalar, right.type.scalar);
    return multiplyOut(cast(left, scalar == METATE_U1 ? settings.defaultInteger : scalar), *known);
  }
  if (!unify("**", left, right, true))
    return {};
  if (left.type.isFloat() && isTwo(left.ir))
    return function("exp2", right); // as accurate, in a third of the time
  if (left.type.isFloat())
    return {ElementaryOp::create(builder, loc(), ElementaryFunction::Pow,
                                 ValueRange{left.ir, right.ir}),
            left.type};
  if (left.type.isScalar())
    return integerPower(left, right);
  SmallVector<KernelValue> parts;
  for (auto [base, exponent] : llvm::zip(elements(left), elements(right)))
    parts.push_back(integerPower(base, exponent));
  return fromElements(parts, left.type);
}

/// By repeated squaring, for a known exponent.
KernelValue KernelBuilder::multiplyOut(const KernelValue &base, int64_t exponent) {
  KernelValue square = base, result;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1)
      result = result ? arithmetic("*", result, square) : square;
    if (exponent > 1)
      square = arithmetic("*", square, square);
  }
  return result ? result : KernelValue{constant(base.type, int64_t(1)), base.type};
}

/// By repeated squaring, in a loop over the exponent's bits.
KernelValue KernelBuilder::integerPower(const KernelValue &base, const KernelValue &exponent) {
  IntegerOps ops{builder, loc()};
  const DataType &type = base.type;
  Type irType = ir(type);
  Value zero = constant(type, int64_t(0)), one = constant(type, int64_t(1));
  auto loop = scf::WhileOp::create(
      builder, loc(), TypeRange{irType, irType, irType}, ValueRange{one, base.ir, exponent.ir},
      [&](OpBuilder &, Location place, ValueRange values) {
        auto more = type.isSigned() ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::ugt;
        scf::ConditionOp::create(builder, place, ops.compare(more, values[2], zero), values);
      },
      [&](OpBuilder &, Location place, ValueRange values) {
        Value isOdd =
            ops.compare(arith::CmpIPredicate::ne, ops.make<arith::AndIOp>(values[2], one), zero);
        Value rest = ops.make<arith::ShRUIOp>(values[2], one);
        Value isLast = ops.compare(arith::CmpIPredicate::eq, rest, zero);
        // Both multiplications are by one where nothing needs them: what wraps then is the user's.
        auto times = [&](Value a, Value b) {
          return arithmetic("*", KernelValue{a, type}, KernelValue{b, type}).ir;
        };
        Value product = times(values[0], ops.select(isOdd, values[1], one));
        Value root = ops.select(isLast, one, values[1]);
        Value square = times(root, root);
        scf::YieldOp::create(builder, place, ValueRange{product, square, rest});
      });
  Value result = loop.getResult(0);
  if (!type.isSigned())
    return {result, type};
  // base ** -n for n > 0: 1 stays 1, -1 alternates, everything else truncates
  // to 0.
  Value minusOne = constant(type, int64_t(-1));
  Value isOdd =
      ops.compare(arith::CmpIPredicate::ne, ops.make<arith::AndIOp>(exponent.ir, one), zero);
  Value ofMinusOne = ops.select(isOdd, minusOne, one);
  Value inverse =
      ops.select(ops.compare(arith::CmpIPredicate::eq, base.ir, minusOne), ofMinusOne, zero);
  inverse = ops.select(ops.compare(arith::CmpIPredicate::eq, base.ir, one), one, inverse);
  Value isNegative = ops.compare(arith::CmpIPredicate::slt, exponent.ir, zero);
  return {ops.select(isNegative, inverse, result), type};
}
