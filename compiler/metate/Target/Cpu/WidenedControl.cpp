//===- WidenedControl.cpp - branches and loops of lanes --------------------*- C++ -*-===//
//
// A branch that lanes do not all take runs both sides, each if any lane takes it, and blends; one that only computes a
// little has no branch left. A loop that they leave in different turns runs until the last one has left; what it gives
// is kept, turn by turn, of the lanes that are still in it.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/LoopAnnotation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// A side that costs more is skipped where no lane takes it: some of sixteen mostly do, and what a branch is foreseen wrongly costs.
static constexpr double mostFlat = 64;

static SmallVector<Value> usedOf(ValueRange results) {
  return llvm::to_vector(llvm::make_filter_range(results, [](Value v) { return !v.use_empty(); }));
}

static SmallVector<Type> typesOf(ValueRange values) { return llvm::to_vector(values.getTypes()); }

Value Widening::allAlive() {
  auto type = cast<VectorType>(wideType(builder.getI1Type()));
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, true));
}

Value Widening::anyOf(Value lanes) {
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, lanes);
}

Value Widening::inverted(Value lanes) {
  return arith::XOrIOp::create(builder, loc, lanes, allAlive());
}

Value Widening::both(Value lanes, Value condition) {
  if (!lanes)
    return condition;
  Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(lanes.getType()));
  return arith::SelectOp::create(builder, loc, lanes, condition, none); // `and` would spread poison
}

Value Widening::choose(Value condition, Value yes, Value no) {
  return yes == no ? yes : arith::SelectOp::create(builder, loc, condition, yes, no);
}

Widening::Values Widening::emptyResults(ValueRange results) {
  Values empty;
  for (Value result : usedOf(results)) {
    auto vector = dyn_cast<VectorType>(result.getType());
    Type type = wideType(vector ? vector.getElementType() : result.getType());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    empty.append(vector ? vector.getNumElements() : 1, zero);
  }
  return empty;
}

Widening::Values Widening::keepResults(ValueRange results, ValueRange kept, ValueRange values,
                                       Value alive) {
  Values now, next;
  for (auto [result, value] : llvm::zip(results, values))
    if (!result.use_empty())
      llvm::append_range(now, lanesOf(value));
  for (auto [before, value] : llvm::zip(kept, now))
    next.push_back(isMutant(Mutant::LanesLeftGoOn) ? value : choose(alive, value, before));
  return next;
}

void Widening::takeResults(ValueRange results, ValueRange from) {
  SmallVector<Value> used = usedOf(results);
  take(used, from);
}

// --- Loops that all lanes leave in the same turn ------------------------------------------------

