//===- NarrowLoops.cpp - conditions that are bounds -------------*- C++ -*-===//
//
// `for i in range(n): if 0 < i < n - 1: ...` does nothing outside of the interior: what a condition around the whole body says of a
// loop's variable becomes the loop's bounds, and what it says of nothing in the loop goes around it. The loops that are left have
// no branch, as if the user had written their bounds.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Speculation.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_NARROWLOOPS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

using Predicate = arith::CmpIPredicate;

namespace {
constexpr int64_t leastI32 = std::numeric_limits<int32_t>::min(),
                  mostI32 = std::numeric_limits<int32_t>::max(), beyond = int64_t(1) << 33;

std::optional<int64_t> fixedNumber(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) || !constant.isSignedIntN(64))
    return std::nullopt;
  return constant.getSExtValue();
}

bool isTruth(Value value, bool truth) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) && constant.isOne() == truth;
}

/// A parallel loop or a counted one that carries no values.
struct NarrowedLoop {
  Operation *op;

  /// Cells of a leaf stay a nest: their rows are computed whole.
  static std::optional<NarrowedLoop> of(Operation *op) {
    if (auto serial = dyn_cast<scf::ForOp>(op);
        serial &&
        (serial.getNumResults() || fixedNumber(serial.getStep()) != 1 || op->hasAttr(mark::nest)))
      return std::nullopt;
    return isa<scf::ForOp, RangeOp>(op) ? std::optional(NarrowedLoop{op}) : std::nullopt;
  }

  Block &body() const { return op->getRegion(0).front(); }
  bool isRange() const { return isa<RangeOp>(op); }
  /// The operand that is a bound of the variable.
  OpOperand &bound(BlockArgument variable, bool isUpper) const {
    if (auto range = dyn_cast<RangeOp>(op))
      return (isUpper ? range.getUpperMutable() : range.getLowerMutable())[variable.getArgNumber()];
    auto serial = cast<scf::ForOp>(op);
    return isUpper ? serial.getUpperBoundMutable() : serial.getLowerBoundMutable();
  }
  bool isInside(Value value) const {
    return op->isAncestor(value.getParentRegion()->getParentOp());
  }
};

/// The loop's variable and a constant.
struct Shifted {
  BlockArgument variable;
  int64_t constant = 0;
};

/// Conditions in a form that says what must hold: `if (a and b)` is `if a: if b`, an `if` whose else side does all is one of
/// the opposite.
class Guards {
public:
  /// The conditional that is all that the block does; null: there is none.
  static scf::IfOp find(Block &block) {
    scf::IfOp guard;
    for (Operation &op : block.without_terminator()) {
      auto branch = dyn_cast<scf::IfOp>(op);
      if (branch && branch.getNumResults() == 0) {
        if (guard)
          return {};
        guard = branch;
      } else if (!onlyReads(op) || (guard && !op.use_empty())) {
        return {};
      }
    }
    if (!guard)
      return {};
    bool isPositive = isEmpty(guard.getElseRegion());
    return isPositive != isEmpty(guard.getThenRegion()) ? split(positive(guard, isPositive))
                                                        : scf::IfOp();
  }

private:
  static bool isEmpty(Region &region) {
    return region.empty() || llvm::hasSingleElement(region.front());
  }

  static bool onlyReads(Operation &op) {
    auto effects = getEffectsRecursively(&op);
    return effects && llvm::all_of(*effects, [](MemoryEffects::EffectInstance &effect) {
             return isa<MemoryEffects::Read>(effect.getEffect());
           });
  }

  static bool onlyYields(Block &block) {
    return llvm::all_of(block.without_terminator(),
                        [](Operation &op) { return op.hasTrait<OpTrait::ConstantLike>(); });
  }

  static scf::IfOp positive(scf::IfOp guard, bool isPositive) {
    OpBuilder builder(guard);
    Value condition = guard.getCondition();
    Region &body = isPositive ? guard.getThenRegion() : guard.getElseRegion();
    if (isPositive && guard.getElseRegion().empty())
      return guard;
    auto made = scf::IfOp::create(builder, guard.getLoc(),
                                  isPositive ? condition : negated(builder, condition), false);
    made.getThenRegion().takeBody(body);
    guard.erase();
    return made;
  }

