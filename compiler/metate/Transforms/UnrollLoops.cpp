//===- UnrollLoops.cpp - loops with a few known turns -----------*- C++ -*-===//
//
// Nests are written out from the outside in, in one walk that folds what it writes: once a turn is a constant, so are the components
// that it names, the bounds of `range(k + 1, 3)`, and conditions on it. Upstream's loopUnrollFull leaves all of that to a
// canonicalisation between each loop and the next inner one, on IR that is as large as the turns times the selects of each index
// (27 * 9 for a product of 3 x 3 matrices in three loops).
//
// A budget bounds what is left once the turns are known.
//
// `for a in range(i - 1, i + 2)` has three turns, from a number that is known at run time: it counts from 0, unless its bound wraps.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Elementary.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_UNROLLLOOPS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// A loop of more turns is no loop over components or neighbours.
constexpr int64_t mostTurns = 16;
/// But for one whose turn is a cell's number among neighbours (`range(25)` with `q // 5`, `q % 5`).
constexpr int64_t mostTurnsApart = 27;
/// Scalar operations of all turns: as many as LLVM unrolls itself, and where the turn names components of a local vector or matrix,
/// which are registers then (a product of 6 x 6 matrices in three loops has 432). Between them where it names entries of tables, which are
/// read once for a row of cells then (nine directions of a lattice in a field: 306; 5 x 5 neighbours, weighted by a table and an
/// exponential: more than 512), where the loop carries vectors, which keep iterations from being lanes (3 x 3 cells around a particle,
/// weighted by a function of the distance: 426), and where it reads elements that share words, which are logic on words only without a
/// loop (5 x 5 cells counted by `k // 5`, `k % 5`: 225).
constexpr int64_t mostWork = 160, mostWorkOnTables = 768, mostWorkOnComponents = 1024;
/// Operations that one nest is written out to, whatever was estimated: then loops inside stay loops.
constexpr int64_t mostWritten = 8192;

/// Turns of a loop with these bounds.
std::optional<int64_t> turnsOf(Value lower, Value upper, Value step) {
  auto first = getConstantIntValue(lower), end = getConstantIntValue(upper),
       stride = getConstantIntValue(step);
  if (!first || !end || !stride || *stride <= 0)
    return std::nullopt;
  int64_t span;
  if (llvm::SubOverflow(*end, *first, span))
    return std::nullopt;
  return span <= 0 ? 0 : (span - 1) / *stride + 1;
}

/// `range(x - 1, x + 2)`: so many turns from a number that is known at run time, or none where the bound wraps.
struct Around {
  Value first; ///< 32 bits, or an index, which does not wrap
  int64_t turns;

  static std::optional<Around> of(scf::ForOp loop) {
    auto numberOf = [](Value bound) {
      auto cast = bound.getDefiningOp<arith::IndexCastOp>();
      return cast && cast.getIn().getType().isInteger(32) ? cast.getIn() : bound;
    };
    Value first = numberOf(loop.getLowerBound()), end = numberOf(loop.getUpperBound());
    if (first.getType() != end.getType() || getConstantIntValue(loop.getStep()) != 1 ||
        loop.getUnsignedCmp() || getConstantIntValue(first))
      return std::nullopt;
    // Sums of 32 bits are as far apart as their constants say, whatever wraps on the way.
    LinearForm distance = LinearForm::of(end).minus(LinearForm::of(first));
    int64_t turns = distance.constant;
    if (!distance.terms.empty() || turns <= 0 || turns > mostTurns)
      return std::nullopt;
    return Around{first, turns};
  }
};

