//===- AcrossIterations.cpp - iterations side by side in vectors -----------*- C++ -*-===//
//
// A task whose iterations each run a long loop in order (n-body, a matrix product, a ray that marches): LLVM may not
// reorder the inner loop's sums, and vectorises no loop that ends on a condition, but the iterations have no order.
// Sixteen of them become the lanes of vectors; what is one for all of them stays a scalar. Each lane computes what its
// iteration did, bit for bit.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Dialect/Elementary.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/MapTasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// A loop of fewer turns is unrolled, and what is around it is vectorised by LLVM; not one of more operations in all.
static constexpr int64_t leastTurns = 17, mostUnrolled = 128;

static constexpr int64_t lanes = 16;

/// What lanes must gain, by the estimate, to be worth their code. Escape times and rays have 3 to 5, and are 5 to 10
/// times as fast.
static constexpr double leastGain = 2.5;

/// What is there without them is no scalar loop: LLVM's vectors, which compute each power in both ways.
static constexpr double leastGainOfPowers = 1;

static bool hasManyTurns(scf::ForOp loop) {
  APInt lower, upper;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    return true;
  int64_t turns = upper.getSExtValue() - lower.getSExtValue(), operations = 0;
  loop.getBody()->walk(
      [&](Operation *op) { operations += !op->hasTrait<OpTrait::ConstantLike>(); });
  return turns >= leastTurns || turns * operations > mostUnrolled;
}

bool cpu::indexesArrays(Operation &loop) {
  return llvm::any_of(loop.getRegions(), [](Region &region) {
    return llvm::any_of(region.getOps(),
                        [](Operation &op) { return isa<memref::LoadOp, memref::StoreOp>(op); });
  });
}

/// Is there a long loop in it, and no cells of a slot, which are vectors themselves?
static bool hasLongLoop(scf::ForOp loop) {
  bool isLong = false;
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    if (op->hasAttr(mark::nest))
      return WalkResult::interrupt();
    auto counted = dyn_cast<scf::ForOp>(op);
    isLong |= isa<scf::WhileOp>(op) || (counted && (hasManyTurns(counted) || indexesArrays(*op)));
    return WalkResult::advance();
  });
  return isLong && !result.wasInterrupted();
}

/// Is there a power by exponents that differ? Small ones are products, others pow (Frontend/FloatPowers.cpp), which all iterations would compute
/// if LLVM made vectors of the loop.
static bool hasPowers(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](scf::IfOp branch) {
        auto isSmall = branch.getCondition().getDefiningOp<arith::CmpIOp>();
        if (!isSmall || isSmall.getPredicate() != arith::CmpIPredicate::ult ||
            !matchPattern(isSmall.getRhs(), m_Constant()) || branch.getElseRegion().empty())
          return WalkResult::advance();
        return branch.getElseRegion().walk([](ElementaryOp op) {
          return op.getFunction() == ElementaryFunction::Pow ? WalkResult::interrupt()
                                                             : WalkResult::advance();
        });
      })
      .wasInterrupted();
}

