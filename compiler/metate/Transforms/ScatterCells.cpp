//===- ScatterCells.cpp - a loop's targets, cell by cell --------*- C++ -*-===//
#include "metate/Transforms/ScatterCells.h"

#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LaneValues.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;

bool ScatterCells::takes(const ScatterTarget &target) const {
  return target.kind == first().kind && target.scalar == first().scalar &&
         target.extents == first().extents && !ShapedType::isDynamicShape(target.extents);
}

static int64_t numbersOf(Operation *atomic) {
  auto vector = isa<AtomicOp>(atomic)
                    ? dyn_cast<VectorType>(cast<AtomicOp>(atomic).getValue().getType())
                    : VectorType();
  return vector ? vector.getNumElements() : 1;
}

static int64_t turnsAround(Operation *op, RangeOp range) {
  int64_t turns = 1;
  for (Operation *parent = op->getParentOp(); parent != range; parent = parent->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      if (std::optional<APInt> count = loop.getStaticTripCount())
        turns = std::min<int64_t>(turns * count->getSExtValue(), 1 << 20);
  return turns;
}

int64_t ScatterCells::addsOfIteration(RangeOp range) const {
  int64_t adds = 0;
  for (ScatterTarget *target : targets)
    for (Operation *atomic : target->atomics)
      adds += turnsAround(atomic, range) * numbersOf(atomic);
  return adds;
}

SmallVector<ScatterCells, 2> metate::groupCells(MutableArrayRef<ScatterTarget> targets) {
  SmallVector<ScatterCells, 2> groups;
  for (ScatterTarget &target : targets) {
    auto known =
        llvm::find_if(groups, [&](const ScatterCells &group) { return group.takes(target); });
    ScatterCells &group = known == groups.end() ? groups.emplace_back() : *known;
    group.targets.push_back(&target);
    group.width += target.components();
  }
  return groups;
}

void metate::fillCells(IndexBuilder &at, const ScatterCells &group, ScatterMemory memory,
                       Value begin, Value count) {
  OpBuilder &builder = at.builder;
  OpBuilder::InsertionGuard guard(builder);
  const ScatterTarget &first = group.first();
  Value neutral = arith::ConstantOp::create(builder, at.loc,
                                            neutralOf(builder, at.loc, first.kind, first.scalar));
  auto loop = scf::ForOp::create(builder, at.loc, at.index(0), at.multiply(count, group.padded()),
                                 at.index(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value offset = at.add(begin, at.multiply(loop.getInductionVar(), group.numberBytes()));
  WriteOp::create(builder, at.loc, neutral, memory.block, offset, memory.scope, /*release=*/false);
}

/// Bits of a word as a number of the loop's own, with the sign that the kind looks at.
static Value widened(OpBuilder &builder, Location loc, Value value, const ScatterTarget &target) {
  if (value.getType() == target.scalar || isa<VectorType>(value.getType()))
    return value;
  bool isSigned =
      target.kind == arith::AtomicRMWKind::mins || target.kind == arith::AtomicRMWKind::maxs;
  if (isSigned)
    return arith::ExtSIOp::create(builder, loc, target.scalar, value);
  return arith::ExtUIOp::create(builder, loc, target.scalar, value);
}

namespace {
/// Additions to one cell that nothing stands between.
struct CellAddition {
  ValueRange coordinates;
  LaneValues::Lanes numbers; ///< of the cell
  SmallVector<Operation *> atomics;
};

/// Rewrites a loop's atomics on a group. Those on members of one cell that follow each other become one vector's.
class CellAdditions {
public:
  CellAdditions(const ScatterCells &group, ScatterMemory memory, CellPlace place)
      : group(group), memory(memory), place(place) {
    int64_t member = 0;
    for (ScatterTarget *target : group.targets) {
      for (Operation *atomic : target->atomics) {
        members[atomic] = {member, target};
        if (!target->stored)
          continue;
        OpBuilder builder(atomic);
        wide[atomic] =
            widened(builder, atomic->getLoc(), cast<AtomicOp>(atomic).getValue(), *target);
      }
      member += target->components();
    }
  }

  void run();

private:
  struct Member {
    int64_t first; ///< of its numbers in the cell
    const ScatterTarget *target;

    ArrayRef<int64_t> shape() const { return target->member; }
  };

  const Member &memberOf(Operation *atomic) const { return members.find(atomic)->second; }
  /// What is added, and to which cell.
  std::pair<Value, ValueRange> operandsOf(Operation *atomic) const {
    ValueRange coordinates = memberOf(atomic).target->coordinatesOf(atomic);
    if (Value own = wide.lookup(atomic))
      return {own, coordinates};
    if (auto cell = dyn_cast<AtomicOp>(atomic))
      return {cell.getValue(), coordinates};
    return {cast<memref::AtomicRMWOp>(atomic).getValue(), coordinates};
  }

  void visit(Block *block);
  std::optional<int64_t> numberOf(Operation *atomic) const;
  bool join(Operation *atomic);
  void flush();
  void addNumbers(IndexBuilder &at, Value begin, int64_t first, ArrayRef<Lane> numbers);
  void addAnywhere(Operation *atomic);
  void add(IndexBuilder &at, Value begin, Value number);

  const ScatterCells &group;
  ScatterMemory memory;
  CellPlace place;
  llvm::MapVector<Operation *, Member> members;
  llvm::DenseMap<Operation *, Value> wide; ///< what those on bits of words add
  CellAddition pending;
  LaneValues values;
};
} // namespace

void CellAdditions::run() {
  llvm::SetVector<Block *> blocks;
  for (auto &[atomic, member] : members)
    blocks.insert(atomic->getBlock());
  for (Block *block : blocks)
    visit(block);
}

void CellAdditions::visit(Block *block) {
  for (Operation &op : llvm::make_early_inc_range(*block)) {
    if (op.getNumRegions() != 0)
      flush();
    if (!members.contains(&op) || join(&op))
      continue;
    flush();
    if (!join(&op))
      addAnywhere(&op);
  }
  flush();
}

/// The place in the cell of the first number that it adds, if that is known.
std::optional<int64_t> CellAdditions::numberOf(Operation *atomic) const {
  const Member &member = memberOf(atomic);
  int64_t number = 0;
  for (auto [component, extent] : llvm::zip(member.target->componentsOf(atomic), member.shape())) {
    std::optional<int64_t> index = getConstantIntValue(component);
    if (!index || *index < 0 || *index >= extent)
      return {};
    number = number * extent + *index;
  }
  return member.first + number;
}

/// Whether the addition could be put to the others; none of its numbers is added to twice.
bool CellAdditions::join(Operation *atomic) {
  auto [value, coordinates] = operandsOf(atomic);
  std::optional<int64_t> first = numberOf(atomic);
  if (!first)
    return false;
  if (pending.atomics.empty())
    pending = {coordinates, LaneValues::Lanes(group.padded()), {}};
  if (!llvm::equal(pending.coordinates, coordinates))
    return false;
  auto vector = dyn_cast<VectorType>(value.getType());
  auto numbers =
      MutableArrayRef(pending.numbers).slice(*first, vector ? vector.getNumElements() : 1);
  if (llvm::any_of(numbers, [](Lane lane) { return bool(lane); }))
    return false;
  for (auto [k, lane] : llvm::enumerate(numbers))
    lane = {value, vector ? int64_t(k) : -1};
  pending.atomics.push_back(atomic);
  return true;
}

/// The additions, in front of the last one of them.
void CellAdditions::flush() {
  if (pending.atomics.empty())
    return;
  OpBuilder builder(pending.atomics.back());
  IndexBuilder at(builder, pending.atomics.back()->getLoc());
  Value begin = place(at, pending.coordinates);
  ArrayRef<Lane> numbers = pending.numbers;
  for (int64_t first = 0; first < group.width; first += cellLanes)
    addNumbers(at, begin, first, numbers.slice(first).take_front(cellLanes));
  for (Operation *atomic : pending.atomics)
    atomic->erase();
  pending = {};
}

/// Several numbers of a part of the cell as a vector: what nobody adds to gets what changes nothing.
void CellAdditions::addNumbers(IndexBuilder &at, Value begin, int64_t first,
                               ArrayRef<Lane> numbers) {
  LaneValues::Lanes lanes(numbers);
  int64_t count = llvm::count_if(lanes, [](Lane lane) { return bool(lane); });
  Operation *before = pending.atomics.back();
  if (count < 2) {
    for (auto [k, lane] : llvm::enumerate(lanes))
      if (lane)
        add(at, at.add(begin, (first + int64_t(k)) * group.numberBytes()),
            values.scalar(lane, before));
    return;
  }
  const ScatterTarget &target = group.first();
  for (auto [k, lane] : llvm::enumerate(lanes))
    if (!lane && first + int64_t(k) < group.width)
      lane = {arith::ConstantOp::create(at.builder, at.loc,
                                        neutralOf(at.builder, at.loc, target.kind, target.scalar))};
  add(at, at.add(begin, first * group.numberBytes()), values.vectorOf(lanes, before));
}

/// An addition to a component that only the loop knows.
void CellAdditions::addAnywhere(Operation *atomic) {
  const Member &member = memberOf(atomic);
  OpBuilder builder(atomic);
  IndexBuilder at(builder, atomic->getLoc());
  auto [value, coordinates] = operandsOf(atomic);
  Value linear = at.index(member.first);
  ValueRange components = member.target->componentsOf(atomic);
  if (components.size() == 2)
    linear = at.add(linear, at.multiply(components[0], member.shape()[1]));
  linear = at.add(linear, components.back());
  Value begin = place(at, coordinates);
  add(at, at.add(begin, at.multiply(linear, group.numberBytes())), value);
  atomic->erase();
}

/// A number, or several side by side.
void CellAdditions::add(IndexBuilder &at, Value begin, Value number) {
  if (memory.isForLanes) {
    RmwOp::create(at.builder, at.loc, group.first().kind, number, memory.block, begin,
                  memory.scope);
    return;
  }
  Value old =
      ReadOp::create(at.builder, at.loc, number.getType(), memory.block, begin, memory.scope,
                     /*acquire=*/false, /*invariant=*/false);
  Value next = combinePlain(at.builder, at.loc, group.first().kind, old, number);
  WriteOp::create(at.builder, at.loc, next, memory.block, begin, memory.scope, /*release=*/false);
}

void metate::addToCells(const ScatterCells &group, ScatterMemory memory, CellPlace place) {
  CellAdditions(group, memory, place).run();
}

void metate::combineCell(IndexBuilder &at, const ScatterCells &group, ScatterMemory memory,
                         Value begin, ValueRange coordinates) {
  OpBuilder &builder = at.builder;
  const ScatterTarget &first = group.first();
  auto next = [&](Value old) {
    Value number = ReadOp::create(builder, at.loc, first.scalar, memory.block, begin, memory.scope,
                                  /*acquire=*/false, /*invariant=*/false);
    begin = at.add(begin, group.numberBytes());
    return combinePlain(builder, at.loc, first.kind, old, number);
  };
  for (ScatterTarget *target : group.targets) {
    auto [value, path] = target->place;
    for (int64_t k = 0; k < target->components(); ++k) {
      SmallVector<Value> component;
      if (!target->member.empty())
        for (int64_t index : delinearize(k, computeStrides(target->member)))
          component.push_back(at.index(index));
      if (target->isArray()) {
        if (isMutant(Mutant::FirstNumberOfArray))
          component.assign(component.size(), at.index(0));
        SmallVector<Value> indices(coordinates);
        llvm::append_range(indices, component);
        Value old = memref::LoadOp::create(builder, at.loc, value, indices);
        memref::StoreOp::create(builder, at.loc, next(old), value, indices);
        continue;
      }
      Type type = target->stored ? Type(target->stored) : first.scalar;
      Value old = LoadOp::create(builder, at.loc, type, value, path, coordinates, component);
      Value sum = next(widened(builder, at.loc, old, *target));
      if (sum.getType() != type)
        sum = arith::TruncIOp::create(builder, at.loc, type, sum);
      StoreOp::create(builder, at.loc, sum, value, path, coordinates, component,
                      /*active=*/true);
    }
  }
}
