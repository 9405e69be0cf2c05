//===- PlaceCounts.cpp - places that are known before a loop runs -*- C++ -*-===//
#include "metate/Transforms/PlaceCounts.h"
#include "metate/Dialect/Tree.h"

#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace metate;

PlaceCounts::PlaceCounts(RangeOp range, ArrayRef<TakenPlaces> targets, const PlaceSlice &slice,
                         int64_t turns, int64_t least)
    : range(range), builder(range), at(builder, range.getLoc()), targets(targets), slice(slice),
      turns(turns), least(least) {
  for (const TakenPlaces &target : targets)
    allLists += target.lists();
  // Counters of one list lie in different sets of the caches.
  row = llvm::alignTo(allLists, 16) + 16;
  places = turns;
  for (auto [lower, upper] : llvm::zip(range.getLower(), range.getUpper())) {
    std::optional<int64_t> from = getConstantIntValue(lower), to = getConstantIntValue(upper);
    if (!from || !to)
      places = std::nullopt;
    if (places)
      places = *places * std::max<int64_t>(*to - *from, 0);
  }
}

int64_t PlaceCounts::startOf(size_t target) const {
  int64_t lists = 0;
  for (const TakenPlaces &before : ArrayRef(targets).take_front(target))
    lists += before.lists();
  return 4 * lists;
}

int64_t PlaceCounts::endsOf(size_t target) const {
  return mostParts * rowBytes() + startOf(target);
}

/// As many parts as there are places for each list: adding up their counts is work, too.
void PlaceCounts::findParts() {
  if (places) {
    parts = at.index(std::clamp<int64_t>(*places / allLists, 2, mostParts));
    return;
  }
  Value number = at.index(turns);
  for (auto [lower, upper] : llvm::zip(range.getLower(), range.getUpper()))
    number = at.multiply(number, at.greatest(at.subtract(upper, lower), at.index(0)));
  worth = at.compare(arith::CmpIPredicate::sge, number, at.index(leastPlaces()));
  Value many = at.least(at.divide(number, allLists), at.index(mostParts));
  parts = at.select(worth, at.greatest(many, at.index(2)), at.index(0));
}

RangeOp PlaceCounts::task(ArrayRef<Value> upper) {
  SmallVector<Value> lower(upper.size(), at.index(0));
  auto made = RangeOp::create(builder, at.loc, lower, upper);
  builder.setInsertionPointToStart(&made.getBody().front());
  return made;
}