/// The loop runs where its bound does not wrap.
void keepWhereItFits(scf::ForOp loop, const Around &around) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value most = arith::ConstantOp::create(
      builder, loc,
      builder.getI32IntegerAttr(std::numeric_limits<int32_t>::max() - int32_t(around.turns)));
  auto below = isMutant(Mutant::WrappedBoundForgotten) ? arith::CmpIPredicate::ne
                                                       : arith::CmpIPredicate::sle;
  Value fits = arith::CmpIOp::create(builder, loc, below, around.first, most);
  bool hasResults = loop.getNumResults() != 0;
  auto guard = scf::IfOp::create(builder, loc, loop.getResultTypes(), fits,
                                 /*addThenBlock=*/true, /*addElseBlock=*/hasResults);
  loop->replaceAllUsesWith(guard);
  loop->moveBefore(guard.thenBlock(), guard.thenBlock()->begin());
  if (hasResults) {
    builder.setInsertionPointToEnd(guard.thenBlock());
    scf::YieldOp::create(builder, loc, loop.getResults());
    builder.setInsertionPointToEnd(guard.elseBlock());
    scf::YieldOp::create(builder, loc, loop.getInitArgs());
  } else if (guard.thenBlock()->empty() ||
             !guard.thenBlock()->back().hasTrait<OpTrait::IsTerminator>()) {
    builder.setInsertionPointToEnd(guard.thenBlock());
    scf::YieldOp::create(builder, loc);
  }
}

/// The loop as one that counts from 0.
void countFromZero(scf::ForOp loop, const Around &around) {
  bool isIndex = around.first.getType().isIndex();
  if (!isIndex)
    keepWhereItFits(loop, around);
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  loop.setLowerBound(arith::ConstantIndexOp::create(builder, loc, 0));
  loop.setUpperBound(arith::ConstantIndexOp::create(builder, loc, around.turns));
  builder.setInsertionPointToStart(loop.getBody());
  Value turn = loop.getInductionVar();
  if (isIndex) {
    auto place = arith::AddIOp::create(builder, loc, around.first, turn);
    return turn.replaceAllUsesExcept(place, place);
  }
  auto number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), turn);
  auto sum = arith::AddIOp::create(builder, loc, around.first, number);
  Value place = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), sum);
  turn.replaceAllUsesExcept(place, number);
}

bool folds(Operation &op) {
  return op.getNumRegions() == 0 && op.getNumResults() > 0 && isMemoryEffectFree(&op);
}

/// What a body costs when the turns of the loops around it are known.
class Estimate {
public:
  explicit Estimate(scf::ForOp loop) {
    int64_t turns = countOf(loop).value_or(0);
    isAround = Around::of(loop).has_value();
    if (!isAround)
      known.insert(loop.getInductionVar());
    carriesVectors = llvm::any_of(loop.getResultTypes(), llvm::IsaPred<VectorType>);
    work = turns * ofBlock(*loop.getBody());
  }

  int64_t work = 0;
  bool namesComponents = false; ///< a selection is made by what is known
  bool namesEntries = false;    ///< an element is read whose place is known
  bool readsWords = false;      ///< an element is read that shares a word with others
  bool carriesVectors = false;
  bool isAround = false;   ///< it goes over what is around a number that is known at run time
  bool anyLoop = false;    ///< one inside stays
  bool takesApart = false; ///< what is known is divided

  /// Turns of a loop, were there none that wraps.
  static std::optional<int64_t> countOf(scf::ForOp loop) {
    auto turns = turnsOf(loop.getLowerBound(), loop.getUpperBound(), loop.getStep());
    auto around = turns ? std::nullopt : Around::of(loop);
    return around ? around->turns : turns;
  }

  int64_t most() const {
    return namesComponents ? mostWorkOnComponents
           : namesEntries || readsWords || carriesVectors || (isAround && !anyLoop)
               ? mostWorkOnTables
               : mostWork;
  }

private:
  bool isKnown(Value value) const {
    return known.contains(value) || matchPattern(value, m_Constant());
  }

  int64_t ofBlock(Block &block) {
    int64_t sum = 0;
    for (Operation &op : block)
      sum += ofOperation(op);
    return sum;
  }

  int64_t ofOperation(Operation &op) {
    if (folds(op) && llvm::all_of(op.getOperands(), [&](Value one) { return isKnown(one); })) {
      known.insert_range(op.getResults());
      takesApart |= isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
      return 0;
    }
    if (auto select = dyn_cast<arith::SelectOp>(op); select && isKnown(select.getCondition())) {
      namesComponents = true;
      return 0;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return ofLoop(loop);
    namesEntries |= isEntry(op);
    readsWords |= isInWord(op);
    int64_t sum = 0;
    for (Region &region : op.getRegions())
      for (Block &block : region)
        sum += ofBlock(block);
    // Of a condition that follows from the turns one side is left, in each turn another one.
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && isKnown(branch.getCondition()))
      return (sum + 1) / 2;
    return sum + ofAlone(op);
  }

