//===- LaneCost.cpp - whether lanes pay ------------------------------------*- C++ -*-===//
//
// An estimate, in instructions of a machine with vectors of 32 bytes: of one iteration after the other, and of all
// lanes at once. It need only tell apart loops that gain by factors from those that gather more than they compute.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Of a loop whose turns are not known.
static constexpr double turnsOfLanes = 32;
/// What lanes that have left a loop wait for the others; where a remainder says who leaves, most leave soon and few late
/// (trial division: one prime of sixteen numbers keeps all lanes).
static constexpr double waiting = 2, waitingForFew = 6;
/// Turns that a processor has begun of the next iteration when one leaves a loop of fewer: it waits for no result, unless that went through memory.
static constexpr double fewInnerTurns = 8, overlapped = 0.4;
/// What goes into and out of a loop of lanes.
static constexpr double entry = 40;
/// How many of the lanes, or of the iterations, take a side of a branch.
static constexpr double takesSide = 0.5;
/// Of a branch that differs and reads memory, so that it is none of values: what it costs that it is foreseen wrongly at times.
static constexpr double foreseenWrongly = 5;

/// Vectors that one number of each lane takes.
static double vectorsOf(Type type, int64_t lanes) {
  unsigned bits = type.isIndex() ? 64 : std::max(32u, type.getIntOrFloatBitWidth());
  return double(lanes * bits) / 256;
}

/// What a gathered or scattered number costs beside the access itself: its address, its way into a vector, and a line of its own,
/// which rows of a power of two put in one set of the cache.
static constexpr double perLane = 6;
/// The same of lanes at a known distance, which is an instruction's offset; no sets are shared but by distances that are large powers of two.
static constexpr double perLaneApart = 3;
static constexpr int64_t sharedSets = 1024;
/// An atomic operation, which waits for the accesses before it.
static constexpr double atomic = 10;
/// Turns of a loop that each lane runs alone, at least, and what each lane's beginning and end of it costs.
static constexpr double leastTurnsAlone = 16, entryAlone = 10;
/// A function that a machine has no instruction for: one number, a vector of lanes.
static constexpr double ofFunction = 20, ofFunctions = 12;
/// A turn of a loop that LLVM makes vectors of, beside one that runs alone.
static constexpr double ofVectors = 0.2;

static LaneCost ofMemory(Value offset, Type type, const LaneAnalysis &analysis, int64_t lanes) {
  if (analysis.isSame(offset))
    return {1, 2};
  if (analysis.isRow(offset, type))
    return {1, vectorsOf(type, lanes)};
  std::optional<int64_t> stride = analysis.stride(offset);
  return {1, (stride && *stride % sharedSets ? perLaneApart : perLane) * double(lanes)};
}

/// What is read was mostly stored a few instructions before, and is waited for; lanes wait for sixteen of them at once.
static constexpr double forwarded = 3;

static LaneCost ofOwnArray(Operation &op, ValueRange indices, Type type,
                           const LaneAnalysis &analysis, int64_t lanes) {
  return {isa<memref::LoadOp>(op) ? forwarded : 1,
          analysis.isOwnRow(indices) ? vectorsOf(type, lanes) : perLane * double(lanes)};
}

static LaneCost ofArithmetic(Operation &op, int64_t lanes) {
  Type type = getElementTypeOrSelf(op.getResult(0).getType());
  if (isa<arith::CmpIOp, arith::CmpFOp>(op))
    type = getElementTypeOrSelf(op.getOperand(0).getType());
  double vectors = vectorsOf(type, lanes);
  if (auto function = dyn_cast<ElementaryOp>(op);
      function && function.getFunction() == ElementaryFunction::Pow)
    return {40, 60 * vectors};
  if (isa<ElementaryOp>(op))
    return {ofFunction, ofFunctions * vectors};
  if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op))
    return {5, (type.isF64() ? 7 : 5) * vectors};
  if (isDividedAsFloats(op))
    return {8, 16 * vectorsOf(Float64Type::get(op.getContext()), lanes)};
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return matchPattern(op.getOperand(1), m_Constant()) ? LaneCost{4, 12 * vectors}
                                                        : LaneCost{15, 18 * double(lanes)};
  if (isa<arith::MulIOp>(op) && vectors > double(lanes) / 8)
    return {1, 6 * vectors};
  return {1, vectors / 2}; // two at once, where one waits for the one before
}

