//===- BinScatters.cpp - scatters to grids, block by block ------*- C++ -*-===//
//
// Particles add to a grid that is too large for copies. Iterations are put in the order of blocks of the grid (a counting sort in planned
// memory); those of a block add, without atomics, to a tile of the block and what is around it, which then goes to the grid. Slabs of blocks
// that are not neighbours go side by side: first the even ones, then the odd ones. The order of additions depends on the iterations alone.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Graph.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/LaneValues.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/ScatterBases.h"
#include "metate/Transforms/ScatterCells.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

namespace metate {
#define GEN_PASS_DEF_BINSCATTERS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Parts of the iterations that are sorted side by side.
constexpr int64_t parts = 16;

/// Bytes that an iteration reads at its own places: so many are put in order, too.
constexpr int64_t mostRecorded = 256;

/// Cells of the grid for an iteration, at most: tiles cost about one addition for each of their cells.
constexpr int64_t mostCells = 8;

/// Operations of a loop that will be there twice.
constexpr size_t mostOperations = 4000;

/// Where an axis of the grid is cut.
struct Axis {
  ScatterBase base;
  int64_t extent, block;

  int64_t tile() const { return block + base.span(); }
  /// Iterations around an edge of the grid belong to a block too.
  int64_t blocks() const { return llvm::divideCeil(extent + base.span(), block); }
};

class Bins {
public:
  Bins(RangeOp range, const ScatterCells &cells, ArrayRef<ScatterBase> bases, int64_t lower,
       int64_t count)
      : range(range), builder(range), at(builder, range.getLoc()), cells(cells), lower(lower),
        count(count) {
    static constexpr int64_t blockOf[] = {1024, 32, 8};
    size_t rank = bases.size();
    for (auto [base, extent] : llvm::zip(bases, cells.first().extents))
      axes.push_back({base, extent, blockOf[std::min<size_t>(rank, 3) - 1]});
    if (rank > 1)
      axes[0].block /= 2; // slabs are what workers share
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
    if (recordBytes > mostRecorded)
      reads.clear(), recordBytes = 0;
  }

  int64_t blocks() const {
    int64_t number = 1;
    for (const Axis &axis : axes)
      number *= axis.blocks();
    return number;
  }
  int64_t tileCells() const {
    int64_t number = 1;
    for (const Axis &axis : axes)
      number *= axis.tile();
    return number;
  }
  bool fits() const {
    return llvm::all_of(axes, [](const Axis &axis) { return axis.base.span() <= axis.block; });
  }
  /// Of the order: a record, a block and a place for each iteration, a counter for each part and block, and where blocks begin.
  int64_t orderBytes() const { return begins() + 4 * (blocks() + 1); }

  void build();

private:
  /// What an iteration reads first, in its record.
  struct Read {
    Operation *op;
    int64_t offset, bytes;
  };

  // The parts of the pool, in bytes.
  int64_t blockNumbers() const { return recordBytes * count; }
  int64_t ordered() const { return blockNumbers() + 4 * count; }
  int64_t counters() const { return ordered() + 4 * count; }
  int64_t begins() const { return counters() + 4 * parts * blocks(); }

  int64_t scope() const { return range->getParentOfType<KernelOp>().getBody().getNumArguments(); }
  Value pool(StringRef name, PoolKind kind, int64_t bytes) {
    return PoolOp::create(builder, at.loc, BlockType::get(builder.getContext()), name, kind, bytes,
                          /*align=*/64, /*scale=*/0, ValueRange(), IntegerAttr());
  }
  Value orderPool() { return pool("scatter_order", PoolKind::Launch, orderBytes()); }

  /// A number of the order.
  Value read(Value block, int64_t part, Value index) {
    Value offset = at.add(at.multiply(index, 4), part);
    return at.toIndex(ReadOp::create(builder, at.loc, builder.getI32Type(), block, offset, scope(),
                                     /*acquire=*/false, /*invariant=*/false));
  }
  void write(Value number, Value block, int64_t part, Value index) {
    Value offset = at.add(at.multiply(index, 4), part);
    WriteOp::create(builder, at.loc, at.toInteger(number, 32), block, offset, scope(),
                    /*release=*/false);
  }

