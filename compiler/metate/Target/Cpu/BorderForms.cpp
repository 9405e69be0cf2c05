//===- BorderForms.cpp - what a loop computes of its variable ---*- C++ -*-===//
#include "metate/Target/Cpu/BorderForms.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Sizes and bounds that nothing is known of, and factors beyond which sums of 64 bits might wrap.
static constexpr double unknownSize = 1000;
static constexpr int64_t mostFactor = 1 << 15;

static std::optional<int64_t> knownInteger(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) || !constant.isSignedIntN(64))
    return std::nullopt;
  return constant.getSExtValue();
}

double cpu::guess(Value value, const Guesses &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  if (std::optional<int64_t> constant = knownInteger(value))
    return double(*constant);
  Operation *op = value.getDefiningOp();
  if (!op)
    return unknownSize;
  auto operand = [&](unsigned k) { return guess(op->getOperand(k), known); };
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
          arith::IndexCastUIOp>(op))
    return operand(0);
  if (isa<arith::AddIOp>(op))
    return operand(0) + operand(1);
  if (isa<arith::SubIOp>(op))
    return operand(0) - operand(1);
  if (isa<arith::MulIOp>(op))
    return operand(0) * operand(1);
  if (isa<arith::MinSIOp>(op))
    return std::min(operand(0), operand(1));
  if (isa<arith::MaxSIOp>(op))
    return std::max(operand(0), operand(1));
  if (isa<arith::SelectOp>(op)) // a guarded divisor: (n == 0 ? 1 : n)
    return guessTruth(op->getOperand(0), known) ? operand(1) : operand(2);
  return isa<ReadOp>(op) ? 0 : unknownSize; // what is read is an offset, more often than a size
}

static bool holds(arith::CmpIPredicate predicate, double difference) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return difference == 0;
  case arith::CmpIPredicate::ne:
    return difference != 0;
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return difference < 0;
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return difference <= 0;
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return difference > 0;
  default:
    return difference >= 0;
  }
}

bool cpu::guessTruth(Value value, const Guesses &known) {
  if (std::optional<int64_t> constant = knownInteger(value))
    return *constant != 0;
  Operation *op = value.getDefiningOp();
  auto truth = [&](unsigned k) { return guessTruth(op->getOperand(k), known); };
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
    return holds(compare.getPredicate(),
                 guess(compare.getLhs(), known) - guess(compare.getRhs(), known));
  if (isa_and_present<arith::AndIOp>(op))
    return truth(0) && truth(1);
  if (isa_and_present<arith::OrIOp>(op))
    return truth(0) || truth(1);
  if (isa_and_present<arith::XOrIOp>(op))
    return truth(0) != truth(1);
  if (isa_and_present<arith::SelectOp>(op))
    return truth(0) ? truth(1) : truth(2);
  if (auto branch = dyn_cast_or_null<scf::IfOp>(op)) {
    unsigned k = cast<OpResult>(value).getResultNumber();
    bool isTaken = guessTruth(branch.getCondition(), known);
    return guessTruth((isTaken ? branch.thenYield() : branch.elseYield()).getOperand(k), known);
  }
  return true;
}

/// Sums of variables and of what is no variable's; `hasVariable`: there is one.
static bool isSum(Value value, const Guesses &variables, bool &hasVariable) {
  if (variables.contains(value))
    return hasVariable = true;
  Operation *op = value.getDefiningOp();
  if (!op || op->hasTrait<OpTrait::ConstantLike>())
    return true;
  return isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, arith::AddIOp, arith::SubIOp,
             arith::MulIOp, arith::MinSIOp, arith::MaxSIOp>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isSum(operand, variables, hasVariable); });
}

static bool isOfBorders(Value condition, const Guesses &variables) {
  if (knownInteger(condition))
    return true;
  Operation *op = condition.getDefiningOp();
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op)) {
    bool hasVariable = false;
    return isSum(compare.getLhs(), variables, hasVariable) &&
           isSum(compare.getRhs(), variables, hasVariable) && hasVariable;
  }
  auto areAll = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value value) { return isOfBorders(value, variables); });
  };
  if (isa_and_present<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::SelectOp>(op))
    return areAll(op->getOperands());
  auto branch = dyn_cast_or_null<scf::IfOp>(op);
  return branch && branch.getNumResults() == 1 && areAll(branch.getCondition()) &&
         areAll(branch.thenYield().getOperands()) && areAll(branch.elseYield().getOperands());
}

bool cpu::isBorder(Value condition, const Guesses &variables) {
  if (!isOfBorders(condition, variables))
    return false;
  auto truthAt = [&](double share) {
    Guesses there = variables;
    for (auto &variable : there)
      variable.second *= share;
    return guessTruth(condition, there);
  };
  return truthAt(0.3) == truthAt(1) && truthAt(1.7) == truthAt(1);
}

namespace {
/// Walks what computes an integer.
class FormBuilder {
public:
  FormBuilder(scf::ForOp loop, BorderForm &form) : loop(loop), form(form) {}

