//===- Levels.h - how each kind of level is walked --------------*- C++ -*-===//
//
// One LevelLowering per kind, in a file of its own; this list is the only place that knows them
// all. A level turns "container and cell index" into the byte offset of the cell, tells whether the
// cell is active, and activates it. It must not know paths, members or passes.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_LEVEL_LEVELS_H
#define METATE_LEVEL_LEVELS_H

#include "metate/Level/ByteBuilder.h"

namespace metate {

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

  /// The cell with linear index `linear` of the container at byte offset `container`. Where
  /// `inside` (i1, may be null) is false the cell is inactive. `concurrent`: other workers may
  /// activate cells meanwhile.
  virtual Cell locate(ByteBuilder &bytes, const layout::Node &node, mlir::Value container,
                      mlir::Value linear, mlir::Value inside, bool concurrent) const = 0;

  /// Makes the cell active; `coordinates` are its own, one per axis of node.pathAxes, in this
  /// level's units.
  virtual Cell activate(ByteBuilder &bytes, const layout::Node &node, mlir::Value container,
                        mlir::Value linear, mlir::ValueRange coordinates) const = 0;
};

/// The lowering of a level kind (metate_level_kind).
const LevelLowering &levelLowering(uint32_t kind);

/// Writes background into all members of one cell of `node` at `offset`, and 0 into all links.
void fillBackground(ByteBuilder &bytes, const layout::TreeLayout &layout, unsigned node,
                    mlir::Value offset);

/// The background value of a place, as a constant.
mlir::Value backgroundValue(ByteBuilder &bytes, PlaceAttr place);

} // namespace metate

#endif
