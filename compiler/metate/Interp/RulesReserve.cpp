//===- RulesReserve.cpp - slots that a kernel would take --------*- C++ -*-===//
//
// A slice changes nothing: each slot that is not there is wanted once, whoever asks for it. Numbers of
// pools are those of the levels with slots, in preorder.
//
//===----------------------------------------------------------------------===//
#include "metate/Interp/Rules.h"
#include "metate/abi/reservation.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

static uint32_t poolOf(const TreeShape &shape, int node) {
  return llvm::count_if(ArrayRef(shape.nodes).take_front(node), [](const TreeNode &before) {
    return before.level && before.level.hasPool();
  });
}

/// The chunks of a list down to the one with the cell.
static void wantChunks(Tree &tree, int list, const Coordinates &cell) {
  const TreeNode &info = tree.shape.nodes[list];
  unsigned axis = tree.shape.listAxis(list);
  int64_t length = tree.length(list, tree.shape.ancestor(list, info.parent, cell));
  Coordinates chunk = cell;
  for (chunk[axis] = cell[axis] / info.chunk(); chunk[axis] * info.chunk() >= length; --chunk[axis])
    tree.wanted[list].insert(chunk);
}

static void wantCell(Tree &tree, int node, const Coordinates &at) {
  if (node < 0)
    return;
  for (int level : tree.shape.nodes[node].sparse) {
    const TreeNode &info = tree.shape.nodes[level];
    Coordinates cell = tree.shape.ancestor(node, level, at);
    if (info.isList())
      wantChunks(tree, level, cell);
    else if (info.level.hasPool() && !tree.levels[level].active.count(cell))
      tree.wanted[level].insert(cell);
  }
}

/// False if the list has no more cells to give.
static bool wantAppend(Tree &tree, int list, const Coordinates &parent) {
  const TreeNode &info = tree.shape.nodes[list];
  wantCell(tree, info.parent, parent);
  int64_t index = tree.length(list, parent) + tree.appends[list][parent]++;
  if (index >= info.level.getLevelExtents().front())
    return false;
  tree.appendedChunks[list] += index % info.chunk() == 0;
  return true;
}

static void reserve(Machine &machine, ReserveOp op) {
  Tree &tree = machine.tree(op.getTree());
  auto *counts = reinterpret_cast<metate_reservation *>(machine.bits(op.getCounts()));
  uint32_t number =
      metate_reservation_same(counts)[cast<BlockArgument>(op.getTree()).getArgNumber()];
  if (number == METATE_NONE)
    return;
  int node = tree.shape.find(op.getPath());
  int cell = op.getAppend() ? tree.shape.nodes[node].parent : node;
  Coordinates at = machine.indices(op.getCoordinates());
  if (!tree.contains(cell, at))
    return;
  if (!op.getAppend()) {
    wantCell(tree, node, at);
  } else if (!wantAppend(tree, node, at)) {
    counts->full_tree = number;
    counts->full = uint32_t(node) + 2; // the root is level 0
  }
  uint64_t *missing = metate_reservation_missing(counts) + uint64_t(number) * counts->pools;
  for (auto &[level, cells] : tree.wanted)
    missing[poolOf(tree.shape, level)] = cells.size() + tree.appendedChunks[level];
  for (auto &[level, chunks] : tree.appendedChunks)
    missing[poolOf(tree.shape, level)] = tree.wanted[level].size() + chunks;
}

void interp::addReserveRules(RuleTable &table) { addRule<ReserveOp, reserve>(table); }