  /// A read at a place that the turn says.
  bool isEntry(Operation &op) const {
    OperandRange at = op.getOperands().take_front(0);
    if (auto load = dyn_cast<LoadOp>(op))
      at = load.getCoordinates();
    else if (auto load = dyn_cast<memref::LoadOp>(op))
      at = load.getIndices();
    return !at.empty() && llvm::all_of(at, [&](Value one) { return isKnown(one); }) &&
           llvm::any_of(at, [&](Value one) { return known.contains(one); });
  }

  static bool isInWord(Operation &op) {
    auto load = dyn_cast<LoadOp>(op);
    TreePath path = load ? CellAccess::from(load).resolve() : TreePath();
    return !path.levels.empty() && path.levels.back().hasWords();
  }

  /// A loop inside: one whose bounds follow from the turns outside counts as half of the most.
  int64_t ofLoop(scf::ForOp loop) {
    auto turns = countOf(loop);
    bool isBounded = turns && *turns <= mostTurns;
    if (!turns && isKnown(loop.getLowerBound()) && isKnown(loop.getUpperBound()) &&
        isKnown(loop.getStep()))
      isBounded = true;
    if (isBounded && !Around::of(loop))
      known.insert(loop.getInductionVar());
    anyLoop |= !isBounded;
    int64_t body = ofBlock(*loop.getBody());
    return isBounded ? turns.value_or(2) * body : body + 4;
  }

  static int64_t ofAlone(Operation &op) {
    if (isa<vector::ExtractOp, vector::InsertOp, vector::FromElementsOp, vector::BroadcastOp,
            arith::IndexCastOp, memref::AllocaOp>(op) ||
        op.hasTrait<OpTrait::IsTerminator>() || op.hasTrait<OpTrait::ConstantLike>())
      return 0;
    int64_t width = 1;
    for (TypeRange types : {TypeRange(op.getOperandTypes()), TypeRange(op.getResultTypes())})
      for (Type type : types)
        if (auto vector = dyn_cast<VectorType>(type))
          width = std::max(width, vector.getNumElements());
    // What becomes many operations, and loops of compare-exchange.
    bool isLong = isa<ElementaryOp, AtomicOp, memref::AtomicRMWOp, CallOp>(op);
    return isLong ? 8 * width : width;
  }

  llvm::DenseSet<Value> known;
};

