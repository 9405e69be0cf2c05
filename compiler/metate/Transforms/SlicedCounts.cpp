//===- SlicedCounts.cpp - sums of all elements of a word --------*- C++ -*-===//
//
// `a + b + c`, and `n + 1 if condition else n`, which adds the condition: as long as a number is only added to something else, it stays
// columns of bits, and is added up once.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/SlicedBody.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace metate;

/// An integer that no number of as many planes as there may be wraps in.
static bool isWide(Value value) {
  auto type = dyn_cast<IntegerType>(value.getType());
  return type && type.getWidth() > PlaneBuilder::mostPlanes;
}

std::optional<SlicedBody::Choice> SlicedBody::choiceOf(OpOperand &use) {
  if (auto select = dyn_cast<arith::SelectOp>(use.getOwner()); select && use.getOperandNumber() > 0)
    return Choice{select.getCondition(), select.getTrueValue(), select.getFalseValue(),
                  select.getResult()};
  auto branch = isa<scf::YieldOp>(use.getOwner())
                    ? dyn_cast<scf::IfOp>(use.getOwner()->getParentOp())
                    : scf::IfOp();
  if (!branch)
    return std::nullopt;
  unsigned k = use.getOperandNumber();
  return Choice{branch.getCondition(), branch.thenYield().getOperand(k),
                branch.elseYield().getOperand(k), branch.getResult(k)};
}

std::optional<SlicedBody::Counting> SlicedBody::countingOf(Value value) {
  auto add = value.getDefiningOp<arith::AddIOp>();
  if (!add || !value.hasOneUse() || !isWide(value))
    return std::nullopt;
  std::optional<Choice> choice = choiceOf(*value.use_begin());
  auto step = getConstantIntValue(add.getRhs());
  if (!choice || !step || std::abs(*step) > 15)
    return std::nullopt;
  bool isYes = choice->yes == value;
  if ((isYes ? choice->no : choice->yes) != add.getLhs())
    return std::nullopt;
  bool isBranch = choice->result.getDefiningOp<scf::IfOp>() != nullptr;
  if (isBranch && numberOf(choice->condition).kind == Number::Same)
    return std::nullopt; // which stays a branch
  return Counting{*choice, add.getLhs(), *step, isYes};
}

/// Whatever uses it adds it to something else.
bool SlicedBody::isLeftAsSum(Value value) {
  if (value.hasOneUse())
    return isa<arith::AddIOp, arith::SubIOp>(*value.user_begin());
  std::optional<Counting> counting;
  for (Operation *user : value.getUsers())
    if (auto add = dyn_cast<arith::AddIOp>(user))
      counting = countingOf(add);
  return counting && counting->base == value && llvm::all_of(value.getUses(), [&](OpOperand &use) {
           if (isa<arith::AddIOp>(use.getOwner()))
             return countingOf(use.getOwner()->getResult(0)).has_value();
           std::optional<Choice> choice = choiceOf(use);
           return choice && choice->result == counting->choice.result;
         });
}

std::optional<PlaneSum> SlicedBody::sumOf(const Number &number) {
  if (number.kind == Number::Sum)
    return number.sum;
  std::optional<Planes> planes = planesOf(number);
  return planes ? at.toSum(*planes) : std::nullopt;
}

bool SlicedBody::setSum(Value result, PlaneSum sum) {
  if (!isLeftAsSum(result))
    return setPlanes(result, at.addedUp(std::move(sum)));
  numbers[result] = {Number::Sum, {}, {}, std::move(sum)};
  return true;
}

/// A sum or a difference of numbers without a sign, or with a constant. False: it is none, and nothing is written.
bool SlicedBody::writeTerm(Operation *op, const Number &a, const Number &b) {
  Value result = op->getResult(0);
  if (!isWide(result))
    return false;
  std::optional<PlaneSum> x = sumOf(a), y = sumOf(b);
  if (x && y && isa<arith::SubIOp>(op))
    y = at.negated(*y);
  if (!x || !y)
    return false;
  PlaneSum sum = at.joined(std::move(*x), *y);
  return at.fits(sum) && setSum(result, std::move(sum));
}

/// What the number is less than where the condition holds: `x < 15 and ...`; nullopt: it does not say.
static std::optional<int64_t> boundOf(Value condition, Value number) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    std::optional<int64_t> bound = boundOf(both.getLhs(), number);
    return bound ? bound : boundOf(both.getRhs(), number);
  }
  auto isNever = [](Value value) { return getConstantIntValue(value) == 0; };
  if (auto select = condition.getDefiningOp<arith::SelectOp>();
      select && isNever(select.getFalseValue())) {
    std::optional<int64_t> bound = boundOf(select.getCondition(), number);
    return bound ? bound : boundOf(select.getTrueValue(), number);
  }
  if (auto branch = condition.getDefiningOp<scf::IfOp>()) {
    unsigned k = cast<OpResult>(condition).getResultNumber();
    if (!isNever(branch.elseYield().getOperand(k)))
      return std::nullopt;
    std::optional<int64_t> bound = boundOf(branch.getCondition(), number);
    return bound ? bound : boundOf(branch.thenYield().getOperand(k), number);
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  auto limit = compare ? getConstantIntValue(compare.getRhs()) : std::nullopt;
  if (!limit || compare.getLhs() != number)
    return std::nullopt;
  if (compare.getPredicate() == arith::CmpIPredicate::slt)
    return limit;
  return compare.getPredicate() == arith::CmpIPredicate::sle ? std::optional(*limit + 1)
                                                             : std::nullopt;
}

bool SlicedBody::writeChoice(const Choice &choice) {
  std::optional<Planes> condition = planesOf(choice.condition);
  if (!condition)
    return fail("a value in it is neither a small integer nor a constant");
  Value holds = condition->bits.empty() ? at.zeros() : condition->bits[0];
  std::optional<Counting> counting;
  for (Value one : {choice.yes, choice.no})
    if (!counting)
      counting = countingOf(one);
  if (!counting || counting->choice.result != choice.result) {
    std::optional<Planes> x = planesOf(choice.yes), y = planesOf(choice.no);
    if (!x || !y)
      return fail("a value in it is neither a small integer nor a constant");
    return setPlanes(choice.result, at.select(holds, *x, *y));
  }
  // The step where it holds: of one that is less than nothing, the step, less it where it does not hold.
  bool isAdded = counting->isYes == (counting->step > 0);
  Planes times{{isAdded ? holds : at.inverted(holds)}, 0, 1};
  std::optional<PlaneSum> sum = sumOf(numberOf(counting->base));
  std::optional<Planes> steps = at.multiply(*at.constant(std::abs(counting->step)), times);
  if (sum && steps) {
    PlaneSum joined = at.joined(*sum, *at.toSum(*steps));
    // Counting ends at a bound.
    std::optional<int64_t> bound = boundOf(choice.condition, counting->base);
    if (bound && counting->isYes && counting->step > 0)
      joined.greatest =
          std::max(sum->greatest, std::min(sum->greatest, *bound - 1) + counting->step);
    if (counting->step < 0)
      joined = at.joined(std::move(joined), *at.toSum(*at.constant(counting->step)));
    if (at.fits(joined))
      return setSum(choice.result, std::move(joined));
  }
  std::optional<Planes> base = planesOf(counting->base);
  std::optional<Planes> stepped = base ? at.add(*base, *at.constant(counting->step)) : base;
  if (!stepped)
    return fail("a value in it has too many bits");
  return setPlanes(choice.result, counting->isYes ? at.select(holds, *stepped, *base)
                                                  : at.select(holds, *base, *stepped));
}
