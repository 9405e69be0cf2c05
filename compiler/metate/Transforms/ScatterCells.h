//===- ScatterCells.h - a loop's targets, cell by cell ----------*- C++ -*-===//
//
// Memory of a loop's own in which it accumulates, instead of in its targets: how it lies there, how it begins, how the loop adds to it, and how
// it comes back. Must not know whose memory that is, nor how much of the targets it stands for.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_SCATTERCELLS_H
#define METATE_TRANSFORMS_SCATTERCELLS_H

#include "metate/Level/IndexBuilder.h"
#include "metate/Transforms/ScatterTargets.h"

namespace metate {

/// So many numbers of a cell are added to at once.
inline constexpr int64_t cellLanes = 4;

/// Targets of one shape, kind and type: in the loop's memory their numbers stand cell by cell.
struct ScatterCells {
  llvm::SmallVector<ScatterTarget *> targets;
  int64_t width = 0; ///< numbers in a cell
  /// With one that is nobody's, where a vector is whole with it.
  int64_t padded() const { return width % cellLanes == cellLanes - 1 ? width + 1 : width; }

  const ScatterTarget &first() const { return *targets.front(); }
  int64_t numberBytes() const { return first().scalar.getIntOrFloatBitWidth() / 8; }
  int64_t bytes() const { return padded() * numberBytes(); }
  size_t rank() const { return first().extents.size(); }
  bool takes(const ScatterTarget &target) const;

  /// How many numbers all atomics on them add in an iteration of the range, as far as its loops' turns are known.
  int64_t addsOfIteration(RangeOp range) const;
};

/// The targets in as few groups as there can be.
llvm::SmallVector<ScatterCells, 2> groupCells(llvm::MutableArrayRef<ScatterTarget> targets);

/// A loop's own memory: a pool, and the alias scope of what lies there.
struct ScatterMemory {
  mlir::Value block;
  int64_t scope;
  /// Additions are kept together, as atomic operations: lanes do them one after the other. They are plain once there are lanes.
  bool isForLanes = false;
};

/// `count` cells from that byte on change nothing when they are combined with something.
void fillCells(IndexBuilder &at, const ScatterCells &group, ScatterMemory memory, mlir::Value begin,
               mlir::Value count);

/// Where the cell at some coordinates begins, in bytes.
using CellPlace = llvm::function_ref<mlir::Value(IndexBuilder &, mlir::ValueRange)>;

/// The atomics on the group's targets become plain reads and writes of the memory: one of a vector for those that follow each other in a cell.
/// What stands around them says with metate.side_by_side that these are vectors of the machine, and has taken apart its own (takeVectorsApart).
void addToCells(const ScatterCells &group, ScatterMemory memory, CellPlace place);

/// The targets' cell at those coordinates is combined with the one that begins at `begin`.
void combineCell(IndexBuilder &at, const ScatterCells &group, ScatterMemory memory,
                 mlir::Value begin, mlir::ValueRange coordinates);

} // namespace metate

#endif
