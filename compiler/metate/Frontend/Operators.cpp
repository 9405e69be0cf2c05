//===- Operators.cpp - arithmetic, comparisons, selection -------*- C++ -*-===//
//
// Operands are brought to a common type first (promote), scalars are spread
// over vectors, and the result has that type; comparisons give u1. Integers are
// two's complement and wrap. Division of integers by zero gives zero, never a
// trap (IntegerMath.cpp).
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Frontend/KernelBuilder.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

// Contraction to fused multiply-add is always allowed; the rest is the kernel's
// choice.
arith::FastMathFlags KernelBuilder::fast() const {
  return settings.fastMath ? arith::FastMathFlags::fast : arith::FastMathFlags::contract;
}

bool KernelBuilder::unify(StringRef op, KernelValue &left, KernelValue &right, bool forArithmetic) {
  if (!left || !right)
    return false;
  if (left.type.shape != right.type.shape && !left.type.isScalar() && !right.type.isScalar()) {
    fail("operands of '" + op + "': expected equal shapes, got " + left.type.name() + " and " +
         right.type.name());
    return false;
  }
  Scalar scalar = promote(left.type.scalar, right.type.scalar);
  if (forArithmetic && scalar == METATE_U1)
    scalar = settings.defaultInteger;
  DataType type(scalar, left.type.isScalar() ? right.type.shape : left.type.shape);
  left = convert(left, type, op);
  right = convert(right, type, op);
  return true;
}

KernelValue KernelBuilder::binary(StringRef op, const KernelValue &left, const KernelValue &right) {
  if (!left || !right)
    return {};
  if (op == "@")
    return matrixProduct(left, right);
  if (op == "/")
    return divide(left, right);
  if (op == "**" || op == "pow")
    return power(left, right);
  if (op == "&" || op == "|" || op == "^")
    return bitwise(op, left, right);
  if (op == "<<" || op == ">>" || op == "bit_shr")
    return shift(op, left, right);
  KernelValue a = left, b = right;
  if (!unify(op, a, b, op != "min" && op != "max"))
    return {};
  return arithmetic(op, a, b);
}

/// Does an operation on two constants wrap?
template <typename Op> static bool wraps(Value a, Value b, bool isSigned) {
  APInt x, y;
  if (!matchPattern(a, m_ConstantInt(&x)) || !matchPattern(b, m_ConstantInt(&y)))
    return false;
  bool overflows;
  if constexpr (std::is_same_v<Op, arith::AddIOp>)
    (void)(isSigned ? x.sadd_ov(y, overflows) : x.uadd_ov(y, overflows));
  else if constexpr (std::is_same_v<Op, arith::SubIOp>)
    (void)(isSigned ? x.ssub_ov(y, overflows) : x.usub_ov(y, overflows));
  else
    (void)(isSigned ? x.smul_ov(y, overflows) : x.umul_ov(y, overflows));
  return overflows;
}

/// The user's addition, subtraction or multiplication. The mark tells it from the compiler's own,
/// and its sign, to the interpreter, which looks for results that wrap; constants that do are
/// left to it.
template <typename Op>
Value KernelBuilder::integerArithmetic(const DataType &type, Value a, Value b) {
  NamedAttribute mark(type.isSigned() ? mark::isSigned : mark::isUnsigned, builder.getUnitAttr());
  if (wraps<Op>(a, b, type.isSigned()))
    return Op::create(builder, loc(), TypeRange{a.getType()}, ValueRange{a, b}, mark);
  return builder.createOrFold<Op>(loc(), TypeRange{a.getType()}, ValueRange{a, b},
                                  ArrayRef<NamedAttribute>(mark));
}

