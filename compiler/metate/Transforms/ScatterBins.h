//===- ScatterBins.h - iterations by blocks of a grid -----------*- C++ -*-===//
//
// Iterations are put in the order of blocks of the grid (a counting sort in planned memory); those of a block add, without atomics, to a tile of
// the block and what is around it, which then goes to the grid. Slabs of blocks that are not neighbours go side by side: first the even ones,
// then the odd ones. The order of additions depends on the iterations alone. Must not know whether that pays.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_SCATTERBINS_H
#define METATE_TRANSFORMS_SCATTERBINS_H

#include "metate/Transforms/ScatterBases.h"
#include "metate/Transforms/ScatterCells.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate {

/// Parts of the iterations that are sorted side by side.
inline constexpr int64_t sortedParts = 16;

/// Bytes that an iteration reads at its own places: so many are put in order, too.
inline constexpr int64_t mostRecorded = 256;

/// Records that are written around the caches: a worker gathers so many before it writes them.
inline constexpr int64_t recordsAtOnce = 8, recordLineBytes = 64;

/// Where an axis of the grid is cut.
struct Axis {
  ScatterBase base;
  int64_t extent, block;
  /// Does a worker take every second block along it? Then their number is odd.
  bool isOfSlabs = false;

  int64_t tile() const { return block + base.span(); }
  /// Iterations around an edge of the grid belong to a block too.
  int64_t blocks() const {
    int64_t number = llvm::divideCeil(extent + base.span(), block);
    return isOfSlabs ? number | 1 : number;
  }
};

class Bins {
public:
  Bins(RangeOp range, const ScatterCells &cells, llvm::ArrayRef<ScatterBase> bases, int64_t lower,
       int64_t count, int64_t streamed);

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

  /// Are records whole lines that are written around the caches?
  bool isStreamed() const {
    return streamed >= 0 && recordBytes >= recordLineBytes && recordBytes * count >= streamed;
  }

  void build();

private:
  /// What an iteration reads first, in its record.
  struct Read {
    mlir::Operation *op;
    int64_t offset, bytes;
  };

  // The parts of the pool, in bytes.
  int64_t blockNumbers() const { return recordBytes * count; }
  int64_t ordered() const { return blockNumbers() + 4 * count; }
  int64_t counters() const { return ordered() + (isOrdered ? 4 * count : 0); }
  int64_t begins() const { return counters() + 4 * sortedParts * blocks(); }

  int64_t scope() const { return range->getParentOfType<KernelOp>().getBody().getNumArguments(); }
  mlir::Value pool(llvm::StringRef name, PoolKind kind, int64_t bytes) {
    return PoolOp::create(builder, at.loc, BlockType::get(builder.getContext()), name, kind, bytes,
                          /*align=*/64, /*scale=*/0, mlir::ValueRange(), mlir::IntegerAttr());
  }
  mlir::Value orderPool() { return pool("scatter_order", PoolKind::Launch, orderBytes()); }

  /// A number of the order.
  mlir::Value read(mlir::Value block, int64_t part, mlir::Value index) {
    mlir::Value offset = at.add(at.multiply(index, 4), part);
    return at.toIndex(ReadOp::create(builder, at.loc, builder.getI32Type(), block, offset, scope(),
                                     /*acquire=*/false, /*invariant=*/false));
  }
  void write(mlir::Value number, mlir::Value block, int64_t part, mlir::Value index) {
    mlir::Value offset = at.add(at.multiply(index, 4), part);
    WriteOp::create(builder, at.loc, at.toInteger(number, 32), block, offset, scope(),
                    /*release=*/false);
  }

  RangeOp task(int64_t iterations) { return task(0, iterations); }
  RangeOp task(int64_t from, int64_t to) {
    auto made = RangeOp::create(builder, at.loc, at.index(from), at.index(to));
    builder.setInsertionPointToStart(&made.getBody().front());
    return made;
  }
  mlir::Value enter(mlir::Value from, mlir::Value to, int64_t step = 1) {
    auto loop = mlir::scf::ForOp::create(builder, at.loc, from, to, at.index(step));
    builder.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  mlir::Value blockOf(mlir::Value iteration);
  void countParts();
  void sumUp();
  void placeParts();
  void lengthenRows();
  bool needsIteration();
  mlir::Value placeOf(mlir::Value iteration, mlir::Value order, mlir::Value first);
  void placeAround(RangeOp made, mlir::Value order, mlir::Value first, mlir::Value from,
                   mlir::Value to);
  void scatter(int64_t fromTurn, int64_t toTurn);
  void runBlock(RangeOp made, mlir::Value order, mlir::Value tile, mlir::Value from, mlir::Value to,
                llvm::ArrayRef<mlir::Value> origins);
  void gather(mlir::Value iteration, mlir::Value order, mlir::Value record);
  mlir::Value recorded(const Read &read, mlir::Value order, mlir::Value record);
  void empty(mlir::Value tile, mlir::Value isUsed, llvm::ArrayRef<mlir::Value> origins);

  mlir::Value recordOf(mlir::Value place) { return at.multiply(place, recordBytes); }

  /// Where the tile begins along an axis.
  mlir::Value originOf(const Axis &axis, mlir::Value block) {
    return at.subtract(at.multiply(block, axis.block), at.index(axis.base.span()));
  }

  /// How many iterations there are in this launch: `count` at most.
  mlir::Value iterations();
  /// Where a part of them begins.
  mlir::Value beginOf(mlir::Value part) { return at.divide(at.multiply(part, total), sortedParts); }

  RangeOp range;
  mlir::OpBuilder builder;
  IndexBuilder at;
  const ScatterCells &cells;
  llvm::SmallVector<Axis> axes;
  int64_t lower, count, streamed; ///< `count`: of iterations, at most
  mlir::Value total;              ///< of iterations
  llvm::SmallVector<Read> reads;
  int64_t recordBytes = 0;
  bool isOrdered = true; ///< is the order's iteration asked for, besides its record?
};

} // namespace metate

#endif
