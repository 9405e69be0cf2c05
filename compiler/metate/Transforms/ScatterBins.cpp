//===- ScatterBins.cpp - iterations by blocks of a grid ---------*- C++ -*-===//
#include "metate/Transforms/ScatterBins.h"

#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LaneValues.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace metate;

/// Of a worker's tile.
static constexpr int64_t mostTileBytes = 64 << 10;

Bins::Bins(RangeOp range, const ScatterCells &cells, ArrayRef<ScatterBase> bases, int64_t lower,
           int64_t count, int64_t streamed)
    : range(range), builder(range), at(builder, range.getLoc()), cells(cells), lower(lower),
      count(count), streamed(streamed) {
  static constexpr int64_t blockOf[] = {1024, 32, 8};
  size_t rank = bases.size();
  for (auto [base, extent] : llvm::zip(bases, cells.first().extents))
    axes.push_back({base, extent, blockOf[std::min<size_t>(rank, 3) - 1],
                    /*isOfSlabs=*/axes.empty()});
  if (rank > 1)
    axes[0].block /= 2; // slabs are what workers share
  lengthenRows();
  for (Operation *read : readsOfIteration(range)) {
    Type type = read->getResult(0).getType();
    auto vector = dyn_cast<VectorType>(type);
    int64_t bytes = llvm::divideCeil(getElementTypeOrSelf(type).getIntOrFloatBitWidth(), 8);
    recordBytes = llvm::alignTo(recordBytes, bytes);
    reads.push_back({read, recordBytes, bytes});
    recordBytes += bytes * (vector ? vector.getNumElements() : 1);
  }
  // Of a power of two, so that a record of some lines begins with one.
  recordBytes = recordBytes == 0 ? 0 : llvm::PowerOf2Ceil(recordBytes);
  if (recordBytes > mostRecorded) {
    reads.clear();
    recordBytes = 0;
  }
  isOrdered = needsIteration();
}

/// A tile is as long along the last axis as a small core's second-level cache allows: long rows are added to the grid as vectors, by lines that the
/// machine fetches ahead.
void Bins::lengthenRows() {
  Axis &last = axes.back();
  while (axes.size() > 1 && last.block < last.extent) {
    last.block *= 2;
    if (tileCells() * cells.bytes() > mostTileBytes) {
      last.block /= 2;
      return;
    }
  }
}

/// Does the body ask for more of its iteration than what is recorded of it?
bool Bins::needsIteration() {
  auto isRecorded = [&](Operation *op) {
    return llvm::any_of(reads, [&](const Read &read) { return read.op == op; });
  };
  return !llvm::all_of(range.getBody().getArgument(0).getUsers(), isRecorded);
}

/// The number of the block around which the iteration adds. One that adds nowhere may be in any.
Value Bins::blockOf(Value iteration) {
  SmallVector<ScatterBase> bases;
  for (const Axis &axis : axes)
    bases.push_back(axis.base);
  Value number = at.index(0);
  for (auto [axis, base] :
       llvm::zip(axes, computeBases(builder, range, bases, at.add(iteration, lower)))) {
    Value last = at.index(axis.extent - 1 + axis.base.span());
    Value place = at.least(at.greatest(at.add(base, axis.base.most), at.index(0)), last);
    number = at.add(at.multiply(number, axis.blocks()), at.divide(place, axis.block));
  }
  return number;
}

/// For each part of the iterations, how many are of each block.
void Bins::countParts() {
  OpBuilder::InsertionGuard guard(builder);
  Value part = task(sortedParts).getBody().getArgument(0), order = orderPool();
  Value first = at.multiply(part, blocks());
  {
    OpBuilder::InsertionGuard inner(builder);
    Value block = enter(at.index(0), at.index(blocks()));
    write(at.index(0), order, counters(), at.add(first, block));
  }
  Value iteration = enter(beginOf(part), beginOf(at.add(part, 1)));
  Value block = blockOf(iteration);
  write(block, order, blockNumbers(), iteration);
  Value counter = at.add(first, block);
  write(at.add(read(order, counters(), counter), 1), order, counters(), counter);
}

