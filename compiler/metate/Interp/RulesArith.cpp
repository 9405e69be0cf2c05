//===- RulesArith.cpp - integers, floats, comparisons -----------*- C++ -*-===//
//
// Integers are two's complement and wrap; floats are IEEE, each operation rounded once.
//
//===----------------------------------------------------------------------===//
#include "metate/Interp/ArithChecks.h"
#include "metate/Interp/Rules.h"

#include "mlir/Dialect/UB/IR/UBOps.h"

#include <cmath>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

void interp::elementwise(Machine &machine, Operation *op,
                         function_ref<uint64_t(ArrayRef<uint64_t>)> compute) {
  Components result;
  SmallVector<uint64_t, 3> operands(op->getNumOperands());
  Type scalar = scalarOf(op->getResult(0).getType());
  bool findsNaNs = machine.checks.nan && isa<FloatType>(scalar) && !isa<arith::BitcastOp>(op);
  if (findsNaNs)
    machine.nans.forget(op->getResult(0));
  for (int64_t k = 0, count = countOf(op->getResult(0).getType()); k < count; ++k) {
    for (auto [slot, operand] : llvm::zip(operands, op->getOperands())) {
      const Components &components = machine.components(operand);
      slot = components[components.size() == 1 ? 0 : k]; // a scalar condition of a select
    }
    result.push_back(compute(operands));
    if (findsNaNs && isNaN(scalar, result.back()))
      machine.nans.made(machine, op, operands);
  }
  machine.set(op->getResult(0), std::move(result));
}

//===-- integers ------------------------------------------------------------===//

/// An operation of the language on two integers.
enum class Integer {
  Add,
  Sub,
  Mul,
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRight,
  ShiftRightUnsigned,
  Min,
  Max,
  MinUnsigned,
  MaxUnsigned,
  Divide,
  Remainder,
  DivideUnsigned,
  RemainderUnsigned,
  FloorDivide,
  CeilDivide,
  CeilDivideUnsigned
};

/// A division that LLVM leaves undefined: the front end guards its own, so this is a mistake of
/// the compiler's.
static uint64_t undefined(Machine &machine, Operation *op, StringRef what) {
  machine.report("undefined", op, what + " has no meaning: please report", METATE_E_INTERNAL);
  return 0;
}

static uint64_t divide(Machine &machine, Operation *op, Integer kind, uint64_t a, uint64_t b,
                       unsigned width) {
  int64_t x = signedOf(a, width), y = signedOf(b, width);
  bool isUnsigned = kind == Integer::DivideUnsigned || kind == Integer::RemainderUnsigned ||
                    kind == Integer::CeilDivideUnsigned;
  if (!b)
    return undefined(machine, op, "a division by zero");
  if (!isUnsigned && y == -1 && x == signedOf(uint64_t(1) << (width - 1), width))
    return undefined(machine, op, "the least integer divided by -1");
  int64_t quotient = isUnsigned ? 0 : x / y, rest = isUnsigned ? 0 : x % y;
  switch (kind) {
  case Integer::Divide:
    return quotient;
  case Integer::Remainder:
    return rest;
  case Integer::FloorDivide:
    return quotient - (rest && (rest < 0) != (y < 0));
  case Integer::CeilDivide:
    return quotient + (rest && (rest < 0) == (y < 0));
  case Integer::DivideUnsigned:
    return a / b;
  case Integer::RemainderUnsigned:
    return a % b;
  default:
    return a / b + (a % b != 0);
  }
}

static uint64_t shift(Integer kind, uint64_t a, uint64_t amount, unsigned width) {
  if (amount >= width) // poison to LLVM: whatever comes of it must not be used
    return 0;
  if (kind == Integer::ShiftLeft)
    return a << amount;
  return kind == Integer::ShiftRight ? uint64_t(signedOf(a, width) >> amount) : a >> amount;
}

static uint64_t evaluate(Machine &machine, Operation *op, Integer kind, uint64_t a, uint64_t b,
                         unsigned width) {
  int64_t x = signedOf(a, width), y = signedOf(b, width);
  switch (kind) {
  case Integer::Add:
    return a + b;
  case Integer::Sub:
    return a - b;
  case Integer::Mul:
    return a * b;
  case Integer::And:
    return a & b;
  case Integer::Or:
    return a | b;
  case Integer::Xor:
    return a ^ b;
  case Integer::Min:
    return x < y ? a : b;
  case Integer::Max:
    return x > y ? a : b;
  case Integer::MinUnsigned:
    return std::min(a, b);
  case Integer::MaxUnsigned:
    return std::max(a, b);
  case Integer::ShiftLeft:
  case Integer::ShiftRight:
  case Integer::ShiftRightUnsigned:
    return shift(kind, a, b, width);
  default:
    return divide(machine, op, kind, a, b, width);
  }
}

