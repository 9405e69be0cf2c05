//===- Duals.cpp - derivatives along a direction, beside values -*- C++ -*-===//
#include "metate/Interp/Duals.h"

#include "metate/Dialect/Derivative.h"
#include "metate/Dialect/Quant.h"
#include "metate/Interp/Machine.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

static bool isFloat(Value value) { return isa<FloatType>(scalarOf(value.getType())); }

//===-- values -----------------------------------------------------------------------------------------------------===//

Duals::Parts Duals::partsOf(Machine &machine, Value value) {
  size_t count = countOf(value.getType());
  Parts parts(count, 0);
  const Components &all = machine.components(value);
  if (all.size() == 2 * count)
    for (size_t k = 0; k < count; ++k)
      parts[k] = llvm::bit_cast<double>(all[count + k]);
  return parts;
}

void Duals::setParts(Machine &machine, Value value, ArrayRef<double> parts) {
  Components all = machine.components(value);
  all.resize(countOf(value.getType()));
  for (double part : parts)
    all.push_back(llvm::bit_cast<uint64_t>(part));
  machine.set(value, std::move(all));
}

void Duals::componentwise(Machine &machine, Operation *op) {
  Value result = op->getResult(0);
  size_t count = countOf(result.getType());
  SmallVector<Parts> derivatives;
  for (Value operand : op->getOperands())
    derivatives.push_back(partsOf(machine, operand));
  Parts parts;
  for (size_t k = 0; k < count; ++k) {
    SmallVector<Dual> in;
    for (auto [operand, derivative] : llvm::zip(op->getOperands(), derivatives)) {
      size_t at = derivative.size() == 1 ? 0 : k; // a scalar condition of a select
      uint64_t bits = machine.components(operand)[at];
      in.push_back({isFloat(operand) ? toDouble(scalarOf(operand.getType()), bits) : double(bits),
                    derivative[at]});
    }
    std::optional<double> derivative = derivativeOf(op, in);
    if (!derivative)
      return;
    parts.push_back(*derivative);
  }
  setParts(machine, result, parts);
}

/// They move scalars: the rule moves second parts as it moved the first ones.
void Duals::ofVector(Machine &machine, Operation *op) {
  SmallVector<Components> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(machine.components(operand));
  for (Value result : op->getResults()) {
    results.push_back(machine.components(result));
    results.back().resize(countOf(result.getType()));
  }
  for (Value operand : op->getOperands()) {
    if (!isFloat(operand))
      continue;
    Components moved;
    for (double part : partsOf(machine, operand))
      moved.push_back(llvm::bit_cast<uint64_t>(part));
    machine.set(operand, std::move(moved));
  }
  machine.apply(op);
  for (auto [result, first] : llvm::zip(op->getResults(), results)) {
    Components second = machine.components(result);
    second.resize(first.size());
    first.append(second.begin(), second.end());
    machine.set(result, std::move(first));
  }
  for (auto [operand, components] : llvm::zip(op->getOperands(), operands))
    machine.set(operand, std::move(components));
}

//===-- places -----------------------------------------------------------------------------------------------------===//

/// What an atomic operation leaves of the derivative of what was there, and of what is given.
static double combined(std::optional<arith::AtomicRMWKind> kind, Dual old, Dual given) {
  using K = arith::AtomicRMWKind;
  switch (kind.value_or(K::assign)) {
  case K::addf:
  case K::addi: // of the bits of fixed ones
    return old.derivative + given.derivative;
  case K::mulf:
    return old.derivative * given.value + old.value * given.derivative;
  case K::minnumf:
  case K::minimumf:
  case K::mins:
  case K::minu:
    return old.value < given.value ? old.derivative : given.derivative;
  case K::maxnumf:
  case K::maximumf:
  case K::maxs:
  case K::maxu:
    return old.value > given.value ? old.derivative : given.derivative;
  default:
    return given.derivative;
  }
}

/// An exchange that did not happen, for the place held something else.
static bool isKept(Machine &machine, Value written, Value old) {
  auto exchange = written.getDefiningOp<ExchangeIfOp>();
  return exchange && old && machine.bits(exchange.getExpected()) != machine.bits(old);
}

void Duals::ofArray(Machine &machine, Operation *op, Value base, ValueRange indices, Value written,
                    Value result, std::optional<arith::AtomicRMWKind> kind) {
  Array &array = machine.array(base);
  if (!array.memory || !isa<FloatType>(array.element))
    return; // a local variable has both parts
  Coordinates at = machine.indices(indices);
  if (!array.contains(at))
    return;
  auto place = places.find({&array, ""});
  Array *shadow = place == places.end() ? nullptr : &machine.array(place->second.first);
  bool isVariable = !shadow && array.isResult;
  if ((!shadow && !isVariable) || (shadow && !shadow->contains(at)))
    return;
  double *variable = isVariable ? &ofVariables[array.address(at)] : nullptr;
  double old = variable
                   ? *variable
                   : toDouble(shadow->element, loadScalar(shadow->element, shadow->address(at)));
  if (written) {
    Dual before{result ? toDouble(array.element, machine.bits(result)) : 0, old};
    Dual given{toDouble(array.element, machine.bits(written)), partsOf(machine, written)[0]};
    double now = isKept(machine, written, result) ? old : combined(kind, before, given);
    if (variable)
      *variable = now;
    else
      storeScalar(shadow->element, fromDouble(shadow->element, now), shadow->address(at));
  }
  if (result)
    setParts(machine, result, old);
}

namespace {
/// A load, store or atomic of a tree's member.
struct Access {
  Value tree;
  StringRef path;
  ValueRange coordinates, components;
  Value written, result;
  std::optional<arith::AtomicRMWKind> kind;