/// Counts become places: block by block, in a block part by part.
void Bins::sumUp() {
  OpBuilder::InsertionGuard guard(builder);
  task(1);
  Value order = orderPool(), zero = at.index(0);
  auto outer = scf::ForOp::create(builder, at.loc, zero, at.index(blocks()), at.index(1), zero);
  write(total, order, begins(), at.index(blocks()));
  builder.setInsertionPointToStart(outer.getBody());
  write(outer.getRegionIterArg(0), order, begins(), outer.getInductionVar());
  auto inner = scf::ForOp::create(builder, at.loc, zero, at.index(sortedParts), at.index(1),
                                  outer.getRegionIterArg(0));
  scf::YieldOp::create(builder, at.loc, inner.getResults());
  builder.setInsertionPointToStart(inner.getBody());
  Value place = inner.getRegionIterArg(0);
  Value counter = at.add(at.multiply(inner.getInductionVar(), blocks()), outer.getInductionVar());
  Value number = read(order, counters(), counter);
  write(place, order, counters(), counter);
  scf::YieldOp::create(builder, at.loc, at.add(place, number));
}

void Bins::placeParts() {
  OpBuilder::InsertionGuard guard(builder);
  RangeOp made = task(sortedParts);
  Value part = made.getBody().getArgument(0), order = orderPool();
  Value first = at.multiply(part, blocks());
  Value from = beginOf(part), to = beginOf(at.add(part, 1));
  if (isStreamed())
    return placeAround(made, order, first, from, to);
  Value iteration = enter(from, to);
  gather(at.add(iteration, lower), order, recordOf(placeOf(iteration, order, first)));
}

/// Takes a place of the iteration's block.
Value Bins::placeOf(Value iteration, Value order, Value first) {
  Value counter = at.add(first, read(order, blockNumbers(), iteration));
  Value place = read(order, counters(), counter);
  if (isOrdered)
    write(iteration, order, ordered(), place);
  write(at.add(place, 1), order, counters(), counter);
  return place;
}

/// Each record lies in other lines than the one before: as many stores as a record has numbers wait for a line that is not in the cache. Some
/// records are gathered where it is, and then written line by line; nobody reads what was there.
void Bins::placeAround(RangeOp made, Value order, Value first, Value from, Value to) {
  Value batch = pool("scatter_batch", PoolKind::Worker, recordsAtOnce * recordBytes);
  Value begin = enter(from, to, recordsAtOnce);
  // So few turns that no vectors are made of them, which would have to take records apart.
  Value number = at.least(at.subtract(to, begin), at.index(recordsAtOnce));
  {
    OpBuilder::InsertionGuard guard(builder);
    Value k = enter(at.index(0), number);
    gather(at.add(at.add(begin, k), lower), batch, recordOf(k));
  }
  takeVectorsApart(made);
  setMark(made, mark::sideBySide);
  Value k = enter(at.index(0), number);
  Value here = recordOf(isMutant(Mutant::FirstRecordAgain) ? at.index(0) : k),
        there = recordOf(placeOf(at.add(begin, k), order, first));
  auto line = VectorType::get(recordLineBytes / 4, builder.getI32Type());
  for (int64_t byte = 0; byte < recordBytes; byte += recordLineBytes) {
    Value read = ReadOp::create(builder, at.loc, line, batch, at.add(here, byte), scope(),
                                /*acquire=*/false, /*invariant=*/false);
    auto write = WriteOp::create(builder, at.loc, read, order, at.add(there, byte), scope(),
                                 /*release=*/false);
    setMark(write, mark::nontemporal);
  }
}

/// What the iteration reads goes to its record.
void Bins::gather(Value iteration, Value order, Value record) {
  IRMapping mapping;
  mapping.map(range.getBody().getArgument(0), iteration);
  for (const Read &read : reads) {
    Value value = builder.clone(*read.op, mapping)->getResult(0);
    SmallVector<Value> numbers{value};
    if (isa<VectorType>(value.getType()))
      numbers = llvm::to_vector_of<Value>(
          vector::ToElementsOp::create(builder, at.loc, value).getElements());
    for (auto [k, number] : llvm::enumerate(numbers))
      WriteOp::create(builder, at.loc, number, order,
                      at.add(record, read.offset + int64_t(k) * read.bytes), scope(),
                      /*release=*/false);
  }
}

Value Bins::recorded(const Read &read, Value order, Value record) {
  Type type = read.op->getResult(0).getType();
  auto vector = dyn_cast<VectorType>(type);
  SmallVector<Value> numbers;
  for (int64_t k = 0; k < (vector ? vector.getNumElements() : 1); ++k)
    numbers.push_back(ReadOp::create(builder, at.loc, getElementTypeOrSelf(type), order,
                                     at.add(record, read.offset + k * read.bytes), scope(),
                                     /*acquire=*/false, /*invariant=*/false));
  return vector ? vector::FromElementsOp::create(builder, at.loc, vector, numbers)
                : numbers.front();
}

