//===- ReverseTurns.cpp - the turns of a loop in order ----------*- C++ -*-===//
#include "metate/Transforms/ReverseTurns.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace metate;

//===-- for ----------------------------------------------------------------------------------------------------===//

class ReverseMode::ForTurns : public ReverseMode::Turns {
public:
  ForTurns(ReverseMode &mode, scf::ForOp op) : Turns(mode, op), op(op) {
    for (auto [k, argument, result] : llvm::enumerate(op.getRegionIterArgs(), op.getResults())) {
      if (!mode.needed.isNeeded(argument) && !mode.needed.isNeeded(result))
        continue;
      kept.push_back(k);
      inits.push_back(op.getInitArgs()[k]);
      mustKeep |= mode.needed.isNeeded(argument);
    }
  }

  std::optional<int64_t> knownCount() override {
    auto lower = getConstantIntValue(op.getLowerBound()),
         upper = getConstantIntValue(op.getUpperBound()), step = getConstantIntValue(op.getStep());
    if (!lower || !upper || !step || *step <= 0)
      return std::nullopt;
    return std::max<int64_t>(0, (*upper - *lower + *step - 1) / *step);
  }

  FailureOr<Value> count() override {
    OpBuilder &b = mode.builder;
    Value lower = mode.at(op.getLowerBound()), upper = mode.at(op.getUpperBound());
    Value span = b.createOrFold<arith::SubIOp>(loc(), upper, lower);
    Value step = mode.at(op.getStep());
    Value turns = isMutant(Mutant::LastTurnNotCounted)
                      ? b.createOrFold<arith::DivSIOp>(loc(), span, step)
                      : b.createOrFold<arith::CeilDivSIOp>(loc(), span, step);
    return b.createOrFold<arith::MaxSIOp>(loc(), turns, mode.index(0));
  }

  LogicalResult run(Value turn, ValueRange carried, Values &next) override {
    enter(turn, carried);
    if (failed(mode.sweep(*op.getBody(), /*keeps=*/false)))
      return failure();
    for (unsigned k : kept)
      next.push_back(mode.at(op.getYieldedValues()[k]));
    return success();
  }

  LogicalResult runAll() override {
    FailureOr<Value> turns = count();
    Values results;
    auto body = [&](Value turn, ValueRange carried, Values &next) {
      return run(turn, carried, next);
    };
    if (failed(turns) || failed(mode.writeLoop(*turns, begin(), results, body)))
      return failure();
    return finish(results);
  }

  LogicalResult finish(ValueRange last) override {
    for (auto [k, value] : llvm::zip(kept, last))
      mode.primal.map(op.getResult(k), value);
    return success();
  }

  LogicalResult reverseEnd(ValueRange, Values &gradients) override {
    for (Value result : op.getResults())
      gradients.push_back(mode.activity.isActive(result) ? mode.gradientOf(result) : Value());
    return success();
  }

  LogicalResult reverse(Value turn, ValueRange carried, Values &gradients) override {
    Block &body = *op.getBody();
    enter(turn, carried);
    mode.scopes.push_back({&body, mode.builder.getInsertionBlock()});
    if (failed(mode.sweep(body, /*keeps=*/true)))
      return failure();
    for (auto [value, gradient] : llvm::zip(op.getYieldedValues(), gradients))
      mode.addGradient(value, gradient);
    if (failed(mode.reverse(body)))
      return failure();
    for (auto [argument, gradient] : llvm::zip(op.getRegionIterArgs(), gradients))
      gradient = mode.activity.isActive(argument) ? mode.gradientOf(argument) : Value();
    mode.scopes.pop_back();
    return success();
  }

  ValueRange firsts() override { return op.getInitArgs(); }
  bool isActive(unsigned k) override {
    return mode.activity.isActive(op.getRegionIterArg(k)) ||
           mode.activity.isActive(op.getResult(k));
  }

private:
  void enter(Value turn, ValueRange carried) {
    OpBuilder &b = mode.builder;
    Value offset = b.createOrFold<arith::MulIOp>(loc(), turn, mode.at(op.getStep()));
    mode.primal.map(op.getInductionVar(),
                    b.createOrFold<arith::AddIOp>(loc(), mode.at(op.getLowerBound()), offset));
    for (auto [k, value] : llvm::zip(kept, carried))
      mode.primal.map(op.getRegionIterArg(k), value);
  }

  scf::ForOp op;
};

//===-- while: its turns are counted first ----------------------------------------------------------------------===//

class ReverseMode::WhileTurns : public ReverseMode::Turns {
public:
  WhileTurns(ReverseMode &mode, scf::WhileOp op) : Turns(mode, op), op(op) {
    for (auto [k, argument] : llvm::enumerate(op.getBeforeArguments()))
      if (mode.needed.isNeeded(argument)) {
        kept.push_back(k);
        inits.push_back(op.getInits()[k]);
        mustKeep = true;
      }
    for (auto [k, argument, result] : llvm::enumerate(op.getAfterArguments(), op.getResults()))
      if (mode.needed.isNeeded(argument) || mode.needed.isNeeded(result))
        handed.push_back(k);
  }

  FailureOr<Value> count() override {
    Value turns;
    if (failed(write(&turns)))
      return failure();
    return turns;
  }

  LogicalResult run(Value, ValueRange carried, Values &next) override {
    enter(carried);
    if (failed(mode.sweep(*op.getBeforeBody(), /*keeps=*/false)))
      return failure();
    handOn();
    if (failed(mode.sweep(*op.getAfterBody(), /*keeps=*/false)))
      return failure();
    for (unsigned k : kept)
      next.push_back(mode.at(op.getYieldedValues()[k]));
    return success();
  }