/// Writes a loop's turns before it.
class Writer {
public:
  explicit Writer(scf::ForOp loop) : builder(loop) {
    // One of each is enough.
    loop->walk([&](Operation *op) {
      if (op->hasTrait<OpTrait::ConstantLike>())
        op->moveBefore(loop);
    });
    IRMapping mapping;
    loop->replaceAllUsesWith(turns(loop, mapping));
    loop->erase();
  }

private:
  /// The loop's results.
  SmallVector<Value> turns(scf::ForOp loop, IRMapping &mapping) {
    int64_t first = *getConstantIntValue(mapping.lookupOrDefault(loop.getLowerBound()));
    int64_t step = *getConstantIntValue(mapping.lookupOrDefault(loop.getStep()));
    int64_t count = *turnsIn(loop, mapping);
    if (isMutant(Mutant::UnrolledTurnLost) && count > 2)
      --count;
    SmallVector<Value> carried;
    for (Value init : loop.getInitArgs())
      carried.push_back(mapping.lookupOrDefault(init));
    for (int64_t turn = 0; turn < count; ++turn) {
      Value variable = arith::ConstantOp::create(
          builder, loop.getLoc(),
          builder.getIntegerAttr(loop.getInductionVar().getType(), first + turn * step));
      mapping.map(loop.getInductionVar(), variable);
      for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), carried))
        mapping.map(argument, value);
      for (Operation &op : loop.getBody()->without_terminator())
        write(op, mapping);
      for (auto [value, yielded] : llvm::zip(carried, loop.getYieldedValues()))
        value = mapping.lookupOrDefault(yielded);
    }
    return carried;
  }

  static std::optional<int64_t> turnsIn(scf::ForOp loop, IRMapping &mapping) {
    return turnsOf(mapping.lookupOrDefault(loop.getLowerBound()),
                   mapping.lookupOrDefault(loop.getUpperBound()),
                   mapping.lookupOrDefault(loop.getStep()));
  }

  void write(Operation &op, IRMapping &mapping) {
    --left;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (auto count = turnsIn(loop, mapping); count && *count <= mostTurns && left > 0) {
        mapping.map(loop.getResults(), turns(loop, mapping));
        return;
      }
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (auto condition = getConstantIntValue(mapping.lookupOrDefault(branch.getCondition()))) {
        takeBranch(branch, *condition != 0, mapping);
        return;
      }
    }
    Operation *copy = builder.cloneWithoutRegions(op, mapping);
    for (auto [from, to] : llvm::zip(op.getRegions(), copy->getRegions()))
      writeRegion(from, to, mapping);
    SmallVector<Value> folded; // none: in place
    if (!folds(op) || failed(builder.tryFold(copy, folded)) || folded.empty())
      return;
    mapping.map(op.getResults(), folded);
    copy->erase();
  }

  void takeBranch(scf::IfOp branch, bool condition, IRMapping &mapping) {
    Region &taken = branch->getRegion(condition ? 0 : 1);
    if (taken.empty())
      return;
    for (Operation &op : taken.front().without_terminator())
      write(op, mapping);
    for (auto [result, value] :
         llvm::zip(branch.getResults(), taken.front().getTerminator()->getOperands()))
      mapping.map(result, mapping.lookupOrDefault(value));
  }

  void writeRegion(Region &from, Region &to, IRMapping &mapping) {
    OpBuilder::InsertionGuard guard(builder);
    for (Block &block : from) {
      Block *copy = builder.createBlock(&to, to.end());
      mapping.map(&block, copy);
      for (BlockArgument argument : block.getArguments())
        mapping.map(argument, copy->addArgument(argument.getType(), argument.getLoc()));
      for (Operation &op : block)
        write(op, mapping);
    }
  }

  OpBuilder builder;
  int64_t left = mostWritten;
};

struct UnrollLoops : metate::impl::UnrollLoopsBase<UnrollLoops> {
  void runOnOperation() override { visit(getOperation()); }

private:
  void visit(Operation *around) {
    for (Region &region : around->getRegions())
      for (Block &block : region)
        for (Operation &op : llvm::make_early_inc_range(block))
          if (auto loop = dyn_cast<scf::ForOp>(op); loop && isWorth(loop)) {
            ++unrolled;
            Writer{counted(loop)};
          } else {
            visit(&op);
          }
  }

  /// The nest, with known bounds where those that it has are as far apart.
  static scf::ForOp counted(scf::ForOp loop) {
    SmallVector<scf::ForOp> nest;
    loop.walk([&](scf::ForOp inner) { nest.push_back(inner); });
    for (scf::ForOp inner : nest)
      if (auto around = Around::of(inner))
        countFromZero(inner, *around);
    return loop;
  }

  static bool isWorth(scf::ForOp loop) {
    auto turns = Estimate::countOf(loop);
    if (!turns || *turns > mostTurnsApart)
      return false;
    Estimate estimate(loop);
    if (*turns > mostTurns && !estimate.takesApart)
      return false;
    bool isWorth = estimate.work <= estimate.most();
    if (auto remark = isWorth ? remarkDone(loop, "unroll-loops", "unrolling")
                              : remarkDeclined(loop, "unroll-loops", "unrolling")) {
      if (isWorth)
        remark << "the loop's " << Number("turns", *turns) << " turns are written out";
      else
        remark << "the loop's " << Number("turns", *turns)
               << " turns are not written out: together they take "
               << Number("operations", estimate.work) << " operations";
    }
    return isWorth;
  }
};
} // namespace
