//===- TestBlocks.cpp - what few turns do, asked for many at a time --------*- C++ -*-===//
//
// `if x[i] == least: found = i` asks in each turn, and LLVM makes no vectors of a loop that stores to one place under a condition. Here
// a block of turns is asked first, as lanes of vectors; only where a turn says yes the block runs, turn by turn, as it was written. Where
// none does, none changes what the next one asks for: the loop may run in order, and may write what it reads.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_TESTBLOCKS
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

static constexpr int64_t lanesOfBlock = 16, vectorsOfBlock = 4,
                         block = lanesOfBlock * vectorsOfBlock;

/// What lanes must gain, by the estimate: blocks that run are asked for nothing.
static constexpr double leastGainOfBlocks = 3;

/// The code of a block is there twice.
static constexpr size_t mostOfTurn = 64;

/// The only thing that the loop does, its last operation; null: it does more.
static scf::IfOp onlyBranch(scf::ForOp loop) {
  Operation *last = loop.getBody()->getTerminator()->getPrevNode();
  auto branch = dyn_cast_if_present<scf::IfOp>(last);
  size_t count = 0;
  if (!branch || !branch.getElseRegion().empty())
    return {};
  bool anyVector = false; // of lanes: a loop that is one already
  loop.getBody()->walk([&](Operation *op) {
    ++count;
    anyVector |=
        llvm::any_of(op->getResultTypes(), [](Type type) { return isa<VectorType>(type); });
  });
  bool isOnly = llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &op) {
    auto read = dyn_cast<ReadOp>(op);
    return &op == branch || (read && !read.getAcquire()) ||
           (op.getNumRegions() == 0 && isMemoryEffectFree(&op));
  });
  return isOnly && !anyVector && count <= mostOfTurn ? branch : scf::IfOp();
}

/// The turns' questions alone.
static scf::ForOp questionsOf(scf::ForOp loop, scf::IfOp branch, IRMapping &mapping) {
  OpBuilder builder(loop);
  auto made = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                 loop.getStep());
  mapping.map(loop.getInductionVar(), made.getInductionVar());
  OpBuilder inside(made.getBody()->getTerminator());
  for (Operation &op : loop.getBody()->without_terminator())
    if (&op != branch)
      inside.clone(op, mapping);
  Value question = mapping.lookupOrDefault(branch.getCondition());
  SmallVector<Operation *> ops;
  for (Operation &op : made.getBody()->without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op) && op != question.getDefiningOp())
      op->erase();
  return made;
}

namespace {
class Blocks {
public:
  Blocks(scf::ForOp loop, scf::IfOp branch)
      : loop(loop), branch(branch), builder(loop), loc(loop.getLoc()),
        questions(questionsOf(loop, branch, mapping)), strides(guessStrides(questions)),
        analysis(*questions.getBody(), questions.getInductionVar()) {}
  ~Blocks() { questions.erase(); }
  Blocks(const Blocks &) = delete;
  Blocks &operator=(const Blocks &) = delete;

  bool run(bool always) {
    if (!analysis.run() || !mayAskEarly() || !storesToOnePlace())
      return false;
    LaneCost cost = costOfLanes(*questions.getBody(), analysis, lanesOfBlock);
    if (cost.scalar * double(lanesOfBlock) < leastGainOfBlocks * cost.lanes && !always)
      return false;
    remarkDone(loop, "test-blocks", "lanes")
        << Number("turns", block) << " turns at a time are asked whether one does anything";
    write();
    return true;
  }

private:
  /// A question may be asked before the turns that were to come first, whatever these write.
  bool mayAskEarly() {
    return llvm::all_of(questions.getBody()->without_terminator(), [&](Operation &op) {
      auto read = dyn_cast<ReadOp>(op);
      if (!read)
        return isSpeculatable(&op);
      Value at = read.getOffset();
      return !isOfReads(at) && (analysis.isSame(at) || analysis.isRow(at, read.getType()));
    });
  }

