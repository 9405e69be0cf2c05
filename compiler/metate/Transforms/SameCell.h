//===- SameCell.h - cells that are active, and gone, together ---*- C++ -*-===//
#ifndef METATE_TRANSFORMS_SAMECELL_H
#define METATE_TRANSFORMS_SAMECELL_H

#include "metate/Transforms/CellAccess.h"

namespace metate {

/// Cells along an axis, inside one of the hash level's if there is one.
inline int64_t cellsAlong(const TreePath &path, unsigned axis) {
  int64_t cells = 1;
  for (LevelInterface level : path.levels)
    for (auto [number, extent] : llvm::zip(levelAxes(level), level.getLevelExtents()))
      if (number == axis && extent != unboundedExtent)
        cells *= extent;
  return cells;
}

/// True if equal coordinates name cells that are active together.
inline bool isSameCell(const TreePath &a, const TreePath &b) {
  // Below a hash level the extents of the paths do not say how large its cells are.
  return a.axes == b.axes && activityLevels(a) == activityLevels(b) &&
         llvm::all_of(a.axes,
                      [&](unsigned axis) { return cellsAlong(a, axis) == cellsAlong(b, axis); });
}

/// Is the operation at the own cell of the loop over cells around it? That one is active already.
inline bool isAtOwnCell(CellOpInterface cell) {
  auto loop = cell->getParentOfType<ForEachOp>();
  return loop && cell.namesCell() && loop.getTree() == cell.getTree() &&
         llvm::equal(loop.getBody().getArguments(), cell.getCellCoordinates()) &&
         isSameCell(*findPath(llvm::cast<TreeType>(loop.getTree().getType()), loop.getPath()),
                    CellAccess::from(cell).resolve());
}

/// Is the path's cell gone when the cell of the other path around it is deactivated?
inline bool isBelow(const TreePath &path, const TreePath &other) {
  llvm::ArrayRef<LevelInterface> gone = activityLevels(other);
  return path.levels.size() >= gone.size() &&
         llvm::ArrayRef(path.levels).take_front(gone.size()) == gone;
}

} // namespace metate

#endif
