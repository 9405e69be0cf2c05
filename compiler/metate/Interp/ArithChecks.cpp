//===- ArithChecks.cpp - what integers and casts are judged by --*- C++ -*-===//
#include "metate/Interp/ArithChecks.h"

#include <cmath>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

//===-- overflow ------------------------------------------------------------===//

/// An integer beyond 64 bits, exactly.
static __int128 exactOf(uint64_t bits, unsigned width, bool isUnsigned) {
  return isUnsigned ? __int128(bits) : __int128(signedOf(bits, width));
}

static std::string textOf(__int128 value) {
  llvm::APInt bits(128, {uint64_t(value), uint64_t(value >> 64)});
  llvm::SmallString<48> text;
  bits.toString(text, 10, /*Signed=*/true);
  return std::string(text);
}

static void judgeOverflow(Machine &machine, Operation *op, char symbol, Type scalar,
                          bool isUnsigned, __int128 a, __int128 b) {
  unsigned width = widthOf(scalar);
  __int128 exact = symbol == '+' ? a + b : symbol == '-' ? a - b : a * b;
  uint64_t result = wrap(uint64_t(exact), width);
  if (exact == exactOf(result, width, isUnsigned) || machine.isKnown("overflow", op))
    return;
  machine.report("overflow", op,
                 textOf(a) + " " + Twine(symbol) + " " + inBrackets(textOf(b)) + " is " +
                     textOf(exact) + ", which does not fit " + nameOf(scalar, isUnsigned) +
                     " and becomes " + show(scalar, result, isUnsigned));
}

void interp::checkOverflow(Machine &machine, Operation *op, char symbol, uint64_t a, uint64_t b) {
  bool isUnsigned = op->hasAttr(mark::isUnsigned);
  if (!isUnsigned && !op->hasAttr(mark::isSigned))
    return;
  Type scalar = scalarOf(op->getResult(0).getType());
  unsigned width = widthOf(scalar);
  judgeOverflow(machine, op, symbol, scalar, isUnsigned, exactOf(a, width, isUnsigned),
                exactOf(b, width, isUnsigned));
}

void interp::checkOverflow(Machine &machine, Operation *atomic, arith::AtomicRMWKind kind,
                           Type shown, uint64_t old, uint64_t value) {
  using K = arith::AtomicRMWKind;
  if (kind != K::addi && kind != K::muli)
    return;
  bool isUnsigned = shown.isUnsignedInteger(), subtracts = atomic->hasAttr(mark::subtracts);
  unsigned width = widthOf(shown);
  if (subtracts) // what was written, before it was negated
    value = wrap(0 - value, width);
  judgeOverflow(machine, atomic,
                subtracts         ? '-'
                : kind == K::addi ? '+'
                                  : '*',
                shown, isUnsigned, exactOf(old, width, isUnsigned),
                exactOf(value, width, isUnsigned));
}

//===-- division ------------------------------------------------------------===//

/// The mark among the conditions of a guarded divisor.
static arith::CmpIOp findMark(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (!op)
    return {};
  if (auto mark = dyn_cast<arith::CmpIOp>(op))
    return op->hasAttr(mark::divisor) ? mark : arith::CmpIOp();
  if (!isa<arith::OrIOp>(op)) // two guards that have become one
    return {};
  arith::CmpIOp left = findMark(op->getOperand(0));
  return left ? left : findMark(op->getOperand(1));
}

static arith::CmpIOp markOf(Operation *division) {
  Value divisor = division->getOperand(1);
  while (auto guard = divisor.getDefiningOp<arith::SelectOp>()) {
    if (arith::CmpIOp mark = findMark(guard.getCondition()))
      return mark;
    divisor = guard.getFalseValue();
  }
  return {};
}

static bool isDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
}

/// The front end makes a quotient and a remainder of one division: the first of them is judged.
static bool isFirst(Operation *division) {
  for (Operation *user : division->getOperand(1).getUsers())
    if (user != division && isDivision(user) && user->getBlock() == division->getBlock() &&
        user->getOperand(0) == division->getOperand(0) && user->isBeforeInBlock(division))
      return false;
  return true;
}

static void reportDivision(Machine &machine, Operation *op, const Twine &what) {
  if (!machine.isKnown("division", op))
    machine.report("division", op, what + " divided by zero; the result is 0",
                   METATE_E_DIVISION_BY_ZERO);
}

