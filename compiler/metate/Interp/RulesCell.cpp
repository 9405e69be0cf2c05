//===- RulesCell.cpp - cells of trees ---------------------------*- C++ -*-===//
//
// What they hold and which of them are active (CellPlace.h). A deactivated cell reads its background at once; its slot is free
// again when the task has ended.
//
//===----------------------------------------------------------------------===//
#include "metate/Interp/CellPlace.h"
#include "metate/Interp/QuantChecks.h"
#include "metate/Interp/Rules.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

/// The number of the scalar that components [i] or [i, j] name; none for the whole value.
static std::optional<unsigned> componentOf(Machine &machine, Operation *op, const CellPlace &place,
                                           ValueRange components, bool &isInside) {
  isInside = true;
  if (components.empty())
    return std::nullopt;
  auto type = cast<VectorType>(place.tree.shape.nodes[place.node].place.getType());
  int64_t number = 0;
  for (auto [value, size] : llvm::zip(components, type.getShape())) {
    int64_t index = machine.integer(value);
    isInside &= index >= 0 && index < size;
    number = number * size + index;
  }
  if (!isInside)
    machine.report("bounds", op,
                   "index out of range: component " + placeText("", machine.indices(components)) +
                       " of " + place.text() + ", a value of shape " + shapeText(type.getShape()),
                   METATE_E_OUT_OF_RANGE);
  return number;
}

static void load(Machine &machine, LoadOp op) {
  CellPlace place(machine, op);
  bool isInside;
  std::optional<unsigned> component = componentOf(machine, op, place, op.getComponents(), isInside);
  Components value = valueAt(machine, op, place);
  if (!component)
    return machine.set(op, std::move(value));
  machine.set(op, isInside ? value[*component] : 0);
}

/// Bits alone say nothing of a member whose exponent others share: its value does (metate.update).
static bool checkBits(Machine &machine, Operation *op, const CellPlace &place) {
  if (place.info().group >= 0)
    reportMistake(machine, op, "writes bits of " + place.text() + ", which shares its exponent");
  return place.info().group < 0;
}

static void store(Machine &machine, StoreOp op) {
  CellPlace place(machine, op);
  bool isInside;
  std::optional<unsigned> component = componentOf(machine, op, place, op.getComponents(), isInside);
  if (!isInside || !prepareWrite(machine, op, place, op.getActive()) ||
      !checkBits(machine, op, place))
    return;
  if (place.info().format && machine.checks.quantRange)
    checkStored(machine, op, place.info().place.getType(), *place.info().format, op.getValue());
  Components value = machine.components(op.getValue());
  value.resize(countOf(op.getValue().getType())); // without derivatives (Duals.h)
  if (component) {
    Components whole = place.tree.read(place.node, place.at);
    whole[*component] = value[0];
    value = std::move(whole);
  }
  machine.noteWrite(op, place.tree, place.node, place.at, value, /*isAtomic=*/false, component);
  place.tree.write(place.node, place.at, std::move(value));
}

/// Of a quantised member on its stored integer, which wraps at its width.
static uint64_t combineScalar(Machine &machine, AtomicOp op, const CellPlace &place, uint64_t old,
                              uint64_t value) {
  Type type = place.info().place.getType();
  if (!place.info().format)
    return combineChecked(machine, op, op.getKind(), scalarOf(type), old, value);
  if (machine.checks.quantRange)
    checkCombined(machine, op, type, *place.info().format, old);
  return exchanged(machine, op, old, combine(op.getKind(), op.getValue().getType(), old, value));
}

static void atomic(Machine &machine, AtomicOp op) {
  CellPlace place(machine, op);
  bool isInside;
  std::optional<unsigned> component = componentOf(machine, op, place, op.getComponents(), isInside);
  Components old = place.tree.background(place.node), now = old;
  if (isInside && prepareWrite(machine, op, place, op.getActive()) &&
      checkBits(machine, op, place)) {
    old = now = place.tree.read(place.node, place.at);
    Components value = machine.components(op.getValue());
    for (size_t k = 0; k < now.size(); ++k)
      if (!component || k == *component)
        now[k] = combineScalar(machine, op, place, old[k], value[component ? 0 : k]);
    machine.noteWrite(op, place.tree, place.node, place.at, now, /*isAtomic=*/true, component);
    place.tree.write(place.node, place.at, now);
  }
  if (component)
    return machine.set(op, isInside ? old[*component] : 0);
  machine.set(op, std::move(old));
}

static void isActive(Machine &machine, IsActiveOp op) {
  CellPlace place(machine, op);
  bool exists = checkBounds(machine, op, place);
  if (!op.getEntry())
    return machine.set(op, uint64_t(exists && place.tree.isActive(place.node, place.at)));
  std::optional<bool> active = place.tree.wasActive(place.node, place.at);
  if (!active)
    reportMistake(machine, op, "took no snapshot of the cells that it walks");
  machine.set(op, uint64_t(exists && active.value_or(false)));
}

static void activate(Machine &machine, ActivateOp op) {
  CellPlace place(machine, op);
  machine.set(
      op, uint64_t(checkBounds(machine, op, place) && place.tree.activate(place.node, place.at)));
}

/// Lists stand in a cell that may not exist.
static bool checkList(Machine &machine, Operation *op, const CellPlace &parent) {
  if (parent.tree.contains(parent.node, parent.at))
    return true;
  if (machine.checks.outside)
    machine.report("outside", op,
                   "outside of the tree: no list is at " + placeText(parent.tree.name, parent.at) +
                       " of shape " + shapeText(parent.tree.shape.nodes[parent.node].extents),
                   METATE_E_OUT_OF_RANGE);
  return false;
}

static void deactivate(Machine &machine, DeactivateOp op) {
  CellPlace place(machine, op);
  Tree &tree = place.tree;
  int level = tree.shape.nodes[place.node].sparse.back();
  if (!tree.shape.nodes[level].isList()) {
    if (checkBounds(machine, op, place))
      tree.deactivate(place.node, place.at);
    return;
  }
  CellPlace parent = CellPlace::parentOf(machine, op, level);
  if (checkList(machine, op, parent))
    tree.clear(level, parent.at);
}

static void append(Machine &machine, AppendOp op) {
  Tree &tree = machine.tree(op.getTree());
  int list = tree.shape.find(op.getPath());
  CellPlace parent = CellPlace::parentOf(machine, op, list);
  int64_t index = checkList(machine, op, parent) ? tree.append(list, parent.at) : -1;
  machine.set(op, wrap(uint64_t(index), 32));
}

static void length(Machine &machine, LengthOp op) {
  Tree &tree = machine.tree(op.getTree());
  int list = tree.shape.find(op.getPath());
  CellPlace parent = CellPlace::parentOf(machine, op, list);
  machine.set(op, uint64_t(checkList(machine, op, parent) ? tree.length(list, parent.at) : 0));
}

static void used(Machine &machine, UsedOp op) {
  Tree &tree = machine.tree(op.getTree());
  machine.set(op, tree.levels.at(tree.shape.find(op.getPath())).used);
}

void interp::addCellRules(RuleTable &table) {
  addRule<LoadOp, load>(table);
  addRule<StoreOp, store>(table);
  addRule<AtomicOp, atomic>(table);
  addRule<IsActiveOp, isActive>(table);
  addRule<ActivateOp, activate>(table);
  addRule<DeactivateOp, deactivate>(table);
  addRule<AppendOp, append>(table);
  addRule<LengthOp, length>(table);
  addRule<UsedOp, used>(table);
}
