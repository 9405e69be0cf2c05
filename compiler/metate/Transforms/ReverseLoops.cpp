//===- ReverseLoops.cpp - loops in order that run backwards -----*- C++ -*-===//
//
// The last turn comes first. What a turn began with is had again from a checkpoint: the forward sweep keeps what the loop carries at
// the beginning of every turn where few turns are known, else of every `stride`-th; from there the turns of a segment are run
// again, and kept, every `fineStride`-th of them, in a second buffer, and what lies between two of those is run a third time. Both
// buffers have a fixed size, so that any number of turns is right: up to `slots` turns are kept all, up to its square cost two
// forward runs more, beyond that turns between checkpoints repeat.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/ReverseMode.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace metate;

/// Of a loop's buffers, of all that it carries.
static constexpr int64_t mostBytesKept = 1 << 14, leastSlots = 16, mostSlots = 1 << 10;

class ReverseMode::Turns {
public:
  Turns(ReverseMode &mode, Operation *loop) : mode(mode), loop(loop) {}
  virtual ~Turns() = default;

  /// Types and first values of what is carried from turn to turn and needed, where code is written.
  Values begin() { return mode.atAll(inits); }
  TypeRange types() const { return TypeRange(ValueRange(inits)); }
  bool mustBeKept() const { return mustKeep; }
  /// Is the number of turns known while compiling?
  virtual std::optional<int64_t> knownCount() { return std::nullopt; }
  /// How many turns there are, where code is written; may run them.
  virtual FailureOr<Value> count() = 0;
  /// Runs one turn: `carried` becomes what it hands to the next one.
  virtual LogicalResult run(Value turn, ValueRange carried, Values &next) = 0;
  /// Runs all, and maps the results of the loop that are needed.
  virtual LogicalResult runAll() = 0;
  /// Behind the last turn of a kept loop: maps the results, from what that handed on.
  virtual LogicalResult finish(ValueRange last) = 0;
  /// The reverse of what stands behind the last turn: gives the gradients of what that handed on; null: none.
  virtual LogicalResult reverseEnd(ValueRange last, Values &gradients) = 0;
  /// The reverse of one turn, which began with `carried`; `gradients` are of what it handed on, then of what it began with.
  virtual LogicalResult reverse(Value turn, ValueRange carried, Values &gradients) = 0;
  /// The values whose gradients these are: what the first turn begins with.
  virtual ValueRange firsts() = 0;
  virtual bool isActive(unsigned number) = 0;

  Location loc() const { return loop->getLoc(); }

protected:
  ReverseMode &mode;
  Operation *loop;
  Values inits; // of what is needed
  SmallVector<unsigned> kept;
  bool mustKeep = false;
};

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
    Value turns = b.createOrFold<arith::CeilDivSIOp>(loc(), span, mode.at(op.getStep()));
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

LogicalResult ReverseMode::sweepLoop(Operation *loop, bool keeps, bool isAgain) {
  std::unique_ptr<Turns> turns = turnsOf(loop);
  if (keeps && turns->mustBeKept())
    return keep(*turns, tapes[loop]);
  if (!isAgain && !needed.isAnyNeeded(loop->getResults()))
    return success();
  return turns->runAll();
}

//===-- loops that are written ---------------------------------------------------------------------------------===//

/// `for turn in range(turns)`, with values that it carries.
LogicalResult ReverseMode::writeLoop(Value turns, ValueRange inits, Values &results, Body body) {
  Location loc = turns.getLoc();
  auto loop = scf::ForOp::create(builder, loc, index(0), turns, index(1), inits);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = loop.getBody();
  if (inits.empty())
    block->getTerminator()->erase();
  builder.setInsertionPointToEnd(block);
  Values next;
  if (failed(body(loop.getInductionVar(), loop.getRegionIterArgs(), next)))
    return failure();
  scf::YieldOp::create(builder, loc, next);
  results.append(loop.getResults().begin(), loop.getResults().end());
  return success();
}

/// `for turn in reversed(range(turns))`.
LogicalResult ReverseMode::writeBackwards(Value turns,
                                          llvm::function_ref<LogicalResult(Value)> body) {
  Values none;
  return writeLoop(turns, {}, none, [&](Value number, ValueRange, Values &) {
    Value last = arith::SubIOp::create(builder, turns.getLoc(), turns, index(1));
    return body(arith::SubIOp::create(builder, turns.getLoc(), last, number));
  });
}

