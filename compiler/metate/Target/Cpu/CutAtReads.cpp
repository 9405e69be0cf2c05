//===- CutAtReads.cpp - what all turns but one leave as it is ---*- C++ -*-===//
//
// `for j in range(n): d[i, j] = min(d[i, j], d[i, k] + d[k, j])` reads d[i, k] in each turn, for the turn j == k may change it. The turns
// up to that one, which reads before it writes, and those behind it read one number each, outside of their loop; LLVM makes vectors of them.
// Where that turn can be asked first what it will write, and writes what is there already, one loop has all turns.
//
// Where the numbers of a row lie only the launch knows of an array: a loop for rows that lie number by number is cut.
//
//===----------------------------------------------------------------------===//
#include "metate/Level/IndexBuilder.h"
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
    if (!findReads())
      return false;
    if (!findWrites())
      return runWithUnitStrides();
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
    llvm::SmallDenseSet<int64_t> read;
    bool isPlain =
        !loop.getBody()
             ->walk([&](Operation *op) {
               if (isa<ReadOp, WriteOp>(op) && !isApartFromOthers(op))
                 return WalkResult::interrupt();
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
    return isPlain && llvm::any_of(written, [&](int64_t scope) { return read.contains(scope); });
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

  /// What the loop's variable is multiplied with, known at the launch.
  SmallVector<std::pair<arith::MulIOp, Value>> strides() {
    SmallVector<std::pair<arith::MulIOp, Value>> found;
    loop.walk([&](arith::MulIOp product) {
      for (unsigned k : {0u, 1u})
        if (product.getOperand(k) == loop.getInductionVar())
          if (Value stride = product.getOperand(1 - k);
              loop.isDefinedOutsideOfLoop(stride) && !getConstantIntValue(stride))
            found.emplace_back(product, stride);
    });
    return found;
  }

  /// A copy of the loop, where all strides are 1, is cut.
  bool runWithUnitStrides() {
    llvm::SmallSetVector<Value, 2> all;
    for (auto [product, stride] : strides())
      all.insert(stride);
    if (all.empty() || all.size() > 2)
      return false;
    builder.setInsertionPoint(loop);
    Value isUnit, one = number(1);
    for (Value stride : all) {
      Value is = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, stride, one);
      isUnit = isUnit ? arith::AndIOp::create(builder, loc, isUnit, is) : is;
    }
    auto either = scf::IfOp::create(builder, loc, loop.getResultTypes(), isUnit,
                                    /*addThenBlock=*/true, /*addElseBlock=*/true);
    auto copy = cast<scf::ForOp>(loop->clone());
    for (Block *block : {either.thenBlock(), either.elseBlock()})
      if (!block->empty())
        block->getTerminator()->erase();
    either.thenBlock()->push_back(copy);
    OpBuilder then = OpBuilder::atBlockEnd(either.thenBlock());
    scf::YieldOp::create(then, loc, copy.getResults());
    for (auto [product, stride] : Cut(copy).strides()) {
      product.replaceAllUsesWith(copy.getInductionVar());
      product.erase();
    }
    if (!Cut(copy).run()) {
      either.erase();
      return false;
    }
    loop->replaceAllUsesWith(either.getResults());
    loop->remove();
    either.elseBlock()->push_back(loop);
    OpBuilder otherwise = OpBuilder::atBlockEnd(either.elseBlock());
    scf::YieldOp::create(otherwise, loc, loop.getResults());
    return true;
  }

  /// Turn j writes the number at `row` + j, of numbers like the one that is read, after all reads.
  bool findWrites() {
    llvm::erase_if(writes, [&](WriteOp write) { return write.getScope() != reads[0].getScope(); });
    size = int64_t(reads[0].getType().getIntOrFloatBitWidth() / 8);
    Value variable = loop.getInductionVar();
    for (WriteOp write : writes) {
      LinearForm form = LinearForm::of(write.getOffset()), rest = form.without(variable);
      Operation *at = loop.getBody()->findAncestorOpInBlock(*write);
      if (write.getRelease() || !reads.back()->isBeforeInBlock(at) ||
          write.getBlock() != reads[0].getBlock() ||
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

  /// Of a read: can the cut turn do it before the loop? `distance`: bytes from what a turn writes to what it reads, where turns may write that.
  struct Early {
    bool isPossible = false;
    std::optional<LinearForm> distance;
    int64_t bytes = 0;
  };

  Early early(ReadOp read) {
    if (read.getAcquire() || isa<VectorType>(read.getType()))
      return {};
    if (!written.contains(read.getScope()) || llvm::is_contained(reads, read))
      return {.isPossible = true, .distance = std::nullopt, .bytes = 0};
    LinearForm rest = LinearForm::of(read.getOffset()).without(loop.getInductionVar());
    if (read.getScope() != reads[0].getScope() || read.getBlock() != reads[0].getBlock() ||
        LinearForm::of(read.getOffset()).coefficient(loop.getInductionVar()) != size ||
        !llvm::all_of(writes, [&](WriteOp write) { return read->isBeforeInBlock(write); }) ||
        !llvm::all_of(rest.terms,
                      [&](auto &term) { return loop.isDefinedOutsideOfLoop(term.first); }))
      return {};
    return {.isPossible = true,
            .distance = rest.minus(*row),
            .bytes = int64_t(llvm::divideCeil(read.getType().getIntOrFloatBitWidth(), 8))};
  }

  /// What gives `value`, in order; false if the cut turn cannot be asked before the loop.
  bool slice(Value value, llvm::SetVector<Operation *> &ops) {
    Operation *op = value.getDefiningOp();
    if (loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar())
      return true;
    if (!op || op->getBlock() != loop.getBody() || op->getNumRegions() ||
        (isa<ReadOp>(op) ? !early(cast<ReadOp>(op)).isPossible : !isMemoryEffectFree(op)))
      return false;
    if (ops.contains(op))
      return true;
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return slice(operand, ops); }))
      return false;
    ops.insert(op);
    return true;
  }

  /// Is `turn` one of the loop's, and is what `ops` read in it not written by an earlier one?
  Value isEarly(Value turn, ArrayRef<Operation *> ops) {
    using arith::CmpIPredicate;
    IndexBuilder at(builder, loc);
    auto both = [&](Value a, Value b) -> Value {
      return arith::AndIOp::create(builder, loc, a, b);
    };
    Value lower = loop.getLowerBound();
    Value isEarly = both(at.compare(CmpIPredicate::sle, lower, turn),
                         at.compare(CmpIPredicate::slt, turn, loop.getUpperBound()));
    // Bytes from the asked turn's write back to the first turn's: what ends there or before is unwritten.
    Value unwritten = at.multiply(at.subtract(lower, turn), size);
    for (Operation *op : ops) {
      auto read = dyn_cast<ReadOp>(op);
      Early found = read ? early(read) : Early();
      if (!found.distance || (found.distance->terms.empty() && found.distance->constant >= 0) ||
          isMutant(Mutant::EarlierWriteForgotten))
        continue;
      Value distance = found.distance->emit(at);
      Value isBehind = at.compare(CmpIPredicate::sge, distance, at.index(0));
      Value isBefore = at.compare(CmpIPredicate::sle, at.add(distance, found.bytes), unwritten);
      isEarly = both(isEarly, arith::OrIOp::create(builder, loc, isBehind, isBefore));
    }
    return isEarly;
  }

  /// Does `turn` write what is there already? It is asked before the loop; null: it cannot be.
  Value leavesRead(Value turn) {
    Value written = writes.back().getValue();
    llvm::SetVector<Operation *> ops;
    if (!llvm::all_of(writes, [&](WriteOp each) { return each->getBlock() == loop.getBody(); }) ||
        !slice(written, ops))
      return nullptr;
    auto asked = scf::IfOp::create(builder, loc, builder.getI1Type(),
                                   isEarly(turn, ops.getArrayRef()), /*withElseRegion=*/true);
    OpBuilder then = asked.getThenBodyBuilder(), otherwise = asked.getElseBodyBuilder();
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), turn);
    for (Operation *op : ops)
      then.clone(*op, mapping);
    Value before = then.clone(*reads[0], mapping)->getResult(0);
    Type bits = then.getIntegerType(written.getType().getIntOrFloatBitWidth());
    auto asBits = [&](Value value) {
      return then.createOrFold<arith::BitcastOp>(loc, bits, value);
    };
    Value same = arith::CmpIOp::create(then, loc, arith::CmpIPredicate::eq, asBits(before),
                                       asBits(mapping.lookupOrDefault(written)));
    if (isMutant(Mutant::ChangingTurnForgotten))
      same = arith::ConstantIntOp::create(then, loc, 1, 1);
    scf::YieldOp::create(then, loc, same);
    scf::YieldOp::create(otherwise, loc, Value(arith::ConstantIntOp::create(otherwise, loc, 0, 1)));
    return asked.getResult(0);
  }

  /// for part in 0, 1: each with what it reads.
  void assemble() {
    Value turn = turnOfRead(), one = number(1);
    Value cut = within(arith::AddIOp::create(builder, loc, turn, one));
    if (isMutant(Mutant::CutTurnForgotten))
      cut = within(turn);
    if (Value leaves = leavesRead(turn))
      cut = arith::SelectOp::create(builder, loc, leaves, loop.getUpperBound(), cut);
    // Carried, not selected: what the first part reads need not wait for what the cut turn reads.
    SmallVector<Value> carried(loop.getInitArgs());
    carried.append({loop.getLowerBound(), cut});
    auto parts = scf::ForOp::create(builder, loc, number(0), number(2), one, carried);
    parts->setAttr("loop_annotation", LoopAnnotation::asItIs().in(builder.getContext()));
    loop->replaceAllUsesWith(parts.getResults().drop_back(2));
    OpBuilder inside = OpBuilder::atBlockBegin(parts.getBody());
    ValueRange before = parts.getRegionIterArgs().drop_back(2);
    Value start = parts.getRegionIterArgs().drop_back().back(),
          stop = parts.getRegionIterArgs().back();
    Value isRun = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, start, stop);
    auto run = scf::IfOp::create(inside, loc, loop.getResultTypes(), isRun,
                                 /*addThenBlock=*/true, /*addElseBlock=*/true);
    for (Block *block : {run.thenBlock(), run.elseBlock()})
      if (!block->empty())
        block->getTerminator()->erase();
    OpBuilder none = OpBuilder::atBlockEnd(run.elseBlock());
    scf::YieldOp::create(none, loc, before);
    for (ReadOp read : reads)
      read->moveBefore(run.thenBlock(), run.thenBlock()->end());
    Value upper = loop.getUpperBound();
    loop->remove();
    run.thenBlock()->push_back(loop);
    loop.getLowerBoundMutable().set(start);
    loop.getUpperBoundMutable().set(stop);
    loop.getInitArgsMutable().assign(before);
    OpBuilder some = OpBuilder::atBlockEnd(run.thenBlock());
    scf::YieldOp::create(some, loc, loop.getResults());
    SmallVector<Value> next(run.getResults());
    next.append({stop, upper});
    scf::YieldOp::create(inside, loc, next);
  }

  scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  SmallVector<ReadOp> reads;
  SmallVector<WriteOp> writes;
  llvm::SmallDenseSet<int64_t> written; ///< scopes
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
