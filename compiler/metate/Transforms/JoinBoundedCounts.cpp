//===- JoinBoundedCounts.cpp - counts that stop at a bound ------*- C++ -*-===//
//
// `if c0 and n < 15: n += 1`, or `n = min(n + c0, 15)`, again for c1 and so on, asks for the bound each time. All together they are
// `min(n + c0 + c1 + ..., 15)`: of conditions where n is not beyond the bound before.
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
/// One more, or as much as something gives, but not beyond the bound.
struct BoundedStep {
  Value result, base;
  Value condition, added; ///< one of them
  int64_t bound = 0;
  bool isExtreme = false;         ///< a base beyond the bound comes back to it; else it stays
  SmallVector<Operation *> users; ///< of base
  SmallVector<Operation *> ops;   ///< in the result's block, the last one first
};

/// A selection, or a conditional that computes nothing but this.
struct CountChoice {
  Value condition, yes, no;
  Operation *user; ///< of `no`
};
} // namespace

static std::optional<CountChoice> choiceOf(Value result) {
  if (auto select = result.getDefiningOp<arith::SelectOp>())
    return CountChoice{select.getCondition(), select.getTrueValue(), select.getFalseValue(),
                       select};
  auto branch = result.getDefiningOp<scf::IfOp>();
  if (!branch || branch.getNumResults() != 1 || !llvm::hasSingleElement(*branch.elseBlock()) ||
      !llvm::all_of(*branch.thenBlock(),
                    [](Operation &op) { return isPure(&op) || isa<scf::YieldOp>(op); }))
    return std::nullopt;
  return CountChoice{branch.getCondition(), branch.thenYield().getOperand(0),
                     branch.elseYield().getOperand(0), branch.elseYield()};
}

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
  std::optional<CountChoice> choice = choiceOf(condition);
  if (!choice || getConstantIntValue(choice->no) != 0)
    return std::nullopt;
  return std::pair(choice->condition, choice->yes);
}

/// base + 1.
static arith::AddIOp oneMore(Value value, Value base) {
  auto add = value.getDefiningOp<arith::AddIOp>();
  return add && add.getLhs() == base && getConstantIntValue(add.getRhs()) == 1 ? add
                                                                               : arith::AddIOp();
}

/// The sum of which it is the minimum with a constant.
static arith::AddIOp cappedOf(Value value, int64_t &bound) {
  auto least = value.getDefiningOp<arith::MinSIOp>();
  auto limit = least ? getConstantIntValue(least.getRhs()) : std::optional<int64_t>();
  if (!limit)
    return {};
  bound = *limit;
  return least.getLhs().getDefiningOp<arith::AddIOp>();
}

/// `condition and base < bound` in either order, or one inside of the other: then one more.
static bool findCondition(const CountChoice &choice, BoundedStep &step) {
  if (arith::AddIOp add = oneMore(choice.yes, step.base)) {
    auto both = bothOf(choice.condition);
    if (!both)
      return false;
    auto [first, second] = *both;
    std::optional<int64_t> bound = boundOf(second, step.base);
    if (!bound) {
      std::swap(first, second);
      bound = boundOf(second, step.base);
    }
    if (!bound)
      return false;
    step.condition = first;
    step.bound = *bound;
    step.users.append({add, second.getDefiningOp()});
    step.ops.append({choice.condition.getDefiningOp(), second.getDefiningOp()});
    return true;
  }
  step.condition = choice.condition;
  if (arith::AddIOp add = cappedOf(choice.yes, step.bound);
      add && oneMore(add.getResult(), step.base)) {
    step.users.push_back(add);
    step.ops.push_back(choice.yes.getDefiningOp());
    return true;
  }
  std::optional<CountChoice> inner = choiceOf(choice.yes);
  arith::AddIOp add =
      inner && inner->no == step.base ? oneMore(inner->yes, step.base) : arith::AddIOp();
  std::optional<int64_t> bound = add ? boundOf(inner->condition, step.base) : std::nullopt;
  if (!bound)
    return false;
  step.bound = *bound;
  step.users.append({add, inner->condition.getDefiningOp(), inner->user});
  step.ops.append({choice.yes.getDefiningOp(), inner->condition.getDefiningOp()});
  return true;
}

