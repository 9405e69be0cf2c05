//===- ExtremeLanes.cpp - lanes that each keep the least one ---------------*- C++ -*-===//
#include "metate/Target/Cpu/ExtremeLanes.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/LoopAnnotation.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

using Group = ExtremeLanes::Group;

/// Whole vectors that the loop has turns for; 0 where it starts with what a min takes for no value.
Value ExtremeLanes::blocksOf() {
  Value span = arith::SubIOp::create(builder, loc, loop.getUpperBound(), loop.getLowerBound());
  span = arith::MaxSIOp::create(builder, loc, span, index(0));
  Value count = arith::DivUIOp::create(builder, loc, span, index(lanes));
  // Turns are noted as numbers of 32 bits.
  count = arith::MinUIOp::create(builder, loc, count, index(std::numeric_limits<int32_t>::max()));
  auto onlyIf = [&](Value condition) { count = select(builder, condition, count, index(0)); };
  for (Value stride : strides)
    onlyIf(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, stride, index(1)));
  for (const Extreme &extreme : carried.extremes)
    if (extreme.isNamed && isa<FloatType>(extreme.value.getType()) &&
        !isMutant(Mutant::LanesStartWithNaN)) {
      Value first = loop.getInits()[extreme.number];
      onlyIf(arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ORD, first, first));
    }
  return count;
}

Group ExtremeLanes::start() {
  Group group;
  for (auto [k, extreme] : llvm::enumerate(carried.extremes)) {
    group.values.push_back(splat(builder, loop.getInits()[extreme.number]));
    if (hasTurn(k))
      group.turns.push_back(
          splat(builder, arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1))));
  }
  for (const Total &total : carried.totals)
    group.totals.push_back(splat(
        builder, arith::ConstantOp::create(builder, loc, *arith::getNeutralElement(total.step))));
  return group;
}

/// One vector's turns. `block + number`: which vector it is.
Group ExtremeLanes::turn(OpBuilder &at, Value block, int64_t number, const Group &before) {
  Value which =
      number == 0
          ? block
          : arith::AddIOp::create(at, loc, block, arith::ConstantIndexOp::create(at, loc, number));
  Value first =
      arith::MulIOp::create(at, loc, which, arith::ConstantIndexOp::create(at, loc, lanes));
  first = arith::AddIOp::create(at, loc, turns.getLowerBound(), first,
                                arith::IntegerOverflowFlags::nsw);
  SmallVector<Value> wanted =
      llvm::map_to_vector(inputs, [&](Value input) { return own.lookup(input); });
  SmallVector<Value> wide = Widening(turns, *analysis, lanes).from(at, first, wanted);
  llvm::DenseMap<Value, Value> lanesOf;
  for (auto [input, vector] : llvm::zip(inputs, wide))
    lanesOf[input] = vector;
  auto masked = [&](Value taken, const StraightLoop::Values &masks) {
    for (Value mask : masks)
      taken = taken ? Value(arith::AndIOp::create(at, loc, taken, lanesOf[mask])) : lanesOf[mask];
    return taken;
  };
  Value now = splat(at, arith::IndexCastOp::create(at, loc, at.getI32Type(), which));
  Group after;
  auto noted = before.turns.begin();
  for (auto [k, extreme] : llvm::enumerate(carried.extremes)) {
    Value value = lanesOf[extreme.value], old = before.values[k];
    Value taken = masked(extreme.order.compare(at, loc, value, old), extreme.masks);
    after.values.push_back(select(at, taken, value, old));
    if (hasTurn(k))
      after.turns.push_back(select(at, taken, now, *noted++));
  }
  for (auto [total, old] : llvm::zip(carried.totals, before.totals)) {
    OperationState state(loc, total.step->getName(), ValueRange{old, lanesOf[total.value]},
                         old.getType(), total.step->getAttrs());
    Value next = at.create(state)->getResult(0);
    Value taken = masked({}, total.masks);
    after.totals.push_back(taken ? select(at, taken, next, old) : next);
  }
  return after;
}

