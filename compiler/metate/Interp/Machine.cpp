//===- Machine.cpp - one launch of one kernel, being interpreted -*- C++ -*-===//
#include "metate/Interp/Machine.h"

#include "metate/Dialect/Format.h"
#include "metate/Dialect/Graph.h"
#include "metate/Dialect/Place.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

//===-- values --------------------------------------------------------------===//

Coordinates Machine::indices(ValueRange values) const {
  Coordinates result;
  for (Value value : values)
    result.push_back(integer(value));
  return result;
}

Array &Machine::makeLocal(MemRefType type) {
  Array &array = locals.emplace_back();
  array.name = "a local array";
  array.element = type.getElementType();
  array.extents.assign(type.getShape().begin(), type.getShape().end());
  array.strides = computeStrides(type.getShape());
  array.locals.resize(type.getNumElements());
  return array;
}

Array &Machine::makeRoom(StringRef name, ArrayRef<int64_t> shape, Type element) {
  Array &array = locals.emplace_back();
  array.name = name.str();
  array.element = array.shown = element;
  array.extents.assign(shape.begin(), shape.end());
  array.strides = computeStrides(shape);
  uint64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  for (int64_t extent : shape)
    bytes *= uint64_t(extent);
  array.memory = rooms.emplace_back(bytes + 1, uint8_t(0xff)).data();
  return array;
}

void Machine::pass(Value value, Value argument, StringRef name) {
  if (isa<TreeType>(value.getType()))
    return bind(argument, &tree(value));
  if (!isa<MemRefType>(value.getType()))
    return set(argument, components(value));
  std::unique_ptr<Array> &own = passed[argument];
  own = std::make_unique<Array>(array(value));
  own->name = name.str();
  if (cast<MemRefType>(argument.getType()).getRank() == 0) {
    own->extents.clear();
    own->strides.clear();
  }
  bind(argument, own.get());
}

//===-- control -------------------------------------------------------------===//

void Machine::apply(Operation *op) { rules.find(op->getName().getTypeID())->second(*this, op); }

Operation *Machine::run(mlir::Block &block, ArrayRef<Components> arguments) {
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    set(argument, value);
  for (Operation &op : block) {
    bool followsNaNs = !nans.empty();
    if (followsNaNs)
      nans.used(*this, &op);
    if (op.hasTrait<OpTrait::IsTerminator>())
      return &op;
    apply(&op);
    if (stopped())
      break;
    if (duals)
      duals->passed(*this, &op);
    if (followsNaNs)
      nans.passed(*this, &op);
  }
  return block.getTerminator();
}

void Machine::yield(ValueRange results, OperandRange operands) {
  SmallVector<Components> values; // first: a loop may yield its own variables, exchanged
  for (Value operand : operands)
    values.push_back(components(operand));
  for (auto [result, value] : llvm::zip(results, values))
    set(result, std::move(value));
}

bool interp::isInterrupted(const metate_host *host) {
  return host && host->interrupt && __atomic_load_n(host->interrupt, __ATOMIC_RELAXED);
}

bool Machine::interrupted() {
  if (isInterrupted(host))
    stop(METATE_E_INTERRUPTED);
  return stopped();
}

//===-- parallel tasks ------------------------------------------------------===//

void Machine::forEachIteration(uint64_t count, function_ref<Coordinates(uint64_t)> at,
                               function_ref<void(const Coordinates &)> body) {
  std::vector<uint64_t> order;
  if (shuffle) {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), *shuffle);
  }
  for (auto &[value, tree] : trees)
    tree->collect();
  ++loops;
  variablesOf = &at;
  isParallel = true;
  size_t outer = localCount();
  for (uint64_t k = 0; k < count && !interrupted(); ++k) {
    iteration = shuffle ? order[k] : k;
    variables = at(iteration);
    body(variables);
    dropLocals(outer);
  }
  isParallel = false;
  variablesOf = nullptr;
  for (auto &[value, tree] : trees)
    tree->endTask();
}