Value PlaceCounts::enter(Value from, Value to) {
  auto loop = scf::ForOp::create(builder, at.loc, from, to, at.index(1));
  builder.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

/// The part's iterations, in their order: a slab along the first variable.
void PlaceCounts::enterPart(Value part, IRMapping &mapping) {
  for (auto [axis, variable] : llvm::enumerate(range.getBody().getArguments())) {
    Value from = range.getLower()[axis], to = range.getUpper()[axis];
    if (axis == 0) {
      Value span = at.greatest(at.subtract(to, from), at.index(0)), first = from;
      to = at.add(first, at.divide(at.multiply(at.add(part, 1), span), parts));
      from = at.add(first, at.divide(at.multiply(part, span), parts));
    }
    mapping.map(variable, enter(from, to));
  }
}

Value PlaceCounts::linearOf(const TakenPlaces &target, ValueRange coordinates) {
  Value linear = at.index(0);
  for (auto [coordinate, extent] : llvm::zip(coordinates, target.extents))
    linear = at.add(at.multiply(linear, extent), coordinate);
  return linear;
}

Value PlaceCounts::insideOf(const TakenPlaces &target, ValueRange coordinates) {
  Value inside;
  for (auto [coordinate, extent] : llvm::zip(coordinates, target.extents)) {
    Value below = at.compare(arith::CmpIPredicate::ult, coordinate, at.index(extent));
    inside = inside ? arith::AndIOp::create(builder, at.loc, inside, below).getResult() : below;
  }
  return inside;
}

/// In place of the site: its list has so many more places of the part.
void PlaceCounts::count(Operation *site, size_t number, Value block, Value row) {
  builder.setInsertionPoint(site);
  const TakenPlaces &target = targets[number];
  OperandRange list = listOf(site);
  if (target.isList()) {
    auto inside =
        scf::IfOp::create(builder, at.loc, insideOf(target, list), /*withElseRegion=*/false);
    builder.setInsertionPointToStart(inside.thenBlock());
  }
  Value offset = at.add(row, at.add(at.multiply(linearOf(target, list), 4), startOf(number)));
  Value taken = placesOf(site);
  Value more = arith::AddIOp::create(builder, at.loc, read(block, offset),
                                     taken ? taken : at.integer(1, 32));
  write(more, block, offset);
}

/// In place of the site: the next one of the part's places.
void PlaceCounts::take(Operation *site, size_t number, Value block, Value row) {
  builder.setInsertionPoint(site);
  const TakenPlaces &target = targets[number];
  OperandRange list = listOf(site);
  Value taken = placesOf(site), none = at.integer(-1, 32), place;
  scf::IfOp inside;
  if (target.isList()) {
    inside = scf::IfOp::create(builder, at.loc, none.getType(), insideOf(target, list), true);
    builder.setInsertionPointToStart(inside.elseBlock());
    scf::YieldOp::create(builder, at.loc, none);
    builder.setInsertionPointToStart(inside.thenBlock());
  }
  Value linear = at.multiply(linearOf(target, list), 4);
  Value offset = at.add(row, at.add(linear, startOf(number)));
  place = read(block, offset);
  write(arith::AddIOp::create(builder, at.loc, place, taken ? taken : at.integer(1, 32)), block,
        offset);
  if (inside) {
    Value end = read(block, at.add(linear, endsOf(number)));
    Value isThere = at.compare(arith::CmpIPredicate::ult, place, end);
    scf::YieldOp::create(builder, at.loc, at.select(isThere, place, none));
    place = inside.getResult(0);
  }
  site->getResult(0).replaceAllUsesWith(place);
  site->erase();
}

void PlaceCounts::countParts() {
  OpBuilder::InsertionGuard guard(builder);
  Value part = task(parts).getBody().getArgument(0), block = pool();
  Value row = at.multiply(part, rowBytes());
  {
    OpBuilder::InsertionGuard inner(builder);
    Value list = enter(at.index(0), at.index(allLists));
    write(at.integer(0, 32), block, at.add(row, at.multiply(list, 4)));
  }
  IRMapping mapping;
  enterPart(part, mapping);
  Block &body = range.getBody().front();
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [number, target] : llvm::enumerate(targets))
    for (Operation *site : target.sites)
      count(mapping.lookup(site), number, block, row);
  // What is not of the slice uses it, and not the other way round.
  SmallVector<Operation *> unneeded;
  body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == body.getTerminator())
      return WalkResult::skip();
    bool isSite = llvm::any_of(
        targets, [&](const TakenPlaces &target) { return llvm::is_contained(target.sites, op); });
    bool isNeeded = slice.has(op) || op->hasTrait<OpTrait::IsTerminator>();
    if (isNeeded && !isSite)
      return WalkResult::advance();
    unneeded.push_back(mapping.lookup(op));
    return WalkResult::skip();
  });
  for (Operation *op : llvm::reverse(unneeded))
    op->erase();
}

