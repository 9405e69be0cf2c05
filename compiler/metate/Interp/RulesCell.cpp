//===- RulesCell.cpp - cells of trees ---------------------------*- C++ -*-===//
//
// Reading an inactive cell gives the background and activates nothing; writing activates. Outside
// of a sparse tree is background, and writes there are dropped; outside of a dense one is a
// finding. A deactivated cell reads its background at once; its slot is free again when the task
// has ended.
//
//===----------------------------------------------------------------------===//
#include "metate/Interp/QuantChecks.h"
#include "metate/Interp/Rules.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

namespace {
/// Which cell, and which of its components, an operation is about.
struct Place {
  Tree &tree;
  int node; ///< -1: the root's cell
  Coordinates at;

  template <typename Op>
  Place(Machine &machine, Op op)
      : tree(machine.tree(op.getTree())), node(tree.shape.find(op.getPath())),
        at(machine.indices(op.getCoordinates())) {}

  /// The cell that a list is in.
  template <typename Op> static Place parentOf(Machine &machine, Op op, int list) {
    Place place(machine, op);
    place.node = place.tree.shape.nodes[list].parent;
    return place;
  }

  const TreeNode &info() const { return tree.shape.nodes[node]; }
  /// A scalar of the member's value, as kernels see it.
  uint64_t shown(uint64_t bits) const { return tree.shape.shownBits(node, bits); }
  bool isSparse() const { return !tree.shape.nodes[node].sparse.empty(); }
  std::string text() const { return placeText(tree, node, at); }
  std::string backgroundText() const {
    Components value = tree.background(node);
    std::string text = llvm::join(
        llvm::map_range(value, [&](uint64_t bits) { return show(tree, node, bits); }), ", ");
    return value.size() == 1 ? text : "[" + text + "]";
  }
};
} // namespace

/// False if the cell does not exist; says so.
static bool checkBounds(Machine &machine, Operation *op, const Place &place) {
  if (place.tree.contains(place.node, place.at))
    return true;
  if (place.isSparse() && !machine.checks.outside)
    return false;
  std::string what =
      place.text() + " of shape " + shapeText(place.tree.shape.nodes[place.node].extents);
  if (place.isSparse())
    machine.report("outside", op,
                   "outside of the tree: " + what +
                       (isa<LoadOp, LoadSharedOp>(op)
                            ? " reads as " + place.backgroundText() + ", the background"
                        : isa<IsActiveOp>(op) ? "; no cell is there"
                                              : "; no cell is there to write"),
                   METATE_E_OUT_OF_RANGE);
  else
    machine.report("bounds", op, "index out of range: " + what + hintFor(place.at),
                   METATE_E_OUT_OF_RANGE);
  return false;
}

