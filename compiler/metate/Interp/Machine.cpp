//===- Machine.cpp - one launch of one kernel, being interpreted -*- C++ -*-===//
#include "metate/Interp/Machine.h"

#include "metate/Dialect/Place.h"

#include "mlir/IR/BuiltinTypes.h"

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
  array.strides.resize(type.getRank(), 1);
  for (int axis = int(type.getRank()) - 2; axis >= 0; --axis)
    array.strides[axis] = array.strides[axis + 1] * array.extents[axis + 1];
  array.locals.resize(type.getNumElements());
  return array;
}

//===-- control -------------------------------------------------------------===//

Operation *Machine::run(mlir::Block &block, ArrayRef<Components> arguments) {
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    set(argument, value);
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      return &op;
    rules.find(op.getName().getTypeID())->second(*this, &op);
    if (stopped())
      break;
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

bool Machine::interrupted() {
  if (host && host->interrupt && __atomic_load_n(host->interrupt, __ATOMIC_RELAXED))
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
  elementWrites.clear();
  cellWrites.clear();
  isParallel = true;
  size_t outer = locals.size();
  for (uint64_t k = 0; k < count && !interrupted(); ++k) {
    iteration = shuffle ? order[k] : k;
    variables = at(iteration);
    body(variables);
    locals.resize(outer);
  }
  isParallel = false;
}

//===-- what is noticed -----------------------------------------------------===//

static std::string listText(ArrayRef<int64_t> values) {
  return llvm::join(llvm::map_range(values, [](int64_t value) { return std::to_string(value); }),
                    ", ");
}

std::string interp::placeText(StringRef name, ArrayRef<int64_t> indices) {
  return name.str() + "[" + listText(indices) + "]";
}

Finding *Machine::known(StringRef kind, FileLineColLoc place) {
  for (Finding &finding : findings)
    if (finding.kind == kind && place && finding.line == place.getLine() &&
        finding.column == place.getColumn() && finding.file == place.getFilename().getValue())
      return &finding;
  return nullptr;
}

void Machine::report(StringRef kind, Operation *op, const Twine &message, int32_t code) {
  if (isSilent) {
    if (checks.stop || code == METATE_E_INTERNAL)
      stop(code);
    return;
  }
  FileLineColLoc place = placeOf(op->getLoc());
  if (Finding *before = known(kind, place)) {
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
  finding.kernel = kernel.getSymName().str();
  if (isParallel)
    finding.iteration = "(" + listText(variables) + ")";
  finding.message = message.str();
  if (checks.stop || code == METATE_E_INTERNAL) {
    detail = finding.file + ":" + std::to_string(finding.line) + ":" +
             std::to_string(finding.column) + ": kernel '" + finding.kernel +
             "': " + finding.message;
    if (isParallel)
      detail += ", in iteration " + finding.iteration;
    stop(code);
  }
  findings.push_back(std::move(finding));
}

void Machine::noteWrite(Operation *op, Write &last, bool isFirst, Write now,
                        function_ref<std::string()> place, Type scalar) {
  bool isRace = !isFirst && last.iteration != now.iteration && !(last.isAtomic && now.isAtomic) &&
                (last.bits != now.bits || last.isAtomic || now.isAtomic);
  if (isRace)
    report("conflict", op,
           "conflicting writes of " + place() + ": " + show(scalar, now.bits) +
               (now.isAtomic ? " atomically" : "") + " here, " + show(scalar, last.bits) +
               (last.isAtomic ? " atomically" : "") +
               " by another iteration; which one stays is not defined, use an atomic");
  last = now;
}

void Machine::noteWrite(Operation *op, const Array &array, ArrayRef<int64_t> indices, uint64_t bits,
                        bool isAtomic) {
  if (!checks.conflict || !isParallel || !array.memory)
    return;
  auto [found, isFirst] = elementWrites.try_emplace(array.address(indices));
  noteWrite(
      op, found->second, isFirst, {iteration, bits, isAtomic},
      [&] { return placeText(array.name, indices); }, array.element);
}

void Machine::noteWrite(Operation *op, Tree &tree, int node, const Coordinates &coordinates,
                        const Components &value, bool isAtomic, std::optional<unsigned> component) {
  if (!checks.conflict || !isParallel)
    return;
  PlaceAttr place = tree.shape.nodes[node].place;
  for (auto [k, bits] : llvm::enumerate(value)) {
    if (component && k != *component)
      continue;
    std::vector<int64_t> where(coordinates.begin(), coordinates.end());
    where.push_back(k);
    auto [found, isFirst] = cellWrites.try_emplace({&tree, node, where});
    noteWrite(
        op, found->second, isFirst, {iteration, bits, isAtomic},
        [&] { return placeText(tree.name + "." + place.getName().str(), coordinates); },
        scalarOf(place.getType()));
  }
}

std::map<int, std::unordered_set<Coordinates, HashCoordinates>> *
Machine::writtenBefore(Tree &tree) {
  auto found = history.find(&tree);
  return found == history.end() ? nullptr : found->second;
}
