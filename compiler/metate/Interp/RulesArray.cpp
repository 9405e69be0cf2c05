//===- RulesArray.cpp - arrays and local variables --------------*- C++ -*-===//
//
// Elements of arrays, in the caller's memory or local. An index outside is a finding; unless that
// ends the launch, a read outside gives zero and a write outside is dropped.
//
//===----------------------------------------------------------------------===//
#include "metate/Interp/Rules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

static bool checkBounds(Machine &machine, Operation *op, const Array &array,
                        const Coordinates &indices) {
  if (array.contains(indices))
    return true;
  // An element is named by its own indices where its component is in order.
  size_t outer = indices.size() - array.componentRank;
  bool isComponent = false;
  for (size_t axis = outer; axis < indices.size(); ++axis)
    isComponent |= indices[axis] < 0 || indices[axis] >= array.extents[axis];
  ArrayRef<int64_t> shown = ArrayRef<int64_t>(indices).take_front(outer);
  std::string place =
      isComponent || !outer ? placeText(array, indices) : placeText(array.name, shown);
  ArrayRef<int64_t> extents = ArrayRef<int64_t>(array.extents);
  machine.report("bounds", op,
                 "index out of range: " + place + " of shape " +
                     shapeText(isComponent || !outer ? extents : extents.take_front(outer)) +
                     hintFor(indices),
                 METATE_E_OUT_OF_RANGE);
  return false;
}

static void load(Machine &machine, memref::LoadOp op) {
  Array &array = machine.array(op.getMemRef());
  Coordinates indices = machine.indices(op.getIndices());
  Components zero(countOf(op.getType()), 0);
  if (!checkBounds(machine, op, array, indices))
    return machine.set(op, zero);
  if (array.memory)
    return machine.set(op, loadScalar(array.element, array.address(indices)));
  // No user reads a variable that is not assigned: the front end sees to that. It reads results of
  // returns that were not taken itself, and throws them away.
  const std::optional<Components> &element = array.locals[array.offset(indices)];
  machine.set(op, element ? *element : zero);
}

static void store(Machine &machine, memref::StoreOp op) {
  Array &array = machine.array(op.getMemRef());
  Coordinates indices = machine.indices(op.getIndices());
  if (!checkBounds(machine, op, array, indices))
    return;
  if (!array.memory) {
    array.locals[array.offset(indices)] = machine.components(op.getValue());
    return;
  }
  uint64_t bits = machine.bits(op.getValue());
  machine.noteWrite(op, array, indices, bits, /*isAtomic=*/false);
  storeScalar(array.element, bits, array.address(indices));
}

static void atomic(Machine &machine, memref::AtomicRMWOp op) {
  Array &array = machine.array(op.getMemref());
  Coordinates indices = machine.indices(op.getIndices());
  if (!checkBounds(machine, op, array, indices))
    return machine.set(op, 0);
  uint64_t value = machine.bits(op.getValue());
  if (!array.memory) {
    std::optional<Components> &element = array.locals[array.offset(indices)];
    uint64_t old = element ? element->front() : 0;
    element =
        Components{exchanged(machine, op, old, combine(op.getKind(), array.element, old, value))};
    return machine.set(op, old);
  }
  uint64_t old = loadScalar(array.element, array.address(indices));
  uint64_t now = combineChecked(machine, op, op.getKind(), array.shown, old, value);
  machine.noteWrite(op, array, indices, now, /*isAtomic=*/true);
  storeScalar(array.element, now, array.address(indices));
  machine.set(op, old);
}

static void allocate(Machine &machine, memref::AllocaOp op) {
  machine.bind(op, &machine.makeLocal(op.getType()));
}

static void extent(Machine &machine, memref::DimOp op) {
  machine.set(op, uint64_t(machine.array(op.getSource()).extents[machine.integer(op.getIndex())]));
}

void interp::addArrayRules(RuleTable &table) {
  addRule<memref::LoadOp, load>(table);
  addRule<memref::StoreOp, store>(table);
  addRule<memref::AtomicRMWOp, atomic>(table);
  addRule<memref::AllocaOp, allocate>(table);
  addRule<memref::DimOp, extent>(table);
}