  static Value negated(OpBuilder &builder, Value condition) {
    Location loc = condition.getLoc();
    if (auto compare = condition.getDefiningOp<arith::CmpIOp>())
      return arith::CmpIOp::create(builder, loc, arith::invertPredicate(compare.getPredicate()),
                                   compare.getLhs(), compare.getRhs());
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      return arith::OrIOp::create(builder, loc, negated(builder, both.getLhs()),
                                  negated(builder, both.getRhs()));
    if (auto either = condition.getDefiningOp<arith::OrIOp>())
      return arith::AndIOp::create(builder, loc, negated(builder, either.getLhs()),
                                   negated(builder, either.getRhs()));
    if (auto inverse = condition.getDefiningOp<arith::XOrIOp>();
        inverse && isTruth(inverse.getRhs(), true))
      return inverse.getLhs();
    if (auto choice = condition.getDefiningOp<scf::IfOp>(); choice && condition.hasOneUse()) {
      unsigned k = cast<OpResult>(condition).getResultNumber();
      for (Operation *yield :
           {choice.thenYield().getOperation(), choice.elseYield().getOperation()}) {
        OpBuilder inside(yield);
        yield->setOperand(k, negated(inside, yield->getOperand(k)));
      }
      return condition;
    }
    if (isTruth(condition, true) || isTruth(condition, false))
      return arith::ConstantIntOp::create(builder, loc, isTruth(condition, false), 1);
    Value yes = arith::ConstantIntOp::create(builder, loc, true, 1);
    return arith::XOrIOp::create(builder, loc, condition, yes);
  }

  /// The outer one of two conditionals, if both conditions must hold.
  static scf::IfOp split(scf::IfOp guard) {
    Value condition = guard.getCondition();
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      return split(nested(guard, both.getLhs(), both.getRhs()));
    if (auto choice = condition.getDefiningOp<arith::SelectOp>();
        choice && isTruth(choice.getFalseValue(), false))
      return split(nested(guard, choice.getCondition(), choice.getTrueValue()));
    if (auto inverse = condition.getDefiningOp<arith::XOrIOp>();
        inverse && isTruth(inverse.getRhs(), true) && inverse->hasOneUse() &&
        inverse.getLhs().hasOneUse() && inverse.getLhs().getDefiningOp<scf::IfOp>()) {
      Value opposite = inverse.getLhs();
      guard.getConditionMutable().assign(opposite);
      inverse.erase();
      OpBuilder builder(guard);
      negated(builder, opposite); // in place, for it has one use
      return split(guard);
    }
    auto chain = condition.getDefiningOp<scf::IfOp>();
    if (!chain || chain.getNumResults() != 1 || !condition.hasOneUse() ||
        chain.elseBlock() == nullptr)
      return guard;
    if (isTruth(chain.thenYield().getOperand(0), false) && onlyYields(*chain.thenBlock()))
      return split(moved(guard, chain, /*isThen=*/false));
    if (isTruth(chain.elseYield().getOperand(0), false) && onlyYields(*chain.elseBlock()))
      return split(moved(guard, chain, /*isThen=*/true));
    return guard;
  }

  static scf::IfOp nested(scf::IfOp guard, Value first, Value second) {
    OpBuilder builder(guard);
    auto outer = scf::IfOp::create(builder, guard.getLoc(), first, false);
    guard->moveBefore(outer.thenBlock(), outer.thenBlock()->begin());
    guard.getConditionMutable().assign(second);
    return outer;
  }

  /// What computes the second condition goes along.
  static scf::IfOp moved(scf::IfOp guard, scf::IfOp chain, bool isThen) {
    OpBuilder builder(guard);
    Value first = isThen ? chain.getCondition() : negated(builder, chain.getCondition());
    Block &from = *(isThen ? chain.thenBlock() : chain.elseBlock());
    Value second = from.getTerminator()->getOperand(0);
    scf::IfOp outer = nested(guard, first, second);
    outer.thenBlock()->getOperations().splice(guard->getIterator(), from.getOperations(),
                                              from.begin(), from.getTerminator()->getIterator());
    chain.erase();
    return outer;
  }
};

class Narrowing {
public:
  explicit Narrowing(NarrowedLoop loop) : loop(loop), before(loop.op) {}