template <typename Op, Integer kind> static void integer(Machine &machine, Op op) {
  unsigned width = widthOf(scalarOf(op.getType()));
  constexpr char symbol = kind == Integer::Add   ? '+'
                          : kind == Integer::Sub ? '-'
                          : kind == Integer::Mul ? '*'
                                                 : 0;
  constexpr bool isUnsigned = kind == Integer::DivideUnsigned || kind == Integer::RemainderUnsigned;
  constexpr bool divides = isUnsigned || kind == Integer::Divide || kind == Integer::Remainder;
  if (divides && machine.checks.division)
    checkDivision(machine, op, isUnsigned);
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    if (symbol && machine.checks.overflow)
      checkOverflow(machine, op, symbol, in[0], in[1]);
    return wrap(evaluate(machine, op, kind, in[0], in[1], width), width);
  });
}

static void compareIntegers(Machine &machine, arith::CmpIOp op) {
  unsigned width = widthOf(scalarOf(op.getLhs().getType()));
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) -> uint64_t {
    return arith::applyCmpPredicate(op.getPredicate(), llvm::APInt(width, in[0]),
                                    llvm::APInt(width, in[1]));
  });
  if (machine.checks.division)
    checkDivisor(machine, op);
}

//===-- floats --------------------------------------------------------------===//

/// min and max of two numbers; of a NaN and a number either the number or, asked so, the NaN.
static double extreme(double a, double b, bool isMax, bool keepsNaN) {
  if (std::isnan(a) || std::isnan(b))
    return keepsNaN ? NAN : std::isnan(a) ? b : a;
  if (a == b)
    return (isMax ? std::signbit(a) : !std::signbit(a)) ? b : a; // -0 is below +0
  return (a < b) != isMax ? a : b;
}

static double add(double a, double b) { return a + b; }
static double subtract(double a, double b) { return a - b; }
static double multiply(double a, double b) { return a * b; }
static double quotient(double a, double b) { return a / b; }
static double floatRemainder(double a, double b) { return std::fmod(a, b); }
static double minNumber(double a, double b) { return extreme(a, b, false, false); }
static double maxNumber(double a, double b) { return extreme(a, b, true, false); }
static double minimum(double a, double b) { return extreme(a, b, false, true); }
static double maximum(double a, double b) { return extreme(a, b, true, true); }

/// In f64, then rounded to the type: twice the type's precision and two bits, so that rounding
/// twice gives what rounding once would.
template <typename Op, double function(double, double)>
static void floating(Machine &machine, Op op) {
  Type type = scalarOf(op.getType());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    return fromDouble(type, function(toDouble(type, in[0]), toDouble(type, in[1])));
  });
}

static void negate(Machine &machine, arith::NegFOp op) {
  unsigned width = widthOf(scalarOf(op.getType()));
  elementwise(machine, op,
              [&](ArrayRef<uint64_t> in) { return in[0] ^ (uint64_t(1) << (width - 1)); });
}

static void compareFloats(Machine &machine, arith::CmpFOp op) {
  Type type = scalarOf(op.getLhs().getType());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) -> uint64_t {
    return arith::applyCmpPredicate(op.getPredicate(), toFloat(type, in[0]), toFloat(type, in[1]));
  });
}

//===-- the rest ------------------------------------------------------------===//

static void constant(Machine &machine, arith::ConstantOp op) {
  machine.set(op, componentsOf(op.getValue()));
}

static void choose(Machine &machine, arith::SelectOp op) {
  elementwise(machine, op, [](ArrayRef<uint64_t> in) { return in[0] ? in[1] : in[2]; });
  if (machine.checks.lossyCast)
    checkCast(machine, op); // of a float to u64
}

static void poison(Machine &machine, ub::PoisonOp op) {
  machine.set(op, Components(countOf(op.getType()), 0));
}

uint64_t interp::combine(arith::AtomicRMWKind kind, Type scalar, uint64_t old, uint64_t value) {
  using K = arith::AtomicRMWKind;
  unsigned width = widthOf(scalar);
  int64_t x = signedOf(old, width), y = signedOf(value, width);
  auto number = [&](auto function) {
    return fromDouble(scalar, function(toDouble(scalar, old), toDouble(scalar, value)));
  };
  switch (kind) {
  case K::addi:
    return wrap(old + value, width);
  case K::muli:
    return wrap(old * value, width);
  case K::andi:
    return old & value;
  case K::ori:
    return old | value;
  case K::xori:
    return old ^ value;
  case K::mins:
    return x < y ? old : value;
  case K::maxs:
    return x > y ? old : value;
  case K::minu:
    return std::min(old, value);
  case K::maxu:
    return std::max(old, value);
  case K::assign:
    return value;
  case K::addf:
    return number(add);
  case K::mulf:
    return number(multiply);
  case K::minnumf:
    return number(minNumber);
  case K::maxnumf:
    return number(maxNumber);
  case K::minimumf:
    return number(minimum);
  case K::maximumf:
    return number(maximum);
  }
  llvm_unreachable("an atomic kind without a meaning");
}

