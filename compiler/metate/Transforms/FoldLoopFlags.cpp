//===- FoldLoopFlags.cpp - loops that a flag ends leave by their condition -----------*- C++ -*-===//
//
// `break` and a function's `return` come as a flag that the loop asks before its next turn; what stands behind them is kept
// by selections on their condition. So a counter behind a break waits for the condition in each turn (a division, a square
// root), though a loop that is left has no next turn. Here the body moves before the test, as a C compiler has it of
// `while (1) { ...; if (c) break; ... }`, and what the next turn gets is what it is where the loop goes on.
//
// What the loop gives is what it was: of a turn that left it, too.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace metate {
#define GEN_PASS_DEF_FOLDLOOPFLAGS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
std::optional<bool> constantTruth(Value value) {
  APInt constant;
  if (!value.getType().isInteger(1) || !matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.isOne();
}

/// A choice between two values, as a selection or a conditional.
struct Choice {
  Value condition, yes, no;

  static std::optional<Choice> of(Value value) {
    if (auto select = value.getDefiningOp<arith::SelectOp>();
        select && select.getCondition().getType().isInteger(1))
      return Choice{select.getCondition(), select.getTrueValue(), select.getFalseValue()};
    if (auto branch = value.getDefiningOp<scf::IfOp>()) {
      unsigned k = cast<OpResult>(value).getResultNumber();
      return Choice{branch.getCondition(), branch.thenYield().getOperand(k),
                    branch.elseYield().getOperand(k)};
    }
    return std::nullopt;
  }
};

/// What is known where some truth value is true, and what other values are there.
class Known {
public:
  void assume(Value value, bool truth) {
    if (!facts.try_emplace(value, truth).second)
      return;
    if (auto op = value.getDefiningOp<arith::XOrIOp>()) {
      if (std::optional<bool> flip = constantTruth(op.getRhs()))
        assume(op.getLhs(), truth != *flip);
    } else if (auto op = value.getDefiningOp<arith::AndIOp>(); op && truth) {
      assume(op.getLhs(), true);
      assume(op.getRhs(), true);
    } else if (auto op = value.getDefiningOp<arith::OrIOp>(); op && !truth) {
      assume(op.getLhs(), false);
      assume(op.getRhs(), false);
    } else if (std::optional<Choice> choice = Choice::of(value)) {
      if (constantTruth(choice->yes) == !truth) {
        assume(choice->condition, false);
        assume(choice->no, truth);
      } else if (constantTruth(choice->no) == !truth) {
        assume(choice->condition, true);
        assume(choice->yes, truth);
      }
    }
  }

  bool isTrue(Value value) const { return facts.lookup(value); }

  /// What the value is, computed without what does not happen; itself, where nothing better is known.
  Value valueOf(Value value) {
    std::optional<Choice> choice = Choice::of(value);
    std::optional<bool> truth = choice ? truthOf(choice->condition) : std::nullopt;
    if (!truth)
      return value;
    Value chosen = valueOf(*truth ? choice->yes : choice->no);
    auto branch = value.getDefiningOp<scf::IfOp>();
    if (!branch)
      return chosen;
    IRMapping copies;
    Value outside = copyBefore(chosen, branch, copies);
    return outside ? outside : value;
  }

private:
  std::optional<bool> truthOf(Value value) const {
    if (auto known = facts.find(value); known != facts.end())
      return known->second;
    if (auto op = value.getDefiningOp<arith::XOrIOp>())
      if (std::optional<bool> flip = constantTruth(op.getRhs()))
        if (std::optional<bool> truth = truthOf(op.getLhs()))
          return *truth != *flip;
    auto compare = value.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return std::nullopt;
    for (auto [fact, truth] : facts)
      if (auto other = fact.getDefiningOp<arith::CmpIOp>();
          other && other.getLhs() == compare.getLhs() && other.getRhs() == compare.getRhs()) {
        if (other.getPredicate() == compare.getPredicate())
          return truth;
        if (other.getPredicate() == arith::invertPredicate(compare.getPredicate()))
          return !truth;
      }
    return std::nullopt;
  }

  /// The value, computed before `branch`, where it stands inside; null, if that may do harm.
  static Value copyBefore(Value value, scf::IfOp branch, IRMapping &copies) {
    if (Value copy = copies.lookupOrNull(value))
      return copy;
    if (!branch->isAncestor(value.getParentRegion()->getParentOp()))
      return value;
    Operation *op = value.getDefiningOp();
    if (!op || !isMemoryEffectFree(op) || !isSpeculatable(op))
      return {};
    llvm::SetVector<Value> needed(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), needed);
    for (Value operand : needed) {
      Value copy = copyBefore(operand, branch, copies);
      if (!copy)
        return {};
      copies.map(operand, copy);
    }
    OpBuilder(branch).clone(*op, copies);
    return copies.lookup(value);
  }

  llvm::MapVector<Value, bool> facts;
};

class FlaggedLoop {
public:
  FlaggedLoop(scf::WhileOp loop) : loop(loop), builder(loop), loc(loop.getLoc()) {}

  bool find() {
    Known goingOn;
    goingOn.assume(loop.getConditionOp().getCondition(), true);
    for (BlockArgument argument : loop.getBeforeArguments()) {
      unsigned k = argument.getArgNumber();
      if (constantTruth(loop.getInits()[k]) == true && goingOn.isTrue(argument)) {
        flag = k;
        return isSimple();
      }
    }
    return false;
  }

