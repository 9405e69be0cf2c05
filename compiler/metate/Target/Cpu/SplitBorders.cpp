//===- SplitBorders.cpp - loops without their borders -----------*- C++ -*-===//
//
// A neighbour's index that wraps around, or is held at the edge, is the loop's variable and a constant in nearly all turns. The loop is
// cut in three: where every such choice is known, it is there once more without them, and its rows are straight code for LLVM's
// vectoriser; the turns before and after it stay as they are. Which outcome the interior has is guessed, where it begins and ends is
// computed, so that a wrong guess costs time alone.
//
// `for p in range(-r, r + 1): if 0 <= j + p < n: ...` in a turn j asks for all turns of the inner loop: the interior is where the first and the
// last one of them have the outcome.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cpu/SplitBorders.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/LoopAnnotation.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

using Predicate = arith::CmpIPredicate;

/// A loop of fewer turns has no interior to speak of; one of more operations is not written twice.
static constexpr double leastInterior = 0.5;
static constexpr int64_t fewTurns = 16, mostCopied = 4096;
/// Sums of 64 bits of such factors do not wrap.
static constexpr int64_t mostInnerFactor = 1 << 20;

namespace {
/// lower <= form <= upper.
struct Requirement {
  LinearForm form;
  int64_t lower, upper;
};

constexpr int64_t noLower = -(int64_t(1) << 40), noUpper = int64_t(1) << 40;

bool isAlways(Value value, bool truth) {
  APInt constant;
  return value.getType().isInteger(1) && matchPattern(value, m_ConstantInt(&constant)) &&
         constant.isOne() == truth;
}

class Interior {
public:
  /// `forInner`: only if it leaves choices that loops inside make by the loop's variable and their own.
  Interior(scf::ForOp loop, const Guesses &given, const Sources &sizes, bool forInner)
      : whole(loop), before(loop), loc(loop.getLoc()), given(given), sizes(sizes),
        forInner(forInner), guesses(given) {}

  /// The loop over the interior; null: there is none.
  scf::ForOp run() {
    if (!isCandidate())
      return {};
    moveLoopInvariantCode(whole);
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
      double from = guess(inner.getLowerBound(), guesses),
             to = guess(inner.getUpperBound(), guesses);
      guesses[inner.getInductionVar()] = std::floor((from + to - 1) / 2);
    });
    visit(*inside.getBody());
    if (!(forInner ? resolvedForInner : resolved)) {
      inside.erase();
      return {};
    }
    eraseDead(*inside.getBody());
    remarkDone(whole, "map-tasks-cpu", "borders")
        << "turns in which no index wraps or is held at an edge, and no border is met, have a loop "
           "of their own";
    assemble();
    return inside;
  }