  static std::optional<Access> of(Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      return Access{load.getTree(),
                    load.getPath(),
                    load.getCoordinates(),
                    load.getComponents(),
                    Value(),
                    load.getValue(),
                    {}};
    if (auto load = dyn_cast<LoadSharedOp>(op))
      return Access{load.getTree(),
                    load.getPath(),
                    load.getCoordinates(),
                    ValueRange(),
                    Value(),
                    load.getValue(),
                    {}};
    if (auto store = dyn_cast<StoreOp>(op))
      return Access{store.getTree(),
                    store.getPath(),
                    store.getCoordinates(),
                    store.getComponents(),
                    store.getValue(),
                    Value(),
                    {}};
    if (auto atomic = dyn_cast<AtomicOp>(op))
      return Access{atomic.getTree(),       atomic.getPath(),  atomic.getCoordinates(),
                    atomic.getComponents(), atomic.getValue(), atomic.getOld(),
                    atomic.getKind()};
    if (auto update = dyn_cast<UpdateOp>(op))
      return Access{update.getTree(),  update.getPath(), update.getCoordinates(), ValueRange(),
                    update.getValue(), update.getOld(),  update.getKind()};
    return std::nullopt;
  }
};
} // namespace

/// Scalars of a value of the member, in numbers: what stored bits mean.
static SmallVector<double> numbersOf(Machine &machine, const Access &access, Value value) {
  if (!value)
    return {};
  const TreeShape &shape = machine.tree(access.tree).shape;
  int node = shape.find(access.path);
  ArrayRef<uint64_t> all = machine.components(value);
  return llvm::map_to_vector(all.take_front(countOf(value.getType())), [&](uint64_t scalar) {
    return toDouble(shape.shownType(node), isFloat(value) ? scalar : shape.shownBits(node, scalar));
  });
}

static void writeNumbers(Tree &tree, int node, const Coordinates &at, int64_t first,
                         ArrayRef<double> numbers) {
  Type type = tree.shape.shownType(node);
  if (tree.shape.nodes[node].format)
    return tree.assign(node, at, fromDouble(type, numbers[0]));
  Components all = tree.read(node, at);
  for (auto [k, number] : llvm::enumerate(numbers))
    all[first + k] = fromDouble(type, number);
  tree.write(node, at, std::move(all));
}

void Duals::ofCell(Machine &machine, Operation *op) {
  Access access = *Access::of(op);
  auto place = places.find({&machine.tree(access.tree), access.path.str()});
  if (place == places.end())
    return;
  Tree &shadow = machine.tree(place->second.first);
  const TreeShape &shape = shadow.shape;
  int node = shape.find(place->second.second);
  Coordinates at = machine.indices(access.coordinates);
  if (!shadow.contains(node, at))
    return;
  Type type = shape.nodes[node].place.getType();
  int64_t first = 0, count = countOf(type);
  if (auto vector = dyn_cast<VectorType>(type); vector && !access.components.empty()) {
    for (auto [index, size] : llvm::zip(access.components, vector.getShape()))
      first = first * size + machine.integer(index);
    count = 1;
  }
  Components all = shadow.read(node, at);
  Parts old;
  for (int64_t k = 0; k < count; ++k)
    old.push_back(toDouble(shape.shownType(node), shape.shownBits(node, all[first + k])));
  bool isChanged = access.written && !isKept(machine, access.written, access.result);
  if (isChanged && shadow.activate(node, at)) {
    Parts given = partsOf(machine, access.written), now;
    SmallVector<double> values = numbersOf(machine, access, access.written),
                        before = numbersOf(machine, access, access.result);
    for (int64_t k = 0; k < count; ++k)
      now.push_back(
          combined(access.kind, {access.result ? before[k] : 0, old[k]}, {values[k], given[k]}));
    writeNumbers(shadow, node, at, first, now);
  }
  if (access.result)
    setParts(machine, access.result, old);
}

//===-- all --------------------------------------------------------------------------------------------------------===//

/// The stored bits of a float: those that are encoded, or chosen.
static bool passesOnBits(Machine &machine, Operation *op) {
  if (isa<EncodeOp>(op))
    return isFloat(op->getOperand(0));
  return isa<arith::SelectOp>(op) && llvm::any_of(op->getOperands().drop_front(), [&](Value value) {
           return machine.components(value).size() == 2 * size_t(countOf(value.getType()));
         });
}

void Duals::passed(Machine &machine, Operation *op) {
  if (auto said = dyn_cast<DerivativeOp>(op)) {
    void *primal = isa<MemRefType>(said.getPrimal().getType())
                       ? static_cast<void *>(&machine.array(said.getPrimal()))
                       : &machine.tree(said.getPrimal());
    places[{primal, said.getPrimalPath().str()}] = {said.getDerivative(),
                                                    said.getDerivativePath().str()};
  } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
    ofArray(machine, op, load.getMemRef(), load.getIndices(), {}, load.getResult(), {});
  } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
    ofArray(machine, op, store.getMemRef(), store.getIndices(), store.getValue(), {}, {});
  } else if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op)) {
    ofArray(machine, op, atomic.getMemref(), atomic.getIndices(), atomic.getValue(),
            atomic.getResult(), atomic.getKind());
  } else if (Access::of(op)) {
    ofCell(machine, op);
  } else if (isa<vector::VectorDialect>(op->getDialect())) {
    ofVector(machine, op);
  } else if (isa<StopGradientOp>(op)) {
    setParts(machine, op->getResult(0), {});
  } else if (op->getNumRegions() == 0 && op->getNumResults() == 1 &&
             (isFloat(op->getResult(0)) || passesOnBits(machine, op))) {
    componentwise(machine, op);
  }
}
