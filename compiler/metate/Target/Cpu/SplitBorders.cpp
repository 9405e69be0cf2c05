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
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/InteriorBounds.h"
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
static constexpr int64_t fewTurns = 16, mostCopied = 4096;

namespace {
bool isAlways(Value value, bool truth) {
  APInt constant;
  return value.getType().isInteger(1) && matchPattern(value, m_ConstantInt(&constant)) &&
         constant.isOne() == truth;
}

class Interior : InteriorBounds {
public:
  /// `forInner`: only if it leaves choices that loops inside make by the loop's variable and their own.
  Interior(scf::ForOp loop, const Guesses &given, const Sources &sizes, bool forInner)
      : InteriorBounds(loop, given, sizes), given(given), forInner(forInner) {}

  /// The loop over the interior; null: there is none.
  scf::ForOp run() {
    if (!isCandidate())
      return {};
    moveLoopInvariantCode(whole);
    copyInside();
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

  const Guesses &given;
  bool forInner;
  unsigned resolved = 0;
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
