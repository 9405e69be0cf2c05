//===- CutAtReads.cpp - what all turns but one leave as it is ---*- C++ -*-===//
//
// `for j in range(n): d[i, j] = min(d[i, j], d[i, k] + d[k, j])` reads d[i, k] in each turn, for the turn j == k may change it. The turns
// before that one and those behind it read one number, outside of their loop; LLVM makes vectors of them.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/LoopAnnotation.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace metate {
#define GEN_PASS_DEF_CUTATREADS
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Loops of fewer turns are not worth three.
static constexpr int64_t leastCutTurns = 17;

namespace {
class Cut {
public:
  explicit Cut(scf::ForOp loop) : loop(loop), builder(loop), loc(loop.getLoc()) {}

  bool run() {
    if (!isCandidate())
      return false;
    moveLoopInvariantCode(cast<LoopLikeOpInterface>(loop.getOperation()));
    if (!findReads() || !findWrites())
      return false;
    builder.setInsertionPoint(loop);
    assemble();
    return true;
  }

private:
  /// One turn after the other, of reads, writes and what is computed of them.
  bool isCandidate() {
    std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                           upper = getConstantIntValue(loop.getUpperBound());
    if (getConstantIntValue(loop.getStep()) != 1 || !loop.getInductionVar().getType().isIndex() ||
        (lower && upper && *upper - *lower < leastCutTurns))
      return false;
    llvm::SmallDenseSet<int64_t> read, written;
    bool isPlain =
        !loop.getBody()
             ->walk([&](Operation *op) {
               if (auto write = dyn_cast<WriteOp>(op)) {
                 written.insert(write.getScope());
                 writes.push_back(write);
               } else if (auto access = dyn_cast<ReadOp>(op)) {
                 read.insert(access.getScope());
               } else if (!isa<scf::IfOp>(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
                          (op->getNumRegions() || !isMemoryEffectFree(op))) {
                 return WalkResult::interrupt();
               }
               return WalkResult::advance();
             })
             .wasInterrupted();
    return isPlain && !written.contains(-1) &&
           llvm::any_of(written, [&](int64_t scope) { return read.contains(scope); });
  }

  /// Reads of one place that some turn may write, in each turn.
  bool findReads() {
    for (ReadOp read : loop.getBody()->getOps<ReadOp>()) {
      bool isWritten =
          llvm::any_of(writes, [&](WriteOp write) { return write.getScope() == read.getScope(); });
      if (isWritten && !read.getAcquire() && !isa<VectorType>(read.getType()) &&
          loop.isDefinedOutsideOfLoop(read.getBlock()) &&
          loop.isDefinedOutsideOfLoop(read.getOffset()) &&
          (reads.empty() ||
           (read.getScope() == reads[0].getScope() && read.getBlock() == reads[0].getBlock() &&
            read.getOffset() == reads[0].getOffset() && read.getType() == reads[0].getType())))
        reads.push_back(read);
    }
    return !reads.empty();
  }

  /// Turn j writes the number at `row` + j, of numbers like the one that is read.
  bool findWrites() {
    llvm::erase_if(writes, [&](WriteOp write) { return write.getScope() != reads[0].getScope(); });
    size = int64_t(reads[0].getType().getIntOrFloatBitWidth() / 8);
    Value variable = loop.getInductionVar();
    for (WriteOp write : writes) {
      LinearForm form = LinearForm::of(write.getOffset()), rest = form.without(variable);
      if (write.getRelease() || write.getBlock() != reads[0].getBlock() ||
          write.getValue().getType() != reads[0].getType() || form.coefficient(variable) != size ||
          !llvm::all_of(rest.terms,
                        [&](auto &term) { return loop.isDefinedOutsideOfLoop(term.first); }))
        return false;
      LinearForm apart = rest.minus(row.value_or(rest));
      if (apart.constant || !apart.terms.empty())
        return false;
      row = rest;
    }
    return size > 0;
  }

  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  Value within(Value turn) {
    turn = arith::MaxSIOp::create(builder, loc, turn, loop.getLowerBound());
    return arith::MinSIOp::create(builder, loc, turn, loop.getUpperBound());
  }

  /// The turn that writes what is read: numbers lie at multiples of their size.
  Value turnOfRead() {
    Value distance =
        arith::SubIOp::create(builder, loc, reads[0].getOffset(), number(row->constant));
    for (auto [term, coefficient] : row->terms)
      distance = arith::SubIOp::create(
          builder, loc, distance, arith::MulIOp::create(builder, loc, term, number(coefficient)));
    return arith::DivSIOp::create(builder, loc, distance, number(size));
  }

  /// for part in 0, 1, 2: the middle one is that turn.
  void assemble() {
    Value turn = turnOfRead(), one = number(1);
    Value from = within(turn), to = within(arith::AddIOp::create(builder, loc, turn, one));
    if (isMutant(Mutant::CutTurnForgotten))
      to = from;
    Attribute plain = LoopAnnotation::asItIs().in(builder.getContext());
    auto parts = scf::ForOp::create(builder, loc, number(0), number(3), one, loop.getInitArgs());
    parts->setAttr("loop_annotation", plain);
    loop->replaceAllUsesWith(parts.getResults());
    OpBuilder inside = OpBuilder::atBlockBegin(parts.getBody());
    Value part = parts.getInductionVar();
    Value isFirst = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, part, one);
    Value isMiddle = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq, part, one);
    auto bound = [&](Value a, Value b, Value c) {
      Value rest = arith::SelectOp::create(inside, loc, isMiddle, b, c);
      return arith::SelectOp::create(inside, loc, isFirst, a, rest).getResult();
    };
    Value start = bound(loop.getLowerBound(), from, to),
          stop = bound(from, to, loop.getUpperBound());
    Value isRun = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, start, stop);
    ValueRange carried = parts.getRegionIterArgs();
    auto choose = [&](OpBuilder &at, Value condition) {
      auto branch = scf::IfOp::create(at, loc, loop.getResultTypes(), condition,
                                      /*addThenBlock=*/true, /*addElseBlock=*/true);
      for (Block *block : {branch.thenBlock(), branch.elseBlock()})
        if (!block->empty())
          block->getTerminator()->erase();
      return branch;
    };
    auto run = choose(inside, isRun);
    OpBuilder none = OpBuilder::atBlockEnd(run.elseBlock());
    scf::YieldOp::create(none, loc, carried);
    OpBuilder some = OpBuilder::atBlockEnd(run.thenBlock());
    auto which = choose(some, isMiddle);
    scf::YieldOp::create(some, loc, which.getResults());
    placed(cast<scf::ForOp>(loop->clone()), which.thenBlock(), start, stop, carried)
        ->setAttr("loop_annotation", plain);
    for (ReadOp read : reads)
      read->moveBefore(which.elseBlock(), which.elseBlock()->end());
    loop->remove();
    placed(loop, which.elseBlock(), start, stop, carried);
    if (parts.getNumResults())
      scf::YieldOp::create(inside, loc, run.getResults());
  }

  Operation *placed(scf::ForOp made, Block *block, Value start, Value stop, ValueRange carried) {
    block->push_back(made);
    made.getLowerBoundMutable().set(start);
    made.getUpperBoundMutable().set(stop);
    made.getInitArgsMutable().assign(carried);
    OpBuilder end = OpBuilder::atBlockEnd(block);
    scf::YieldOp::create(end, loc, made.getResults());
    return made;
  }

  scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  SmallVector<ReadOp> reads;
  SmallVector<WriteOp> writes;
  std::optional<LinearForm> row;
  int64_t size = 0;
};

struct CutAtReads : metate::impl::CutAtReadsBase<CutAtReads> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      cut += Cut(loop).run();
  }
};
} // namespace
