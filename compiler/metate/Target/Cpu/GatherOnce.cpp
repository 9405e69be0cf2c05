//===- GatherOnce.cpp - what each turn of a loop around gathers again ------*- C++ -*-===//
//
// `for i in range(24): for j in range(24): ... b[p, j] ...`: b[p, j] is the same in all turns of i, and lanes, whose p differ, gather it in each. Iterations that
// will be lanes read it once, into an array of their own, of which lanes have a row of vectors (WidenedArrays.cpp).
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/AcrossIterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Turns of the loop around that are worth the array.
static constexpr int64_t leastTurnsAround = 4;
/// Of the inner loop: elements of the array.
static constexpr int64_t mostElements = 64;

namespace {
/// Turns that are known.
struct KnownTurns {
  int64_t first, step, count;

  static std::optional<KnownTurns> of(scf::ForOp loop) {
    auto lower = getConstantIntValue(loop.getLowerBound()),
         upper = getConstantIntValue(loop.getUpperBound()),
         step = getConstantIntValue(loop.getStep());
    if (!lower || !upper || !step || *step <= 0 || *upper <= *lower || *upper - *lower > 1 << 20)
      return std::nullopt;
    return KnownTurns{*lower, *step, (*upper - *lower - 1) / *step + 1};
  }
};

/// An inner loop's reads that a loop around repeats.
class Repeated {
public:
  Repeated(scf::ForOp around, scf::ForOp inner, KnownTurns turns, const LaneAnalysis &analysis)
      : around(around), inner(inner), turns(turns), analysis(&analysis) {}

  /// What lanes would gather again.
  SmallVector<ReadOp> reads() {
    std::optional<llvm::DenseSet<int64_t>> written = writtenScopes(around);
    SmallVector<ReadOp> found;
    if (!written)
      return found;
    for (ReadOp read : inner.getBody()->getOps<ReadOp>())
      if (!written->contains(int64_t(read.getScope())) && isGathered(read) &&
          isRepeated(read.getBlock()) && isRepeated(read.getOffset()))
        found.push_back(read);
    return found;
  }

  /// Reads it before the loop around; where that was.
  SmallVector<Location> run() {
    SmallVector<Location> places;
    for (ReadOp read : reads()) {
      places.push_back(read.getLoc());
      readBefore(read);
    }
    return places;
  }

private:
  bool isGathered(ReadOp read) const {
    Type type = read.getType();
    return int64_t(read.getScope()) >= 0 && !read.getAcquire() && type.isIntOrFloat() &&
           type.getIntOrFloatBitWidth() >= 32 && !analysis->isSame(read.getOffset()) &&
           !analysis->isRow(read.getOffset(), type) &&
           !analysis->memberRow(read, read.getOffset(), type);
  }

  /// Is the value one of the inner loop's turn alone, for all turns of the loop around?
  bool isRepeated(Value value) {
    if (value == inner.getInductionVar() ||
        !around->isAncestor(value.getParentRegion()->getParentOp()))
      return true;
    Operation *op = value.getDefiningOp();
    return op && !op->getNumRegions() && isPure(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isRepeated(operand); });
  }

  Value cloned(Value value, OpBuilder &builder, IRMapping &mapping) {
    Operation *op = value.getDefiningOp();
    if (mapping.contains(value) || !op || !around->isAncestor(op))
      return mapping.lookupOrDefault(value);
    for (Value operand : op->getOperands())
      cloned(operand, builder, mapping);
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  }

  static Value number(OpBuilder &builder, Location loc, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  /// The element of the inner loop's turn.
  Value element(OpBuilder &builder, Location loc, Value turn) const {
    if (turns.first != 0)
      turn = arith::SubIOp::create(builder, loc, turn, number(builder, loc, turns.first));
    if (turns.step != 1)
      turn = arith::DivUIOp::create(builder, loc, turn, number(builder, loc, turns.step));
    return turn;
  }

  void readBefore(ReadOp read) {
    Location loc = read.getLoc();
    OpBuilder builder(around);
    auto array =
        memref::AllocaOp::create(builder, loc, MemRefType::get({turns.count}, read.getType()));
    IRMapping mapping;
    auto once = scf::ForOp::create(builder, loc, number(builder, loc, turns.first),
                                   number(builder, loc, turns.first + turns.count * turns.step),
                                   number(builder, loc, turns.step));
    builder.setInsertionPointToStart(once.getBody());
    mapping.map(inner.getInductionVar(), once.getInductionVar());
    for (Value operand : read->getOperands())
      cloned(operand, builder, mapping);
    Value value = builder.clone(*read, mapping)->getResult(0);
    memref::StoreOp::create(builder, loc, value, array,
                            element(builder, loc, once.getInductionVar()));
    builder.setInsertionPoint(read);
    Value turn = inner.getInductionVar();
    if (isMutant(Mutant::GatheredOnceFirst))
      turn = inner.getLowerBound();
    read->replaceAllUsesWith(
        memref::LoadOp::create(builder, loc, array, element(builder, loc, turn)));
    read->erase();
  }

  scf::ForOp around, inner;
  KnownTurns turns;
  const LaneAnalysis *analysis;
};
} // namespace

/// Pairs of loops, one right inside of the other, whose turns are worth it.
static SmallVector<Repeated> repeatedIn(scf::ForOp loop, const LaneAnalysis &analysis) {
  SmallVector<Repeated> found;
  loop.getBody()->walk([&](scf::ForOp inner) {
    auto around = dyn_cast<scf::ForOp>(inner->getParentOp());
    if (!around || around == loop || !analysis.isCommon(around))
      return;
    auto outside = KnownTurns::of(around), inside = KnownTurns::of(inner);
    if (outside && inside && outside->count >= leastTurnsAround && inside->count <= mostElements)
      found.emplace_back(around, inner, *inside, analysis);
  });
  return found;
}

bool cpu::gathersAgain(scf::ForOp loop, const LaneAnalysis &analysis) {
  SmallVector<Repeated> pairs = repeatedIn(loop, analysis);
  return llvm::any_of(pairs, [](Repeated &one) { return !one.reads().empty(); });
}

SmallVector<Location> cpu::gatherOnce(scf::ForOp loop, const LaneAnalysis &analysis) {
  SmallVector<Location> places;
  SmallVector<Repeated> pairs = repeatedIn(loop, analysis);
  for (Repeated &one : pairs)
    llvm::append_range(places, one.run());
  return places;
}