//===-- checkpoints --------------------------------------------------------------------------------------------===//

/// In the iteration of a parallel loop, or in the kernel: a loop around it uses it again.
Value ReverseMode::buffer(Type type, int64_t size) {
  OpBuilder::InsertionGuard guard(builder);
  Block *written = builder.getInsertionBlock();
  while (!isa<RangeOp, ForEachOp, KernelOp>(written->getParentOp()))
    written = written->getParentOp()->getBlock();
  builder.setInsertionPointToStart(written);
  return memref::AllocaOp::create(builder, kernel.getLoc(), MemRefType::get({size}, type));
}

void ReverseMode::put(ValueRange values, ValueRange buffers, Value at) {
  for (auto [value, buffer] : llvm::zip(values, buffers))
    memref::StoreOp::create(builder, at.getLoc(), value, buffer, at);
}

SmallVector<Value> ReverseMode::take(ValueRange buffers, Value at) {
  return llvm::map_to_vector(buffers, [&](Value buffer) -> Value {
    return memref::LoadOp::create(builder, at.getLoc(), buffer, at);
  });
}

static int64_t bytesOf(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types) {
    auto vector = dyn_cast<VectorType>(type);
    Type scalar = getElementTypeOrSelf(type);
    int64_t size = scalar.isIndex() ? 8 : llvm::divideCeil(scalar.getIntOrFloatBitWidth(), 8u);
    bytes += size * (vector ? vector.getNumElements() : 1);
  }
  return bytes;
}

/// Runs the loop forward and keeps what its turns begin with.
LogicalResult ReverseMode::keep(Turns &turns, Tape &tape) {
  tape = Tape();
  FailureOr<Value> count = turns.count();
  if (failed(count))
    return failure();
  tape.turns = *count;
  int64_t bytes = std::max<int64_t>(1, bytesOf(turns.types()));
  int64_t slots = std::clamp(mostBytesKept / bytes, leastSlots, mostSlots);
  std::optional<int64_t> known = turns.knownCount();
  bool isShort = known && *known <= slots;
  for (Type type : turns.types()) {
    tape.coarse.push_back(buffer(type, isShort ? std::max<int64_t>(*known, 1) : slots));
    if (!isShort)
      tape.fine.push_back(buffer(type, slots));
  }
  Location loc = turns.loc();
  auto strideFor = [&](Value turns) {
    Value stride = arith::CeilDivSIOp::create(builder, loc, turns, index(slots));
    return arith::MaxSIOp::create(builder, loc, stride, index(1)).getResult();
  };
  if (!isShort) {
    tape.stride = strideFor(tape.turns);
    tape.fineStride = strideFor(tape.stride);
  }
  auto body = [&](Value turn, ValueRange carried, Values &next) {
    if (isShort) {
      put(carried, tape.coarse, turn);
    } else {
      Value rest = arith::RemSIOp::create(builder, loc, turn, tape.stride);
      Value isKept = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, index(0));
      auto branch = scf::IfOp::create(builder, loc, isKept, /*withElse=*/false);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(branch.thenYield());
      put(carried, tape.coarse, arith::DivSIOp::create(builder, loc, turn, tape.stride));
    }
    return turns.run(turn, carried, next);
  };
  if (failed(writeLoop(tape.turns, turns.begin(), tape.last, body)))
    return failure();
  return turns.finish(tape.last);
}

LogicalResult ReverseMode::reverseLoop(Operation *loop) {
  std::unique_ptr<Turns> turns = turnsOf(loop);
  Tape tape;
  if (turns->mustBeKept()) {
    tape = tapes.lookup(loop);
  } else {
    FailureOr<Value> count = turns->count();
    if (failed(count))
      return failure();
    tape.turns = *count;
  }
  Values given;
  if (failed(turns->reverseEnd(tape.last, given)))
    return failure();
  // What turns hand on backwards, in variables: those of values that do not matter are null.
  Values carries;
  Location loc = turns->loc();
  for (auto [k, first] : llvm::enumerate(turns->firsts())) {
    carries.push_back(Value());
    if (!turns->isActive(k))
      continue;
    carries.back() = variable(first.getType(), builder.getInsertionBlock());
    Value gradient = given[k] ? given[k] : rules(loc).zero(first.getType());
    memref::StoreOp::create(builder, loc, gradient, carries.back());
  }
  LogicalResult done = turns->mustBeKept() ? reverseKept(*turns, tape, carries)
                                           : writeBackwards(tape.turns, [&](Value turn) {
                                               return reverseTurn(*turns, turn, {}, carries);
                                             });
  if (failed(done))
    return failure();
  for (auto [first, carry] : llvm::zip(turns->firsts(), carries))
    if (carry)
      addGradient(first, memref::LoadOp::create(builder, loc, carry));
  return success();
}

