//===- Levels.h - how each kind of level is walked --------------*- C++ -*-===//
//
// One LevelLowering per kind, in a file of its own; Levels.def is the only place that knows them
// all. A level turns "container and cell index" into the byte offset of the cell, tells whether the
// cell is active, and activates it. Other functions a level may or may not have: LevelInterface says which.
// It must not know paths, members or passes.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_LEVEL_LEVELS_H
#define METATE_LEVEL_LEVELS_H

#include "metate/Level/ByteBuilder.h"

namespace metate {

/// Which cell of a level is meant.
struct CellQuery {
  mlir::Value container; ///< byte offset of the level's container
  mlir::Value linear;    ///< index of the cell in it; 0 of a level without bounds
  /// The cell's coordinates, one per axis of node.pathAxes, in this level's units.
  llvm::function_ref<llvm::SmallVector<mlir::Value>()> coordinates = {};
  /// i1, may be null: where false the cell is inactive, and `linear` means nothing.
  mlir::Value inside = {};
  bool concurrent = false; ///< other workers may change which cells are active meanwhile
  bool entry = false;      ///< activity as it was when the task began
  bool unlinked = false;   ///< other workers may take links away meanwhile
};

/// Where a cell is.
struct Cell {
  mlir::Value offset; ///< byte offset of the cell in the block
  mlir::Value active; ///< i1; null if the cell is always there
  /// The cell's memory may be touched only where `active` holds: no ambient slot stands in.
  bool mustBranch = false;
};

class LevelLowering {
public:
  virtual ~LevelLowering() = default;

  virtual Cell locate(ByteBuilder &bytes, const layout::Node &node,
                      const CellQuery &query) const = 0;

  /// Makes the cell active.
  virtual Cell activate(ByteBuilder &bytes, const layout::Node &node,
                        const CellQuery &query) const = 0;

  /// Makes an active cell inactive (of a list: all of its cells). Of levels with activity.
  virtual void deactivate(ByteBuilder &bytes, const layout::Node &node,
                          const CellQuery &query) const;

  /// i32: the bits from the cell's on, as far as its word goes. Of levels with a mask.
  virtual mlir::Value bitsFrom(ByteBuilder &bytes, const layout::Node &node,
                               const CellQuery &query) const;

  /// i32: cells of the list in `query.container`. Of lists.
  virtual mlir::Value length(ByteBuilder &bytes, const layout::Node &node,
                             const CellQuery &query) const;

  /// i32: the index of a new last cell, -1 if there is none. Of lists.
  virtual mlir::Value append(ByteBuilder &bytes, const layout::Node &node,
                             const CellQuery &query) const;
};

/// Each level's file gives its own.
#define METATE_LEVEL(Name) const LevelLowering &get##Name##Lowering();
#include "metate/Level/Levels.def"

/// The lowering of a level kind (metate_level_kind).
const LevelLowering &levelLowering(uint32_t kind);

/// The background value of a place, as a constant.
mlir::Value backgroundValue(ByteBuilder &bytes, PlaceAttr place);

} // namespace metate

#endif