void Widening::widenLoop(scf::ForOp inner) {
  if (analysis.isOfBody(*inner) && runsAlone(inner, analysis))
    return widenLoopAlone(inner);
  if (!analysis.isCommon(inner))
    return widenLoopApart(inner);
  Values initial, next;
  give(initial, inner.getInitArgs(), inner.getRegionIterArgs());
  auto wide = scf::ForOp::create(
      builder, inner.getLoc(), same.lookupOrDefault(inner.getLowerBound()),
      same.lookupOrDefault(inner.getUpperBound()), same.lookupOrDefault(inner.getStep()), initial,
      nullptr, inner.getUnsignedCmp());
  same.map(inner.getInductionVar(), wide.getInductionVar());
  ValueRange carried = wide.getRegionIterArgs(), results = wide.getResults();
  take(inner.getRegionIterArgs(), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(wide.getBody());
  widen(*inner.getBody());
  give(next, inner.getYieldedValues(), inner.getRegionIterArgs());
  if (!next.empty())
    scf::YieldOp::create(builder, inner.getLoc(), next);
  take(inner.getResults(), results);
}

void Widening::widenLoop(scf::WhileOp inner) {
  if (!analysis.isCommon(inner))
    return widenLoopApart(inner);
  scf::ConditionOp condition = inner.getConditionOp();
  Location where = inner.getLoc();
  Values initial, given, next;
  give(initial, inner.getInits(), inner.getBeforeArguments());
  auto wide = scf::WhileOp::create(builder, where, TypeRange(), initial);
  OpBuilder::InsertionGuard guard(builder);
  auto begin = [&](Region &region, ValueRange values) -> ValueRange {
    SmallVector<Type> types = typesOf(values);
    return builder
        .createBlock(&region, region.end(), types, SmallVector<Location>(types.size(), where))
        ->getArguments();
  };
  ValueRange before = begin(wide.getBefore(), initial);
  take(inner.getBeforeArguments(), before);
  widen(*inner.getBeforeBody());
  give(given, condition.getArgs(), inner.getAfterArguments());
  scf::ConditionOp::create(builder, where, same.lookupOrDefault(condition.getCondition()), given);
  ValueRange after = begin(wide.getAfter(), given);
  take(inner.getAfterArguments(), after);
  widen(*inner.getAfterBody());
  give(next, inner.getYieldOp().getOperands(), inner.getBeforeArguments());
  scf::YieldOp::create(builder, where, next);
  // The results are known only now.
  builder.setInsertionPoint(wide);
  auto typed = scf::WhileOp::create(builder, where, typesOf(given), initial);
  typed.getBefore().takeBody(wide.getBefore());
  typed.getAfter().takeBody(wide.getAfter());
  wide.erase();
  ValueRange results = typed.getResults();
  take(inner.getResults(), results);
}

// --- Loops that each lane runs alone -------------------------------------------------------------

/// What one lane has, where the builder stands: numbers of places are computed again, so that they are seen to lie side by side.
Value Widening::valueOfLane(Value value, Value lane, IRMapping &own) {
  if (own.contains(value))
    return own.lookup(value);
  if (analysis.isSame(value))
    return same.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  bool isPlace = op && analysis.isOfBody(*op) && op->getNumResults() == 1 &&
                 op->getNumRegions() == 0 && value.getType().isIntOrIndex() &&
                 isMemoryEffectFree(op) && isSpeculatable(op);
  if (isPlace) {
    for (Value operand : op->getOperands())
      own.map(operand, valueOfLane(operand, lane, own));
    return builder.clone(*op, own)->getResult(0);
  }
  SmallVector<Value> numbers = llvm::map_to_vector(lanesOf(value), [&](Value vector) -> Value {
    return vector::ExtractOp::create(builder, loc, vector, OpFoldResult(lane));
  });
  if (!isa<VectorType>(value.getType()))
    return numbers.front();
  return vector::FromElementsOp::create(builder, loc, cast<VectorType>(value.getType()), numbers);
}

void Widening::widenLoopAlone(scf::ForOp inner) {
  Location where = inner.getLoc();
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, where, number);
  };
  Values initial = emptyResults(inner.getResults());
  auto each =
      scf::ForOp::create(builder, where, constant(0), constant(lanes), constant(1), initial);
  each->setAttr("loop_annotation", LoopAnnotation::asItIs().in(builder.getContext()));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(each.getBody());
  Value lane = each.getInductionVar();
  Values given = llvm::to_vector_of<Value>(each.getRegionIterArgs());
  scf::IfOp branch;
  if (mask) {
    Value alive = vector::ExtractOp::create(builder, where, mask, OpFoldResult(lane));
    branch = scf::IfOp::create(builder, where, typesOf(given), alive, /*withElse=*/!given.empty());
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  IRMapping own;
  Value first = same.lookup(loop.getInductionVar());
  if (isMutant(Mutant::LanesAloneAreFirst))
    own.map(loop.getInductionVar(), first);
  else
    own.map(loop.getInductionVar(), arith::AddIOp::create(builder, where, first, lane).getResult());
  llvm::SetVector<Value> needed(llvm::from_range, inner->getOperands());
  getUsedValuesDefinedAbove(inner.getRegion(), needed);
  for (Value value : needed)
    own.map(value, valueOfLane(value, lane, own));
  Operation *alone = builder.clone(*inner, own);
  Values next;
  for (auto [result, value] : llvm::zip(inner.getResults(), alone->getResults())) {
    if (result.use_empty())
      continue;
    SmallVector<Value> numbers{value};
    if (isa<VectorType>(value.getType()))
      numbers = llvm::to_vector_of<Value>(
          vector::ToElementsOp::create(builder, where, value).getElements());
    for (Value number : numbers)
      next.push_back(
          vector::InsertOp::create(builder, where, number, given[next.size()], OpFoldResult(lane)));
  }
  if (branch && !given.empty()) {
    scf::YieldOp::create(builder, where, next);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, where, given);
    next = llvm::to_vector_of<Value>(branch.getResults());
  }
  builder.setInsertionPointToEnd(each.getBody());
  if (!next.empty())
    scf::YieldOp::create(builder, where, next);
  takeResults(inner.getResults(), each.getResults());
}

