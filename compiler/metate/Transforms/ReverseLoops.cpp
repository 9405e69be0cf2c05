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
#include "metate/Transforms/ReverseTurns.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;

/// Of a loop's buffers, of all that it carries.
static constexpr int64_t mostBytesKept = 1 << 14, leastSlots = 16, mostSlots = 1 << 10;

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

/// At the beginning of a parallel loop's iteration, where a loop around it uses it again; in the kernel in front of the statement.
Value ReverseMode::buffer(Type type, int64_t size) {
  OpBuilder::InsertionGuard guard(builder);
  Block *written = builder.getInsertionBlock();
  for (; !isa<RangeOp, ForEachOp, KernelOp>(written->getParentOp());
       written = written->getParentOp()->getBlock())
    builder.setInsertionPoint(written->getParentOp());
  if (!isa<KernelOp>(written->getParentOp()))
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
    // One of the kernel's own is kept now: what runs before and behind a parallel loop has no memory in common.
    if (isa<KernelOp>(loop->getParentOp()) && failed(keep(*turns, tapes[loop])))
      return failure();
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
