//===- PlaceCounts.h - places that are known before a loop runs -*- C++ -*-===//
//
// A loop's iterations, in parts: each part counts how many places it will take of each list; each list then gives all parts their places, side by
// side and in the order of the iterations; and the parts run, without atomics. Must not know whether that pays.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_PLACECOUNTS_H
#define METATE_TRANSFORMS_PLACECOUNTS_H

#include "metate/Level/IndexBuilder.h"
#include "metate/Transforms/TakenPlaces.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace metate {

class PlaceCounts {
public:
  /// `turns`: how often an iteration takes a place, as far as that is known. Fewer places than `least` are not worth it.
  PlaceCounts(RangeOp range, llvm::ArrayRef<TakenPlaces> targets, const PlaceSlice &slice,
              int64_t turns, int64_t least);

  /// Lists of all targets.
  int64_t lists() const { return allLists; }
  /// Of the planned memory: counters of each part, and where full lists end.
  int64_t bytes() const { return endsOf(targets.size()); }
  /// Is it known that the loop takes too few places, or enough?
  bool isTooShort() const { return places && !isWorth(*places); }

  void build();

private:
  /// Parts that run side by side, at most.
  static constexpr int64_t mostParts = 16;
  /// Places for each list, at least: a list costs about as much as so many places for each part.
  static constexpr int64_t leastOfList = 2;

  bool isWorth(int64_t number) const {
    return number >= std::max(least, leastOfList * allLists) && number >= 1;
  }
  int64_t leastPlaces() const { return std::max({least, leastOfList * allLists, int64_t(1)}); }

  // The pool, in bytes.
  int64_t rowBytes() const { return 4 * row; }
  int64_t endsOf(size_t target) const;
  int64_t startOf(size_t target) const;

  mlir::Value pool() {
    return PoolOp::create(builder, at.loc, BlockType::get(builder.getContext()), "place_counts",
                          PoolKind::Launch, bytes(), /*align=*/64, /*scale=*/0, mlir::ValueRange(),
                          mlir::IntegerAttr());
  }
  int64_t scope() const { return range->getParentOfType<KernelOp>().getBody().getNumArguments(); }
  mlir::Value read(mlir::Value block, mlir::Value offset) {
    return ReadOp::create(builder, at.loc, builder.getI32Type(), block, offset, scope(),
                          /*acquire=*/false, /*invariant=*/false);
  }
  void write(mlir::Value number, mlir::Value block, mlir::Value offset) {
    WriteOp::create(builder, at.loc, number, block, offset, scope(), /*release=*/false);
  }

  void findParts();
  RangeOp task(llvm::ArrayRef<mlir::Value> upper);
  mlir::Value enter(mlir::Value from, mlir::Value to);
  void enterPart(mlir::Value part, mlir::IRMapping &mapping);
  mlir::Value linearOf(const TakenPlaces &target, mlir::ValueRange coordinates);
  mlir::Value insideOf(const TakenPlaces &target, mlir::ValueRange coordinates);
  void countParts();
  void giveLists(size_t number);
  mlir::Value reserve(const TakenPlaces &target, mlir::ValueRange coordinates, mlir::Value total,
                      mlir::Value block, mlir::Value end);
  void runParts();
  void count(mlir::Operation *site, size_t number, mlir::Value block, mlir::Value row);
  void take(mlir::Operation *site, size_t number, mlir::Value block, mlir::Value row);

  RangeOp range;
  mlir::OpBuilder builder;
  IndexBuilder at;
  llvm::SmallVector<TakenPlaces> targets;
  const PlaceSlice &slice;
  int64_t turns, least, allLists = 0, row = 0;
  std::optional<int64_t> places; ///< that the loop takes at most, where it is known
  mlir::Value parts,
      worth; ///< how many there are; whether there are any, where only the launch knows
};

} // namespace metate

#endif