/// The number of the scalar that components [i] or [i, j] name; none for the whole value.
static std::optional<unsigned> componentOf(Machine &machine, Operation *op, const Place &place,
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

/// Bits of a member change with another one that shares its exponent: its value counts.
static bool differsFromBackground(const Place &place) {
  Components value = place.tree.read(place.node, place.at);
  return llvm::any_of(llvm::zip(value, place.tree.background(place.node)), [&](auto pair) {
    return place.shown(std::get<0>(pair)) != place.shown(std::get<1>(pair));
  });
}

static void checkRead(Machine &machine, Operation *op, const Place &place) {
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

/// The value; the background where there is no cell.
static Components valueAt(Machine &machine, Operation *op, const Place &place) {
  if (!checkBounds(machine, op, place))
    return place.tree.background(place.node);
  checkRead(machine, op, place);
  return place.tree.read(place.node, place.at);
}

static void load(Machine &machine, LoadOp op) {
  Place place(machine, op);
  bool isInside;
  std::optional<unsigned> component = componentOf(machine, op, place, op.getComponents(), isInside);
  Components value = valueAt(machine, op, place);
  if (!component)
    return machine.set(op, std::move(value));
  machine.set(op, isInside ? value[*component] : 0);
}

static void loadShared(Machine &machine, LoadSharedOp op) {
  machine.set(op, valueAt(machine, op, Place(machine, op)));
}

/// The compiler's own mistake.
static void reportUndefined(Machine &machine, Operation *op, const Twine &what) {
  machine.report("undefined", op, "the compiler " + what + ": please report", METATE_E_INTERNAL);
}

/// Bits alone say nothing of a member whose exponent others share: its value does (metate.update).
static bool checkBits(Machine &machine, Operation *op, const Place &place) {
  if (place.info().group >= 0)
    reportUndefined(machine, op, "writes bits of " + place.text() + ", which shares its exponent");
  return place.info().group < 0;
}

/// Activates the cell of a store or atomic, unless the activate stage has done that.
static bool prepareWrite(Machine &machine, Operation *op, const Place &place, bool isActive) {
  if (!checkBounds(machine, op, place))
    return false;
  if (isActive && !place.tree.isActive(place.node, place.at)) {
    reportUndefined(machine, op, "took " + place.text() + " to be active");
    return false;
  }
  return place.tree.activate(place.node, place.at);
}

static void store(Machine &machine, StoreOp op) {
  Place place(machine, op);
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
static uint64_t combineScalar(Machine &machine, AtomicOp op, const Place &place, uint64_t old,
                              uint64_t value) {
  Type type = place.info().place.getType();
  if (!place.info().format)
    return combineChecked(machine, op, op.getKind(), scalarOf(type), old, value);
  if (machine.checks.quantRange)
    checkCombined(machine, op, type, *place.info().format, old);
  return combine(op.getKind(), op.getValue().getType(), old, value);
}

static void atomic(Machine &machine, AtomicOp op) {
  Place place(machine, op);
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

/// Of a quantised member by its value, and of those that share its exponent.
static void update(Machine &machine, UpdateOp op) {
  Place place(machine, op);
  uint64_t old = place.shown(place.tree.background(place.node)[0]);
  if (prepareWrite(machine, op, place, op.getActive())) {
    old = place.shown(place.tree.read(place.node, place.at)[0]);
    const QuantFormat &format = *place.info().format;
    uint64_t now =
        combineChecked(machine, op, op.getKind(), format.compute, old, machine.bits(op.getValue()));
    if (machine.checks.quantRange)
      checkStored(machine, op, place.info().place.getType(), format, now);
    place.tree.assign(place.node, place.at, now);
    machine.noteWrite(op, place.tree, place.node, place.at, place.tree.read(place.node, place.at),
                      op.getKind() != arith::AtomicRMWKind::assign);
  }
  machine.set(op, old);
}

static void isActive(Machine &machine, IsActiveOp op) {
  Place place(machine, op);
  bool exists = checkBounds(machine, op, place);
  if (!op.getEntry())
    return machine.set(op, uint64_t(exists && place.tree.isActive(place.node, place.at)));
  std::optional<bool> active = place.tree.wasActive(place.node, place.at);
  if (!active)
    reportUndefined(machine, op, "took no snapshot of the cells that it walks");
  machine.set(op, uint64_t(exists && active.value_or(false)));
}

static void activate(Machine &machine, ActivateOp op) {
  Place place(machine, op);
  machine.set(
      op, uint64_t(checkBounds(machine, op, place) && place.tree.activate(place.node, place.at)));
}

/// Lists stand in a cell that may not exist.
static bool checkList(Machine &machine, Operation *op, const Place &parent) {
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
  Place place(machine, op);
  Tree &tree = place.tree;
  int level = tree.shape.nodes[place.node].sparse.back();
  if (!tree.shape.nodes[level].isList()) {
    if (checkBounds(machine, op, place))
      tree.deactivate(place.node, place.at);
    return;
  }
  Place parent = Place::parentOf(machine, op, level);
  if (checkList(machine, op, parent))
    tree.clear(level, parent.at);
}

static void append(Machine &machine, AppendOp op) {
  Tree &tree = machine.tree(op.getTree());
  int list = tree.shape.find(op.getPath());
  Place parent = Place::parentOf(machine, op, list);
  int64_t index = checkList(machine, op, parent) ? tree.append(list, parent.at) : -1;
  machine.set(op, wrap(uint64_t(index), 32));
}

static void length(Machine &machine, LengthOp op) {
  Tree &tree = machine.tree(op.getTree());
  int list = tree.shape.find(op.getPath());
  Place parent = Place::parentOf(machine, op, list);
  machine.set(op, uint64_t(checkList(machine, op, parent) ? tree.length(list, parent.at) : 0));
}

static void used(Machine &machine, UsedOp op) {
  Tree &tree = machine.tree(op.getTree());
  machine.set(op, tree.levels.at(tree.shape.find(op.getPath())).used);
}

void interp::addCellRules(RuleTable &table) {
  addRule<LoadOp, load>(table);
  addRule<LoadSharedOp, loadShared>(table);
  addRule<StoreOp, store>(table);
  addRule<AtomicOp, atomic>(table);
  addRule<UpdateOp, update>(table);
  addRule<IsActiveOp, isActive>(table);
  addRule<ActivateOp, activate>(table);
  addRule<DeactivateOp, deactivate>(table);
  addRule<AppendOp, append>(table);
  addRule<LengthOp, length>(table);
  addRule<UsedOp, used>(table);
}