// --- Loops that lanes leave one by one ----------------------------------------------------------

namespace {
/// A loop that runs while a lane is alive: what it carries, then who is alive, then the results so far.
struct LoopApart {
  LoopApart(OpBuilder &builder, Location loc, ValueRange carried, Value alive, ValueRange kept)
      : builder(builder), loc(loc), count(carried.size()) {
    initial.append(carried.begin(), carried.end());
    initial.push_back(alive);
    initial.append(kept.begin(), kept.end());
  }

  /// Before the test.
  void begin() { startBlock(before, initial); }
  /// `live`: the lanes that go on, `any` whether there are any.
  void test(Value any, ValueRange given, Value live, ValueRange kept) {
    Value condition = any;
    SmallVector<Value> all(given);
    all.push_back(live);
    all.append(kept.begin(), kept.end());
    scf::ConditionOp::create(builder, loc, condition, all);
    startBlock(after, all);
    keptAfter = arguments().take_back(kept.size());
    liveAfter = arguments()[given.size()];
    count = given.size();
    types = llvm::to_vector(ValueRange(all).getTypes());
  }
  void end(ValueRange carried) {
    SmallVector<Value> all(carried);
    all.push_back(liveAfter);
    all.append(keptAfter.begin(), keptAfter.end());
    scf::YieldOp::create(builder, loc, all);
  }
  /// The loop itself, where the builder stands; its results are what was kept.
  ValueRange finish() {
    auto loop = scf::WhileOp::create(builder, loc, types, initial);
    loop.getBefore().takeBody(before);
    loop.getAfter().takeBody(after);
    return loop.getResults().drop_front(count + 1);
  }

  ValueRange arguments() { return block->getArguments(); }
  ValueRange carried() { return arguments().take_front(count); }
  Value alive() { return arguments()[count]; }
  ValueRange kept() { return arguments().drop_front(count + 1); }

private:
  void startBlock(Region &region, ValueRange values) {
    block = builder.createBlock(&region, region.end(), values.getTypes(),
                                SmallVector<Location>(values.size(), loc));
  }

  OpBuilder &builder;
  Location loc;
  size_t count;
  SmallVector<Value> initial;
  SmallVector<Type> types;
  Region before, after;
  Block *block = nullptr;
  Value liveAfter;
  ValueRange keptAfter;
};
} // namespace

