//===- InteriorBounds.cpp - which turns a loop's interior has ---*- C++ -*-===//
#include "metate/Target/Cpu/InteriorBounds.h"
#include "metate/Mutants/Mutants.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

using Predicate = arith::CmpIPredicate;

/// Of the turns, what is worth a loop of its own.
static constexpr double leastInterior = 0.5;
/// Sums of 64 bits of such factors do not wrap.
static constexpr int64_t mostInnerFactor = 1 << 20;

void InteriorBounds::copyInside() {
  begin = whole.getLowerBound();
  end = whole.getUpperBound();
  addSources(begin, sizes);
  addSources(end, sizes);
  whole.getBody()->walk([&](scf::ForOp inner) {
    for (Value bound : {inner.getLowerBound(), inner.getUpperBound()})
      suppose(bound, smallSize);
  });
  first = guess(begin, guesses);
  last = guess(end, guesses);
  turns = last - first;
  inside = cast<scf::ForOp>(before.clone(*whole));
  before.setInsertionPoint(inside);
  guesses[inside.getInductionVar()] = (first + last) / 2;
  inside.getBody()->walk<WalkOrder::PreOrder>([&](scf::ForOp inner) {
    double from = guess(inner.getLowerBound(), guesses), to = guess(inner.getUpperBound(), guesses);
    guesses[inner.getInductionVar()] = std::floor((from + to - 1) / 2);
  });
}

/// Guesses what a number is computed of, where nothing else says it.
void InteriorBounds::suppose(Value value, double number) {
  Sources sources;
  addSources(value, sources);
  for (Value source : sources)
    if (!sizes.contains(source) && whole.isDefinedOutsideOfLoop(source))
      guesses.try_emplace(source, number);
}

/// `j + p - r < n`: what is added to variables is an offset, what they are compared with is a size.
void InteriorBounds::supposeOffsets(const LinearForm &form, const LinearForm &other) {
  for (auto &[term, coefficient] : other.terms)
    suppose(term, guess(term, guesses));
  for (auto &[term, coefficient] : form.terms)
    if (term != variable() && !innerLoopOf(term, inside))
      suppose(term, smallSize);
}

double InteriorBounds::at(const LinearForm &form) const {
  double sum = double(form.constant);
  for (auto &[term, coefficient] : form.terms)
    sum += double(coefficient) * guess(term, guesses);
  return sum;
}

void InteriorBounds::requireNarrow(const BorderForm &form, SmallVectorImpl<Requirement> &all) {
  for (const LinearForm &narrow : form.narrow)
    all.push_back(
        {narrow, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()});
}

scf::ForOp InteriorBounds::innerLoopIn(const LinearForm &form) const {
  for (auto &[term, coefficient] : form.terms)
    if (scf::ForOp inner = innerLoopOf(term, inside); inner && coefficient)
      return inner;
  return {};
}

/// The requirement for the first and the last turn of loops inside; false: their bounds have no form.
bool InteriorBounds::addForAllTurns(const Requirement &one, SmallVectorImpl<Requirement> &all) {
  scf::ForOp inner = innerLoopIn(one.form);
  if (!inner) {
    all.push_back(one);
    return true;
  }
  std::optional<BorderForm> from = borderForm(inner.getLowerBound(), inside),
                            to = borderForm(inner.getUpperBound(), inside);
  if (!from || !to)
    return false;
  SmallVector<Requirement> needed;
  requireNarrow(*from, needed);
  requireNarrow(*to, needed);
  int64_t factor = one.form.coefficient(inner.getInductionVar());
  auto at = [&](bool isLast) {
    LinearForm form = one.form.without(inner.getInductionVar());
    const LinearForm &bound = isLast ? to->linear.plus(-1) : from->linear;
    form.constant += factor * bound.constant;
    for (auto [term, coefficient] : bound.terms)
      form.add(term, factor * coefficient);
    return form;
  };
  if (one.lower != noLower)
    needed.push_back({at(/*isLast=*/factor < 0), one.lower, noUpper});
  if (one.upper != noUpper)
    needed.push_back({at(/*isLast=*/factor > 0), noLower, one.upper});
  auto isSmall = [](auto &term) { return std::abs(term.second) <= mostInnerFactor; };
  return llvm::all_of(needed, [&](auto &each) {
    return llvm::all_of(each.form.terms, isSmall) && addForAllTurns(each, all);
  });
}

