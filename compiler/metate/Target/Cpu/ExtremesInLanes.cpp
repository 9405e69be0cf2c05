//===- ExtremesInLanes.cpp - the least of many, lane by lane ---------------*- C++ -*-===//
//
// `if x < least: least = x; at = i` in a loop that runs in order waits for the comparison before, and LLVM makes no vectors of it: a
// NaN that was there before stays, of two equal ones the first counts, and what was chosen hangs on both. Here turns are lanes of
// vectors. Each lane starts with what the loop starts with and does what the loop does in its own turns, so a NaN needs no thought,
// and notes the turn in which it took its value; of lanes that agree the earlier turn wins. What was chosen is computed once, behind
// the loop, for the turn that won. Bit for bit what the loop gives.
//
// `least = min(least, x)` is the same comparison as soon as `least` is a number: a loop that starts with a NaN runs as it was written.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Emit.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/ExtremeLanes.h"
#include "metate/Target/Cpu/Passes.h"

#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_EXTREMESINLANES
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// A longer body has enough to do beside a comparison.
static constexpr size_t mostOfLoop = 256;

/// What lanes must gain, by the estimate.
static constexpr double leastGainOfExtremes = 2;

/// Cycles that a turn of the loop waits for the one before, for each extreme.
static constexpr double waitOfStep = 4;

void ExtremeLanes::collectInputs() {
  llvm::SetVector<Value> all;
  for (const Extreme &extreme : carried.extremes) {
    all.insert(extreme.value);
    all.insert(extreme.masks.begin(), extreme.masks.end());
  }
  for (const Total &total : carried.totals) {
    all.insert(total.value);
    all.insert(total.masks.begin(), total.masks.end());
  }
  inputs = all.takeVector();
}

/// As `scf.if` what the loop does under conditions, be it a read.
static void cloneGuarded(Operation *op, const StraightLoop::Values &guards, OpBuilder &builder,
                         IRMapping &mapping) {
  if (guards.empty()) {
    builder.clone(*op, mapping);
    return;
  }
  Location loc = op->getLoc();
  Value condition;
  for (Value guard : guards) {
    Value next = mapping.lookupOrDefault(guard);
    condition = condition ? Value(arith::AndIOp::create(builder, loc, condition, next)) : next;
  }
  auto branch =
      scf::IfOp::create(builder, loc, op->getResultTypes(), condition, /*withElseRegion=*/true);
  OpBuilder yes = branch.getThenBodyBuilder(), no = branch.getElseBodyBuilder();
  scf::YieldOp::create(yes, loc, yes.clone(*op, mapping)->getResults());
  scf::YieldOp::create(no, loc, llvm::map_to_vector(op->getResultTypes(), [&](Type type) -> Value {
                         return arith::ConstantOp::create(no, loc, no.getZeroAttr(type));
                       }));
  mapping.map(op->getResults(), branch.getResults());
}

/// Null: what was found decides whether one of them is computed.
scf::ForOp ExtremeLanes::loopOfInputs() {
  llvm::SetVector<Operation *> ops;
  for (Value input : inputs)
    straight.collect(input, ops, /*withGuards=*/true);
  if (!llvm::all_of(ops, [&](Operation *op) { return straight.areFree(straight.guardsOf(op)); }))
    return {};
  auto made =
      scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
  IRMapping mapping;
  scf::ForOp from = straight.loop;
  mapping.map(from.getInductionVar(), made.getInductionVar());
  OpBuilder inside(made.getBody()->getTerminator());
  for (Operation *op : ops)
    cloneGuarded(op, straight.guardsOf(op), inside, mapping);
  for (Value input : inputs)
    own[input] = mapping.lookupOrDefault(input);
  strides = guessStrides(made);
  return made;
}