/// `count` extremeGroups at a time; `state` is that of so many of them.
void ExtremeLanes::blocks(Value from, Value to, int64_t count, SmallVector<Group> &state) {
  SmallVector<Value> inits;
  for (const Group &group : ArrayRef(state).take_front(size_t(count)))
    llvm::append_range(inits, group.all());
  auto made = scf::ForOp::create(builder, loc, from, to, index(count), inits,
                                 [&](OpBuilder &at, Location, Value block, ValueRange carriedHere) {
                                   SmallVector<Value> next;
                                   size_t each = carriedHere.size() / size_t(count);
                                   for (int64_t k = 0; k < count; ++k) {
                                     Group before =
                                         state[0].like(carriedHere.slice(size_t(k) * each, each));
                                     llvm::append_range(next, turn(at, block, k, before).all());
                                   }
                                   scf::YieldOp::create(at, loc, next);
                                 });
  made->setAttr("loop_annotation", LoopAnnotation::asItIs().in(builder.getContext()));
  size_t each = inits.size() / size_t(count);
  for (int64_t k = 0; k < count; ++k)
    state[size_t(k)] = state[0].like(ValueRange(made.getResults()).slice(size_t(k) * each, each));
}

Value ExtremeLanes::isBetter(const Extreme &extreme, Value value, Value turn, Value than,
                             Value thanTurn) {
  Value better = extreme.order.strict().compare(builder, loc, value, than);
  if (!turn)
    return better;
  Value same;
  if (extreme.order.floats)
    same = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, value, than);
  else
    same = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value, than);
  bool takesFirst = extreme.order.isStrict != isMutant(Mutant::LaterOfEqualLanes);
  Value wins = arith::CmpIOp::create(
      builder, loc, takesFirst ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sgt, turn,
      thanTurn);
  return arith::OrIOp::create(builder, loc, better,
                              arith::AndIOp::create(builder, loc, same, wins));
}

Value ExtremeLanes::combined(const Total &total, Value a, Value b) {
  OperationState state(loc, total.step->getName(), ValueRange{a, b}, a.getType(),
                       total.step->getAttrs());
  return builder.create(state)->getResult(0);
}

Group ExtremeLanes::joined(const Group &a, const Group &b) {
  Group both;
  size_t noted = 0;
  for (auto [k, extreme] : llvm::enumerate(carried.extremes)) {
    Value turn = hasTurn(k) ? b.turns[noted] : Value();
    Value better =
        isBetter(extreme, b.values[k], turn, a.values[k], turn ? a.turns[noted] : Value());
    both.values.push_back(select(builder, better, b.values[k], a.values[k]));
    if (turn) {
      both.turns.push_back(select(builder, better, turn, a.turns[noted]));
      ++noted;
    }
  }
  for (auto [k, total] : llvm::enumerate(carried.totals))
    both.totals.push_back(combined(total, a.totals[k], b.totals[k]));
  return both;
}

Group ExtremeLanes::half(const Group &whole, int64_t size, int64_t first) {
  auto which = llvm::to_vector(llvm::seq<int32_t>(int32_t(first), int32_t(first + size)));
  return whole.like(llvm::map_to_vector(whole.all(), [&](Value vector) -> Value {
    return LLVM::ShuffleVectorOp::create(builder, loc, vector, vector, which);
  }));
}

/// Of all lanes, after `count` vectors.
SmallVector<Value> ExtremeLanes::results(Group all, Value count) {
  // Which turn of all: no two lanes have the same.
  auto wide = VectorType::get(lanes, builder.getI64Type());
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  Value lane = arith::ConstantOp::create(builder, loc,
                                         DenseElementsAttr::get(wide, ArrayRef<int64_t>(numbers)));
  Value width = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(wide, lanes));
  for (Value &turn : all.turns) {
    turn = arith::ExtSIOp::create(builder, loc, wide, turn);
    turn = arith::MulIOp::create(builder, loc, turn, width);
    turn = arith::AddIOp::create(builder, loc, turn, lane);
  }
  for (int64_t size = lanes / 2; size > 0; size /= 2)
    all = joined(half(all, size, 0), half(all, size, size));
  all = all.like(llvm::map_to_vector(all.all(), [&](Value vector) -> Value {
    return vector::ExtractOp::create(builder, loc, vector, 0);
  }));

  SmallVector<Value> results(loop.getNumResults());
  auto turn = all.turns.begin();
  for (auto [k, extreme] : llvm::enumerate(carried.extremes)) {
    results[extreme.number] = all.values[k];
    if (hasTurn(k))
      takeChosen(extreme, *turn++, results);
  }
  for (auto [k, total] : llvm::enumerate(carried.totals))
    results[total.number] = combined(total, loop.getInits()[total.number], all.totals[k]);
  Value last = arith::MulIOp::create(builder, loc, count, index(lanes));
  last = arith::SubIOp::create(builder, loc, last, index(1));
  auto latest = valuesOf(carried.latest, last, builder);
  for (auto [number, value] : llvm::zip(carried.latest, latest))
    results[number] = value;
  return results;
}

