//===- RulesTask.cpp - parallel loops, tasks, prints, asserts ---*- C++ -*-===//
//
// The iterations of a parallel loop run one after another; their order means nothing. The set of
// active cells that a loop visits is the one at its entry.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Format.h"
#include "metate/Interp/Rules.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

static void runIteration(Machine &machine, Operation *op, const Coordinates &variables) {
  SmallVector<Components> arguments;
  for (int64_t variable : variables)
    arguments.push_back(Components{uint64_t(variable)});
  machine.run(op->getRegion(0).front(), arguments);
}

static void range(Machine &machine, RangeOp op) {
  Coordinates lower = machine.indices(op.getLower()), upper = machine.indices(op.getUpper());
  uint64_t count = 1;
  for (auto [from, to] : llvm::zip(lower, upper))
    count *= to > from ? uint64_t(to - from) : 0;
  auto at = [&](uint64_t number) {
    Coordinates variables = lower;
    for (int axis = int(lower.size()) - 1; axis >= 0; --axis) {
      uint64_t extent = upper[axis] - lower[axis];
      variables[axis] += number % extent;
      number /= extent;
    }
    return variables;
  };
  machine.forEachIteration(
      count, at, [&](const Coordinates &variables) { runIteration(machine, op, variables); });
}

static void forEach(Machine &machine, ForEachOp op) {
  Tree &tree = machine.tree(op.getTree());
  std::vector<Coordinates> cells = tree.cells(tree.shape.find(op.getPath()));
  machine.forEachIteration(
      cells.size(), [&](uint64_t number) { return cells[number]; },
      [&](const Coordinates &variables) { runIteration(machine, op, variables); });
}

/// A task over slots that changes which of them there are says so.
static void checkWalk(Machine &machine, CellsOp op, Tree::Level &level, const Coordinates &own) {
  for (const Coordinates &cell : level.changes)
    if (cell != own && !op.getChangesTopology() && !machine.stopped())
      machine.report("undefined", op,
                     "the compiler took the cells of '" + op.getLevel() +
                         "' to stay as they are while a task walks them: please report",
                     METATE_E_INTERNAL);
  level.changes.clear();
}

/// The slot's number is for lookups that later stages write; here it counts the slots.
static void cells(Machine &machine, CellsOp op) {
  Tree &tree = machine.tree(op.getTree());
  int node = tree.shape.find(op.getLevel());
  std::vector<Coordinates> slots = tree.slots(node);
  tree.levels[node].changes.clear();
  uint64_t slot = 0;
  machine.forEachIteration(
      slots.size(), [&](uint64_t number) { return slots[number]; },
      [&](const Coordinates &variables) {
        Coordinates arguments{int64_t(++slot)};
        arguments.append(variables);
        runIteration(machine, op, arguments);
        checkWalk(machine, op, tree.levels[node], variables);
      });
}

static void serial(Machine &machine, SerialOp op) {
  Operation *end = machine.run(op.getBody().front());
  if (!machine.stopped())
    machine.yield(op.getResults(), end->getOperands());
}

/// Slots are given back where each parallel loop begins and ends, with or without it.
static void collect(Machine &machine, CollectOp op) { machine.tree(op.getTree()).collect(); }

/// Cells have no numbers here: loops always visit them in the order of their coordinates.
static void sort(Machine &, SortOp) {}

static void snapshot(Machine &machine, SnapshotOp op) {
  Tree &tree = machine.tree(op.getTree());
  tree.snapshot(tree.shape.find(op.getLevel()));
}

static metate_print_item printItem(Type type, uint64_t bits, bool isUnsigned) {
  metate_print_item item{};
  if (isa<FloatType>(type)) {
    item.kind = type.isF64() ? METATE_PRINT_F64 : METATE_PRINT_F32;
    item.value.d = toDouble(type, bits);
  } else if (type.isInteger(1)) {
    item.kind = METATE_PRINT_BOOL;
    item.value.u = bits;
  } else if (isUnsigned) {
    item.kind = METATE_PRINT_U64;
    item.value.u = bits;
  } else {
    item.kind = METATE_PRINT_I64;
    item.value.i = signedOf(bits, widthOf(type));
  }
  return item;
}

