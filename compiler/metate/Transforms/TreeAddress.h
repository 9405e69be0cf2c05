//===- TreeAddress.h - from coordinates to bytes ----------------*- C++ -*-===//
//
// Walks a path of a tree with the level lowerings: reading, testing and activating cells, from the
// root or from a slot that is already known.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_TREEADDRESS_H
#define METATE_TRANSFORMS_TREEADDRESS_H

#include "metate/Level/Levels.h"

namespace metate {

/// One path of one tree argument, with the coordinates of one access.
class TreeAddress {
public:
  TreeAddress(ByteBuilder &bytes, const layout::TreeLayout &layout, const TreePath &path,
              llvm::SmallVector<mlir::Value> coordinates, bool concurrent, bool unlinked = false)
      : bytes(bytes), layout(layout), path(path), nodes(layout.nodesOf(path)),
        coordinates(std::move(coordinates)), concurrent(concurrent), unlinked(unlinked) {}

  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value offset)>;
  using Otherwise = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;

  /// Runs `body` with the byte offset of the member (or of the last level's cell). A cell that is
  /// inactive reads its ambient slot; where there is none, `otherwise` gives the results.
  llvm::SmallVector<mlir::Value> read(mlir::TypeRange types, Body body, Otherwise otherwise);

  /// As `read`, for a cell that was activated and is inside: `otherwise` is for one that another worker has
  /// deactivated since.
  llvm::SmallVector<mlir::Value> visitActive(mlir::TypeRange types, Body body, Otherwise otherwise);

  /// Byte offset of the slot of level `depth` (which has a pool); inactive: the ambient slot.
  mlir::Value slotOffset(unsigned depth);

  /// The same of a cell that is active, inside, and nobody's to give up meanwhile.
  mlir::Value activeSlotOffset(unsigned depth);

  /// Byte offset of the member, given its slot of level `depth` and coordinates inside that slot.
  mlir::Value offsetInSlot(unsigned depth, mlir::Value slotOffset);

  /// Of a quant_array's member: which of its word's elements it is.
  mlir::Value elementInWord();

  /// i1; `entry`: as it was when the task began.
  mlir::Value isActive(bool entry);
  /// As isActive for a bitmasked level below the slot: given the slot of level `depth` and coordinates inside of it.
  mlir::Value isActiveInSlot(unsigned depth, mlir::Value slotOffset, bool entry);
  /// i32: bits of the cells from this one on, of the bitmasked level that ends the path, as far as its word
  /// goes; given the slot of level `depth` and coordinates inside of it.
  mlir::Value bitsInSlot(unsigned depth, mlir::Value slotOffset, bool entry);
  /// i1: all levels down to the last whose cells can be inactive, or down to `depth`, are active now.
  mlir::Value activate(int depth);
  mlir::Value activate() { return activate(path.lastActivity()); }
  /// i1: as activate for the levels below a slot that is active: given the slot of level `depth` and coordinates inside of
  /// it.
  mlir::Value activateInSlot(unsigned depth, mlir::Value slotOffset);
  /// Of the cell of the last level whose cells can be inactive.
  void deactivate();
  /// Runs `visit` with the byte offset of the container that the path's last level is, where its cell above is there; else not, or
  /// with that of the ambient slot.
  void visitContainer(llvm::function_ref<void(mlir::Value)> visit);
  /// Of a dynamic level's path, whatever the coordinate along it: the list's length, and the index of a new last
  /// cell (-1: none). i32.
  mlir::Value length();
  mlir::Value append();
  /// Counts the slots down to the last pool of the path, or of one more cell of its list, that are not there:
  /// `counts` is the address of the counts, index.
  void reserve(mlir::Value counts, int64_t argument, bool append);

private:
  struct Walk;
  mlir::Value cellInSlot(unsigned depth, mlir::Value slotOffset);
  llvm::SmallVector<mlir::Value> descend(Walk &walk, unsigned depth, mlir::Value offset);
  /// i1: all coordinates are within the extents; null where the path has no pool. Coordinates that
  /// are not are replaced where following them would leave a container.
  mlir::Value inside();
  /// Linear index of the cell at `depth`, when the levels from `from` on stand for whole
  /// coordinates.
  mlir::Value linearIndex(unsigned depth, unsigned from);
  llvm::SmallVector<mlir::Value> levelCoordinates(unsigned depth);
  /// coordinate / below, then modulo `extent` unless it is 0.
  mlir::Value digit(unsigned position, int64_t below, int64_t extent);
  /// Whether `coordinates[position]` may be negative: a level without bounds splits the axis.
  bool isSigned(unsigned position) const { return path.extents[position] == unboundedExtent; }

  ByteBuilder &bytes;
  const layout::TreeLayout &layout;
  const TreePath &path;
  llvm::SmallVector<unsigned> nodes;
  llvm::SmallVector<mlir::Value> coordinates;
  bool concurrent; ///< other workers may change which cells are active meanwhile
  bool unlinked;   ///< and may make active ones inactive
};

} // namespace metate

#endif