uint64_t interp::exchanged(Machine &machine, Operation *op, uint64_t old, uint64_t now) {
  auto exchange = op->getOperand(0).getDefiningOp<ExchangeIfOp>();
  return exchange && machine.bits(exchange.getExpected()) != old ? old : now;
}

static void exchangeIf(Machine &machine, ExchangeIfOp op) {
  machine.set(op, machine.components(op.getDesired()));
}

uint64_t interp::combineChecked(Machine &machine, Operation *op, arith::AtomicRMWKind kind,
                                Type shown, uint64_t old, uint64_t value) {
  uint64_t now = exchanged(machine, op, old, combine(kind, shown, old, value));
  if (machine.checks.overflow)
    checkOverflow(machine, op, kind, shown, old, value);
  if (machine.checks.nan && isNaN(shown, now) && !isNaN(shown, old) && !isNaN(shown, value))
    machine.report("nan", op,
                   show(shown, old) + (kind == arith::AtomicRMWKind::addf ? " + " : " * ") +
                       inBrackets(show(shown, value)) + " is not a number");
  return now;
}

void interp::addArithRules(RuleTable &table) {
  addRule<ExchangeIfOp, exchangeIf>(table);
  using I = Integer;
  addRule<arith::AddIOp, integer<arith::AddIOp, I::Add>>(table);
  addRule<arith::SubIOp, integer<arith::SubIOp, I::Sub>>(table);
  addRule<arith::MulIOp, integer<arith::MulIOp, I::Mul>>(table);
  addRule<arith::AndIOp, integer<arith::AndIOp, I::And>>(table);
  addRule<arith::OrIOp, integer<arith::OrIOp, I::Or>>(table);
  addRule<arith::XOrIOp, integer<arith::XOrIOp, I::Xor>>(table);
  addRule<arith::ShLIOp, integer<arith::ShLIOp, I::ShiftLeft>>(table);
  addRule<arith::ShRSIOp, integer<arith::ShRSIOp, I::ShiftRight>>(table);
  addRule<arith::ShRUIOp, integer<arith::ShRUIOp, I::ShiftRightUnsigned>>(table);
  addRule<arith::MinSIOp, integer<arith::MinSIOp, I::Min>>(table);
  addRule<arith::MaxSIOp, integer<arith::MaxSIOp, I::Max>>(table);
  addRule<arith::MinUIOp, integer<arith::MinUIOp, I::MinUnsigned>>(table);
  addRule<arith::MaxUIOp, integer<arith::MaxUIOp, I::MaxUnsigned>>(table);
  addRule<arith::DivSIOp, integer<arith::DivSIOp, I::Divide>>(table);
  addRule<arith::RemSIOp, integer<arith::RemSIOp, I::Remainder>>(table);
  addRule<arith::DivUIOp, integer<arith::DivUIOp, I::DivideUnsigned>>(table);
  addRule<arith::RemUIOp, integer<arith::RemUIOp, I::RemainderUnsigned>>(table);
  addRule<arith::FloorDivSIOp, integer<arith::FloorDivSIOp, I::FloorDivide>>(table);
  addRule<arith::CeilDivSIOp, integer<arith::CeilDivSIOp, I::CeilDivide>>(table);
  addRule<arith::CeilDivUIOp, integer<arith::CeilDivUIOp, I::CeilDivideUnsigned>>(table);
  addRule<arith::CmpIOp, compareIntegers>(table);
  addRule<arith::AddFOp, floating<arith::AddFOp, add>>(table);
  addRule<arith::SubFOp, floating<arith::SubFOp, subtract>>(table);
  addRule<arith::MulFOp, floating<arith::MulFOp, multiply>>(table);
  addRule<arith::DivFOp, floating<arith::DivFOp, quotient>>(table);
  addRule<arith::RemFOp, floating<arith::RemFOp, floatRemainder>>(table);
  addRule<arith::MinNumFOp, floating<arith::MinNumFOp, minNumber>>(table);
  addRule<arith::MaxNumFOp, floating<arith::MaxNumFOp, maxNumber>>(table);
  addRule<arith::MinimumFOp, floating<arith::MinimumFOp, minimum>>(table);
  addRule<arith::MaximumFOp, floating<arith::MaximumFOp, maximum>>(table);
  addRule<arith::NegFOp, negate>(table);
  addRule<arith::CmpFOp, compareFloats>(table);
  addRule<arith::ConstantOp, constant>(table);
  addRule<arith::SelectOp, choose>(table);
  addRule<ub::PoisonOp, poison>(table);
}
