//===- StraightLoop.cpp - branches that choose what is carried -------------*- C++ -*-===//
//
// `if x < least: least = x; at = index[i]` as selects, with a note of which reads only some turns do. Must not change the loop itself.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cpu/CarriedExtremes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

static bool isPlainRead(Operation *op) {
  auto read = dyn_cast<ReadOp>(op);
  return read && !read.getAcquire();
}

void cpu::addConditions(Value condition, StraightLoop::Values &conditions) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    addConditions(both.getLhs(), conditions);
    addConditions(both.getRhs(), conditions);
  } else if (auto both = condition.getDefiningOp<arith::SelectOp>();
             both && matchPattern(both.getFalseValue(), m_Zero())) {
    addConditions(both.getCondition(), conditions);
    addConditions(both.getTrueValue(), conditions);
  } else {
    conditions.insert(condition);
  }
}

StraightLoop::StraightLoop(scf::ForOp original)
    : loop(cast<scf::ForOp>(OpBuilder(original).clone(*original.getOperation()))) {
  isStraight = !loop.getBody()
                    ->walk([](Operation *op) {
                      bool isKnown = op->hasTrait<OpTrait::IsTerminator>() || isPlainRead(op) ||
                                     isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op) ||
                                     (op->getNumRegions() == 0 && isMemoryEffectFree(op));
                      return isKnown ? WalkResult::advance() : WalkResult::interrupt();
                    })
                    .wasInterrupted();
  spread();
  SmallVector<scf::IfOp> branches; // inner ones first
  loop.walk([&](scf::IfOp branch) { branches.push_back(branch); });
  for (scf::IfOp branch : branches)
    if (!llvm::all_of(branch.getResults(), [&](Value result) { return isFree(result); }))
      isStraight = isStraight && flatten(branch);
}

StraightLoop::~StraightLoop() { loop.erase(); }

/// What depends on what the loop carries, be it by a condition.
void StraightLoop::spread() {
  ofCarried.insert(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  loop.getBody()->walk([&](Operation *op) { // what is inside first
    if (llvm::all_of(op->getOperands(), [&](Value value) { return isFree(value); }))
      return;
    bool isEnd = op->hasTrait<OpTrait::IsTerminator>() && op->getParentOp() != loop;
    Operation *of = isEnd ? op->getParentOp() : op;
    ofCarried.insert(of->result_begin(), of->result_end());
  });
}

/// The same, done before whenever `op` would be; null: there is none. The loop writes nothing.
static Operation *earlierLike(Operation *op, Operation *before, Operation *loop) {
  for (; before != loop; before = before->getParentOp())
    for (Operation *other = before->getPrevNode(); other; other = other->getPrevNode())
      if (OperationEquivalence::isEquivalentTo(op, other, OperationEquivalence::IgnoreLocations))
        return other;
  return nullptr;
}

/// `condition`: where the side is taken; null: where it is not.
bool StraightLoop::moveOut(Region &side, scf::IfOp branch, Value condition) {
  if (side.empty())
    return true;
  Values conditions;
  if (condition)
    addConditions(condition, conditions);
  else
    conditions.insert(Value());
  for (Operation &op : llvm::make_early_inc_range(side.front().without_terminator())) {
    if (op.getNumRegions())
      return false;
    Operation *earlier = earlierLike(&op, branch, loop);
    if (earlier && llvm::all_of(guardsOf(earlier), [&](Value needed) {
          return needed && conditions.contains(needed);
        })) {
      for (Value result : op.getResults())
        ofCarried.erase(result);
      guards.erase(&op);
      op.replaceAllUsesWith(earlier);
      op.erase();
      continue;
    }
    op.moveBefore(branch);
    if (isPlainRead(&op) || !isSpeculatable(&op))
      guards[&op].insert(conditions.begin(), conditions.end());
  }
  return true;
}

bool StraightLoop::flatten(scf::IfOp branch) {
  Value condition = branch.getCondition();
  if (!moveOut(branch.getThenRegion(), branch, condition) ||
      !moveOut(branch.getElseRegion(), branch, Value()))
    return false;
  OpBuilder builder(branch);
  for (OpResult result : branch.getResults()) {
    Value yes = branch.thenYield().getOperand(result.getResultNumber());
    Value no = branch.elseYield().getOperand(result.getResultNumber());
    Value choice = arith::SelectOp::create(builder, branch.getLoc(), condition, yes, no);
    if (ofCarried.erase(result))
      ofCarried.insert(choice);
    result.replaceAllUsesWith(choice);
  }
  branch.erase();
  return true;
}

void StraightLoop::collect(Value value, llvm::SetVector<Operation *> &ops, bool withGuards) const {
  Operation *op = value.getDefiningOp();
  scf::ForOp own = loop;
  op = op ? own.getBody()->findAncestorOpInBlock(*op) : nullptr;
  if (!op || ops.contains(op))
    return;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *of = operand.getParentBlock()->getParentOp(); !op->isAncestor(of))
        collect(operand, ops, withGuards);
  });
  if (withGuards)
    if (Values needed = guardsOf(op); areFree(needed))
      for (Value guard : needed)
        collect(guard, ops, withGuards);
  ops.insert(op);
}

bool StraightLoop::runWhere(const llvm::SetVector<Operation *> &ops,
                            const Values &conditions) const {
  return llvm::all_of(ops, [&](Operation *op) {
    auto guard = guards.find(op);
    return guard == guards.end() ||
           llvm::all_of(guard->second, [&](Value needed) { return conditions.contains(needed); });
  });
}