llvm::SetVector<Value> cpu::guessStrides(scf::ForOp loop) {
  llvm::SetVector<Value> strides;
  OpBuilder before(loop);
  Value one = arith::ConstantIndexOp::create(before, loop.getLoc(), 1);
  for (arith::MulIOp product : loop.getBody()->getOps<arith::MulIOp>()) {
    bool exchanged = product.getRhs() == loop.getInductionVar();
    Value stride = product->getOperand(exchanged ? 0 : 1);
    if (product->getOperand(exchanged ? 1 : 0) != loop.getInductionVar() ||
        !loop.isDefinedOutsideOfLoop(stride) || matchPattern(stride, m_Constant()))
      continue;
    strides.insert(stride);
    product->setOperand(exchanged ? 0 : 1, one);
  }
  return strides;
}

bool ExtremeLanes::run(bool always) {
  turns = loopOfInputs();
  if (!turns)
    return false;
  analysis.emplace(*turns.getBody(), turns.getInductionVar());
  if (!analysis->run())
    return false;
  LaneCost cost = costOfLanes(*turns.getBody(), *analysis, lanes);
  double each = double(carried.extremes.size());
  double gain =
      (cost.scalar + waitOfStep * each) * double(lanes) / (cost.lanes + waitOfStep * each);
  if (gain < leastGainOfExtremes && !always)
    return false;
  remarkDone(loop, "extremes-in-lanes", "lanes")
      << Number("lanes", lanes) << " turns run side by side, each with extremes of its own";
  write();
  return true;
}

namespace {
/// LLVM makes no vectors of loops with small vectors of the language, unless they are taken apart; in a function of lanes they are not.
bool hasLoopOfVectors(Operation *function) {
  return function
      ->walk([](Operation *op) {
        auto isVector = [](Type type) { return isa<VectorType>(type); };
        bool isOne =
            op->getParentOfType<scf::ForOp>() && (llvm::any_of(op->getResultTypes(), isVector) ||
                                                  llvm::any_of(op->getOperandTypes(), isVector));
        return isOne ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool isLaneFunction(LLVM::LLVMFuncOp function) {
  ArrayAttr names = function.getPassthroughAttr();
  return names && llvm::is_contained(names, StringAttr::get(function.getContext(), lanesAttribute));
}

} // namespace

bool cpu::mayHoldLanes(LLVM::LLVMFuncOp function) {
  return isLaneFunction(function) || !hasLoopOfVectors(function);
}

namespace {
struct ExtremesInLanes : metate::impl::ExtremesInLanesBase<ExtremesInLanes> {
  using ExtremesInLanesBase::ExtremesInLanesBase;

  void runOnOperation() override {
    getOperation().walk([&](LLVM::LLVMFuncOp function) {
      bool anyDone = false;
      if (!mayHoldLanes(function))
        return;
      SmallVector<scf::ForOp> loops;
      function.walk([&](scf::ForOp loop) {
        if (isCandidate(loop))
          loops.push_back(loop);
      });
      for (scf::ForOp loop : loops)
        anyDone |= visit(loop);
      if (anyDone)
        markLanes(function);
    });
  }

private:
  /// Are there so many turns, as far as is known, and none that skips any?
  bool isCandidate(scf::ForOp loop) const {
    APInt lower, upper, step;
    if (loop.getNumResults() == 0 || !loop.getInductionVar().getType().isIndex() ||
        !matchPattern(loop.getStep(), m_ConstantInt(&step)) || !step.isOne())
      return false;
    bool isKnown = matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
                   matchPattern(loop.getUpperBound(), m_ConstantInt(&upper));
    if (isKnown &&
        upper.getSExtValue() - lower.getSExtValue() < 2 * extremeGroups * extremeVectorBytes / 4)
      return false;
    size_t count = 0;
    return !loop.getBody()
                ->walk([&](Operation *op) {
                  return isa<scf::ForOp, scf::WhileOp>(op) || ++count > mostOfLoop
                             ? WalkResult::interrupt()
                             : WalkResult::advance();
                })
                .wasInterrupted();
  }

  bool visit(scf::ForOp loop) {
    StraightLoop straight(loop);
    std::optional<CarriedExtremes> carried = CarriedExtremes::of(straight);
    if (!carried || !ExtremeLanes(loop, straight, *carried).run(always))
      return false;
    ++written;
    return true;
  }
};
} // namespace