bool InteriorBounds::take(ArrayRef<Requirement> some) {
  double least = first, most = last;
  SmallVector<Requirement> all;
  bool isForInner = false;
  for (const Requirement &one : some) {
    isForInner |= innerLoopIn(one.form) && dependsOnVariable(one.form);
    if (!addForAllTurns(one, all))
      return false;
  }
  for (const Requirement &one : all) {
    int64_t factor = one.form.coefficient(variable());
    double rest = at(one.form.without(variable()));
    if (factor == 1) {
      least = std::max(least, double(one.lower) - rest);
      most = std::min(most, double(one.upper) - rest + 1);
    } else if (factor == -1) {
      least = std::max(least, rest - double(one.upper));
      most = std::min(most, rest - double(one.lower) + 1);
    } else if (factor || rest < double(one.lower) || rest > double(one.upper)) {
      return false;
    }
  }
  if (most - least < leastInterior * turns)
    return false;
  resolvedForInner += isForInner;
  first = least;
  last = most;
  for (const Requirement &one : all)
    emit(one);
  return true;
}

Value InteriorBounds::emitted(OpBuilder &builder, const LinearForm &form) {
  Value sum = arith::ConstantIndexOp::create(builder, loc, form.constant);
  for (auto [term, coefficient] : form.terms) {
    Value part = term;
    if (!part.getType().isIndex())
      part = builder.createOrFold<arith::IndexCastOp>(loc, builder.getIndexType(), part);
    part = builder.createOrFold<arith::MulIOp>(
        loc, part, arith::ConstantIndexOp::create(builder, loc, coefficient));
    sum = builder.createOrFold<arith::AddIOp>(loc, part, sum);
  }
  return sum;
}

void InteriorBounds::emit(const Requirement &one) {
  int64_t factor = one.form.coefficient(variable());
  Value rest = emitted(before, one.form.without(variable()));
  auto minus = [&](Value a, Value b) { return before.createOrFold<arith::SubIOp>(loc, a, b); };
  int64_t lower = one.lower, upper = one.upper;
  if (factor == 0) {
    Value isMore = arith::CmpIOp::create(before, loc, Predicate::sge, rest, number(lower));
    Value isLess = arith::CmpIOp::create(before, loc, Predicate::sle, rest, number(upper));
    Value both = arith::AndIOp::create(before, loc, isMore, isLess);
    wanted = wanted ? arith::AndIOp::create(before, loc, wanted, both).getResult() : both;
    return;
  }
  bool isRising = factor == 1;
  if ((isRising ? lower : upper) != (isRising ? noLower : noUpper)) {
    Value least = isRising ? minus(number(lower), rest) : minus(rest, number(upper));
    if (isMutant(Mutant::InteriorTooLarge) && lower == 0)
      least = minus(least, number(1));
    begin = before.createOrFold<arith::MaxSIOp>(loc, begin, least);
  }
  if ((isRising ? upper : lower) != (isRising ? noUpper : noLower)) {
    Value most = isRising ? minus(number(upper + 1), rest) : minus(rest, number(lower - 1));
    end = before.createOrFold<arith::MinSIOp>(loc, end, most);
  }
}

std::optional<Requirement> InteriorBounds::decide(const LinearForm &form, Predicate predicate,
                                                  bool &truth) const {
  double middle = at(form);
  switch (predicate) {
  case Predicate::ult:
  case Predicate::slt:
    truth = middle < 0;
    return truth ? Requirement{form, noLower, -1} : Requirement{form, 0, noUpper};
  case Predicate::sge:
    truth = middle >= 0;
    return truth ? Requirement{form, 0, noUpper} : Requirement{form, noLower, -1};
  case Predicate::sgt:
    truth = middle > 0;
    return truth ? Requirement{form, 1, noUpper} : Requirement{form, noLower, 0};
  case Predicate::ule:
  case Predicate::sle:
    truth = middle <= 0;
    return truth ? Requirement{form, noLower, 0} : Requirement{form, 1, noUpper};
  case Predicate::eq:
  case Predicate::ne:
    truth = predicate == Predicate::ne;
    return middle > 0 ? Requirement{form, 1, noUpper} : Requirement{form, noLower, -1};
  default:
    return std::nullopt;
  }
}

std::optional<LinearForm> InteriorBounds::compared(Value a, Value b,
                                                   SmallVectorImpl<Requirement> &all) {
  std::optional<BorderForm> left = borderForm(a, inside), right = borderForm(b, inside);
  if (!left || !right)
    return std::nullopt;
  LinearForm form = left->linear.minus(right->linear);
  if (!dependsOnVariable(form) && !innerLoopIn(form))
    return std::nullopt;
  for (bool isLeft : {true, false})
    if (const LinearForm &one = isLeft ? left->linear : right->linear; innerLoopIn(one))
      supposeOffsets(one, isLeft ? right->linear : left->linear);
  requireNarrow(*left, all);
  requireNarrow(*right, all);
  return form;
}