private:
  bool isCandidate() {
    APInt number, other;
    if (!matchPattern(whole.getStep(), m_One()) || whole->hasAttr(mark::nest) ||
        whole->hasAttr(mark::row))
      return false;
    if (matchPattern(whole.getLowerBound(), m_ConstantInt(&number)) &&
        matchPattern(whole.getUpperBound(), m_ConstantInt(&other)) &&
        other.getSExtValue() - number.getSExtValue() < fewTurns)
      return false;
    int64_t count = 0;
    bool hasChoice = false;
    whole->walk([&](Operation *op) {
      ++count;
      hasChoice |= isa<arith::CmpIOp, arith::MinSIOp, arith::MaxSIOp>(op) || wrapOf(op);
    });
    return hasChoice && count <= mostCopied;
  }

  Value variable() { return inside.getInductionVar(); }

  void visit(Block &block) {
    for (auto at = block.begin(); at != block.end();) {
      Operation *op = &*at++;
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        if (std::optional<bool> truth = truthOf(branch.getCondition()))
          at = inlined(branch, *truth);
        else
          for (Region &region : branch->getRegions())
            for (Block &side : region)
              visit(side);
        continue;
      }
      for (Region &region : op->getRegions())
        for (Block &inner : region)
          visit(inner);
      visit(op);
    }
  }

  void visit(Operation *op) {
    Value made;
    if (std::optional<Wrap> wrap = wrapOf(op))
      made = unwrapped(op, *wrap);
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      made = outcome(compare);
    else if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
      made = chosen(op);
    else if (auto select = dyn_cast<arith::SelectOp>(op); select && !made)
      made = isAlways(select.getCondition(), true)    ? select.getTrueValue()
             : isAlways(select.getCondition(), false) ? select.getFalseValue()
                                                      : Value();
    else if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) &&
             op->getResult(0).getType().isInteger(1))
      made = folded(op);
    else if (auto cast = dyn_cast<arith::IndexCastOp>(op))
      made = widened(cast);
    if (made)
      op->getResult(0).replaceAllUsesWith(made);
  }

  /// A condition that the interior has one outcome of. One that no turn changes is the row's, and tested once.
  std::optional<bool> truthOf(Value condition) {
    if (isAlways(condition, true) || isAlways(condition, false))
      return isAlways(condition, true);
    if (!inside.isDefinedOutsideOfLoop(condition) || !isBorder(condition, given))
      return std::nullopt;
    bool truth = guessTruth(condition, given);
    Value holds = condition;
    if (!truth)
      holds = arith::XOrIOp::create(before, loc, condition,
                                    arith::ConstantIntOp::create(before, loc, true, 1));
    wanted = wanted ? arith::AndIOp::create(before, loc, wanted, holds).getResult() : holds;
    ++resolved;
    return truth;
  }

  Block::iterator inlined(scf::IfOp branch, bool truth) {
    Region &taken = truth ? branch.getThenRegion() : branch.getElseRegion();
    Block *block = branch->getBlock();
    Block::iterator next = std::next(branch->getIterator());
    if (!taken.empty()) {
      Operation *yield = taken.front().getTerminator();
      branch->replaceAllUsesWith(yield->getOperands());
      yield->erase();
      if (!taken.front().empty())
        next = taken.front().begin();
      block->getOperations().splice(branch->getIterator(), taken.front().getOperations());
    }
    branch.erase();
    return next;
  }

  static Value folded(Operation *op) {
    for (unsigned k : {0u, 1u}) {
      Value side = op->getOperand(k), other = op->getOperand(1 - k);
      if (isa<arith::AndIOp>(op) && isAlways(side, true))
        return other;
      if (isa<arith::AndIOp>(op) && isAlways(side, false))
        return side;
      if (isa<arith::OrIOp>(op) && isAlways(side, false))
        return other;
      if (isa<arith::OrIOp>(op) && isAlways(side, true))
        return side;
      if (isa<arith::XOrIOp>(op) && isAlways(side, false))
        return other;
    }
    if (isa<arith::XOrIOp>(op) && isAlways(op->getOperand(1), true))
      for (bool truth : {false, true})
        if (isAlways(op->getOperand(0), truth)) {
          OpBuilder builder(op);
          return arith::ConstantIntOp::create(builder, op->getLoc(), !truth, 1);
        }
    return {};
  }

  /// Guesses what a number is computed of, where nothing else says it.
  void suppose(Value value, double number) {
    Sources sources;
    addSources(value, sources);
    for (Value source : sources)
      if (!sizes.contains(source) && whole.isDefinedOutsideOfLoop(source))
        guesses.try_emplace(source, number);
  }

  /// `j + p - r < n`: what is added to variables is an offset, what they are compared with is a size.
  void supposeOffsets(const LinearForm &form, const LinearForm &other) {
    for (auto &[term, coefficient] : other.terms)
      suppose(term, guess(term, guesses));
    for (auto &[term, coefficient] : form.terms)
      if (term != variable() && !innerLoopOf(term, inside))
        suppose(term, smallSize);
  }

  double at(const LinearForm &form) const {
    double sum = double(form.constant);
    for (auto &[term, coefficient] : form.terms)
      sum += double(coefficient) * guess(term, guesses);
    return sum;
  }

  /// Narrow sums fit their 32 bits; so do variables of 64 bits of which the user takes the lower half.
  void requireNarrow(const BorderForm &form, SmallVectorImpl<Requirement> &all) {
    for (const LinearForm &narrow : form.narrow)
      all.push_back(
          {narrow, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()});
  }

  /// The loop inside by whose variable a form differs; null: there is none.
  scf::ForOp innerLoopIn(const LinearForm &form) const {
    for (auto &[term, coefficient] : form.terms)
      if (scf::ForOp inner = innerLoopOf(term, inside); inner && coefficient)
        return inner;
    return {};
  }

  /// The requirement for the first and the last turn of loops inside; false: their bounds have no form.
  bool addForAllTurns(const Requirement &one, SmallVectorImpl<Requirement> &all) {
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

  /// Makes the interior smaller, so that all hold in it; false: there would not be much left, or it is no range.
  bool take(ArrayRef<Requirement> some) {
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

  Value number(int64_t value) { return arith::ConstantIndexOp::create(before, loc, value); }

  Value emitted(OpBuilder &builder, const LinearForm &form) {
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

  void emit(const Requirement &one) {
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

  bool dependsOnVariable(const LinearForm &form) { return form.coefficient(variable()) != 0; }

  /// A comparison's requirement for the outcome that the middle of the loop has.
  std::optional<Requirement> decide(const LinearForm &form, Predicate predicate, bool &truth) {
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

  /// Of two numbers the difference, with what makes it exact.
  std::optional<LinearForm> compared(Value a, Value b, SmallVectorImpl<Requirement> &all) {
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

  Value outcome(arith::CmpIOp compare) {
    SmallVector<Requirement> all;
    std::optional<LinearForm> form = compared(compare.getLhs(), compare.getRhs(), all);
    if (!form)
      return {};
    bool truth = false;
    std::optional<Requirement> found = decide(*form, compare.getPredicate(), truth);
    if (!found)
      return {};
    all.push_back(*found);
    if (llvm::is_contained({Predicate::ult, Predicate::ule}, compare.getPredicate())) {
      if (!truth)
        return {};
      all.push_back({borderForm(compare.getLhs(), inside)->linear, 0, noUpper});
    }
    if (!take(all))
      return {};
    ++resolved;
    OpBuilder builder(compare);
    return arith::ConstantIntOp::create(builder, compare.getLoc(), truth, 1);
  }

  Value chosen(Operation *op) {
    SmallVector<Requirement> all;
    std::optional<LinearForm> form = compared(op->getOperand(0), op->getOperand(1), all);
    if (!form)
      return {};
    bool isFirstGreater = false;
    all.push_back(*decide(*form, Predicate::sge, isFirstGreater));
    if (!take(all))
      return {};
    ++resolved;
    return op->getOperand(isFirstGreater == isa<arith::MaxSIOp>(op) ? 0 : 1);
  }

  Value unwrapped(Operation *op, const Wrap &wrap) {
    if (op->hasOneUse() && wrapOf(*op->user_begin())) // which guards the division by zero
      return {};
    std::optional<BorderForm> index = borderForm(wrap.index, inside);
    if (!index || !(dependsOnVariable(index->linear) || innerLoopIn(index->linear)) ||
        (wrap.size &&
         (!inside.isDefinedOutsideOfLoop(wrap.size) || !wrap.size.getType().isInteger(32))))
      return {};
    double size = wrap.size ? guess(wrap.size, guesses) : double(wrap.constant);
    double rounds = size > 0 ? std::floor(at(index->linear) / size) : 0;
    if (std::abs(rounds) > 16)
      return {};
    auto less = [&](LinearForm form, int64_t times) {
      form.constant -= times * wrap.constant;
      if (wrap.size)
        form.add(wrap.size, -times);
      return form;
    };
    LinearForm result = less(index->linear, int64_t(rounds));
    SmallVector<Requirement> all{{result, 0, noUpper}, {less(result, 1), noLower, -1}};
    requireNarrow(*index, all);
    if (!take(all))
      return {};
    ++resolved;
    OpBuilder builder(op);
    Value value = computed(builder, result);
    return op->getResult(0).getType().isIndex()
               ? value
               : arith::IndexCastOp::create(builder, loc, op->getResult(0).getType(), value)
                     .getResult();
  }

  /// The variable, those of loops inside, and what is computed once, before the loop.
  Value computed(OpBuilder &builder, LinearForm form) {
    LinearForm inner;
    while (scf::ForOp loop = innerLoopIn(form)) {
      inner.add(loop.getInductionVar(), form.coefficient(loop.getInductionVar()));
      form = form.without(loop.getInductionVar());
    }
    Value rest = emitted(before, form.without(variable()));
    if (!inner.terms.empty())
      rest = builder.createOrFold<arith::AddIOp>(loc, rest, emitted(builder, inner));
    if (!dependsOnVariable(form))
      return rest;
    return form.coefficient(variable()) == 1
               ? builder.createOrFold<arith::AddIOp>(loc, variable(), rest)
               : builder.createOrFold<arith::SubIOp>(loc, rest, variable());
  }

  /// Index arithmetic in 64 bits: rows are recognised in it.
  Value widened(arith::IndexCastOp cast) {
    if (!cast.getType().isIndex() || !cast.getIn().getType().isInteger(32))
      return {};
    std::optional<BorderForm> form = borderForm(cast.getResult(), inside);
    if (!form || std::abs(form->linear.coefficient(variable())) != 1)
      return {};
    SmallVector<Requirement> all;
    requireNarrow(*form, all);
    if (!take(all))
      return {};
    OpBuilder builder(cast);
    return computed(builder, form->linear);
  }

  static void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          eraseDead(inner);
      if (isOpTriviallyDead(&op))
        op.erase();
    }
  }

  LLVM::LoopAnnotationAttr annotation(bool isVector) {
    LoopAnnotation own = LoopAnnotation::asItIs();
    if (isVector)
      own.vectorize = std::nullopt;
    return own.in(before.getContext());
  }

  /// for part in 0, 1, 2: the middle one is the interior. Code of the border is there once.
  void assemble() {
    Value lower = whole.getLowerBound(), upper = whole.getUpperBound();
    APInt known;
    bool isCertain =
        matchPattern(begin, m_ConstantInt(&known)) && matchPattern(end, m_ConstantInt(&known));
    Value from = before.createOrFold<arith::MinSIOp>(loc, begin, upper);
    if (wanted)
      from = arith::SelectOp::create(before, loc, wanted, from, upper);
    Value to = before.createOrFold<arith::MaxSIOp>(loc, end, from);
    Value one = number(1);
    auto parts = scf::ForOp::create(before, loc, number(0), number(3), one, whole.getInitArgs());
    parts->setAttr("loop_annotation", annotation(/*isVector=*/true));
    whole->replaceAllUsesWith(parts.getResults());
    OpBuilder builder = OpBuilder::atBlockBegin(parts.getBody());
    Value part = parts.getInductionVar();
    Value isFirst = arith::CmpIOp::create(builder, loc, Predicate::slt, part, one);
    Value isMiddle = arith::CmpIOp::create(builder, loc, Predicate::eq, part, one);
    auto bound = [&](Value a, Value b, Value c) {
      Value rest = arith::SelectOp::create(builder, loc, isMiddle, b, c);
      return arith::SelectOp::create(builder, loc, isFirst, a, rest).getResult();
    };
    Value start = bound(lower, from, to), stop = bound(from, to, upper);
    auto choice = scf::IfOp::create(builder, loc, parts.getResultTypes(), isMiddle,
                                    /*addThenBlock=*/true, /*addElseBlock=*/true);
    placed(inside, choice.thenBlock(), start, stop, parts.getRegionIterArgs());
    placed(whole, choice.elseBlock(), start, stop, parts.getRegionIterArgs());
    if (isCertain)
      whole->setAttr("loop_annotation", annotation(/*isVector=*/false));
    if (parts.getNumResults())
      scf::YieldOp::create(builder, loc, choice.getResults());
  }

  void placed(scf::ForOp loop, Block *block, Value start, Value stop, ValueRange carried) {
    Operation *yield = block->empty() ? nullptr : block->getTerminator();
    if (yield)
      yield->erase();
    loop->moveBefore(block, block->end());
    loop.getLowerBoundMutable().set(start);
    loop.getUpperBoundMutable().set(stop);
    loop.getInitArgsMutable().assign(carried);
    OpBuilder builder = OpBuilder::atBlockEnd(block);
    scf::YieldOp::create(builder, loc, loop.getResults());
  }

  scf::ForOp whole, inside;
  OpBuilder before;
  Location loc;
  const Guesses &given;
  Sources sizes; ///< that bounds are computed of, of this loop and those around it
  bool forInner;
  Guesses guesses;          ///< and the loop's variable, and those of loops inside
  Value begin, end, wanted; ///< of the interior; of the row: whether it has one
  double first = 0, last = 0, turns = 0;
  unsigned resolved = 0, resolvedForInner = 0;
};

/// Does a loop inside choose by its own and the parallel loop's variable?
bool choosesByBoth(scf::ForOp parallel) {
  auto isByBoth = [&](Value left, Value right) {
    std::optional<BorderForm> a = borderForm(left, parallel), b = borderForm(right, parallel);
    if (!a || !b)
      return false;
    LinearForm form = a->linear.minus(b->linear);
    return form.coefficient(parallel.getInductionVar()) != 0 &&
           llvm::any_of(form.terms,
                        [&](auto &term) { return bool(innerLoopOf(term.first, parallel)); });
  };
  return parallel.getBody()
      ->walk([&](Operation *op) {
        if (op->getParentOfType<scf::ForOp>() == parallel)
          return WalkResult::advance();
        std::optional<Wrap> wrap = wrapOf(op);
        bool isOne = wrap ? isByBoth(wrap->index, parallel.getLowerBound())
                          : isa<arith::CmpIOp, arith::MinSIOp, arith::MaxSIOp>(op) &&
                                isByBoth(op->getOperand(0), op->getOperand(1));
        return isOne ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}
} // namespace

scf::ForOp cpu::splitBorders(scf::ForOp parallel, const Guesses &guesses, const Sources &sizes,
                             bool keepsLoops) {
  if (!keepsLoops && choosesByBoth(parallel))
    if (scf::ForOp interior = Interior(parallel, guesses, sizes, /*forInner=*/true).run())
      return interior;
  SmallVector<scf::ForOp> inner;
  parallel.getBody()->walk([&](scf::ForOp loop) {
    if (keepsLoops)
      return;
    bool hasLoop = loop.getBody()
                       ->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); })
                       .wasInterrupted();
    if (!hasLoop)
      inner.push_back(loop);
  });
  bool isSplit = false;
  for (scf::ForOp loop : inner)
    isSplit |= bool(Interior(loop, guesses, sizes, /*forInner=*/false).run());
  if (isSplit)
    return parallel;
  scf::ForOp interior = Interior(parallel, guesses, sizes, /*forInner=*/false).run();
  return interior ? interior : parallel;
}