/// Takes the places of all parts: the first one.
Value PlaceCounts::reserve(const TakenPlaces &target, ValueRange coordinates, Value total,
                           Value block, Value end) {
  auto [value, path] = target.place;
  auto place = builder.getStringAttr(path);
  if (!target.isList()) {
    if (isa<MemRefType>(value.getType())) {
      Value first = memref::LoadOp::create(builder, at.loc, value, coordinates);
      memref::StoreOp::create(builder, at.loc, arith::AddIOp::create(builder, at.loc, first, total),
                              value, coordinates);
      return first;
    }
    Value first = LoadOp::create(builder, at.loc, builder.getI32Type(), value, place, coordinates,
                                 ValueRange());
    StoreOp::create(builder, at.loc, arith::AddIOp::create(builder, at.loc, first, total), value,
                    place, coordinates, ValueRange(), /*active=*/true);
    return first;
  }
  TreePath list = *findPath(cast<TreeType>(value.getType()), path);
  unsigned axis = levelAxes(list.levels.back())[0];
  auto position = llvm::find(list.axes, axis) - list.axes.begin();
  int64_t most = list.extents[position];
  auto length = [&]() -> Value {
    return LengthOp::create(builder, at.loc, builder.getI32Type(), value, place, coordinates);
  };
  Value first = length(), known = at.toIndex(first);
  Value wanted = at.add(known, at.toIndex(total)), reached = at.least(wanted, at.index(most));
  auto grows = scf::IfOp::create(builder, at.loc,
                                 at.compare(arith::CmpIPredicate::sgt, reached, known), false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(grows.thenBlock());
    SmallVector<Value> last(coordinates);
    last.insert(last.begin() + position, at.add(reached, -1));
    ActivateOp::create(builder, at.loc, builder.getI1Type(), value, place, last,
                       /*strict=*/false);
  }
  // One more than there is room for says so.
  auto full = scf::IfOp::create(
      builder, at.loc, at.compare(arith::CmpIPredicate::sgt, wanted, at.index(most)), false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(full.thenBlock());
    AppendOp::create(builder, at.loc, builder.getI32Type(), value, place, coordinates);
  }
  write(length(), block, end);
  return first;
}

/// Counts become places, list by list: in a list part by part.
void PlaceCounts::giveLists(size_t number) {
  OpBuilder::InsertionGuard guard(builder);
  const TakenPlaces &target = targets[number];
  SmallVector<Value> upper;
  for (auto [axis, extent] : llvm::enumerate(target.extents)) {
    Value end = at.index(extent);
    upper.push_back(axis == 0 && worth ? at.select(worth, end, at.index(0)) : end);
  }
  RangeOp made = task(upper);
  SmallVector<Value> coordinates(made.getBody().getArguments());
  Value block = pool(), linear = at.multiply(linearOf(target, coordinates), 4);
  auto counterOf = [&](Value part) {
    return at.add(at.add(at.multiply(part, rowBytes()), linear), startOf(number));
  };
  auto sum =
      scf::ForOp::create(builder, at.loc, at.index(0), parts, at.index(1), at.integer(0, 32));
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(sum.getBody());
    Value own = read(block, counterOf(sum.getInductionVar()));
    scf::YieldOp::create(
        builder, at.loc,
        arith::AddIOp::create(builder, at.loc, sum.getRegionIterArg(0), own).getResult());
  }
  Value total = sum.getResult(0);
  // What is added to a counter may be nothing in all.
  if (target.isList()) {
    auto any = scf::IfOp::create(builder, at.loc, at.isNonzero(total), /*withElseRegion=*/false);
    builder.setInsertionPointToStart(any.thenBlock());
  }
  Value first = reserve(target, coordinates, total, block, at.add(linear, endsOf(number)));
  auto each = scf::ForOp::create(builder, at.loc, at.index(0), parts, at.index(1), first);
  builder.setInsertionPointToStart(each.getBody());
  Value counter = counterOf(each.getInductionVar()), place = each.getRegionIterArg(0);
  Value own = read(block, counter);
  write(place, block, counter);
  Value next = isMutant(Mutant::PartsShareFirstPlace)
                   ? place
                   : arith::AddIOp::create(builder, at.loc, place, own).getResult();
  scf::YieldOp::create(builder, at.loc, next);
}

/// The loop itself.
void PlaceCounts::runParts() {
  OpBuilder::InsertionGuard guard(builder);
  Value part = task(parts).getBody().getArgument(0), block = pool();
  Value row = at.multiply(part, rowBytes());
  IRMapping mapping;
  enterPart(part, mapping);
  for (Operation &op : range.getBody().front().without_terminator())
    builder.clone(op, mapping);
  for (auto [number, target] : llvm::enumerate(targets))
    for (Operation *site : target.sites)
      take(mapping.lookup(site), number, block, row);
}

void PlaceCounts::build() {
  slice.keepRounding();
  findParts();
  countParts();
  for (size_t number = 0; number < targets.size(); ++number)
    giveLists(number);
  runParts();
  if (!worth) {
    range.erase();
    return;
  }
  builder.setInsertionPoint(range);
  range.getUpperMutable()[0].set(at.select(worth, range.getLower()[0], range.getUpper()[0]));
}