  /// How many conditions have left the loop.
  unsigned run() {
    unsigned taken = 0;
    Block *block = &loop.body();
    while (scf::IfOp guard = Guards::find(*block)) {
      if (takes(guard) || goesAround(guard)) {
        inlined(guard);
        ++taken;
      } else {
        block = guard.thenBlock();
      }
    }
    return taken;
  }

private:
  static void inlined(scf::IfOp guard) {
    Block &body = *guard.thenBlock();
    body.getTerminator()->erase();
    guard->getBlock()->getOperations().splice(guard->getIterator(), body.getOperations());
    guard.erase();
  }

  /// The value before the loop, its arithmetic repeated there; null where it depends on the loop.
  Value outside(Value value) {
    if (!loop.isInside(value))
      return value;
    if (Value known = moved.lookupOrNull(value))
      return known;
    if (!isFixed(value))
      return {};
    for (Value operand : value.getDefiningOp()->getOperands())
      (void)outside(operand); // which `moved` has then, where it stands inside
    before.clone(*value.getDefiningOp(), moved);
    return moved.lookup(value);
  }

  /// Does it depend on nothing in the loop?
  bool isFixed(Value value) {
    if (!loop.isInside(value))
      return true;
    if (auto known = fixed.find(value); known != fixed.end())
      return known->second;
    Operation *op = value.getDefiningOp();
    bool isIt = op && !op->getNumRegions() && mayRunAnywhere(op) &&
                llvm::all_of(op->getOperands(), [&](Value operand) { return isFixed(operand); });
    return fixed[value] = isIt;
  }

  /// A serial loop's condition that is the same in all turns; a parallel loop stands in no conditional.
  bool goesAround(scf::IfOp guard) {
    if (loop.isRange() || !isFixed(guard.getCondition()))
      return false;
    Value condition = outside(guard.getCondition());
    auto around = scf::IfOp::create(before, guard.getLoc(), condition, false);
    loop.op->moveBefore(around.thenBlock(), around.thenBlock()->begin());
    before.setInsertionPoint(loop.op);
    return true;
  }

