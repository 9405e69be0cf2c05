//===- BorderForms.cpp - what a loop computes of its variable ---*- C++ -*-===//
#include "metate/Target/Cpu/BorderForms.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Sizes and bounds that nothing is known of, and factors beyond which sums of 64 bits might wrap.
static constexpr double unknownSize = 1000;
static constexpr int64_t mostFactor = 1 << 15;

/// Operations of one form: a value that is used again and again is looked at each time.
static constexpr unsigned mostOfForm = 256;

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

namespace {
/// Guesses each value once, however often it is used: a sum of a sum with itself has 2^n ways to its leaves.
class Guesser {
public:
  explicit Guesser(const Guesses &known) : known(known) {}

  double number(Value value) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    if (auto found = numbers.find(value); found != numbers.end())
      return found->second;
    double guessed = computed(value);
    return numbers[value] = guessed;
  }

  bool truth(Value value) {
    if (auto found = truths.find(value); found != truths.end())
      return found->second;
    bool guessed = computedTruth(value);
    return truths[value] = guessed;
  }

private:
  double computed(Value value) {
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      return double(*constant);
    Operation *op = value.getDefiningOp();
    if (!op)
      return unknownSize;
    auto operand = [&](unsigned k) { return number(op->getOperand(k)); };
    if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
            arith::IndexCastUIOp>(op))
      return operand(0);
    if (isa<arith::AddIOp>(op))
      return operand(0) + operand(1);
    if (isa<arith::SubIOp>(op))
      return operand(0) - operand(1);
    if (isa<arith::MulIOp>(op))
      return operand(0) * operand(1);
    if (isa<arith::DivSIOp, arith::DivUIOp>(op))
      return operand(1) == 0 ? 0 : std::floor(operand(0) / operand(1));
    if (isa<arith::ShRSIOp, arith::ShRUIOp>(op))
      return std::floor(std::ldexp(operand(0), -int(std::clamp(operand(1), 0.0, 64.0))));
    if (isa<arith::MinSIOp>(op))
      return std::min(operand(0), operand(1));
    if (isa<arith::MaxSIOp>(op))
      return std::max(operand(0), operand(1));
    if (isa<arith::SelectOp>(op)) // a guarded divisor: (n == 0 ? 1 : n)
      return truth(op->getOperand(0)) ? operand(1) : operand(2);
    if (auto branch = dyn_cast<scf::IfOp>(op)) // of a loop that runs
      return number(branch.thenYield().getOperand(cast<OpResult>(value).getResultNumber()));
    return isa<ReadOp>(op) ? 0 : unknownSize; // what is read is an offset, more often than a size
  }

  bool computedTruth(Value value) {
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      return *constant != 0;
    Operation *op = value.getDefiningOp();
    auto operand = [&](unsigned k) { return truth(op->getOperand(k)); };
    if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
      return holds(compare.getPredicate(), number(compare.getLhs()) - number(compare.getRhs()));
    if (isa_and_present<arith::AndIOp>(op))
      return operand(0) && operand(1);
    if (isa_and_present<arith::OrIOp>(op))
      return operand(0) || operand(1);
    if (isa_and_present<arith::XOrIOp>(op))
      return operand(0) != operand(1);
    if (isa_and_present<arith::SelectOp>(op))
      return operand(0) ? operand(1) : operand(2);
    if (auto branch = dyn_cast_or_null<scf::IfOp>(op)) {
      unsigned k = cast<OpResult>(value).getResultNumber();
      bool isTaken = truth(branch.getCondition());
      return truth((isTaken ? branch.thenYield() : branch.elseYield()).getOperand(k));
    }
    return true;
  }

  const Guesses &known;
  llvm::DenseMap<Value, double> numbers;
  llvm::DenseMap<Value, bool> truths;
};
} // namespace

double cpu::guess(Value value, const Guesses &known) { return Guesser(known).number(value); }

bool cpu::guessTruth(Value value, const Guesses &known) { return Guesser(known).truth(value); }

namespace {
/// Conditions on sums of variables and of what is no variable's. Each value is looked at once.
class BorderConditions {
public:
  explicit BorderConditions(const Guesses &variables) : variables(variables) {}