  bool isOfReads(Value value) {
    Operation *op = value.getDefiningOp();
    return op && questions->isAncestor(op) &&
           (isa<ReadOp>(op) ||
            llvm::any_of(op->getOperands(), [&](Value from) { return isOfReads(from); }));
  }

  /// Else LLVM has masked stores.
  bool storesToOnePlace() {
    LaneAnalysis own(*loop.getBody(), loop.getInductionVar());
    own.run();
    return branch
        ->walk([&](WriteOp write) {
          return own.isSame(write.getOffset()) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  Value index(int64_t number) { return arith::ConstantIndexOp::create(builder, loc, number); }

  void write() {
    Value span = arith::SubIOp::create(builder, loc, loop.getUpperBound(), loop.getLowerBound());
    span = arith::MaxSIOp::create(builder, loc, span, index(0));
    Value rest = arith::RemUIOp::create(builder, loc, span, index(block));
    span = arith::SubIOp::create(builder, loc, span, rest);
    for (Value stride : strides) {
      Value isRow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, stride, index(1));
      span = arith::SelectOp::create(builder, loc, isRow, span, index(0));
    }
    Value middle = arith::AddIOp::create(builder, loc, loop.getLowerBound(), span);
    auto blocks = scf::ForOp::create(builder, loc, loop.getLowerBound(), middle, index(block));
    OpBuilder inside(blocks.getBody()->getTerminator());
    Value any = asked(inside, blocks.getInductionVar());
    auto taken = scf::IfOp::create(inside, loc, any, /*withElseRegion=*/false);
    OpBuilder turns = taken.getThenBodyBuilder();
    Value end = arith::AddIOp::create(turns, loc, blocks.getInductionVar(),
                                      arith::ConstantIndexOp::create(turns, loc, block));
    auto each = cast<scf::ForOp>(turns.clone(*loop.getOperation()));
    each.getLowerBoundMutable().assign(blocks.getInductionVar());
    each.getUpperBoundMutable().assign(end);
    loop.getLowerBoundMutable().assign(middle);
  }

  Value asked(OpBuilder &at, Value first) {
    Value all;
    for (int64_t k = 0;
         k < (isMutant(Mutant::BlockHalfAsked) ? vectorsOfBlock / 2 : vectorsOfBlock); ++k) {
      Value begin = arith::AddIOp::create(at, loc, first,
                                          arith::ConstantIndexOp::create(at, loc, k * lanesOfBlock),
                                          arith::IntegerOverflowFlags::nsw);
      Value some = Widening(questions, analysis, lanesOfBlock)
                       .from(at, begin, mapping.lookupOrDefault(branch.getCondition()))
                       .front();
      all = all ? Value(arith::OrIOp::create(at, loc, all, some)) : some;
    }
    return vector::ReductionOp::create(at, loc, vector::CombiningKind::OR, all);
  }

  scf::ForOp loop;
  scf::IfOp branch;
  OpBuilder builder;
  Location loc;
  IRMapping mapping;
  scf::ForOp questions;
  llvm::SetVector<Value> strides;
  LaneAnalysis analysis;
};

struct TestBlocks : metate::impl::TestBlocksBase<TestBlocks> {
  using TestBlocksBase::TestBlocksBase;

  void runOnOperation() override {
    getOperation().walk([&](LLVM::LLVMFuncOp function) {
      if (!mayHoldLanes(function))
        return;
      SmallVector<std::pair<scf::ForOp, scf::IfOp>> loops;
      function.walk([&](scf::ForOp loop) {
        APInt step;
        if (loop.getNumResults() == 0 && loop.getInductionVar().getType().isIndex() &&
            matchPattern(loop.getStep(), m_ConstantInt(&step)) && step.isOne())
          if (scf::IfOp branch = onlyBranch(loop))
            loops.emplace_back(loop, branch);
      });
      bool anyDone = false;
      for (auto [loop, branch] : loops)
        anyDone |= Blocks(loop, branch).run(always);
      if (anyDone)
        markLanes(function);
    });
  }
};
} // namespace