void interp::checkDivision(Machine &machine, Operation *division, bool isUnsigned) {
  arith::CmpIOp mark = markOf(division);
  if (!mark || !isFirst(division))
    return;
  Type scalar = scalarOf(division->getResult(0).getType());
  for (auto [k, isZero] : llvm::enumerate(machine.components(mark)))
    if (isZero)
      reportDivision(machine, division,
                     show(scalar, machine.components(division->getOperand(0))[k], isUnsigned) +
                         " is");
}

void interp::checkDivisor(Machine &machine, arith::CmpIOp mark) {
  if (mark->hasAttr(mark::divisor) && mark->use_empty())
    reportDivision(machine, mark, "an integer is");
}

//===-- casts ---------------------------------------------------------------===//

/// What a cast of several operations began with: the first operand on the way up that has `type`.
static Value sourceOf(Operation *cast, Type type) {
  unsigned width = widthOf(type);
  auto isSource = [&](Value value) {
    Type scalar = scalarOf(value.getType());
    return isa<FloatType>(type) ? scalar == type
                                : !isa<FloatType>(scalar) && widthOf(scalar) == width;
  };
  // Both branches of a selection convert the same value.
  if (isa<arith::SelectOp>(cast))
    cast = cast->getOperand(1).getDefiningOp();
  for (unsigned steps = 0; cast && steps < 4; ++steps) {
    if (!isa<CastOpInterface>(cast))
      return {};
    Value operand = cast->getOperand(0);
    if (isSource(operand))
      return operand;
    cast = operand.getDefiningOp();
  }
  return {};
}

namespace {
enum class Loss { None, Fraction, Precision, Range };
}

static Loss lossOf(Type from, uint64_t a, Type to, uint64_t b) {
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (fromFloat && toFloat)
    return std::isfinite(toDouble(from, a)) && !std::isfinite(toDouble(to, b)) ? Loss::Range
                                                                               : Loss::None;
  if (!fromFloat && !toFloat)
    return exactOf(a, widthOf(from), from.isUnsignedInteger()) ==
                   exactOf(b, widthOf(to), to.isUnsignedInteger())
               ? Loss::None
               : Loss::Range;
  if (toFloat) {
    llvm::APFloat value(cast<FloatType>(to).getFloatSemantics());
    auto lost = value.convertFromAPInt(llvm::APInt(widthOf(from), a), !from.isUnsignedInteger(),
                                       llvm::APFloat::rmNearestTiesToEven);
    return lost & llvm::APFloat::opOverflow ? Loss::Range : lost ? Loss::Precision : Loss::None;
  }
  double value = toDouble(from, a);
  __int128 integer = exactOf(b, widthOf(to), to.isUnsignedInteger());
  if (!std::isfinite(value) || double(integer) != std::trunc(value))
    return Loss::Range;
  return value == std::trunc(value) ? Loss::None : Loss::Fraction;
}

static void reportLoss(Machine &machine, Operation *op, Loss loss, Type from, uint64_t a, Type to,
                       uint64_t b) {
  if (machine.isKnown("lossy-cast", op))
    return;
  std::string before = show(from, a), after = show(to, b), name = nameOf(to);
  if (loss == Loss::Range)
    machine.report("lossy-cast", op, before + " does not fit " + name + " and becomes " + after);
  else if (loss == Loss::Precision)
    machine.report("lossy-cast", op,
                   before + " becomes " + after + ", the nearest that " + name + " has");
  else
    machine.report("lossy-cast", op,
                   before + " becomes " + after + " as " + name +
                       ": its fraction is lost; if that is meant, write the cast");
}

void interp::checkCast(Machine &machine, Operation *op) {
  auto types = op->getAttrOfType<ArrayAttr>(mark::cast);
  if (!types)
    return;
  Type from = cast<TypeAttr>(types[0]).getValue(), to = cast<TypeAttr>(types[1]).getValue();
  Value source = sourceOf(op, from);
  if (!source)
    return; // a later stage has made something else of the cast
  const Components &before = machine.components(source),
                   &after = machine.components(op->getResult(0));
  for (auto [a, b] : llvm::zip(before, after)) {
    Loss loss = lossOf(from, a, to, b);
    if (loss != Loss::None && !(loss == Loss::Fraction && op->hasAttr(mark::isExplicit)))
      reportLoss(machine, op, loss, from, a, to, b);
  }
}