/// The loop's body, for the iterations of a block, with the tile in place of the targets.
void Bins::runBlock(RangeOp made, Value order, Value tile, Value from, Value to,
                    ArrayRef<Value> origins) {
  OpBuilder::InsertionGuard guard(builder);
  Value place = enter(from, to);
  IRMapping mapping;
  if (isOrdered)
    mapping.map(range.getBody().getArgument(0), at.add(read(order, ordered(), place), lower));
  for (const Read &read : reads)
    mapping.map(read.op->getResult(0), recorded(read, order, recordOf(place)));
  for (Operation &op : range.getBody().front().without_terminator())
    if (op.getNumResults() != 1 || !mapping.contains(op.getResult(0)))
      builder.clone(op, mapping);
  SmallVector<ScatterTarget> targets;
  for (ScatterTarget *target : cells.targets) {
    targets.push_back(*target);
    for (Operation *&atomic : targets.back().atomics)
      atomic = mapping.lookup(atomic);
  }
  if (cells.width > 1) {
    takeVectorsApart(made);
    setMark(made, mark::sideBySide);
  }
  SmallVector<ScatterCells, 2> here = groupCells(targets);
  addToCells(here.front(), {tile, scope()}, [&](IndexBuilder &there, ValueRange coordinates) {
    Value cell = there.index(0);
    for (auto [axis, coordinate, origin] : llvm::zip(axes, coordinates, origins))
      cell = there.add(there.multiply(cell, axis.tile()), there.subtract(coordinate, origin));
    return there.multiply(cell, cells.bytes());
  });
}

/// What was added to the tile goes to the targets, where it is of them, and the tile is as before.
void Bins::empty(Value tile, Value isUsed, ArrayRef<Value> origins) {
  OpBuilder::InsertionGuard guard(builder);
  auto used = scf::IfOp::create(builder, at.loc, isUsed, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(used.thenBlock());
  SmallVector<Value> coordinates;
  Value cell = at.index(0);
  for (auto [axis, origin] : llvm::zip(axes, origins)) {
    Value from = at.greatest(origin, at.index(0));
    Value to = at.least(at.add(origin, axis.tile()), at.index(axis.extent));
    coordinates.push_back(enter(from, to));
    cell = at.add(at.multiply(cell, axis.tile()), at.subtract(coordinates.back(), origin));
  }
  Value begin = at.multiply(cell, cells.bytes());
  combineCell(at, cells, {tile, scope()}, begin, coordinates);
  fillCells(at, cells, {tile, scope()}, begin, at.index(1));
}

/// Slabs of blocks by turns: the even ones, then the odd ones. Of an odd number of them turn k is that of slab 2 k modulo the number: one body for both
/// tasks, which is compiled once.
void Bins::scatter(int64_t fromTurn, int64_t toTurn) {
  OpBuilder::InsertionGuard guard(builder);
  int64_t slabs = axes[0].blocks(), rest = blocks() / slabs;
  RangeOp made = task(fromTurn, toTurn);
  setMark(made, mark::oneBody);
  Value slab = at.remainder(at.multiply(made.getBody().getArgument(0), 2), slabs);
  Value order = orderPool();
  Value tile = pool("scatter_tile", PoolKind::Worker, tileCells() * cells.bytes());
  fillCells(at, cells, {tile, scope()}, at.index(0), at.index(tileCells()));
  Value inSlab = enter(at.index(0), at.index(rest));
  Value block = at.add(at.multiply(slab, rest), inSlab);
  SmallVector<Value> origins(axes.size());
  Value number = inSlab;
  for (size_t k = axes.size(); k-- > 1;) {
    origins[k] = originOf(axes[k], at.remainder(number, axes[k].blocks()));
    number = at.divide(number, axes[k].blocks());
  }
  origins[0] = originOf(axes[0], slab);
  Value from = read(order, begins(), block), to = read(order, begins(), at.add(block, 1));
  runBlock(made, order, tile, from, to, origins);
  empty(tile, at.compare(arith::CmpIPredicate::slt, from, to), origins);
}

Value Bins::iterations() {
  Value upper = range.getUpper()[0];
  if (getConstantIntValue(upper))
    return at.index(count);
  Value end = at.least(at.greatest(upper, at.index(lower)), at.index(lower + count));
  return at.subtract(end, at.index(lower));
}

void Bins::build() {
  total = iterations();
  countParts();
  sumUp();
  placeParts();
  int64_t slabs = axes[0].blocks(), even = slabs / 2 + 1;
  scatter(0, even);
  if (even < slabs && !isMutant(Mutant::OddSlabsLost))
    scatter(even, slabs);
}