  bool has(Value condition) {
    if (auto found = conditions.find(condition); found != conditions.end())
      return found->second;
    bool isOne = isOfBorders(condition);
    return conditions[condition] = isOne;
  }

private:
  bool isOfBorders(Value condition) {
    if (getConstantIntValue(condition))
      return true;
    Operation *op = condition.getDefiningOp();
    if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op)) {
      Sum left = sumOf(compare.getLhs()), right = sumOf(compare.getRhs());
      return left.isSum && right.isSum && (left.hasVariable || right.hasVariable);
    }
    auto areAll = [&](ValueRange values) {
      return llvm::all_of(values, [&](Value value) { return has(value); });
    };
    if (isa_and_present<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::SelectOp>(op))
      return areAll(op->getOperands());
    auto branch = dyn_cast_or_null<scf::IfOp>(op);
    return branch && branch.getNumResults() == 1 && areAll(branch.getCondition()) &&
           areAll(branch.thenYield().getOperands()) && areAll(branch.elseYield().getOperands());
  }

  struct Sum {
    bool isSum = false, hasVariable = false;
  };

  Sum sumOf(Value value) {
    if (variables.contains(value))
      return {true, true};
    Operation *op = value.getDefiningOp();
    if (!op || op->hasTrait<OpTrait::ConstantLike>())
      return {true, false};
    if (auto found = sums.find(value); found != sums.end())
      return found->second;
    Sum sum;
    sum.isSum = isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, arith::AddIOp,
                    arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp>(op);
    for (unsigned k = 0; sum.isSum && k < op->getNumOperands(); ++k) {
      Sum part = sumOf(op->getOperand(k));
      sum.isSum = part.isSum;
      sum.hasVariable |= part.hasVariable;
    }
    return sums[value] = sum;
  }

  const Guesses &variables;
  llvm::DenseMap<Value, bool> conditions;
  llvm::DenseMap<Value, Sum> sums;
};
} // namespace

bool cpu::isBorder(Value condition, const Guesses &variables) {
  if (!BorderConditions(variables).has(condition))
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
    if (std::abs(factor) > mostFactor || left == 0)
      return false;
    --left;
    if (std::optional<int64_t> constant = getConstantIntValue(value)) {
      if (!llvm::isInt<32>(*constant))
        return false;
      to.constant += factor * *constant;
      return true;
    }
    if (value == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(value) ||
        innerLoopOf(value, loop))
      return addTerm(to, value, factor);
    Operation *op = value.getDefiningOp();
    if (isa_and_present<arith::AddIOp, arith::SubIOp>(op))
      return add(to, op->getOperand(0), factor) &&
             add(to, op->getOperand(1), isa<arith::AddIOp>(op) ? factor : -factor);
    if (isa_and_present<arith::MulIOp>(op)) {
      std::optional<int64_t> times = getConstantIntValue(op->getOperand(1));
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
  unsigned left = mostOfForm;
};
} // namespace

scf::ForOp cpu::innerLoopOf(Value variable, scf::ForOp loop) {
  auto argument = dyn_cast<BlockArgument>(variable);
  auto inner = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  bool isOne = inner && inner != loop && loop->isAncestor(inner) &&
               inner.getInductionVar() == variable && variable.getType().isIndex();
  return isOne ? inner : scf::ForOp();
}

void cpu::addSources(Value value, Sources &sources) {
  SmallVector<Value> left(1, value);
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value next = left.pop_back_val();
    if (!seen.insert(next).second || getConstantIntValue(next))
      continue;
    Operation *op = next.getDefiningOp();
    if (op && isa<arith::ArithDialect>(op->getDialect()))
      llvm::append_range(left, op->getOperands());
    else
      sources.insert(next);
  }
}

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
    if (!compare || getConstantIntValue(compare.getRhs()) != 0)
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
  auto select = divisor.getDefiningOp<arith::SelectOp>();
  if (!select || getConstantIntValue(select.getTrueValue()) != 1)
    return divisor;
  Value inner = guardedDivisor(select.getFalseValue());
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  bool isGuard = compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
                 llvm::is_contained({select.getFalseValue(), inner}, compare.getLhs()) &&
                 getConstantIntValue(compare.getRhs()).value_or(1) <= 0;
  return isGuard ? inner : divisor;
}

std::optional<Wrap> cpu::wrapOf(Operation *op) {
  if (auto mask = dyn_cast<arith::AndIOp>(op)) {
    std::optional<int64_t> bits = getConstantIntValue(mask.getRhs());
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
      getConstantIntValue(compare.getRhs()) == 0 &&
      getConstantIntValue(select.getTrueValue()) == 0) {
    zeroOf = compare.getLhs();
    select = select.getFalseValue().getDefiningOp<arith::SelectOp>();
  }
  arith::RemSIOp remainder = select ? floorRemainder(select) : arith::RemSIOp();
  if (!remainder)
    return std::nullopt;
  Value size = guardedDivisor(remainder.getRhs());
  if (zeroOf && zeroOf != size)
    return std::nullopt;
  std::optional<int64_t> constant = getConstantIntValue(size);
  if (constant)
    return *constant > 1 ? std::optional(Wrap{remainder.getLhs(), {}, *constant}) : std::nullopt;
  return Wrap{remainder.getLhs(), size, 0};
}
