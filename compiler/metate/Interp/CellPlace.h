//===- CellPlace.h - the cell that an operation is about --------*- C++ -*-===//
//
// Reading an inactive cell gives the background and activates nothing; writing activates. Outside
// of a sparse tree is background, and writes there are dropped; outside of a dense one is a
// finding.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_CELLPLACE_H
#define METATE_INTERP_CELLPLACE_H

#include "metate/Interp/Machine.h"

namespace metate::interp {

struct CellPlace {
  Tree &tree;
  int node; ///< -1: the root's cell
  Coordinates at;

  template <typename Op>
  CellPlace(Machine &machine, Op op)
      : tree(machine.tree(op.getTree())), node(tree.shape.find(op.getPath())),
        at(machine.indices(op.getCoordinates())) {}

  /// The cell that a list is in.
  template <typename Op> static CellPlace parentOf(Machine &machine, Op op, int list) {
    CellPlace place(machine, op);
    place.node = place.tree.shape.nodes[list].parent;
    return place;
  }

  const TreeNode &info() const { return tree.shape.nodes[node]; }
  /// A scalar of the member's value, as kernels see it.
  uint64_t shown(uint64_t bits) const { return tree.shape.shownBits(node, bits); }
  bool isSparse() const { return !info().sparse.empty(); }
  std::string text() const { return placeText(tree, node, at); }
  std::string backgroundText() const;
};

/// False if the cell does not exist; says so.
bool checkBounds(Machine &machine, mlir::Operation *op, const CellPlace &place);
/// A member's value, read by the operation; the background where there is no cell.
Components valueAt(Machine &machine, mlir::Operation *op, const CellPlace &place);
/// Activates the cell of a store or atomic, unless the activate stage has done that. False where there is none.
bool prepareWrite(Machine &machine, mlir::Operation *op, const CellPlace &place, bool isActive);
/// The compiler's own.
void reportMistake(Machine &machine, mlir::Operation *op, const llvm::Twine &what);

} // namespace metate::interp

#endif