LaneCost cpu::costOfLanes(Operation &op, const LaneAnalysis &analysis, int64_t lanes) {
  if (op.hasTrait<OpTrait::ConstantLike>() ||
      isa<vector::ExtractOp, vector::FromElementsOp, vector::ToElementsOp, vector::BroadcastOp,
          vector::ShapeCastOp>(op))
    return {};
  if (auto read = dyn_cast<ReadOp>(op))
    return ofMemory(read.getOffset(), read.getType(), analysis, lanes);
  if (auto write = dyn_cast<WriteOp>(op))
    return ofMemory(write.getOffset(), write.getValue().getType(), analysis, lanes);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return ofOwnArray(op, load.getIndices(), load.getType(), analysis, lanes);
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return ofOwnArray(op, store.getIndices(), store.getValue().getType(), analysis, lanes);
  if (isa<RmwOp>(op)) // in a line that others may have
    return {atomic, (atomic + perLane) * double(lanes)};
  if (Accumulation::of(op)) // three of them
    return {1, double(lanes)};
  if (op.getNumResults() != 1 || op.getNumRegions())
    return {1, 1};
  if (analysis.isSame(op.getResult(0)))
    return {1, 1};
  if (op.getResult(0).getType().isIndex()) // mostly offsets, which are the first lane's
    return {0.5, 1};
  LaneCost one = ofArithmetic(op, lanes);
  auto vector = dyn_cast<VectorType>(op.getResult(0).getType());
  double components = vector ? double(vector.getNumElements()) : 1;
  return {one.scalar * components, one.lanes * components};
}

/// Of a loop whose bounds differ, the middle of what they may be.
static double knownTurns(scf::ForOp loop, bool isCommon) {
  APInt step;
  auto lower = IntegerRange::of(loop.getLowerBound()),
       upper = IntegerRange::of(loop.getUpperBound());
  if (!lower || !upper || !matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return turnsOfLanes;
  double most = double(upper->greatest - lower->least) / double(step.getSExtValue());
  return isCommon ? std::max(0.0, most) : std::clamp(most / 2, 0.0, turnsOfLanes);
}

/// Does an integer division decide how many turns a lane has?
static bool endsByDivision(scf::WhileOp loop) {
  llvm::SetVector<Value> values;
  values.insert(loop.getConditionOp().getCondition());
  for (size_t next = 0; next < values.size(); ++next) {
    Operation *op = values[next].getDefiningOp();
    if (op && isDividedAsFloats(*op))
      return true;
    if (op && loop->isProperAncestor(op)) {
      values.insert(op->operand_begin(), op->operand_end());
      op->walk(
          [&](scf::YieldOp yield) { values.insert(yield->operand_begin(), yield->operand_end()); });
    }
    if (auto argument = dyn_cast<BlockArgument>(values[next]);
        argument && argument.getOwner() == loop.getBeforeBody())
      values.insert(loop.getYieldOp()->getOperand(argument.getArgNumber()));
    if (auto argument = dyn_cast<BlockArgument>(values[next]);
        argument && argument.getOwner() == loop.getAfterBody())
      values.insert(loop.getConditionOp().getArgs()[argument.getArgNumber()]);
  }
  return false;
}

static double waitingOf(Operation &op) {
  auto loop = dyn_cast<scf::WhileOp>(op);
  return loop && endsByDivision(loop) ? waitingForFew : waiting;
}

/// Is all that the loop carries combined with something of each turn, in any order?
static bool combinesInAnyOrder(scf::ForOp loop) {
  return llvm::all_of(llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()), [](auto pair) {
    auto [carried, next] = pair;
    Operation *step = next.getDefiningOp();
    if (!step || !carried.hasOneUse() || *carried.getUsers().begin() != step)
      return false;
    if (!step->hasTrait<OpTrait::IsCommutative>() && !isa<arith::SubFOp, arith::SubIOp>(step))
      return false;
    auto fast = dyn_cast<arith::ArithFastMathInterface>(step);
    return !fast || arith::bitEnumContainsAny(fast.getFastMathFlagsAttr().getValue(),
                                              arith::FastMathFlags::reassoc);
  });
}

