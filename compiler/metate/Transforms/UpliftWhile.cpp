//===- UpliftWhile.cpp - loops that count, however they are written -*- C++ -*-===//
//
// `while i < n: ...; i += 1` is `for i in range(i, n)`: what unrolls loops, makes values of places and vectors of turns looks at loops with
// bounds. It means the same where the bound does not change and the counter cannot wrap. (Upstream's upliftWhileToForLoop gives the value of
// the last turn for the counter behind the loop.)
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace metate {
#define GEN_PASS_DEF_UPLIFTWHILE
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// What the condition says: counter < bound.
struct CountTest {
  BlockArgument counter;
  Value bound;

  static std::optional<CountTest> of(scf::WhileOp loop) {
    auto compare = loop.getConditionOp().getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare || compare->getBlock() != loop.getBeforeBody() ||
        &loop.getBeforeBody()->front() != compare)
      return std::nullopt;
    bool isLess = compare.getPredicate() == arith::CmpIPredicate::slt;
    if (!isLess && compare.getPredicate() != arith::CmpIPredicate::sgt)
      return std::nullopt;
    auto counter = dyn_cast<BlockArgument>(isLess ? compare.getLhs() : compare.getRhs());
    Value bound = isLess ? compare.getRhs() : compare.getLhs();
    if (!counter || counter.getOwner() != loop.getBeforeBody() ||
        bound.getParentBlock() == loop.getBeforeBody())
      return std::nullopt;
    return CountTest{counter, bound};
  }
};

/// Is it what the condition hands on of the counter? A counter that a turn has changed already is another value.
bool isCounter(Value value, scf::WhileOp loop, const CountTest &test) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == loop.getAfterBody() &&
         loop.getConditionOp().getArgs()[argument.getArgNumber()] == test.counter;
}

/// A positive constant that is added to the counter, so that it never wraps; null: none.
Operation *stepOf(scf::WhileOp loop, const CountTest &test) {
  Value next = loop.getYieldedValues()[test.counter.getArgNumber()];
  auto sum = next.getDefiningOp<arith::AddIOp>();
  APInt step;
  if (!sum || !isCounter(sum.getLhs(), loop, test) ||
      !matchPattern(sum.getRhs(), m_ConstantInt(&step)) || !step.isStrictlyPositive())
    return nullptr;
  Operation *constant = sum.getRhs().getDefiningOp();
  if (step.isOne())
    return constant;
  // The last value below the bound, and a step.
  auto range = IntegerRange::of(test.bound);
  APInt most = APInt::getSignedMaxValue(step.getBitWidth());
  bool isBelow = range && range->greatest <= most.getSExtValue() - step.getSExtValue() + 1;
  return isBelow ? constant : nullptr;
}

/// Makes the loop with bounds.
class Uplift {
public:
  Uplift(scf::WhileOp loop, const CountTest &test, Operation *step)
      : loop(loop), counter(test.counter.getArgNumber()), builder(loop), loc(loop.getLoc()) {
    Value begin = loop.getInits()[counter], stride = step->getResult(0);
    SmallVector<Value> inits(loop.getInits());
    inits.erase(inits.begin() + counter);
    auto made =
        scf::ForOp::create(builder, loc, index(begin), index(test.bound), index(stride), inits);
    if (inits.empty())
      made.getBody()->getTerminator()->erase();
    writeTurn(made);
    loop.replaceAllUsesWith(forwarded(made.getResults(), last(begin, test.bound, stride)));
    loop.erase();
  }

private:
  Value index(Value value) {
    Type type = builder.getIndexType();
    return value.getType() == type ? value : arith::IndexCastOp::create(builder, loc, type, value);
  }

  void writeTurn(scf::ForOp made) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    Value turn = made.getInductionVar();
    if (Type type = loop.getInits()[counter].getType(); !type.isIndex())
      turn = arith::IndexCastOp::create(builder, loc, type, turn);
    loop.getAfterBody()->getTerminator()->eraseOperand(counter);
    Block &after = *loop.getAfterBody();
    for (auto [argument, value] :
         llvm::zip(after.getArguments(), forwarded(made.getRegionIterArgs(), turn)))
      argument.replaceAllUsesWith(value);
    made.getBody()->getOperations().splice(made.getBody()->end(), after.getOperations());
  }

  /// What the condition hands on, of what a turn begins with.
  SmallVector<Value> forwarded(ValueRange carried, Value count) {
    return llvm::map_to_vector(loop.getConditionOp().getArgs(), [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || argument.getOwner() != loop.getBeforeBody())
        return value;
      unsigned number = argument.getArgNumber();
      return number == counter ? count : carried[number - (number > counter)];
    });
  }

  /// The counter behind the last turn; differences of any two numbers are right without a sign.
  Value last(Value begin, Value bound, Value stride) {
    Value one = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(begin.getType(), 1));
    Value span = arith::SubIOp::create(builder, loc, bound, begin);
    Value turns = arith::AddIOp::create(
        builder, loc,
        arith::DivUIOp::create(builder, loc, arith::SubIOp::create(builder, loc, span, one),
                               stride),
        one);
    Value end = arith::AddIOp::create(builder, loc, begin,
                                      arith::MulIOp::create(builder, loc, turns, stride));
    Value runs = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, begin, bound);
    return arith::SelectOp::create(builder, loc, runs,
                                   isMutant(Mutant::CountedOneShort) ? bound : end, begin);
  }

  scf::WhileOp loop;
  unsigned counter;
  OpBuilder builder;
  Location loc;
};

struct UpliftWhile : metate::impl::UpliftWhileBase<UpliftWhile> {
  void runOnOperation() override {
    SmallVector<scf::WhileOp> loops; // from the inside out
    getOperation().walk([&](scf::WhileOp loop) { loops.push_back(loop); });
    for (scf::WhileOp loop : loops)
      visit(loop);
  }

private:
  void visit(scf::WhileOp loop) {
    // Bounds that the condition computes anew.
    moveLoopInvariantCode(
        {&loop.getBefore()}, [&](Value value, Region *) { return isBefore(value, loop); },
        [](Operation *op, Region *) { return isPure(op); },
        [&](Operation *op, Region *) { op->moveBefore(loop); });
    std::optional<CountTest> test = CountTest::of(loop);
    Operation *step = test ? stepOf(loop, *test) : nullptr;
    if (!step)
      return;
    if (loop->isAncestor(step))
      step->moveBefore(loop);
    Uplift(loop, *test, step);
    ++uplifted;
  }

  static bool isBefore(Value value, scf::WhileOp loop) {
    return !loop->isAncestor(value.getParentRegion()->getParentOp());
  }
};
} // namespace