KernelValue KernelBuilder::arithmetic(StringRef op, const KernelValue &left,
                                      const KernelValue &right) {
  Value a = left.ir, b = right.ir;
  const DataType &type = left.type;
  auto result = [&](Value value) { return KernelValue{value, type}; };
  if (type.isFloat()) {
    if (op == "+")
      return result(builder.createOrFold<arith::AddFOp>(loc(), a, b, fast()));
    if (op == "-")
      return result(builder.createOrFold<arith::SubFOp>(loc(), a, b, fast()));
    if (op == "*")
      return result(builder.createOrFold<arith::MulFOp>(loc(), a, b, fast()));
    if (op == "//")
      return function("floor", result(builder.createOrFold<arith::DivFOp>(loc(), a, b, fast())));
    if (op == "%")
      return floatModulo(left, right);
    if (op == "raw_div")
      return function("trunc", result(builder.createOrFold<arith::DivFOp>(loc(), a, b, fast())));
    if (op == "raw_mod")
      return result(builder.createOrFold<arith::RemFOp>(loc(), a, b, fast()));
    if (op == "min")
      return result(builder.createOrFold<arith::MinNumFOp>(loc(), a, b, fast()));
    if (op == "max")
      return result(builder.createOrFold<arith::MaxNumFOp>(loc(), a, b, fast()));
    if (op == "atan2")
      return arcTangent(left, right);
  } else {
    if (op == "+")
      return result(integerArithmetic<arith::AddIOp>(type, a, b));
    if (op == "-")
      return result(integerArithmetic<arith::SubIOp>(type, a, b));
    if (op == "*")
      return result(integerArithmetic<arith::MulIOp>(type, a, b));
    if (op == "min")
      return result(type.isSigned() || isMutant(Mutant::UnsignedMinSigned)
                        ? builder.createOrFold<arith::MinSIOp>(loc(), a, b)
                        : builder.createOrFold<arith::MinUIOp>(loc(), a, b));
    if (op == "max")
      return result(type.isSigned() ? builder.createOrFold<arith::MaxSIOp>(loc(), a, b)
                                    : builder.createOrFold<arith::MaxUIOp>(loc(), a, b));
    if (op == "//" || op == "%" || op == "raw_div" || op == "raw_mod")
      return integerDivision(op, left, right);
    if (op == "atan2")
      return arithmetic(op, cast(left, settings.defaultFloat), cast(right, settings.defaultFloat));
  }
  fail("no operator '" + op + "' for " + type.name());
  return {};
}

KernelValue KernelBuilder::arcTangent(const KernelValue &y, const KernelValue &x) {
  return {ElementaryOp::create(builder, loc(), ElementaryFunction::Atan2, ValueRange{y.ir, x.ir}),
          y.type};
}

KernelValue KernelBuilder::divide(const KernelValue &left, const KernelValue &right) {
  KernelValue a = left, b = right;
  if (!unify("/", a, b, true))
    return {};
  if (!a.type.isFloat()) {
    a = cast(a, settings.defaultFloat);
    b = cast(b, settings.defaultFloat);
  }
  return {builder.createOrFold<arith::DivFOp>(loc(), a.ir, b.ir, fast()), a.type};
}

KernelValue KernelBuilder::bitwise(StringRef op, KernelValue left, KernelValue right) {
  if (!unify(op, left, right, false))
    return {};
  if (left.type.isFloat()) {
    fail("operator '" + op + "': expected integers, got " + left.type.name(),
         "cast to an integer type, or use ti.bit_cast to work on the bits");
    return {};
  }
  Value a = left.ir, b = right.ir;
  if (op == "&")
    return {builder.createOrFold<arith::AndIOp>(loc(), a, b), left.type};
  if (op == "|")
    return {builder.createOrFold<arith::OrIOp>(loc(), a, b), left.type};
  return {builder.createOrFold<arith::XOrIOp>(loc(), a, b), left.type};
}

/// The result has the left operand's type. By the width or more: all bits leave
/// (an arithmetic shift leaves the sign), as in NumPy.
KernelValue KernelBuilder::shift(StringRef op, KernelValue left, KernelValue right) {
  if (left.type.isFloat() || right.type.isFloat()) {
    fail("operator '" + op + "': expected integers, got " + left.type.name() + " and " +
         right.type.name());
    return {};
  }
  if (left.type.isBool())
    left = cast(left, settings.defaultInteger);
  if (!right.type.isScalar() && right.type.shape != left.type.shape) {
    KernelValue unused = right;
    if (!unify(op, left, unused,
               true)) // spreads a scalar on the left, or reports the shapes
      return {};
  }
  std::optional<int64_t> known = knownInteger(right);
  // No cast of the user's: an amount that the left operand's type lacks is asked for below.
  KernelValue amount = {convertScalars(right.ir, right.type, left.type.scalar),
                        right.type.withScalar(left.type.scalar)};
  if (amount.type.shape != left.type.shape)
    amount = {spread(amount.ir, left.type), left.type};
  int64_t width = bitWidth(left.type.scalar);
  bool isArithmetic = op == ">>" && left.type.isSigned();
  bool isInRange = known && *known >= 0 && *known < width;
  Value isOver;
  if (!isInRange) {
    // Asked of the wider of both types: a cast to a narrow one could bring the amount into range.
    bool isWider = bitWidth(right.type.scalar) > width;
    const KernelValue &asked = isWider ? right : amount;
    int64_t first = isMutant(Mutant::ShiftUnguarded) ? 2 * width : width;
    isOver = builder.createOrFold<arith::CmpIOp>(loc(), arith::CmpIPredicate::uge, asked.ir,
                                                 constant(asked.type, first));
    if (isWider && isOver.getType() != ir(amount.type.withScalar(METATE_U1)))
      isOver = spread(isOver, amount.type.withScalar(METATE_U1));
    Value instead = constant(left.type, isArithmetic ? width - 1 : int64_t(0));
    amount.ir = builder.createOrFold<arith::SelectOp>(loc(), isOver, instead, amount.ir);
  }
  Value result;
  if (op == "<<")
    result = builder.createOrFold<arith::ShLIOp>(loc(), left.ir, amount.ir);
  else if (isArithmetic)
    result = builder.createOrFold<arith::ShRSIOp>(loc(), left.ir, amount.ir);
  else
    result = builder.createOrFold<arith::ShRUIOp>(loc(), left.ir, amount.ir);
  if (isOver && !isArithmetic)
    result = builder.createOrFold<arith::SelectOp>(loc(), isOver, constant(left.type, int64_t(0)),
                                                   result);
  return {result, left.type};
}