bool cpu::runsAlone(scf::ForOp loop, const LaneAnalysis &analysis) {
  // What is the same for all lanes is one number behind the loop, not one of each.
  bool isOne = llvm::any_of(loop.getResults(), [&](Value result) {
    return !result.use_empty() && analysis.isSame(result);
  });
  if (isOne || !combinesInAnyOrder(loop) || knownTurns(loop, true) < leastTurnsAlone)
    return false;
  bool anyGather = false;
  SmallVector<std::pair<Value, Value>> written, read;
  auto isFine = [&](Value block, Value offset, Type type) {
    int64_t stride = LinearForm::of(offset).coefficient(loop.getInductionVar());
    anyGather |= stride != 0 && !analysis.isSame(offset) && !analysis.isRow(offset, type) &&
                 type.isIntOrFloat();
    return type.isIntOrFloat() &&
           (stride == 0 || stride == int64_t(type.getIntOrFloatBitWidth() / 8));
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto load = dyn_cast<ReadOp>(op)) {
      read.push_back({load.getBlock(), load.getOffset()});
      if (load.getAcquire() || !isFine(load.getBlock(), load.getOffset(), load.getType()))
        return false;
    } else if (auto store = dyn_cast<WriteOp>(op)) {
      written.push_back({store.getBlock(), store.getOffset()});
      if (store.getRelease() || analysis.isSame(store.getOffset()) ||
          !isFine(store.getBlock(), store.getOffset(), store.getValue().getType()))
        return false;
    } else if (op.getNumRegions() || !isMemoryEffectFree(&op)) {
      return false;
    }
  }
  // What a turn reads another one may have written: those are in order.
  for (auto &[block, offset] : written)
    for (auto &[other, place] : read)
      if (block == other && offset != place)
        return false;
  return anyGather;
}

static bool holdsLoop(Operation &loop) {
  return loop
      .walk([&](Operation *op) {
        return op != &loop && isa<scf::ForOp, scf::WhileOp>(op) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool readsMemory(Operation &branch) {
  return branch
      .walk([](Operation *op) {
        return isa<ReadOp, memref::LoadOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LaneCost cpu::costOfLanes(Block &block, const LaneAnalysis &analysis, int64_t lanes) {
  LaneCost sum;
  auto add = [&](LaneCost cost, double scalar, double wide) {
    sum.scalar += cost.scalar * scalar;
    sum.lanes += cost.lanes * wide;
  };
  for (Operation &op : block.without_terminator()) {
    if (!isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op)) {
      add(costOfLanes(op, analysis, lanes), 1, 1);
      continue;
    }
    bool isLoop = !isa<scf::IfOp>(op), isCommon = analysis.isCommon(&op);
    auto counted = dyn_cast<scf::ForOp>(op);
    double turns = counted ? knownTurns(counted, isCommon) : isLoop ? turnsOfLanes : 1;
    double scalar = turns, wide = turns;
    if (isLoop && turns < fewInnerTurns && !indexesArrays(op) && !holdsLoop(op))
      scalar *= overlapped;
    bool isAlone = counted && runsAlone(counted, analysis);
    if (isAlone)
      scalar *= ofVectors;
    if (isLoop && !isCommon) {
      wide *= waitingOf(op);
      sum.lanes += entry;
    }
    if (!isLoop) {
      scalar *= takesSide;
      if (isCommon)
        wide *= takesSide;
      else if (readsMemory(op))
        sum.scalar += foreseenWrongly;
    }
    if (isAlone && analysis.isOfBody(op)) {
      double one = scalar * (costOfLanes(*counted.getBody(), analysis, lanes).scalar + 1);
      sum.scalar += one;
      sum.lanes += double(lanes) * (one + entryAlone);
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        add(costOfLanes(inner, analysis, lanes), scalar, wide);
    // The test, who is alive, what is kept.
    add({1, isCommon ? 1.0 : 4.0 + op.getNumResults()}, scalar, wide);
  }
  return sum;
}