  RangeOp task(int64_t iterations) {
    auto made = RangeOp::create(builder, at.loc, at.index(0), at.index(iterations));
    builder.setInsertionPointToStart(&made.getBody().front());
    return made;
  }
  Value enter(Value from, Value to) {
    auto loop = scf::ForOp::create(builder, at.loc, from, to, at.index(1));
    builder.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  Value blockOf(Value iteration);
  void countParts();
  void sumUp();
  void placeParts();
  void scatter(int64_t first);
  void runBlock(RangeOp made, Value order, Value tile, Value from, Value to,
                ArrayRef<Value> origins);
  void gather(Value iteration, Value order, Value record);
  Value recorded(const Read &read, Value order, Value record);
  void empty(Value tile, Value isUsed, ArrayRef<Value> origins);

  Value recordOf(Value place) { return at.multiply(place, recordBytes); }

  /// Where the tile begins along an axis.
  Value originOf(const Axis &axis, Value block) {
    return at.subtract(at.multiply(block, axis.block), at.index(axis.base.span()));
  }

  RangeOp range;
  OpBuilder builder;
  IndexBuilder at;
  const ScatterCells &cells;
  SmallVector<Axis> axes;
  int64_t lower, count;
  SmallVector<Read> reads;
  int64_t recordBytes = 0;
};

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
  Value part = task(parts).getBody().getArgument(0), order = orderPool();
  Value first = at.multiply(part, blocks());
  {
    OpBuilder::InsertionGuard inner(builder);
    Value block = enter(at.index(0), at.index(blocks()));
    write(at.index(0), order, counters(), at.add(first, block));
  }
  Value iteration = enter(at.divide(at.multiply(part, count), parts),
                          at.divide(at.multiply(at.add(part, 1), count), parts));
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
  write(at.index(count), order, begins(), at.index(blocks()));
  builder.setInsertionPointToStart(outer.getBody());
  write(outer.getRegionIterArg(0), order, begins(), outer.getInductionVar());
  auto inner = scf::ForOp::create(builder, at.loc, zero, at.index(parts), at.index(1),
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
  Value part = task(parts).getBody().getArgument(0), order = orderPool();
  Value first = at.multiply(part, blocks());
  Value iteration = enter(at.divide(at.multiply(part, count), parts),
                          at.divide(at.multiply(at.add(part, 1), count), parts));
  Value counter = at.add(first, read(order, blockNumbers(), iteration));
  Value place = read(order, counters(), counter);
  write(iteration, order, ordered(), place);
  gather(at.add(iteration, lower), order, recordOf(place));
  write(at.add(place, 1), order, counters(), counter);
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

/// Every second slab of blocks, from `first` on.
void Bins::scatter(int64_t first) {
  OpBuilder::InsertionGuard guard(builder);
  int64_t slabs = axes[0].blocks(), rest = blocks() / slabs;
  RangeOp made = task((slabs - first + 1) / 2);
  Value slab = at.add(at.multiply(made.getBody().getArgument(0), 2), first);
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

void Bins::build() {
  countParts();
  sumUp();
  placeParts();
  for (int64_t first : {0, 1})
    if (first < axes[0].blocks() && !(first == 1 && isMutant(Mutant::OddSlabsLost)))
      scatter(first);
}

struct BinScatters : metate::impl::BinScattersBase<BinScatters> {
  using BinScattersBase::BinScattersBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    // A graph plans no memory for its kernels.
    if (mostBytes == 0 || kernel.getDebug() || kernel.getMayAlias() || isNode(kernel))
      return;
    for (RangeOp range : llvm::make_early_inc_range(kernel.getBody().front().getOps<RangeOp>()))
      if (!range->hasAttr(mark::rest))
        visit(range);
  }

private:
  void visit(RangeOp range) {
    if (scatterTargets(range, /*tell=*/false).empty())
      return;
    readOnce(range);
    SmallVector<ScatterTarget> targets = scatterTargets(range, /*tell=*/false);
    SmallVector<ScatterCells, 2> groups = groupCells(targets);
    std::optional<int64_t> lower = getConstantIntValue(range.getLower()[0]),
                           upper = getConstantIntValue(range.getUpper()[0]);
    if (groups.size() != 1 || range.getLower().size() != 1 || !lower || !upper)
      return decline(range,
                     "targets of one shape, kind and type, and a range of one dimension that "
                     "is known when compiling, are expected");
    const ScatterCells &cells = groups.front();
    if (ShapedType::isDynamicShape(cells.first().extents))
      return decline(range, "the size of what it adds to is known at launch only");
    int64_t count = *upper - *lower, size = llvm::product_of(cells.first().extents);
    if (cells.addsOfIteration(range) < leastNumbers || count < least || count * mostCells < size)
      return decline(range, "the loop adds too little");
    if (StringRef problem = problemOf(range, cells); !problem.empty())
      return decline(range, problem);
    std::optional<SmallVector<ScatterBase>> bases = basesOf(range, targets);
    if (!bases)
      return decline(range, "an iteration's places are not around one that is computed from what "
                            "the loop does not write");
    Bins bins(range, cells, *bases, *lower, count);
    if (!bins.fits() || bins.orderBytes() > mostBytes || count > INT32_MAX)
      return decline(range, "the memory for it would be too large");
    if (auto remark = remarkDone(range, "bin-scatters", "atomics"))
      remark << "iterations are put in the order of " << Number("blocks", bins.blocks())
             << " blocks of what they add to; those of one add to a tile of "
             << Number("cells", bins.tileCells()) << " cells, without atomic operations";
    bins.build();
    range.erase();
    ++binned;
  }

  static StringRef problemOf(RangeOp range, const ScatterCells &cells) {
    size_t operations = 0, atomics = 0, known = 0;
    bool stops = false;
    range.walk([&](Operation *op) {
      ++operations;
      atomics += isa<AtomicOp, memref::AtomicRMWOp>(op);
      stops |= metate::mayStop(op);
    });
    for (ScatterTarget *target : cells.targets)
      known += target->atomics.size();
    if (stops)
      return "a check in the loop may stop the kernel, and what was added before must not be lost";
    if (atomics != known)
      return "there are other atomic operations in the loop, too";
    return operations > mostOperations ? "the loop is too long to be there twice" : "";
  }

  static void decline(RangeOp range, StringRef problem) {
    remarkDeclined(range, "bin-scatters", "atomics")
        << "iterations are not put in the order of where they add: " << problem;
  }
};
} // namespace
