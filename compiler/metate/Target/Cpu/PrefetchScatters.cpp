//===- PrefetchScatters.cpp - lines that counters will reach ----*- C++ -*-===//
//
// Counting sorts, radix sorts and bins write to places that counters give: `at = count[d]; count[d] = at + 1; out[at] = x`.
// That is a stream for each counter, more than the hardware follows, so each new line is waited for. The line after the
// one that is written will be written next by the same counter: it is asked for now. In the caches the request costs a
// quarter of such a loop, so the loop must be long. It writes a new place in each turn: its turns say how much memory.
//
//===----------------------------------------------------------------------===//
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_PREFETCHSCATTERS
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
constexpr int64_t lineBytes = 64;

/// What a loop writes, at least, for the lines to be worth asking for: what the second-level cache of a small core holds.
constexpr int64_t leastBytes = 1 << 20;

/// A counter that skips more than a line reaches another one than the next.
bool isStep(Value value) {
  IntegerAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.getValue().isStrictlyPositive() &&
         constant.getValue().ult(lineBytes);
}

/// Whether a value is what a counter held before the turn counted it up.
bool isCounter(Value value) {
  if (auto atomic = value.getDefiningOp<RmwOp>())
    return atomic.getKind() == arith::AtomicRMWKind::addi && isStep(atomic.getValue());
  auto read = value.getDefiningOp<ReadOp>();
  if (!read)
    return false;
  return llvm::any_of(read->getBlock()->getOps<WriteOp>(), [&](WriteOp write) {
    auto next = write.getValue().getDefiningOp<arith::AddIOp>();
    return write.getBlock() == read.getBlock() && write.getOffset() == read.getOffset() && next &&
           next.getLhs() == value && isStep(next.getRhs());
  });
}

/// Whether arithmetic of the block makes a value out of a counter.
bool followsCounter(Value value, Block *block) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t k = 0; k < values.size(); ++k) {
    Operation *op = values[k].getDefiningOp();
    if (!op || op->getBlock() != block)
      continue;
    if (isCounter(values[k]))
      return true;
    if (isPure(op) && !op->getNumRegions())
      values.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

using Scatters = SmallVector<WriteOp>;

struct PrefetchScatters : metate::impl::PrefetchScattersBase<PrefetchScatters> {
  void runOnOperation() override {
    llvm::MapVector<Operation *, Scatters> loops;
    getOperation().walk([&](WriteOp write) {
      if (isa<scf::ForOp, RangeOp>(write->getParentOp()) &&
          write.getValue().getType().isIntOrFloat() &&
          followsCounter(write.getOffset(), write->getBlock()))
        loops[write->getParentOp()].push_back(write);
    });
    for (auto &[loop, scatters] : loops)
      visit(loop, scatters);
  }

private:
  /// How many turns a loop of steps of one has (more steps: fewer), in all iterations of a range around it; none: it has several dimensions.
  static Value turnsOf(Operation *loop, OpBuilder &builder) {
    Value lower, upper;
    if (auto serial = dyn_cast<scf::ForOp>(loop)) {
      lower = serial.getLowerBound(), upper = serial.getUpperBound();
    } else if (auto range = cast<RangeOp>(loop); range.getLower().size() == 1) {
      lower = range.getLower().front(), upper = range.getUpper().front();
    } else {
      return {};
    }
    Value turns = builder.createOrFold<arith::SubIOp>(loop->getLoc(), upper, lower);
    // Each iteration around it writes to places of its own.
    if (auto around = dyn_cast<RangeOp>(loop->getParentOp()))
      for (auto [from, to] : llvm::zip(around.getLower(), around.getUpper()))
        turns = builder.createOrFold<arith::MulIOp>(
            loop->getLoc(), turns, builder.createOrFold<arith::SubIOp>(loop->getLoc(), to, from));
    return turns;
  }

  /// Turns that write enough.
  static int64_t leastTurns(const Scatters &scatters) {
    int64_t bytes = 0;
    for (WriteOp write : scatters)
      bytes += llvm::divideCeil(write.getValue().getType().getIntOrFloatBitWidth(), 8);
    return leastBytes / bytes;
  }

  void visit(Operation *loop, const Scatters &scatters) {
    OpBuilder builder(loop);
    Value turns = turnsOf(loop, builder);
    if (!turns)
      return;
    int64_t least = leastTurns(scatters);
    Value isLong = builder.createOrFold<arith::CmpIOp>(
        loop->getLoc(), arith::CmpIPredicate::sge, turns,
        arith::ConstantIndexOp::create(builder, loop->getLoc(), least));
    if (matchPattern(isLong, m_Zero()))
      return;
    if (auto serial = dyn_cast<scf::ForOp>(loop))
      split(serial, isLong);
    for (WriteOp write : scatters)
      prefetch(write, isa<RangeOp>(loop) ? isLong : Value());
    prefetched += scatters.size();
    remarkDone(loop, "prefetch-scatters", "prefetches")
        << "lines after those that counters say are asked for early, where the loop has at least "
        << Number("turns", least) << " turns";
  }

  /// The loop goes where there are many turns, a copy of it where there are few.
  static void split(scf::ForOp loop, Value isLong) {
    OpBuilder builder(loop);
    auto both = scf::IfOp::create(builder, loop.getLoc(), loop.getResultTypes(), isLong,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
    loop->replaceAllUsesWith(both);
    builder.setInsertionPointToEnd(both.elseBlock());
    scf::YieldOp::create(builder, loop.getLoc(), builder.clone(*loop)->getResults());
    loop->moveBefore(both.thenBlock(), both.thenBlock()->end());
    builder.setInsertionPointToEnd(both.thenBlock());
    scf::YieldOp::create(builder, loop.getLoc(), loop->getResults());
  }

  /// Asks for the next line, in a turn of a parallel loop only if that has many.
  void prefetch(WriteOp write, Value isLong) {
    Location loc = write.getLoc();
    OpBuilder builder(write);
    if (isLong)
      builder.setInsertionPointToStart(
          scf::IfOp::create(builder, loc, isLong, /*withElseRegion=*/false).thenBlock());
    Value next = arith::AddIOp::create(builder, loc, write.getOffset(),
                                       arith::ConstantIndexOp::create(builder, loc, lineBytes));
    auto cast = [&](Type type, Value value) {
      return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
    };
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    LLVM::GEPArg index(cast(builder.getI64Type(), next));
    Value address = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(),
                                        cast(pointer, write.getBlock()), index);
    LLVM::Prefetch::create(builder, loc, address, /*rw=*/1, /*hint=*/3, /*cache=*/1);
  }
};
} // namespace
