//===- EndAtRest.cpp - loops that change nothing any more end ---*- C++ -*-===//
//
// `for _ in range(60): if x * x + y * y < 4: x, y = ...; count += 1` runs all its turns, as programs for GPUs are written. A turn that the
// condition keeps from changing anything leaves the next one the same values, thus the same condition: the loop is at rest, and ends.
// `while turns are left and the condition holds` gives what it gave.
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

namespace metate {
#define GEN_PASS_DEF_ENDATREST
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Operations that a condition is computed by: they stand in the loop twice.
constexpr size_t mostOfCondition = 32;

/// A loop of which a turn changes something only under one condition.
class Rest {
public:
  explicit Rest(scf::ForOp loop) : loop(loop) {}

  bool find() {
    if (loop.getNumResults() == 0 || loop.getUnsignedCmp() ||
        !matchPattern(loop.getStep(), m_One()))
      return false;
    for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
      if (next != carried && !isGuarded(carried, next))
        return false;
    return condition && follow(condition) && dependsOnCarried && slice.size() <= mostOfCondition &&
           llvm::all_of(loop.getBody()->without_terminator(),
                        [&](Operation &op) { return isFree(op); });
  }

  void end() {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    SmallVector<Value> inits{loop.getLowerBound()};
    llvm::append_range(inits, loop.getInitArgs());
    auto types = llvm::to_vector(ValueRange(inits).getTypes());
    auto made = scf::WhileOp::create(builder, loc, types, inits);
    SmallVector<Location> locs(types.size(), loc);
    builder.createBlock(&made.getBefore(), {}, types, locs);
    Value isLeft = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                         made.getBeforeArguments().front(), loop.getUpperBound());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), made.getBeforeArguments().front());
    mapping.map(loop.getRegionIterArgs(), made.getBeforeArguments().drop_front());
    for (Operation &op : *loop.getBody()) // in their order
      if (slice.contains(&op))
        builder.clone(op, mapping);
    Value changes = mapping.lookupOrDefault(condition);
    if (!isChangedIf)
      changes = arith::XOrIOp::create(builder, loc, changes, truth(builder, true));
    Value goes = arith::AndIOp::create(builder, loc, isLeft, changes);
    scf::ConditionOp::create(builder, loc, goes, made.getBeforeArguments());
    Block *turn = builder.createBlock(&made.getAfter(), {}, types, locs);
    writeTurn(*turn);
    loop->replaceAllUsesWith(made.getResults().drop_front());
    loop.erase();
  }

private:
  static Value truth(OpBuilder &builder, bool value) {
    return arith::ConstantOp::create(builder, builder.getUnknownLoc(), builder.getBoolAttr(value));
  }

  /// The next value is the one before unless the condition, one for all values, says otherwise.
  bool isGuarded(Value carried, Value next) {
    Value test, yes, no;
    if (auto select = next.getDefiningOp<arith::SelectOp>()) {
      test = select.getCondition(), yes = select.getTrueValue(), no = select.getFalseValue();
    } else if (auto branch = next.getDefiningOp<scf::IfOp>()) {
      unsigned k = cast<OpResult>(next).getResultNumber();
      test = branch.getCondition();
      yes = branch.thenYield().getOperand(k), no = branch.elseYield().getOperand(k);
    }
    if (!test || !test.getType().isInteger(1))
      return false;
    // A flag that is the condition is what it says.
    auto isSame = [&](Value value, bool truth) {
      APInt constant;
      return value == carried ||
             (test == carried && matchPattern(value, m_ConstantInt(&constant)) &&
              constant.isOne() == truth);
    };
    bool ifTrue = isSame(no, false);
    if (!ifTrue && !isSame(yes, true))
      return false;
    if (condition && (condition != test || isChangedIf != ifTrue))
      return false;
    condition = test, isChangedIf = ifTrue;
    return true;
  }

  /// Is it computed from what is carried and what is outside, and from no turn?
  bool follow(Value value) {
    if (value == loop.getInductionVar())
      return isMutant(Mutant::TurnTakenForRest);
    if (llvm::is_contained(loop.getRegionIterArgs(), value))
      return dependsOnCarried = true;
    Operation *op = value.getDefiningOp();
    if (!op || !loop->isAncestor(op))
      return true;
    if (op->getBlock() != loop.getBody() || op->getNumRegions() || !isPure(op))
      return false;
    return !slice.insert(op).second ||
           llvm::all_of(op->getOperands(), [&](Value operand) { return follow(operand); });
  }

  /// May it be left out of a turn that changes nothing?
  bool isFree(Operation &op) const {
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && branch.getCondition() == condition) {
      Region &rest = isChangedIf ? branch.getElseRegion() : branch.getThenRegion();
      return rest.empty() ||
             llvm::all_of(rest.front(), [](Operation &op) { return onlyReads(op); });
    }
    return onlyReads(op);
  }

  static bool onlyReads(Operation &op) {
    return !op.walk([](Operation *inner) {
                if (inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                    inner->hasTrait<OpTrait::IsTerminator>())
                  return WalkResult::advance();
                auto effects = getEffectsRecursively(inner);
                bool isRead = effects && llvm::all_of(*effects, [](auto &effect) {
                                return isa<MemoryEffects::Read>(effect.getEffect());
                              });
                return isRead ? WalkResult::advance() : WalkResult::interrupt();
              }).wasInterrupted();
  }

  /// A turn in which the condition holds.
  void writeTurn(Block &turn) {
    OpBuilder builder = OpBuilder::atBlockBegin(&turn);
    Location loc = loop.getLoc();
    loop.getInductionVar().replaceAllUsesWith(turn.getArgument(0));
    for (auto [carried, argument] :
         llvm::zip(loop.getRegionIterArgs(), turn.getArguments().drop_front()))
      carried.replaceAllUsesWith(argument);
    // But not in what computes the condition where it stands outside.
    Value holds = truth(builder, isChangedIf);
    condition.replaceUsesWithIf(holds, [&](OpOperand &use) {
      return loop->isProperAncestor(use.getOwner()) || turn.findAncestorOpInBlock(*use.getOwner());
    });
    Operation *yield = loop.getBody()->getTerminator();
    SmallVector<Value> next(yield->getOperands());
    yield->erase();
    turn.getOperations().splice(turn.end(), loop.getBody()->getOperations());
    builder.setInsertionPointToEnd(&turn);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    next.insert(next.begin(), arith::AddIOp::create(builder, loc, turn.getArgument(0), one,
                                                    arith::IntegerOverflowFlags::nsw));
    scf::YieldOp::create(builder, loc, next);
    // The loop is erased behind this: it wants a terminator.
    OpBuilder rest = OpBuilder::atBlockEnd(loop.getBody());
    scf::YieldOp::create(rest, loc, loop.getInitArgs());
  }

  scf::ForOp loop;
  Value condition;
  bool isChangedIf = true; ///< the truth of the condition that lets a turn change something
  bool dependsOnCarried = false;
  llvm::DenseSet<Operation *> slice; ///< what computes the condition
};

struct EndAtRest : metate::impl::EndAtRestBase<EndAtRest> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      Rest rest(loop);
      if (!rest.find())
        continue;
      remarkDone(loop, "end-at-rest", "loops")
          << "a turn that its condition keeps from changing anything ends the loop";
      rest.end();
      ++ended;
    }
  }
};
} // namespace