  bool add(LinearForm &to, Value value, int64_t factor) {
    if (std::abs(factor) > mostFactor)
      return false;
    if (std::optional<int64_t> constant = knownInteger(value)) {
      if (!llvm::isInt<32>(*constant))
        return false;
      to.constant += factor * *constant;
      return true;
    }
    if (value == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(value))
      return addTerm(to, value, factor);
    Operation *op = value.getDefiningOp();
    if (isa_and_present<arith::AddIOp, arith::SubIOp>(op))
      return add(to, op->getOperand(0), factor) &&
             add(to, op->getOperand(1), isa<arith::AddIOp>(op) ? factor : -factor);
    if (isa_and_present<arith::MulIOp>(op)) {
      std::optional<int64_t> times = knownInteger(op->getOperand(1));
      return times && std::abs(*times) <= mostFactor && add(to, op->getOperand(0), factor * *times);
    }
    if (isa_and_present<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
      return addCast(to, op, factor);
    return false;
  }

private:
  static bool isWide(Type type) { return type.isIndex() || type.isInteger(64); }

  /// Of 64 bits: sizes, loop variables and addresses, whose sums do not wrap; no number of the user's.
  bool addTerm(LinearForm &to, Value value, int64_t factor) {
    Operation *op = value.getDefiningOp();
    bool isUsers = isa_and_present<arith::IndexCastOp, arith::IndexCastUIOp>(op) &&
                   op->getOperand(0).getType().isInteger(64);
    if (!(value.getType().isIndex() && !isUsers) && !value.getType().isInteger(32))
      return false;
    for (auto &[term, coefficient] : to.terms)
      if (term == value) {
        coefficient += factor;
        return std::abs(coefficient) <= mostFactor;
      }
    to.terms.emplace_back(value, factor);
    return true;
  }

  bool addCast(LinearForm &to, Operation *op, int64_t factor) {
    Value from = op->getOperand(0);
    if (!(isWide(from.getType()) || from.getType().isInteger(32)) ||
        !(isWide(op->getResult(0).getType()) || op->getResult(0).getType().isInteger(32)))
      return false;
    if (!from.getType().isInteger(32) || op->getResult(0).getType().isInteger(32))
      return add(to, from, factor); // a narrow number, which is one modulo 2^32
    LinearForm narrow;
    if (!add(narrow, from, 1))
      return false;
    form.narrow.push_back(narrow);
    to.constant += factor * narrow.constant;
    for (auto &[term, coefficient] : narrow.terms)
      if (!addTerm(to, term, factor * coefficient))
        return false;
    return true;
  }

  scf::ForOp loop;
  BorderForm &form;
};
} // namespace

std::optional<BorderForm> cpu::borderForm(Value value, scf::ForOp loop) {
  BorderForm form;
  if (!value.getType().isIndex() && !value.getType().isInteger(32))
    return std::nullopt;
  if (!FormBuilder(loop, form).add(form.linear, value, 1))
    return std::nullopt;
  auto isZero = [](auto &term) { return term.second == 0; };
  llvm::erase_if(form.linear.terms, isZero);
  if (value.getType().isInteger(32))
    form.narrow.push_back(form.linear);
  for (LinearForm &narrow : form.narrow)
    llvm::erase_if(narrow.terms, isZero);
  return form;
}

/// `remainder`, or more by the divisor where their signs differ.
static arith::RemSIOp floorRemainder(arith::SelectOp select) {
  auto remainder = select.getFalseValue().getDefiningOp<arith::RemSIOp>();
  auto more = select.getTrueValue().getDefiningOp<arith::AddIOp>();
  auto both = select.getCondition().getDefiningOp<arith::AndIOp>();
  if (!remainder || !more || !both || more.getLhs() != remainder ||
      more.getRhs() != remainder.getRhs())
    return {};
  bool differs = false, isInexact = false;
  for (Value side : both->getOperands()) {
    auto compare = side.getDefiningOp<arith::CmpIOp>();
    if (!compare || knownInteger(compare.getRhs()) != 0)
      return {};
    auto signs = compare.getLhs().getDefiningOp<arith::XOrIOp>();
    differs |= compare.getPredicate() == arith::CmpIPredicate::slt && signs &&
               signs.getLhs() == remainder && signs.getRhs() == remainder.getRhs();
    isInexact |=
        compare.getPredicate() == arith::CmpIPredicate::ne && compare.getLhs() == remainder;
  }
  return differs && isInexact ? remainder : arith::RemSIOp();
}

/// What (n == -1 ? 1 : (n == 0 ? 1 : n)) guards: the same number, if it is 2 or more.
static Value guardedDivisor(Value divisor) {
  for (auto select = divisor.getDefiningOp<arith::SelectOp>();
       select && knownInteger(select.getTrueValue()) == 1;
       select = divisor.getDefiningOp<arith::SelectOp>())
    divisor = select.getFalseValue();
  return divisor;
}

std::optional<Wrap> cpu::wrapOf(Operation *op) {
  if (auto mask = dyn_cast<arith::AndIOp>(op)) {
    std::optional<int64_t> bits = knownInteger(mask.getRhs());
    if (bits && *bits > 0 && llvm::isPowerOf2_64(*bits + 1) && *bits < (int64_t(1) << 31))
      return Wrap{mask.getLhs(), {}, *bits + 1};
    return std::nullopt;
  }
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select)
    return std::nullopt;
  // n == 0 ? 0 : index % n
  Value zeroOf;
  if (auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
      compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
      knownInteger(compare.getRhs()) == 0 && knownInteger(select.getTrueValue()) == 0) {
    zeroOf = compare.getLhs();
    select = select.getFalseValue().getDefiningOp<arith::SelectOp>();
  }
  arith::RemSIOp remainder = select ? floorRemainder(select) : arith::RemSIOp();
  if (!remainder)
    return std::nullopt;
  Value size = guardedDivisor(remainder.getRhs());
  if (zeroOf && zeroOf != size)
    return std::nullopt;
  std::optional<int64_t> constant = knownInteger(size);
  if (constant)
    return *constant > 1 ? std::optional(Wrap{remainder.getLhs(), {}, *constant}) : std::nullopt;
  return Wrap{remainder.getLhs(), size, 0};
}
