//===- UpliftWhile.cpp - loops that count, however they are written -*- C++ -*-===//
//
// `while i < n: ...; i += 1` is `for i in range(i, n)`, and `while i >= 0: ...; i -= 1` the same backwards: what unrolls loops, makes values of
// places and vectors of turns looks at loops with bounds. It means the same where the bound does not change and the counter cannot wrap.
// (Upstream's upliftWhileToForLoop gives the value of the last turn for the counter behind the loop.)
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
/// What the condition says: counter < bound, <=, > or >=.
struct CountTest {
  BlockArgument counter;
  Value bound;
  bool falls, isInclusive;

  static std::optional<CountTest> of(scf::WhileOp loop) {
    auto compare = loop.getConditionOp().getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare || compare->getBlock() != loop.getBeforeBody() ||
        &loop.getBeforeBody()->front() != compare)
      return std::nullopt;
    using Predicate = arith::CmpIPredicate;
    Predicate predicate = compare.getPredicate();
    bool isLess = predicate == Predicate::slt || predicate == Predicate::sle;
    bool isInclusive = predicate == Predicate::sle || predicate == Predicate::sge;
    if (!isLess && !isInclusive && predicate != Predicate::sgt)
      return std::nullopt;
    auto counterIn = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && argument.getOwner() == loop.getBeforeBody() ? argument : BlockArgument();
    };
    BlockArgument counter = counterIn(compare.getLhs());
    bool isBehind = !counter; // it is the right-hand side
    if (isBehind)
      counter = counterIn(compare.getRhs());
    Value bound = isBehind ? compare.getLhs() : compare.getRhs();
    if (!counter || bound.getParentBlock() == loop.getBeforeBody())
      return std::nullopt;
    return CountTest{counter, bound, /*falls=*/isLess == isBehind, isInclusive};
  }
};

/// Is it what the condition hands on of the counter? A counter that a turn has changed already is another value.
bool isCounter(Value value, scf::WhileOp loop, const CountTest &test) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == loop.getAfterBody() &&
         loop.getConditionOp().getArgs()[argument.getArgNumber()] == test.counter;
}

/// How far a turn takes the counter towards the bound: a constant, with which it never wraps.
std::optional<int64_t> stepOf(scf::WhileOp loop, const CountTest &test) {
  Operation *next = loop.getYieldedValues()[test.counter.getArgNumber()].getDefiningOp();
  APInt constant;
  if (!isa_and_present<arith::AddIOp, arith::SubIOp>(next) ||
      !isCounter(next->getOperand(0), loop, test) ||
      !matchPattern(next->getOperand(1), m_ConstantInt(&constant)) ||
      constant.getSignificantBits() > 31)
    return std::nullopt;
  int64_t step = constant.getSExtValue();
  if (isa<arith::SubIOp>(next) != test.falls)
    step = -step;
  if (step <= 0)
    return std::nullopt;
  // How far it falls is a number of 64 bits.
  if (test.falls && constant.getBitWidth() > 32)
    return std::nullopt;
  // The last value that the condition lets pass, and a step.
  int64_t beyond = test.isInclusive ? step : step - 1;
  if (beyond == 0)
    return step;
  auto range = IntegerRange::of32Bits(test.bound);
  if (!range)
    return std::nullopt;
  unsigned bits = constant.getBitWidth();
  bool isFar = test.falls
                   ? range->least >= APInt::getSignedMinValue(bits).getSExtValue() + beyond
                   : range->greatest <= APInt::getSignedMaxValue(bits).getSExtValue() - beyond;
  return isFar ? std::optional(step) : std::nullopt;
}

/// Makes the loop with bounds: of the counter's values, or, where it falls, of how far it has come.
class Uplift {
public:
  Uplift(scf::WhileOp loop, const CountTest &test, int64_t step)
      : loop(loop), test(test), counter(test.counter.getArgNumber()), builder(loop),
        loc(loop.getLoc()) {
    begin = loop.getInits()[counter];
    SmallVector<Value> inits(loop.getInits());
    inits.erase(inits.begin() + counter);
    Value lower = first = index(begin), upper = index(test.bound);
    if (test.falls)
      std::swap(lower, upper);
    if (test.isInclusive && !(test.falls && isMutant(Mutant::FallsToAbove)))
      upper = arith::AddIOp::create(builder, loc, upper, constant(builder.getIndexType(), 1));
    if (test.falls) {
      upper = arith::SubIOp::create(builder, loc, upper, lower);
      lower = constant(builder.getIndexType(), 0);
    }
    auto made = scf::ForOp::create(builder, loc, lower, upper,
                                   constant(builder.getIndexType(), step), inits);
    if (inits.empty())
      made.getBody()->getTerminator()->erase();
    writeTurn(made);
    loop.replaceAllUsesWith(forwarded(made.getResults(), last(step)));
    loop.erase();
  }

private:
  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }

  Value index(Value value) {
    Type type = builder.getIndexType();
    return value.getType() == type ? value : arith::IndexCastOp::create(builder, loc, type, value);
  }

  void writeTurn(scf::ForOp made) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    Value turn = made.getInductionVar();
    if (test.falls)
      turn = arith::SubIOp::create(builder, loc, first, turn);
    if (Type type = begin.getType(); !type.isIndex())
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
  Value last(int64_t step) {
    Type type = begin.getType();
    Value one = constant(type, 1), stride = constant(type, step);
    Value lower = begin, upper = test.bound;
    if (test.falls)
      std::swap(lower, upper);
    Value span =
        arith::SubIOp::create(builder, loc, upper, lower); // of an inclusive bound, one less
    if (!test.isInclusive)
      span = arith::SubIOp::create(builder, loc, span, one);
    Value turns = arith::DivUIOp::create(builder, loc, span, stride);
    turns = arith::AddIOp::create(builder, loc, turns, one);
    Value way = arith::MulIOp::create(builder, loc, turns, stride), end;
    if (test.falls)
      end = arith::SubIOp::create(builder, loc, begin, way);
    else
      end = arith::AddIOp::create(builder, loc, begin, way);
    auto less = test.isInclusive ? arith::CmpIPredicate::sle : arith::CmpIPredicate::slt;
    Value runs = arith::CmpIOp::create(builder, loc, less, lower, upper);
    return arith::SelectOp::create(builder, loc, runs,
                                   isMutant(Mutant::CountedOneShort) ? test.bound : end, begin);
  }

  scf::WhileOp loop;
  CountTest test;
  unsigned counter;
  OpBuilder builder;
  Location loc;
  Value begin, first; ///< `first`: as an index
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
    std::optional<int64_t> step = test ? stepOf(loop, *test) : std::nullopt;
    if (!step)
      return;
    Uplift(loop, *test, *step);
    ++uplifted;
  }

  static bool isBefore(Value value, scf::WhileOp loop) {
    return !loop->isAncestor(value.getParentRegion()->getParentOp());
  }
};
} // namespace
