//===- JoinBoundedCounts.cpp - counts that stop at a bound ------*- C++ -*-===//
//
// `if c0 and n < 15: n += 1`, again for c1 and so on, asks for the bound each time. All together they are `min(n + c0 + c1 + ..., 15)`, where n
// is not beyond the bound before.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_JOINBOUNDEDCOUNTS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// `condition and base < bound`, and what follows from it: base + 1, else base.
struct BoundedStep {
  Value result, base, condition, asked; ///< asked: both that it asks for
  int64_t bound;
  SmallVector<Operation *> users; ///< of base
};
} // namespace

/// base < bound.
static std::optional<int64_t> boundOf(Value value, Value base) {
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  auto limit = compare && compare.getLhs() == base ? getConstantIntValue(compare.getRhs())
                                                   : std::optional<int64_t>();
  if (!limit)
    return std::nullopt;
  if (compare.getPredicate() == arith::CmpIPredicate::slt)
    return limit;
  return compare.getPredicate() == arith::CmpIPredicate::sle ? std::optional(*limit + 1)
                                                             : std::nullopt;
}

/// The two that a condition asks for: a conjunction, or a conditional that asks for the second one where the first one holds.
static std::optional<std::pair<Value, Value>> bothOf(Value condition) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return std::pair(both.getLhs(), both.getRhs());
  if (auto select = condition.getDefiningOp<arith::SelectOp>();
      select && getConstantIntValue(select.getFalseValue()) == 0)
    return std::pair(select.getCondition(), select.getTrueValue());
  auto branch = condition.getDefiningOp<scf::IfOp>();
  if (!branch || branch.getNumResults() != 1 ||
      getConstantIntValue(branch.elseYield().getOperand(0)) != 0)
    return std::nullopt;
  return std::pair(branch.getCondition(), branch.thenYield().getOperand(0));
}

static std::optional<BoundedStep> stepOf(Value result) {
  Value condition, yes, no;
  if (auto select = result.getDefiningOp<arith::SelectOp>()) {
    condition = select.getCondition();
    yes = select.getTrueValue();
    no = select.getFalseValue();
  } else if (auto branch = result.getDefiningOp<scf::IfOp>()) {
    if (branch.getNumResults() != 1 || !llvm::hasNItems(*branch.thenBlock(), 2) ||
        !llvm::hasSingleElement(*branch.elseBlock()))
      return std::nullopt;
    condition = branch.getCondition();
    yes = branch.thenYield().getOperand(0);
    no = branch.elseYield().getOperand(0);
  }
  auto add = yes ? yes.getDefiningOp<arith::AddIOp>() : arith::AddIOp();
  if (!add || add.getLhs() != no || getConstantIntValue(add.getRhs()) != 1)
    return std::nullopt;
  auto both = bothOf(condition);
  if (!both)
    return std::nullopt;
  auto [first, second] = *both;
  std::optional<int64_t> bound = boundOf(second, no);
  if (!bound) {
    std::swap(first, second);
    bound = boundOf(second, no);
  }
  // What is asked for where the other one holds may not be there otherwise.
  if (!bound || first.getParentBlock() != result.getParentBlock())
    return std::nullopt;
  Operation *choice = result.getDefiningOp();
  if (auto branch = dyn_cast<scf::IfOp>(choice))
    choice = branch.elseYield();
  return BoundedStep{result, no, first, condition, *bound, {add, second.getDefiningOp(), choice}};
}

namespace {
struct JoinBoundedCounts : metate::impl::JoinBoundedCountsBase<JoinBoundedCounts> {
  void runOnOperation() override {
    SmallVector<Value> results;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::SelectOp, scf::IfOp>(op) && op->getNumResults() == 1 &&
          op->getResult(0).getType().isInteger(32))
        results.push_back(op->getResult(0));
    });
    llvm::DenseSet<Value> done;
    for (Value result : llvm::reverse(results)) // the last one of a chain first
      if (!done.contains(result))
        join(result, done);
  }

private:
  void join(Value result, llvm::DenseSet<Value> &done) {
    SmallVector<BoundedStep> steps;
    for (Value at = result;;) {
      std::optional<BoundedStep> step = stepOf(at);
      bool isMore = step && (steps.empty() || step->bound == steps.back().bound);
      if (!isMore)
        break;
      steps.push_back(*step);
      at = step->base;
      done.insert(step->result);
      if (!llvm::all_of(at.getUsers(),
                        [&](Operation *user) { return llvm::is_contained(step->users, user); }))
        break; // it is wanted for itself, by a condition perhaps
    }
    if (steps.size() < 2)
      return;
    int64_t bound = steps.front().bound;
    std::optional<IntegerRange> first = IntegerRange::of(steps.back().base);
    if (!first || (first->greatest > bound && !isMutant(Mutant::CountBeyondBound)) ||
        bound > IntegerRange::most / 2)
      return;
    OpBuilder builder(result.getDefiningOp());
    Location loc = result.getLoc();
    Value sum = steps.back().base;
    for (const BoundedStep &step : llvm::reverse(steps)) {
      Value one = arith::ExtUIOp::create(builder, loc, sum.getType(), step.condition);
      sum = arith::AddIOp::create(builder, loc, sum, one);
    }
    Value most = arith::ConstantIntOp::create(builder, loc, sum.getType(), bound);
    result.replaceAllUsesWith(arith::MinSIOp::create(builder, loc, sum, most));
    joined += unsigned(steps.size());
    // The last one first: each holds uses of the one before.
    for (const BoundedStep &step : steps) {
      SmallVector<Operation *> ops = {step.result.getDefiningOp(), step.asked.getDefiningOp()};
      for (Operation *user : step.users)
        if (user->getBlock() == ops[0]->getBlock() && !llvm::is_contained(ops, user))
          ops.push_back(user); // others stand in those before
      for (Operation *op : ops)
        if (isOpTriviallyDead(op))
          op->erase();
    }
  }
};
} // namespace
