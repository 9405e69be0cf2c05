//===- ScatterCells.cpp - a loop's targets, cell by cell --------*- C++ -*-===//
#include "metate/Transforms/ScatterCells.h"

#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
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
  auto loop = scf::ForOp::create(builder, at.loc, at.index(0), at.multiply(count, group.width),
                                 at.index(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value offset = at.add(begin, at.multiply(loop.getInductionVar(), group.numberBytes()));
  WriteOp::create(builder, at.loc, neutral, memory.block, offset, memory.scope, /*release=*/false);
}

static void addToCells(const ScatterCells &group, Operation *atomic, int64_t member,
                       ArrayRef<int64_t> shape, ScatterMemory memory, CellPlace place) {
  OpBuilder builder(atomic);
  IndexBuilder at(builder, atomic->getLoc());
  Value value, linear = at.index(member);
  ValueRange coordinates;
  if (auto cell = dyn_cast<AtomicOp>(atomic)) {
    value = cell.getValue();
    coordinates = cell.getCoordinates();
    ValueRange components = cell.getComponents();
    if (components.size() == 2)
      linear = at.add(linear, at.multiply(components[0], shape[1]));
    if (!components.empty())
      linear = at.add(linear, components.back());
  } else {
    auto array = cast<memref::AtomicRMWOp>(atomic);
    value = array.getValue();
    coordinates = array.getIndices();
  }
  Value begin = place(at, group, coordinates);
  begin = at.add(begin, at.multiply(linear, group.numberBytes()));
  SmallVector<Value> values{value};
  if (isa<VectorType>(value.getType()))
    values = llvm::to_vector_of<Value>(
        vector::ToElementsOp::create(builder, at.loc, value).getElements());
  for (auto [k, number] : llvm::enumerate(values)) {
    Value offset = at.add(begin, int64_t(k) * group.numberBytes());
    Value old =
        ReadOp::create(builder, at.loc, number.getType(), memory.block, offset, memory.scope,
                       /*acquire=*/false, /*invariant=*/false);
    WriteOp::create(builder, at.loc, combinePlain(builder, at.loc, group.first().kind, old, number),
                    memory.block, offset, memory.scope, /*release=*/false);
  }
  atomic->erase();
}

void metate::addToCells(ArrayRef<ScatterCells> groups, ScatterMemory memory, CellPlace place) {
  for (const ScatterCells &group : groups) {
    int64_t member = 0;
    for (ScatterTarget *target : group.targets) {
      for (Operation *atomic : target->atomics)
        ::addToCells(group, atomic, member, target->member, memory, place);
      member += target->components();
    }
  }
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
    if (target->isArray()) {
      Value old = memref::LoadOp::create(builder, at.loc, value, coordinates);
      memref::StoreOp::create(builder, at.loc, next(old), value, coordinates);
      continue;
    }
    for (int64_t k = 0; k < target->components(); ++k) {
      SmallVector<Value> component;
      if (!target->member.empty())
        for (int64_t index : delinearize(k, computeStrides(target->member)))
          component.push_back(at.index(index));
      Value old =
          LoadOp::create(builder, at.loc, first.scalar, value, path, coordinates, component);
      StoreOp::create(builder, at.loc, next(old), value, path, coordinates, component,
                      /*active=*/true);
    }
  }
}