void Widening::widenLoopApart(scf::WhileOp inner) {
  scf::ConditionOp condition = inner.getConditionOp();
  Values initial, given, next;
  Value around = mask;
  give(initial, inner.getInits(), inner.getBeforeArguments());
  LoopApart wide(builder, inner.getLoc(), initial, mask ? mask : allAlive(),
                 emptyResults(inner.getResults()));
  {
    OpBuilder::InsertionGuard guard(builder);
    wide.begin();
    ValueRange before = wide.carried();
    Value alive = mask = wide.alive();
    Values keptBefore(wide.kept());
    take(inner.getBeforeArguments(), before);
    widen(*inner.getBeforeBody());
    Value live = both(alive, lanesOf(condition.getCondition())[0]);
    Values kept = keepResults(inner.getResults(), keptBefore, condition.getArgs(), alive);
    give(given, condition.getArgs(), inner.getAfterArguments());
    wide.test(anyOf(live), given, live, kept);
    mask = wide.alive();
    ValueRange after = wide.carried();
    take(inner.getAfterArguments(), after);
    widen(*inner.getAfterBody());
    give(next, inner.getYieldOp().getOperands(), inner.getBeforeArguments());
    wide.end(next);
  }
  mask = around;
  takeResults(inner.getResults(), wide.finish());
}

void Widening::widenLoopApart(scf::ForOp inner) {
  Location where = inner.getLoc();
  Value around = mask, variable = inner.getInductionVar();
  Values initial;
  give(initial, inner.getLowerBound(), variable);
  give(initial, inner.getInitArgs(), inner.getRegionIterArgs());
  Value upper = lanesOf(inner.getUpperBound())[0];
  LoopApart wide(builder, where, initial, mask ? mask : allAlive(),
                 emptyResults(inner.getResults()));
  {
    OpBuilder::InsertionGuard guard(builder);
    wide.begin();
    Value alive = wide.alive();
    Values given(wide.carried()), keptBefore(wide.kept());
    ValueRange before = given;
    take(variable, before);
    take(inner.getRegionIterArgs(), before);
    auto less = inner.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value isMore = arith::CmpIOp::create(builder, where, less, lanesOf(variable)[0], upper);
    Value live = both(alive, isMore);
    Values kept = keepResults(inner.getResults(), keptBefore, inner.getRegionIterArgs(), alive);
    wide.test(anyOf(live), given, live, kept);
    mask = wide.alive();
    ValueRange after = wide.carried();
    take(variable, after);
    take(inner.getRegionIterArgs(), after);
    widen(*inner.getBody());
    Values next;
    Value turn = same.contains(variable) ? same.lookup(variable) : parts.lookup(variable)[0];
    Value step = analysis.isSame(variable) ? same.lookupOrDefault(inner.getStep())
                                           : lanesOf(inner.getStep())[0];
    next.push_back(arith::AddIOp::create(builder, where, turn, step));
    give(next, inner.getYieldedValues(), inner.getRegionIterArgs());
    wide.end(next);
  }
  mask = around;
  takeResults(inner.getResults(), wide.finish());
}

// --- Branches -----------------------------------------------------------------------------------

bool Widening::isFlat(Region &region) const {
  if (region.empty())
    return true;
  bool isPure = llvm::all_of(region.front().without_terminator(), [&](Operation &op) {
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return isFlat(branch.getThenRegion()) && isFlat(branch.getElseRegion());
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return analysis.isOwnRow(load.getIndices());
    if (auto read = dyn_cast<ReadOp>(op))
      return read->hasAttr(mark::knownSlot) && analysis.isSame(read.getOffset());
    bool mayRun =
        isSpeculatable(&op) || (isDividedAsFloats(op) && !analysis.isSame(op.getResult(0)));
    return !op.getNumRegions() && isMemoryEffectFree(&op) && mayRun;
  });
  return isPure && costOfLanes(region.front(), analysis, lanes).lanes <= mostFlat;
}