  /// The value is a variable of the loop and a constant, computed without wrapping.
  std::optional<Shifted> shifted(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == &loop.body())
      return Shifted{argument};
    Operation *op = value.getDefiningOp();
    if (isa_and_present<arith::IndexCastOp, arith::ExtSIOp>(op) &&
        (value.getType().isIndex() || value.getType().getIntOrFloatBitWidth() >= 32))
      return shifted(op->getOperand(0));
    if (!isa_and_present<arith::AddIOp, arith::SubIOp>(op))
      return std::nullopt;
    std::optional<int64_t> constant = fixedNumber(op->getOperand(1));
    std::optional<Shifted> of = constant ? shifted(op->getOperand(0)) : std::nullopt;
    if (!of || *constant < leastI32 || *constant > mostI32)
      return std::nullopt;
    of->constant += isa<arith::AddIOp>(op) ? *constant : -*constant;
    bool fits = !value.getType().isInteger(32) || fitsI32(*of);
    return fits ? of : std::nullopt;
  }

  /// Bounds were 32-bit values.
  bool fitsI32(Shifted value) const {
    int64_t least = fixedNumber(loop.bound(value.variable, false).get()).value_or(leastI32);
    int64_t end = fixedNumber(loop.bound(value.variable, true).get()).value_or(mostI32);
    return least + value.constant >= leastI32 && end - 1 + value.constant <= mostI32;
  }

  /// What the condition says of a variable becomes its bounds.
  bool takes(scf::IfOp guard) {
    auto compare = guard.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return false;
    Value left = compare.getLhs(), right = compare.getRhs();
    Predicate predicate = compare.getPredicate();
    std::optional<Shifted> value = shifted(left);
    if (!value) {
      value = shifted(right);
      std::swap(left, right);
      predicate = swapped(predicate);
    }
    bool isWide = right.getType().isIndex() || right.getType().getIntOrFloatBitWidth() > 32;
    if (!value || !isFixed(right) || (isWide && value->constant && !fixedNumber(right)))
      return false;
    return narrow(*value, predicate, right, compare.getLoc());
  }

  static Predicate swapped(Predicate predicate) {
    switch (predicate) {
    case Predicate::slt:
      return Predicate::sgt;
    case Predicate::sle:
      return Predicate::sge;
    case Predicate::sgt:
      return Predicate::slt;
    case Predicate::sge:
      return Predicate::sle;
    default:
      return predicate; // eq and ne; unsigned ones are declined
    }
  }

  bool narrow(Shifted value, Predicate predicate, Value limit, Location loc) {
    bool isLess = predicate == Predicate::slt || predicate == Predicate::sle;
    bool isGreater = predicate == Predicate::sgt || predicate == Predicate::sge;
    if (predicate == Predicate::ne)
      return isLeftOut(value, limit, loc);
    if (!isLess && !isGreater && predicate != Predicate::eq)
      return false;
    Value bound = outside(limit);
    bool isWide = bound.getType().isIndex() || bound.getType().getIntOrFloatBitWidth() > 32;
    if (!bound.getType().isIndex())
      bound = before.createOrFold<arith::IndexCastOp>(loc, before.getIndexType(), bound);
    if (isWide) { // beyond all variables, and one more does not wrap
      bound = before.createOrFold<arith::MinSIOp>(loc, bound, number(beyond, loc));
      bound = before.createOrFold<arith::MaxSIOp>(loc, bound, number(-beyond, loc));
    }
    if (value.constant)
      bound = before.createOrFold<arith::SubIOp>(loc, bound, number(value.constant, loc));
    if (!isGreater)
      atMost(value.variable, bound, /*isExcluded=*/predicate == Predicate::slt, loc);
    if (!isLess)
      atLeast(value.variable, bound, /*isExcluded=*/predicate == Predicate::sgt, loc);
    return true;
  }

  /// `i != 0` where a loop begins or ends.
  bool isLeftOut(Shifted value, Value limit, Location loc) {
    std::optional<int64_t> left = fixedNumber(limit);
    OpOperand &lower = loop.bound(value.variable, false), &upper = loop.bound(value.variable, true);
    std::optional<int64_t> first = fixedNumber(lower.get()), end = fixedNumber(upper.get());
    if (!left)
      return false;
    if (first && *first == *left - value.constant)
      lower.set(number(*first + 1, loc));
    else if (end && *end - 1 == *left - value.constant)
      upper.set(number(*end - 1, loc));
    else
      return false;
    return true;
  }

  Value number(int64_t value, Location loc) {
    return arith::ConstantIndexOp::create(before, loc, value);
  }

  /// Without overflow, whatever the limit: of i <= most the end is min(end - 1, most) + 1.
  void atMost(BlockArgument variable, Value most, bool isExcluded, Location loc) {
    OpOperand &end = loop.bound(variable, true);
    Value one = number(isExcluded ? 0 : 1, loc);
    if (isMutant(Mutant::NarrowedTooFar))
      one = number(0, loc);
    Value last = before.createOrFold<arith::SubIOp>(loc, end.get(), one);
    last = before.createOrFold<arith::MinSIOp>(loc, last, most);
    end.set(before.createOrFold<arith::AddIOp>(loc, last, one));
  }

  void atLeast(BlockArgument variable, Value least, bool isExcluded, Location loc) {
    OpOperand &begin = loop.bound(variable, false);
    Value one = number(isExcluded ? 1 : 0, loc);
    Value first = before.createOrFold<arith::SubIOp>(loc, begin.get(), one);
    first = before.createOrFold<arith::MaxSIOp>(loc, first, least);
    begin.set(before.createOrFold<arith::AddIOp>(loc, first, one));
  }

  NarrowedLoop loop;
  OpBuilder before;
  llvm::DenseMap<Value, bool> fixed; ///< of values in the loop
  IRMapping moved;                   ///< those of them that are computed before the loop as well
};

struct NarrowLoops : metate::impl::NarrowLoopsBase<NarrowLoops> {
  void runOnOperation() override {
    SmallVector<NarrowedLoop>
        loops; // inner ones first: what goes around them is then a condition of outer ones
    getOperation().walk([&](Operation *op) {
      if (std::optional<NarrowedLoop> loop = NarrowedLoop::of(op))
        loops.push_back(*loop);
    });
    for (NarrowedLoop loop : loops) {
      unsigned taken = Narrowing(loop).run();
      narrowed += taken;
      if (taken)
        remarkDone(loop.op, "narrow-loops", "borders")
            << "the loop goes over what its condition lets through, and tests no more";
    }
  }
};
} // namespace