static void assertion(Machine &machine, AssertOp op) {
  if (machine.bits(op.getCondition()))
    return;
  std::string message = op.getMessage().str();
  Machine::Shown shown;
  if (!op.getValues().empty()) {
    message.clear();
    FailureOr<SmallVector<MessagePart>> parts = splitMessage(op.getMessage());
    for (const MessagePart &part : *parts) {
      if (!part.isHole) {
        message += part.text;
        shown.message += escapeMessage(part.text);
        continue;
      }
      Value value = op.getValues()[shown.values.size()];
      bool isUnsigned = (*op.getUnsigned_())[shown.values.size()];
      metate_print_item item = printItem(value.getType(), machine.bits(value), isUnsigned);
      message += show(value.getType(), machine.bits(value), isUnsigned);
      shown.message += messageHole(item.kind, part.text);
      shown.values.push_back(item.value.u);
    }
  }
  bool stops = std::exchange(machine.checks.stop, true); // an assert always does
  machine.report("assert", op, "assertion failed" + (message.empty() ? "" : ": " + message),
                 METATE_E_ASSERT, shown);
  machine.checks.stop = stops;
}

/// The finding that a failed check is, and what it says of the access.
static std::pair<StringRef, std::string> findingOf(CheckKind kind, const std::string &access) {
  switch (kind) {
  case CheckKind::OutOfRange:
    return {"bounds", "index out of range: " + access};
  case CheckKind::DivisionByZero:
    return {"division", "division by zero"};
  case CheckKind::Capacity:
    return {"capacity", access + ": its pool is full"};
  }
  llvm_unreachable("a check without a finding");
}

/// Debug mode's checks say what the interpreter would have found at the access itself.
static void check(Machine &machine, CheckOp op) {
  if (machine.bits(op.getCondition()))
    return;
  std::string where = op.getWhat().str();
  if (!op.getIndex().empty())
    where = placeText(where, machine.indices(op.getIndex()));
  if (!op.getShape().empty())
    where += " of shape " + shapeText(machine.indices(op.getShape()));
  auto [kind, text] = findingOf(op.getKind(), where);
  bool stops = std::exchange(machine.checks.stop, true); // a check always does
  machine.report(kind, op, text, int32_t(op.getKind()));
  machine.checks.stop = stops;
}

static void poll(Machine &machine, PollOp) { machine.interrupted(); }

static void print(Machine &machine, PrintOp op) {
  if (!machine.host || !machine.host->print || machine.isSilent)
    return;
  std::deque<std::string> texts; // zero-terminated, alive until the call is over
  SmallVector<metate_print_item> items;
  unsigned next = 0;
  for (Attribute part : op.getParts()) {
    if (auto text = dyn_cast<StringAttr>(part)) {
      metate_print_item item{};
      item.kind = METATE_PRINT_TEXT;
      item.value.text = texts.emplace_back(text.getValue().str()).c_str();
      items.push_back(item);
      continue;
    }
    if (auto format = dyn_cast<ArrayAttr>(part)) {
      metate_print_item item{};
      item.kind = METATE_PRINT_FORMAT;
      item.value.text =
          texts.emplace_back(cast<StringAttr>(format.getValue()[0]).getValue().str()).c_str();
      items.push_back(item);
    }
    Value value = op.getValues()[next];
    items.push_back(printItem(value.getType(), machine.bits(value), op.getUnsigned_()[next]));
    ++next;
  }
  machine.host->print(machine.host->print_self, items.data(), items.size());
}

void interp::addTaskRules(RuleTable &table) {
  addRule<RangeOp, range>(table);
  addRule<ForEachOp, forEach>(table);
  addRule<CellsOp, cells>(table);
  addRule<SerialOp, serial>(table);
  addRule<CollectOp, collect>(table);
  addRule<SnapshotOp, snapshot>(table);
  addRule<SortOp, sort>(table);
  addRule<AssertOp, assertion>(table);
  addRule<CheckOp, check>(table);
  addRule<PollOp, poll>(table);
  addRule<PrintOp, print>(table);
}
