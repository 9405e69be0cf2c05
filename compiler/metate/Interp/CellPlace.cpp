//===- CellPlace.cpp - the cell that an operation is about ------*- C++ -*-===//
#include "metate/Interp/CellPlace.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

std::string CellPlace::backgroundText() const {
  Components value = tree.background(node);
  std::string text = llvm::join(
      llvm::map_range(value, [&](uint64_t bits) { return show(tree, node, bits); }), ", ");
  return value.size() == 1 ? text : "[" + text + "]";
}

void interp::reportMistake(Machine &machine, Operation *op, const Twine &what) {
  machine.report("undefined", op, "the compiler " + what + ": please report", METATE_E_INTERNAL);
}

//===-- reading -------------------------------------------------------------===//

static bool isRead(Operation *op) { return isa<LoadOp, LoadSharedOp, LoadWordOp>(op); }

bool interp::checkBounds(Machine &machine, Operation *op, const CellPlace &place) {
  if (place.tree.contains(place.node, place.at))
    return true;
  if (place.isSparse() && !machine.checks.outside)
    return false;
  std::string what =
      place.text() + " of shape " + shapeText(place.tree.shape.nodes[place.node].extents);
  if (place.isSparse())
    machine.report("outside", op,
                   "outside of the tree: " + what +
                       (isRead(op) ? " reads as " + place.backgroundText() + ", the background"
                        : isa<IsActiveOp>(op) ? "; no cell is there"
                                              : "; no cell is there to write"),
                   METATE_E_OUT_OF_RANGE);
  else
    machine.report("bounds", op, "index out of range: " + what + hintFor(place.at),
                   METATE_E_OUT_OF_RANGE);
  return false;
}

/// Bits of a member change with another one that shares its exponent: its value counts.
static bool differsFromBackground(const CellPlace &place) {
  Components value = place.tree.read(place.node, place.at);
  return llvm::any_of(llvm::zip(value, place.tree.background(place.node)), [&](auto pair) {
    return place.shown(std::get<0>(pair)) != place.shown(std::get<1>(pair));
  });
}

static void checkRead(Machine &machine, Operation *op, const CellPlace &place) {
  Tree &tree = place.tree;
  if (!place.isSparse())
    return;
  if (!tree.isActive(place.node, place.at)) {
    if (machine.checks.inactiveRead)
      machine.report("inactive-read", op,
                     "a cell that is not active is read: " + place.text() + " reads as " +
                         place.backgroundText() + ", the background");
    return;
  }
  if (!machine.checks.unwrittenRead || tree.written[place.node].count(place.at) ||
      differsFromBackground(place))
    return;
  auto *before = machine.writtenBefore(tree);
  if (!before || !(*before)[place.node].count(place.at))
    machine.report("unwritten-read", op,
                   "a cell is read that is active but that no kernel has written: " + place.text() +
                       " reads as " + place.backgroundText() + ", the background");
}

Components interp::valueAt(Machine &machine, Operation *op, const CellPlace &place) {
  if (!checkBounds(machine, op, place))
    return place.tree.background(place.node);
  checkRead(machine, op, place);
  return place.tree.read(place.node, place.at);
}

//===-- writing -------------------------------------------------------------===//

bool interp::prepareWrite(Machine &machine, Operation *op, const CellPlace &place, bool isActive) {
  if (!checkBounds(machine, op, place))
    return false;
  if (isActive && !place.tree.isActive(place.node, place.at)) {
    reportMistake(machine, op, "took " + place.text() + " to be active");
    return false;
  }
  return place.tree.activate(place.node, place.at);
}