static std::optional<BoundedStep> stepOf(Value result) {
  BoundedStep step;
  step.result = result;
  step.ops.push_back(result.getDefiningOp());
  if (arith::AddIOp add = cappedOf(result, step.bound)) {
    Value a = add.getLhs(), b = add.getRhs();
    auto mayBeStep = [](Value value) {
      return isa_and_present<arith::MinSIOp, arith::SelectOp, scf::IfOp>(value.getDefiningOp());
    };
    if (!mayBeStep(a) && mayBeStep(b))
      std::swap(a, b);
    std::optional<IntegerRange> range = IntegerRange::of(b);
    if (!range || range->least < 0)
      return std::nullopt;
    step.base = a;
    step.added = b;
    step.isExtreme = true;
    step.users.push_back(add);
  } else if (std::optional<CountChoice> choice = choiceOf(result)) {
    step.base = choice->no;
    step.users.push_back(choice->user);
    // What is asked for where something else holds may not be there otherwise.
    if (!findCondition(*choice, step) || step.condition.getParentBlock() != result.getParentBlock())
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  for (Operation *user : step.users)
    step.ops.push_back(user);
  return step;
}

namespace {
struct JoinBoundedCounts : metate::impl::JoinBoundedCountsBase<JoinBoundedCounts> {
  void runOnOperation() override {
    SmallVector<Value> results;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::SelectOp, arith::MinSIOp, scf::IfOp>(op) && op->getNumResults() == 1 &&
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
      for (Operation *op : step->ops)
        done.insert(op->result_begin(), op->result_end());
      if (!llvm::all_of(at.getUsers(),
                        [&](Operation *user) { return llvm::is_contained(step->users, user); }))
        break; // it is wanted for itself, by a condition perhaps
    }
    if (steps.size() < 2)
      return;
    const BoundedStep &first = steps.back();
    std::optional<IntegerRange> base = IntegerRange::of(first.base);
    bool isBelow = first.isExtreme || isMutant(Mutant::CountBeyondBound) ||
                   (base && base->greatest <= first.bound);
    if (!base || !isBelow || !fits(steps, *base))
      return;
    OpBuilder builder(result.getDefiningOp());
    Location loc = result.getLoc();
    Value sum = first.base;
    for (const BoundedStep &step : llvm::reverse(steps)) {
      Value more = step.added ? step.added
                              : arith::ExtUIOp::create(builder, loc, sum.getType(), step.condition);
      sum = arith::AddIOp::create(builder, loc, sum, more);
    }
    Value most = arith::ConstantIntOp::create(builder, loc, sum.getType(), first.bound);
    result.replaceAllUsesWith(arith::MinSIOp::create(builder, loc, sum, most));
    joined += unsigned(steps.size());
    erase(steps, result.getParentBlock());
  }

  /// Does the sum stay within i32?
  static bool fits(ArrayRef<BoundedStep> steps, const IntegerRange &base) {
    int64_t greatest = std::max<int64_t>(base.greatest, 0);
    for (const BoundedStep &step : steps)
      greatest += step.added ? IntegerRange::of(step.added)->greatest : 1;
    return greatest <= IntegerRange::most && std::abs(steps.front().bound) <= IntegerRange::most;
  }

  /// What nobody uses any more, the last step first: each holds uses of the one before. What stands inside of others goes with them.
  static void erase(ArrayRef<BoundedStep> steps, Block *block) {
    SmallVector<Operation *> ops;
    for (const BoundedStep &step : steps)
      for (Operation *op : step.ops)
        if (op->getBlock() == block && !llvm::is_contained(ops, op))
          ops.push_back(op);
    for (Operation *op : ops)
      if (isOpTriviallyDead(op))
        op->erase();
  }
};
} // namespace