  LogicalResult runAll() override { return write(nullptr); }

  /// The test that ended it, once more.
  LogicalResult finish(ValueRange last) override {
    enter(last);
    if (failed(mode.sweep(*op.getBeforeBody(), /*keeps=*/false)))
      return failure();
    for (unsigned k : handed)
      mode.primal.map(op.getResult(k), mode.at(op.getConditionOp().getArgs()[k]));
    return success();
  }

  LogicalResult reverseEnd(ValueRange last, Values &gradients) override {
    Values given = llvm::map_to_vector(op.getResults(), [&](Value result) {
      return mode.activity.isActive(result) ? mode.gradientOf(result) : Value();
    });
    return reverseTest(last, given, gradients);
  }

  LogicalResult reverse(Value, ValueRange carried, Values &gradients) override {
    Block &after = *op.getAfterBody();
    enter(carried);
    if (failed(mode.sweep(*op.getBeforeBody(), /*keeps=*/false)))
      return failure();
    handOn();
    mode.scopes.push_back({&after, mode.builder.getInsertionBlock()});
    if (failed(mode.sweep(after, /*keeps=*/true)))
      return failure();
    for (auto [value, gradient] : llvm::zip(op.getYieldedValues(), gradients))
      mode.addGradient(value, gradient);
    if (failed(mode.reverse(after)))
      return failure();
    Values given = llvm::map_to_vector(op.getAfterArguments(), [&](Value argument) {
      return mode.activity.isActive(argument) ? mode.gradientOf(argument) : Value();
    });
    mode.scopes.pop_back();
    return reverseTest(carried, given, gradients);
  }

  ValueRange firsts() override { return op.getInits(); }
  bool isActive(unsigned k) override { return mode.activity.isActive(op.getBeforeArguments()[k]); }

private:
  void enter(ValueRange carried) {
    for (auto [k, value] : llvm::zip(kept, carried))
      mode.primal.map(op.getBeforeArguments()[k], value);
  }

  void handOn() {
    for (unsigned k : handed)
      mode.primal.map(op.getAfterArguments()[k], mode.at(op.getConditionOp().getArgs()[k]));
  }

  /// The reverse of the part before the condition; `given` are the gradients of what that hands on.
  LogicalResult reverseTest(ValueRange carried, ValueRange given, Values &gradients) {
    Block &before = *op.getBeforeBody();
    mode.forgetGradientsIn(before); // it is written at the end of the loop and in each turn
    enter(carried);
    mode.scopes.push_back({&before, mode.builder.getInsertionBlock()});
    if (failed(mode.sweep(before, /*keeps=*/true)))
      return failure();
    for (auto [value, gradient] : llvm::zip(op.getConditionOp().getArgs(), given))
      mode.addGradient(value, gradient);
    if (failed(mode.reverse(before)))
      return failure();
    gradients.clear();
    for (Value argument : op.getBeforeArguments())
      gradients.push_back(mode.activity.isActive(argument) ? mode.gradientOf(argument) : Value());
    mode.scopes.pop_back();
    return success();
  }

  /// The loop itself, of what is needed; counts its turns where `turns` is given.
  LogicalResult write(Value *turns) {
    OpBuilder &b = mode.builder;
    Values first = begin();
    if (turns)
      first.push_back(mode.index(0));
    SmallVector<Type> types;
    for (unsigned k : handed)
      types.push_back(op.getResult(k).getType());
    if (turns)
      types.push_back(b.getIndexType());
    auto made = scf::WhileOp::create(b, loc(), types, first);
    SmallVector<Location> places(first.size(), loc()), ofResults(types.size(), loc());
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&made.getBefore(), {}, TypeRange(ValueRange(first)), places);
    enter(before->getArguments().take_front(kept.size()));
    if (failed(mode.sweep(*op.getBeforeBody(), /*keeps=*/false)))
      return failure();
    Values given;
    for (unsigned k : handed)
      given.push_back(mode.at(op.getConditionOp().getArgs()[k]));
    if (turns)
      given.push_back(before->getArguments().back());
    scf::ConditionOp::create(b, loc(), mode.at(op.getConditionOp().getCondition()), given);
    Block *after = b.createBlock(&made.getAfter(), {}, types, ofResults);
    for (auto [k, argument] : llvm::zip(handed, after->getArguments()))
      mode.primal.map(op.getAfterArguments()[k], argument);
    if (failed(mode.sweep(*op.getAfterBody(), /*keeps=*/false)))
      return failure();
    Values next;
    for (unsigned k : kept)
      next.push_back(mode.at(op.getYieldedValues()[k]));
    if (turns)
      next.push_back(arith::AddIOp::create(b, loc(), after->getArguments().back(), mode.index(1)));
    scf::YieldOp::create(b, loc(), next);
    for (auto [k, result] : llvm::zip(handed, made.getResults()))
      mode.primal.map(op.getResult(k), result);
    if (turns)
      *turns = made.getResults().back();
    return success();
  }

  scf::WhileOp op;
  SmallVector<unsigned> handed; // numbers of what the condition hands on
};

std::unique_ptr<ReverseMode::Turns> ReverseMode::turnsOf(Operation *loop) {
  if (auto op = dyn_cast<scf::ForOp>(loop))
    return std::make_unique<ForTurns>(*this, op);
  return std::make_unique<WhileTurns>(*this, cast<scf::WhileOp>(loop));
}