/// One turn, between the variables that hold the gradients of what is carried.
LogicalResult ReverseMode::reverseTurn(Turns &turns, Value turn, ValueRange carried,
                                       ValueRange carries) {
  Location loc = turns.loc();
  Values gradients;
  for (Value carry : carries)
    gradients.push_back(carry ? memref::LoadOp::create(builder, loc, carry).getResult() : Value());
  if (failed(turns.reverse(turn, carried, gradients)))
    return failure();
  for (auto [carry, gradient] : llvm::zip(carries, gradients)) {
    if (!carry)
      continue;
    Type type = cast<MemRefType>(carry.getType()).getElementType();
    memref::StoreOp::create(builder, loc, gradient ? gradient : rules(loc).zero(type), carry);
  }
  return success();
}

LogicalResult ReverseMode::reverseKept(Turns &turns, const Tape &tape, ValueRange carries) {
  Location loc = turns.loc();
  if (!tape.stride)
    return writeBackwards(tape.turns, [&](Value turn) {
      return reverseTurn(turns, turn, take(tape.coarse, turn), carries);
    });
  Value segments = arith::CeilDivSIOp::create(builder, loc, tape.turns, tape.stride);
  return writeBackwards(segments, [&](Value segment) {
    Value first = arith::MulIOp::create(builder, loc, segment, tape.stride);
    Value rest = arith::SubIOp::create(builder, loc, tape.turns, first);
    Value count = arith::MinSIOp::create(builder, loc, rest, tape.stride);
    return reverseSegment(turns, tape, first, count, take(tape.coarse, segment), carries);
  });
}

/// `count` turns from `first` on, which began with `begin`.
LogicalResult ReverseMode::reverseSegment(Turns &turns, const Tape &tape, Value first, Value count,
                                          ValueRange begin, ValueRange carries) {
  Location loc = turns.loc();
  Values ignored;
  auto forward = [&](Value turn, ValueRange carried, Values &next) {
    Value rest = arith::RemSIOp::create(builder, loc, turn, tape.fineStride);
    Value isKept = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, index(0));
    auto branch = scf::IfOp::create(builder, loc, isKept, /*withElse=*/false);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(branch.thenYield());
      put(carried, tape.fine, arith::DivSIOp::create(builder, loc, turn, tape.fineStride));
    }
    return turns.run(arith::AddIOp::create(builder, loc, first, turn), carried, next);
  };
  // A segment of one turn has nothing to run.
  put(begin, tape.fine, index(0));
  Value one = index(1);
  Value isOne = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, count, one);
  Value runs = arith::SelectOp::create(builder, loc, isOne, index(0), count);
  if (failed(writeLoop(runs, begin, ignored, forward)))
    return failure();
  return writeBackwards(count, [&](Value turn) {
    Value rest = arith::RemSIOp::create(builder, loc, turn, tape.fineStride);
    Value from = arith::SubIOp::create(builder, loc, turn, rest);
    Values kept = take(tape.fine, arith::DivSIOp::create(builder, loc, turn, tape.fineStride)),
           carried;
    if (isMutant(Mutant::CheckpointOfNextTurn))
      rest = arith::AddIOp::create(builder, loc, rest, one);
    auto again = [&](Value number, ValueRange values, Values &next) {
      Value at = arith::AddIOp::create(builder, loc,
                                       arith::AddIOp::create(builder, loc, first, from), number);
      return turns.run(at, values, next);
    };
    if (failed(writeLoop(rest, kept, carried, again)))
      return failure();
    return reverseTurn(turns, arith::AddIOp::create(builder, loc, first, turn), carried, carries);
  });
}