  void fold() {
    remarkDone(loop, "fold-loop-flags", "loops")
        << "a break leaves the loop where it stands: what comes after it does not wait for its "
           "condition";
    yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
    Value isEntered = test(loop.getInits());
    auto entered = scf::IfOp::create(builder, loc, loop.getResultTypes(), isEntered,
                                     /*addThenBlock=*/true, /*addElseBlock=*/true);
    builder.setInsertionPointToStart(entered.elseBlock());
    scf::YieldOp::create(builder, loc, forwarded(loop.getInits()));
    builder.setInsertionPointToStart(entered.thenBlock());
    scf::YieldOp::create(builder, loc, makeLoop());
    loop.replaceAllUsesWith(entered.getResults());
    loop.erase();
  }

private:
  /// Does the test only test, and forward what the loop carries?
  bool isSimple() {
    bool isOnlyTest = !loop.getBeforeBody()
                           ->walk([](Operation *op) {
                             bool isFree = isa<scf::IfOp, ReadOp>(op) || isMemoryEffectFree(op);
                             return isFree ? WalkResult::advance() : WalkResult::interrupt();
                           })
                           .wasInterrupted();
    return isOnlyTest && llvm::all_of(loop.getConditionOp().getArgs(), [&](Value value) {
             return !loop->isAncestor(value.getParentRegion()->getParentOp()) ||
                    llvm::is_contained(loop.getBeforeArguments(), value);
           });
  }

  /// The test, where the builder stands, of a turn that gets `values`; the flag is true.
  Value test(ValueRange values) {
    IRMapping mapping;
    mapping.map(loop.getBeforeArguments(), values);
    mapping.map(loop.getBeforeArguments()[flag], yes);
    for (Operation &op : loop.getBeforeBody()->without_terminator())
      builder.clone(op, mapping);
    return mapping.lookupOrDefault(loop.getConditionOp().getCondition());
  }

  /// What the test forwards of these values.
  SmallVector<Value> forwarded(ValueRange values) {
    return llvm::map_to_vector(loop.getConditionOp().getArgs(), [&](Value given) {
      auto argument = dyn_cast<BlockArgument>(given);
      bool isCarried = argument && argument.getOwner() == loop.getBeforeBody();
      return isCarried ? values[argument.getArgNumber()] : given;
    });
  }

  template <typename Values> static SmallVector<Value> without(Values values, unsigned k) {
    SmallVector<Value> rest(values.begin(), values.end());
    rest.erase(rest.begin() + k);
    return rest;
  }

  Block *startBlock(Region &region, ValueRange values) {
    return builder.createBlock(&region, region.end(), values.getTypes(),
                               SmallVector<Location>(values.size(), loc));
  }

  /// The loop, body first, once it is known to have a turn; what it gives.
  SmallVector<Value> makeLoop() {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Value> initial = without(loop.getInits(), flag);
    // What it gives is known only at its end.
    auto untyped = scf::WhileOp::create(builder, loc, TypeRange(), initial);
    Region &before = untyped.getBefore(), &after = untyped.getAfter();
    Block *body = startBlock(before, initial);
    SmallVector<Value> turn(body->args_begin(), body->args_end());
    turn.insert(turn.begin() + flag, yes);
    for (auto [argument, value] : llvm::zip(loop.getAfterArguments(), forwarded(turn)))
      argument.replaceAllUsesWith(value);
    scf::YieldOp yield = loop.getYieldOp();
    SmallVector<Value> next(yield.getOperands());
    yield->erase();
    body->getOperations().splice(body->end(), loop.getAfterBody()->getOperations());

    Known known;
    known.assume(next[flag], true);
    SmallVector<Value> going =
        llvm::map_to_vector(next, [&](Value value) { return known.valueOf(value); });
    builder.setInsertionPointToEnd(body);
    Value goes = goesOn(next[flag], going);
    SmallVector<Value> given = without(going, flag);
    size_t carried = given.size();
    llvm::append_range(given, forwarded(isMutant(Mutant::BreakForgetsTurn) ? turn : next));
    scf::ConditionOp::create(builder, loc, goes, given);
    Block *end = startBlock(after, given);
    scf::YieldOp::create(builder, loc, end->getArguments().take_front(carried));
    builder.setInsertionPoint(untyped);
    auto made = scf::WhileOp::create(builder, loc, ValueRange(given).getTypes(), initial);
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    made.getBefore().takeBody(before);
    made.getAfter().takeBody(after);
    untyped.erase();
    return llvm::to_vector_of<Value>(made.getResults().drop_front(carried));
  }

  /// Whether another turn follows: the flag, and then the test.
  Value goesOn(Value isOn, ValueRange values) {
    bool mayRun = llvm::all_of(loop.getBeforeBody()->without_terminator(), [](Operation &op) {
      return isMemoryEffectFree(&op) && isSpeculatable(&op);
    });
    Value no = arith::ConstantIntOp::create(builder, loc, 0, 1);
    if (mayRun) {
      Value more = test(values);
      return arith::SelectOp::create(builder, loc, isOn, more, no);
    }
    auto branch = scf::IfOp::create(builder, loc, TypeRange{builder.getI1Type()}, isOn,
                                    /*addThenBlock=*/true, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value more = test(values);
    scf::YieldOp::create(builder, loc, more);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, no);
    return branch.getResult(0);
  }

  scf::WhileOp loop;
  OpBuilder builder;
  Location loc;
  unsigned flag = 0;
  Value yes;
};

struct FoldLoopFlags : metate::impl::FoldLoopFlagsBase<FoldLoopFlags> {
  void runOnOperation() override {
    SmallVector<scf::WhileOp> loops;
    getOperation().walk([&](scf::WhileOp loop) { loops.push_back(loop); }); // inner ones first
    for (scf::WhileOp loop : loops) {
      FlaggedLoop flagged(loop);
      if (!flagged.find())
        continue;
      flagged.fold();
      ++folded;
    }
  }
};
} // namespace