/// What one turn gives, computed anew.
SmallVector<Value> ExtremeLanes::valuesOf(ArrayRef<unsigned> which, Value turn, OpBuilder &at) {
  scf::ForOp from = straight.loop;
  Value number = arith::AddIOp::create(at, loc, loop.getLowerBound(), turn);
  IRMapping mapping;
  mapping.map(from.getInductionVar(), number);
  llvm::SetVector<Operation *> ops;
  for (unsigned each : which) // all that guards it holds in this turn
    straight.collect(carried.values.lookup(each), ops);
  for (Operation *op : ops)
    at.clone(*op, mapping);
  return llvm::map_to_vector(
      which, [&](unsigned each) { return mapping.lookupOrDefault(carried.values.lookup(each)); });
}

/// Of the turn in which the extreme was found; less than 0: what the loop starts with is still the best.
void ExtremeLanes::takeChosen(const Extreme &extreme, Value turn, MutableArrayRef<Value> results) {
  if (extreme.chosen.empty())
    return;
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
  Value isFound = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, turn, zero);
  auto types = llvm::map_to_vector(
      extreme.chosen, [&](unsigned number) { return loop.getResult(number).getType(); });
  auto branch = scf::IfOp::create(builder, loc, types, isFound, /*withElseRegion=*/true);
  OpBuilder yes = branch.getThenBodyBuilder(), no = branch.getElseBodyBuilder();
  Value at = arith::IndexCastOp::create(yes, loc, yes.getIndexType(), turn);
  scf::YieldOp::create(yes, loc, valuesOf(extreme.chosen, at, yes));
  scf::YieldOp::create(no, loc, llvm::map_to_vector(extreme.chosen, [&](unsigned number) {
                         return Value(loop.getInits()[number]);
                       }));
  for (auto [number, result] : llvm::zip(extreme.chosen, branch.getResults()))
    results[number] = result;
}

/// Before the loop, which does the turns that are left.
void ExtremeLanes::write() {
  Value count = blocksOf(), one = index(extremeGroups);
  Value isEnough = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, count, one);
  SmallVector<Type> types(loop.getResultTypes());
  types.push_back(builder.getIndexType());
  auto branch = scf::IfOp::create(builder, loc, types, isEnough, /*withElseRegion=*/true);
  OpBuilder no = branch.getElseBodyBuilder();
  SmallVector<Value> nothing(loop.getInits());
  nothing.push_back(loop.getLowerBound());
  scf::YieldOp::create(no, loc, nothing);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(branch.thenBlock());
  Value rest = arith::RemUIOp::create(builder, loc, count, index(extremeGroups));
  Value whole = arith::SubIOp::create(builder, loc, count, rest);
  SmallVector<Group> state(extremeGroups, start());
  blocks(index(0), whole, extremeGroups, state);
  blocks(whole, count, 1, state);
  Group all = state[0];
  for (const Group &other : ArrayRef(state).drop_front())
    all = joined(all, other);
  SmallVector<Value> found = results(all, count);
  Value done = arith::MulIOp::create(builder, loc, count, index(lanes));
  found.push_back(arith::AddIOp::create(builder, loc, loop.getLowerBound(), done));
  scf::YieldOp::create(builder, loc, found);
  loop.getInitArgsMutable().assign(branch.getResults().drop_back());
  loop.getLowerBoundMutable().assign(branch.getResults().back());
  loop->setAttr("loop_annotation", LoopAnnotation::asItIs().in(builder.getContext()));
}