static arith::CmpFPredicate floatPredicate(StringRef op) {
  return llvm::StringSwitch<arith::CmpFPredicate>(op)
      .Case("==", arith::CmpFPredicate::OEQ)
      .Case("!=", arith::CmpFPredicate::UNE)
      .Case("<", arith::CmpFPredicate::OLT)
      .Case("<=", arith::CmpFPredicate::OLE)
      .Case(">", arith::CmpFPredicate::OGT)
      .Default(arith::CmpFPredicate::OGE);
}

static arith::CmpIPredicate integerPredicate(StringRef op, bool isSigned) {
  using P = arith::CmpIPredicate;
  return llvm::StringSwitch<P>(op)
      .Case("==", P::eq)
      .Case("!=", P::ne)
      .Case("<", isSigned ? P::slt : P::ult)
      .Case("<=", isSigned ? P::sle : P::ule)
      .Case(">", isSigned ? P::sgt : P::ugt)
      .Default(isSigned ? P::sge : P::uge);
}

KernelValue KernelBuilder::compare(StringRef op, const KernelValue &left,
                                   const KernelValue &right) {
  KernelValue a = left, b = right;
  if (!unify(op, a, b, false))
    return {};
  DataType type = a.type.withScalar(METATE_U1);
  if (a.type.isFloat())
    return {builder.createOrFold<arith::CmpFOp>(loc(), floatPredicate(op), a.ir, b.ir), type};
  bool isSigned = a.type.isSigned() || isMutant(Mutant::UnsignedCompareSigned);
  return {builder.createOrFold<arith::CmpIOp>(loc(), integerPredicate(op, isSigned), a.ir, b.ir),
          type};
}

KernelValue KernelBuilder::unary(StringRef op, const KernelValue &value) {
  if (!value)
    return {};
  if (op == "not") {
    KernelValue isTrue = truth(value, "operand of 'not'");
    if (!isTrue)
      return {};
    return {
        builder.createOrFold<arith::XOrIOp>(loc(), isTrue.ir, constant(isTrue.type, int64_t(1))),
        isTrue.type};
  }
  if (op == "~") {
    if (value.type.isFloat()) {
      fail("operator '~': expected an integer, got " + value.type.name());
      return {};
    }
    return {builder.createOrFold<arith::XOrIOp>(loc(), value.ir, constant(value.type, int64_t(-1))),
            value.type};
  }
  KernelValue number = value.type.isBool() ? cast(value, settings.defaultInteger) : value;
  if (op == "+")
    return number;
  if (number.type.isFloat())
    return {builder.createOrFold<arith::NegFOp>(loc(), number.ir, fast()), number.type};
  Value zero = constant(number.type, int64_t(0));
  return {integerArithmetic<arith::SubIOp>(number.type, zero, number.ir), number.type};
}

KernelValue KernelBuilder::select(const KernelValue &condition, const KernelValue &yes,
                                  const KernelValue &no) {
  KernelValue a = yes, b = no;
  if (!condition || !unify("select", a, b, false))
    return {};
  KernelValue isTrue = cast(condition, METATE_U1);
  if (!condition.type.isScalar()) {
    if (a.type.isScalar()) {
      DataType type(a.type.scalar, condition.type.shape);
      a = convert(a, type, "select");
      b = convert(b, type, "select");
    }
    if (a.type.shape != condition.type.shape) {
      fail("select: expected a condition of the values' shape or a scalar, "
           "got " +
           condition.type.name() + " and " + a.type.name());
      return {};
    }
  }
  return {builder.createOrFold<arith::SelectOp>(loc(), isTrue.ir, a.ir, b.ir), a.type};
}