void Widening::widenBranch(scf::IfOp branch) {
  if (!analysis.isCommon(branch)) {
    if (isFlat(branch.getThenRegion()) && isFlat(branch.getElseRegion()))
      return widenFlat(branch);
    return widenBranchApart(branch);
  }
  Values sides[2];
  Region regions[2];
  OpBuilder::InsertionGuard guard(builder);
  OpBuilder::InsertPoint here = builder.saveInsertionPoint();
  SmallVector<Type> types;
  for (unsigned k : {0u, 1u}) {
    builder.createBlock(&regions[k]);
    Region &side = branch->getRegion(k);
    Values given;
    if (!side.empty()) {
      widen(side.front());
      give(given, side.front().getTerminator()->getOperands(), branch.getResults());
    }
    scf::YieldOp::create(builder, branch.getLoc(), given);
    types = typesOf(given);
    if (side.empty() || types.empty())
      types.clear();
  }
  builder.restoreInsertionPoint(here);
  bool hasElse = !branch.getElseRegion().empty();
  auto wide = scf::IfOp::create(builder, branch.getLoc(), types,
                                same.lookupOrDefault(branch.getCondition()), hasElse);
  wide.getThenRegion().takeBody(regions[0]);
  if (hasElse)
    wide.getElseRegion().takeBody(regions[1]);
  ValueRange results = wide.getResults();
  take(branch.getResults(), results);
}

/// Both sides for all lanes.
void Widening::widenFlat(scf::IfOp branch) {
  Value condition = lanesOf(branch.getCondition())[0];
  bool around = std::exchange(isFlattened, true);
  for (Region &side : branch->getRegions())
    if (!side.empty())
      widen(side.front());
  isFlattened = around;
  for (auto [k, result] : llvm::enumerate(branch.getResults())) {
    Values chosen;
    for (auto [yes, no] : llvm::zip(lanesOf(branch.thenYield().getOperand(k)),
                                    lanesOf(branch.elseYield().getOperand(k))))
      chosen.push_back(choose(condition, yes, no));
    parts[result] = chosen;
  }
}

/// The lanes that take the side run it, if there are any; the values that it gives.
Widening::Values Widening::widenSide(scf::IfOp branch, Region &side, Value taken) {
  if (side.empty())
    return {};
  Location where = branch.getLoc();
  Value around = mask;
  mask = isMutant(Mutant::LanesForgetMask) ? around : taken;
  Operation *yield = side.front().getTerminator();
  if (isFlat(side)) {
    widen(side.front());
    mask = around;
    Values given;
    for (Value value : yield->getOperands())
      llvm::append_range(given, lanesOf(value));
    return given;
  }
  Value any = anyOf(taken);
  Values given, otherwise;
  Region region;
  OpBuilder::InsertPoint here = builder.saveInsertionPoint();
  builder.createBlock(&region);
  widen(side.front());
  for (Value value : yield->getOperands())
    llvm::append_range(given, lanesOf(value));
  scf::YieldOp::create(builder, where, given);
  builder.restoreInsertionPoint(here);
  auto wide = scf::IfOp::create(builder, where, typesOf(given), any, !given.empty());
  wide.getThenRegion().takeBody(region);
  if (!given.empty()) {
    builder.setInsertionPointToStart(wide.elseBlock());
    for (Value value : given)
      otherwise.push_back(
          arith::ConstantOp::create(builder, where, builder.getZeroAttr(value.getType())));
    scf::YieldOp::create(builder, where, otherwise);
    builder.restoreInsertionPoint(here);
  }
  builder.setInsertionPointAfter(wide);
  mask = around;
  return llvm::to_vector_of<Value>(wide.getResults());
}

void Widening::widenBranchApart(scf::IfOp branch) {
  Value condition = lanesOf(branch.getCondition())[0];
  Values yes = widenSide(branch, branch.getThenRegion(), both(mask, condition));
  Values no = widenSide(branch, branch.getElseRegion(), both(mask, inverted(condition)));
  size_t next = 0;
  for (Value result : branch.getResults()) {
    Values chosen;
    auto vector = dyn_cast<VectorType>(result.getType());
    for (int64_t k = 0, count = vector ? vector.getNumElements() : 1; k < count; ++k, ++next)
      chosen.push_back(choose(condition, yes[next], no[next]));
    parts[result] = chosen;
  }
}