//===-- what is noticed -----------------------------------------------------===//

static std::string listText(ArrayRef<int64_t> values) {
  return llvm::join(llvm::map_range(values, [](int64_t value) { return std::to_string(value); }),
                    ", ");
}

std::string interp::shapeText(ArrayRef<int64_t> extents) {
  return "(" + listText(extents) + (extents.size() == 1 ? ",)" : ")");
}

StringRef interp::hintFor(ArrayRef<int64_t> indices) {
  return llvm::any_of(indices, [](int64_t index) { return index < 0; })
             ? "; a negative index does not count from the end"
             : "";
}

std::string interp::placeText(StringRef name, ArrayRef<int64_t> indices) {
  return name.str() + "[" + listText(indices) + "]";
}

std::string interp::placeText(const Array &array, ArrayRef<int64_t> indices) {
  size_t outer = indices.size() - array.componentRank;
  std::string text = array.name;
  if (outer || !array.componentRank)
    text = outer ? placeText(array.name, indices.take_front(outer)) : array.name;
  return array.componentRank ? placeText(text, indices.drop_front(outer)) : text;
}

std::string interp::placeText(const Tree &tree, int node, ArrayRef<int64_t> at,
                              std::optional<unsigned> component) {
  PlaceAttr place = tree.shape.nodes[node].place;
  std::string text = placeText(tree.name, at);
  if (place) {
    const ShownMember &member = tree.shown.find(place.getName())->second;
    Coordinates indices(at);
    for (auto [index, offset] : llvm::zip(indices, member.offset))
      index += offset;
    text = placeText(member.name, indices);
  }
  auto vector = place ? dyn_cast<VectorType>(place.getType()) : VectorType();
  if (!component || !vector)
    return text;
  return placeText(text, delinearize(*component, computeStrides(vector.getShape())));
}

std::string interp::show(const Tree &tree, int node, uint64_t bits) {
  return show(tree.shape.shownType(node), tree.shape.shownBits(node, bits));
}

Finding *Machine::known(StringRef kind, FileLineColLoc place) {
  for (Finding &finding : findings)
    if (finding.kind == kind && place && finding.line == place.getLine() &&
        (finding.column == place.getColumn() || kind == "nan") && // one line makes its first NaN
        finding.file == place.getFilename().getValue())
      return &finding;
  return nullptr;
}

bool Machine::isKnown(StringRef kind, Operation *op) {
  auto found = reported.find({op, kind.data()});
  if (found == reported.end())
    return false;
  if (!isSilent)
    ++findings[found->second].count;
  return true;
}

/// The calls through which an inlined operation's place was reached, innermost first.
static std::vector<std::string> callersOf(Location location) {
  std::vector<std::string> result;
  while (auto call = dyn_cast<CallSiteLoc>(location)) {
    location = call.getCaller();
    if (FileLineColLoc place = placeOf(location))
      result.push_back(place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" +
                       std::to_string(place.getColumn()));
  }
  return result;
}

void Machine::report(StringRef kind, Operation *op, const Twine &message, int32_t code,
                     const Shown &shown) {
  bool ends = checks.stop || code == METATE_E_INTERNAL || code == METATE_E_OUT_OF_MEMORY;
  if (isSilent) {
    if (ends && !stopped())
      otherEnd = {op, message.str(), isParallel ? variables : Coordinates()};
    if (ends)
      stop(code);
    return;
  }
  if (isKnown(kind, op))
    return;
  FileLineColLoc place = placeOf(op->getLoc());
  if (Finding *before = known(kind, place)) {
    reported[{op, kind.data()}] = before - findings.data();
    ++before->count;
    return;
  }
  Finding finding;
  finding.kind = kind.str();
  if (place) {
    finding.file = place.getFilename().str();
    finding.line = place.getLine();
    finding.column = place.getColumn();
  }
  finding.callers = callersOf(op->getLoc());
  finding.kernel = shownName(kernel).str();
  if (isParallel)
    finding.iteration = "(" + listText(variables) + ")";
  finding.message = message.str();
  if (ends) {
    detail = finding.file + ":" + std::to_string(finding.line) + ":" +
             std::to_string(finding.column) + ": kernel '" + finding.kernel + "': ";
    if (shown.values.empty())
      detail += finding.message;
    else
      detail = escapeMessage(detail) + "assertion failed: " + shown.message;
    detailValues = shown.values;
    if (isParallel)
      detail += ", in iteration " + finding.iteration;
    stop(code);
  }
  reported[{op, kind.data()}] = findings.size();
  findings.push_back(std::move(finding));
}

