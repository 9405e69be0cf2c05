//===- ReassociateSums.cpp - accumulations in any order ---------*- C++ -*-===//
//
// `for j in range(n): s += x[j]` waits for the addition before: a chain of four cycles a turn. What a loop only accumulates may be
// combined in any order (semantics 6.5), as a parallel loop's accumulations are: the additions get the flag that lets LLVM make
// vectors of them. Only accumulates: the value goes into nothing but the next addition, a choice between such values, and the next turn.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate {
#define GEN_PASS_DEF_REASSOCIATESUMS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Of one accumulation all steps are of one kind.
enum class Combination { Sum, Product, Least, Greatest };

std::optional<Combination> combinationOf(Operation *op) {
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return Combination::Sum;
  if (isa<arith::MulFOp>(op))
    return Combination::Product;
  if (isa<arith::MinNumFOp>(op))
    return Combination::Least;
  if (isa<arith::MaxNumFOp>(op))
    return Combination::Greatest;
  return std::nullopt;
}

/// The values of one variable that a loop carries from turn to turn, if it only accumulates in it.
class Accumulation {
public:
  /// `carried`: at the beginning of a turn.
  Accumulation(Operation *loop, Value carried) : loop(loop) { isPossible = follow(carried); }

  bool isPossible = false;
  SmallVector<Operation *> steps;

private:
  bool follow(Value carried) {
    partials.insert(carried);
    for (size_t k = 0; k < partials.size(); ++k)
      for (OpOperand &use : partials[k].getUses())
        if (loop->isProperAncestor(use.getOwner()) && !take(use))
          return false;
    return !steps.empty() && llvm::all_of(partials, [&](Value value) { return isClosed(value); });
  }

  /// Where a partial result goes; false: something else reads it.
  bool take(OpOperand &use) {
    Operation *user = use.getOwner();
    if (std::optional<Combination> own = combinationOf(user)) {
      if (isa<arith::SubFOp>(user) && use.getOperandNumber() != 0)
        return false;
      if (kind && *kind != *own)
        return false;
      kind = own;
      if (!llvm::is_contained(steps, user))
        steps.push_back(user);
      partials.insert(user->getResult(0));
      return true;
    }
    if (isa<arith::SelectOp>(user)) {
      partials.insert(user->getResult(0));
      return true;
    }
    return enter(use) || leave(use);
  }

  /// Into a loop inside.
  bool enter(OpOperand &use) {
    if (auto inner = dyn_cast<scf::ForOp>(use.getOwner());
        inner && inner.getTiedLoopRegionIterArg(&use)) {
      partials.insert(inner.getTiedLoopRegionIterArg(&use));
      partials.insert(inner.getTiedLoopResult(&use));
      return true;
    }
    if (auto inner = dyn_cast<scf::WhileOp>(use.getOwner())) {
      partials.insert(inner.getBeforeArguments()[use.getOperandNumber()]);
      return true;
    }
    return false;
  }

  /// Out of a branch, or of a turn.
  bool leave(OpOperand &use) {
    Operation *around = use.getOwner()->getParentOp();
    if (auto condition = dyn_cast<scf::ConditionOp>(use.getOwner())) {
      auto ended = cast<scf::WhileOp>(around);
      unsigned number = use.getOperandNumber() - 1;
      partials.insert(ended.getAfterArguments()[number]);
      if (ended != loop)
        partials.insert(ended.getResult(number));
      return true;
    }
    if (!isa<scf::YieldOp>(use.getOwner()))
      return false;
    unsigned number = use.getOperandNumber();
    if (isa<scf::IfOp>(around))
      partials.insert(around->getResult(number));
    else if (auto turn = dyn_cast<scf::ForOp>(around))
      partials.insert(turn.getRegionIterArg(number));
    else if (auto turn = dyn_cast<scf::WhileOp>(around))
      partials.insert(turn.getBeforeArguments()[number]);
    else
      return false;
    return true;
  }

  /// Does it come from partial results only? What the loop begins with may be anything.
  bool isClosed(Value value) {
    auto isPartial = [&](Value from) { return partials.contains(from); };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned number = argument.getArgNumber();
      Operation *around = argument.getOwner()->getParentOp();
      if (auto turn = dyn_cast<scf::ForOp>(around)) {
        number -= turn.getNumInductionVars();
        return isPartial(turn.getYieldedValues()[number]) &&
               (turn == loop || isPartial(turn.getInitArgs()[number]));
      }
      auto turn = cast<scf::WhileOp>(around);
      if (argument.getOwner() == turn.getAfterBody())
        return isPartial(turn.getConditionOp().getArgs()[number]);
      return isPartial(turn.getYieldOp()->getOperand(number)) &&
             (turn == loop || isPartial(turn.getInits()[number]));
    }
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (combinationOf(op)) // a sum of two partial results is not one more addition
      return !isPartial(op->getOperand(0)) || !isPartial(op->getOperand(1));
    if (auto choice = dyn_cast<arith::SelectOp>(op))
      return isPartial(choice.getTrueValue()) && isPartial(choice.getFalseValue());
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return isPartial(branch.thenYield().getOperand(number)) &&
             isPartial(branch.elseYield().getOperand(number));
    if (auto inner = dyn_cast<scf::ForOp>(op))
      return isPartial(inner.getYieldedValues()[number]);
    return isPartial(cast<scf::WhileOp>(op).getConditionOp().getArgs()[number]);
  }

  Operation *loop;
  std::optional<Combination> kind;
  llvm::SetVector<Value> partials;
};

struct ReassociateSums : metate::impl::ReassociateSumsBase<ReassociateSums> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(mark::ordered) || isMutant(Mutant::OrderedSumReassociated))
      getOperation().walk([&](Operation *op) {
        if (auto loop = dyn_cast<scf::ForOp>(op))
          visit(op, loop.getRegionIterArgs());
        else if (auto loop = dyn_cast<scf::WhileOp>(op))
          visit(op, loop.getBeforeArguments());
      });
  }

private:
  void visit(Operation *loop, ValueRange carried) {
    for (Value value : carried) {
      if (!isa<FloatType>(getElementTypeOrSelf(value.getType())))
        continue;
      Accumulation accumulation(loop, value);
      if (!accumulation.isPossible)
        continue;
      ++reassociated;
      for (Operation *step : accumulation.steps)
        allow(cast<arith::ArithFastMathInterface>(step));
      if (auto remark = remarkDone(loop, "reassociate-sums", "order"))
        remark << "what the loop only accumulates is combined in any order"
               << atLine(accumulation.steps.front());
    }
  }

  static void allow(arith::ArithFastMathInterface step) {
    auto flags = step.getFastMathFlagsAttr().getValue() | arith::FastMathFlags::reassoc;
    if (isa<arith::MinNumFOp, arith::MaxNumFOp>(step)) // which of two zeros is free
      flags = flags | arith::FastMathFlags::nsz;
    step->setAttr(step.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(step->getContext(), flags));
  }
};
} // namespace