/// Do lanes leave a loop, or take a side, apart from one another?
static bool isApart(scf::ForOp loop, const LaneAnalysis &analysis) {
  return loop.getBody()
      ->walk([&](Operation *op) {
        return isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op) && !analysis.isCommon(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static void remarkObstacle(scf::ForOp loop, const LaneAnalysis &analysis) {
  if (auto remark = remarkDeclined(loop, "across-iterations", "lanes")) {
    Operation *obstacle = analysis.obstacle();
    remark << "iterations do not run their inner loops side by side, for "
           << (obstacle ? obstacleName(obstacle) : "what they carry from turn to turn")
           << atLine(obstacle);
  }
}

/// `rows`: a parallel loop around it, or null.
static void takeTurnsTogether(scf::ForOp wide, scf::ForOp rows) {
  Location loc = wide.getLoc();
  int64_t together = rows ? jamRows(rows, lanes) : 1;
  if (together > 1) {
    remarkAt(loc, Outcome::Done, "across-iterations", "lanes")
        << Number("rows", together) << " rows take the turns of their inner loops together";
    return;
  }
  together = jamLanes(wide, lanes);
  if (together > 1)
    remarkAt(loc, Outcome::Done, "across-iterations", "lanes")
        << Number("groups", together)
        << " groups of lanes take the turns of their inner loops together";
}

static double gainOf(scf::ForOp loop, const LaneAnalysis &analysis) {
  LaneCost cost = costOfLanes(*loop.getBody(), analysis, lanes);
  return cost.scalar * double(lanes) / std::max(1.0, cost.lanes);
}

bool cpu::gainsAcrossIterations(scf::ForOp loop) {
  LaneAnalysis analysis(*loop.getBody(), loop.getInductionVar());
  return hasLongLoop(loop) && loop.getNumResults() == 0 &&
         analysis.run(/*withBytes=*/false, /*withArrays=*/true) &&
         gainOf(loop, analysis) >= leastGain;
}

/// A copy of the loop, before it, that gains by lanes since they read once what a loop around would have them gather again, which is
/// at `reads`; null: it does not.
static scf::ForOp gainsGathered(scf::ForOp loop, SmallVector<Location> &reads) {
  OpBuilder builder(loop);
  auto copy = cast<scf::ForOp>(builder.clone(*loop));
  LaneAnalysis analysis(*copy.getBody(), copy.getInductionVar());
  if (analysis.run(/*withBytes=*/false, /*withArrays=*/true))
    reads = gatherOnce(copy, analysis);
  LaneAnalysis gathered(*copy.getBody(), copy.getInductionVar());
  if (gathered.run(/*withBytes=*/false, /*withArrays=*/true) && gainOf(copy, gathered) >= leastGain)
    return copy;
  copy.erase();
  return {};
}

bool cpu::runAcrossIterations(scf::ForOp loop, scf::ForOp rows, bool mayAlias, bool always) {
  bool isOfPowers = hasPowers(loop);
  if ((!hasLongLoop(loop) && !isOfPowers) || loop.getNumResults() != 0)
    return false;
  if (!mayAlias)
    hoistReads(loop);
  LaneAnalysis analysis(*loop.getBody(), loop.getInductionVar());
  if (!analysis.run(/*withBytes=*/false, /*withArrays=*/true)) {
    remarkObstacle(loop, analysis);
    return false;
  }
  bool gains = always || gainOf(loop, analysis) >= (isOfPowers ? leastGainOfPowers : leastGain);
  SmallVector<Location> gathered;
  if (gains && !mayAlias) {
    gathered = gatherOnce(loop, analysis);
  } else if (!mayAlias && !isOfPowers && gathersAgain(loop, analysis)) {
    if (scf::ForOp copy = gainsGathered(loop, gathered)) {
      loop.erase();
      loop = copy;
      gains = true;
    }
  }
  if (!gains) {
    remarkDeclined(loop, "across-iterations", "lanes")
        << "iterations do not run their inner loops side by side: by the estimate they would read "
           "and write one by one "
           "more than they gain";
    return false;
  }
  if (!gathered.empty()) {
    for (Location read : gathered)
      remarkAt(read, Outcome::Done, "across-iterations", "lanes")
          << "lanes read it once, before the loop around, which would read it again in each turn";
    analysis = LaneAnalysis(*loop.getBody(), loop.getInductionVar());
    [[maybe_unused]] bool isPossible = analysis.run(/*withBytes=*/false, /*withArrays=*/true);
    assert(isPossible && "arrays of the iteration's own keep no lanes from being");
  }
  bool apart = isApart(loop, analysis);
  remarkDone(loop, "across-iterations", "lanes")
      << Number("lanes", lanes)
      << (apart ? " iterations run their inner loops side by side, as lanes of vectors under masks"
                : " iterations run their inner loops side by side, as lanes of vectors");
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), middle = lower;
  scf::ForOp wide;
  if (!apart) {
    Value width = arith::ConstantIndexOp::create(builder, loc, lanes);
    Value span =
        arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, upper, lower),
                               arith::ConstantIndexOp::create(builder, loc, 0));
    Value rest = arith::RemUIOp::create(builder, loc, span, width);
    middle =
        arith::AddIOp::create(builder, loc, lower, arith::SubIOp::create(builder, loc, span, rest));
    wide = Widening(loop, analysis, lanes).run(lower, middle);
  }
  Widening(loop, analysis, lanes)
      .run(isMutant(Mutant::LanesTwice) ? lower : middle, upper, /*masked=*/true);
  markLanes(loop->getParentOfType<LLVM::LLVMFuncOp>());
  // Sums of all iterations are taken in their order, and arrays of an iteration's own are those of one group of lanes.
  bool isInTurn = loop->walk([](Operation *op) {
                        return isa<memref::AllocaOp>(op) || Accumulation::of(*op)
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      })
                      .wasInterrupted();
  loop.erase();
  if (wide && !isInTurn)
    takeTurnsTogether(wide, rows);
  return true;
}