void Machine::reportLater(StringRef kind, Operation *op, const Coordinates &before,
                          const Twine &message) {
  isParallel = !before.empty();
  variables = before;
  report(kind, op, message);
  isParallel = false;
}

//===-- writes --------------------------------------------------------------===//

/// "5 in iteration (1, 2)", with the line where that is not the finding's.
std::string Machine::describe(const Write &write, Type shown, Operation *here) const {
  std::string text = show(shown, write.bits) + (write.isAtomic ? " atomically" : "") +
                     " in iteration (" + listText((*variablesOf)(write.iteration)) + ")";
  FileLineColLoc place = placeOf(write.op->getLoc()), finding = placeOf(here->getLoc());
  if (!place || !finding || place == finding)
    return text;
  text += " at ";
  if (place.getFilename() != finding.getFilename())
    text += place.getFilename().str() + ":";
  return text + "line " + std::to_string(place.getLine());
}

void Machine::noteWrite(Operation *op, WriteRecord &record, uint64_t bits, bool isAtomic,
                        function_ref<std::string()> place, Type shown) {
  Write now{op, isParallel ? loops : 0, iteration, bits, isAtomic};
  if (record.last.loop != now.loop)
    record.other = Write();
  else if (record.last.iteration != iteration)
    record.other = record.last;
  record.last = now;
  if (isParallel)
    record.variables = variables;
  else
    record.variables.clear();
  if (isAtomic && isa<FloatType>(shown))
    record.magnitude = std::max(record.magnitude, std::fabs(toDouble(shown, bits)));
  const Write &other = record.other;
  if (!checks.conflict || !isParallel || !other.op || (isAtomic && other.isAtomic) ||
      (!isAtomic && !other.isAtomic && bits == other.bits))
    return;
  record.isConflicting = true;
  if (!isKnown("conflict", op))
    report("conflict", op,
           "conflicting writes of " + place() + ": " + describe(now, shown, op) + ", " +
               describe(other, shown, op) +
               "; which one stays is not defined: write a place from one iteration only, or with "
               "an atomic in all of them");
}

void Machine::noteWrite(Operation *op, const Array &array, ArrayRef<int64_t> indices, uint64_t bits,
                        bool isAtomic) {
  if (isSilent || !(checks.conflict || checks.order) || !array.memory)
    return;
  noteWrite(
      op, writes[array.address(indices)], bits, isAtomic, [&] { return placeText(array, indices); },
      array.shown);
}

void Machine::noteWrite(Operation *op, Tree &tree, int node, const Coordinates &coordinates,
                        const Components &value, bool isAtomic, std::optional<unsigned> component) {
  if (isSilent || !(checks.conflict || checks.order))
    return;
  for (auto [k, bits] : llvm::enumerate(value))
    if (!component || k == *component)
      noteWrite(
          op, writes(tree, node, coordinates, k), tree.shape.shownBits(node, bits), isAtomic,
          [&, k = k] { return placeText(tree, node, coordinates, k); }, tree.shape.shownType(node));
}

std::map<int, std::unordered_set<Coordinates, HashCoordinates>> *
Machine::writtenBefore(Tree &tree) {
  auto found = history.find(&tree);
  return found == history.end() ? nullptr : found->second;
}
