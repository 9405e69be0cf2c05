//===- Launch.cpp - arguments of one launch ---------------------*- C++ -*-===//
#include "metate/Interp/Launch.h"

#include "metate/Dialect/Derivative.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>
#include <cstring>
#include <set>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

//===-- arguments -----------------------------------------------------------===//

Launch::Launch(const KernelRecord &kernel, const RuleTable &rules, const Checks &checks,
               const metate_slot *slots, const metate_host *host)
    : machine(kernel.op, rules, checks, host), kernel(kernel) {
  auto mode = this->kernel.op->getAttrOfType<StringAttr>(mark::differentiate);
  if (mode && mode == forwardMode)
    machine.duals.emplace();
  for (unsigned k = 0; k < kernel.info->argument_count; ++k)
    bindArgument(k, slots + kernel.arguments[k].first_slot);
}

std::string Launch::nameOf(unsigned number) {
  auto name = kernel.op.getArgAttrOfType<StringAttr>(number, mark::name);
  return name ? name.str() : "arg" + std::to_string(number);
}

void Launch::bindArgument(unsigned number, const metate_slot *slots) {
  BlockArgument argument = kernel.op.getBody().getArgument(number);
  const metate_argument_info &info = kernel.arguments[number];
  if (info.kind == METATE_ARGUMENT_TREE)
    return bindTree(argument, info, slots[0].p);
  if (info.kind == METATE_ARGUMENT_NDARRAY)
    return bindArray(argument, info, slots);
  unsigned width = widthOf(scalarOf(argument.getType()));
  Components value;
  for (int64_t k = 0; k < countOf(argument.getType()); ++k)
    value.push_back(wrap(slots[k].u, width));
  machine.set(argument, std::move(value));
}

void Launch::bindArray(BlockArgument argument, const metate_argument_info &info,
                       const metate_slot *slots) {
  Array &array = arrays.emplace_back();
  array.name = nameOf(argument.getArgNumber());
  array.element = array.shown = cast<MemRefType>(argument.getType()).getElementType();
  unsigned number = argument.getArgNumber();
  if (auto type = kernel.op.getArgAttrOfType<TypeAttr>(number, mark::type))
    array.shown = type.getValue();
  if (auto element = kernel.op.getArgAttrOfType<DenseI64ArrayAttr>(number, mark::element))
    array.componentRank = element.size();
  array.isResult = bool(kernel.op.getArgAttr(number, mark::result));
  if (array.isResult)
    array.name = "the returned value";
  array.memory = static_cast<uint8_t *>(slots[0].p);
  array.isWritten = info.access & METATE_ACCESS_WRITE;
  for (uint32_t axis = 0; axis < info.rank; ++axis) {
    array.extents.push_back(slots[1 + axis].i);
    array.strides.push_back(slots[1 + info.rank + axis].i);
  }
  machine.bind(argument, &array);
}

void Launch::bindTree(BlockArgument argument, const metate_argument_info &info, void *block) {
  std::unique_ptr<Tree> &tree = trees[block]; // two arguments may be one tree
  if (!tree) {
    auto *descriptor = reinterpret_cast<const metate_descriptor *>(kernel.descriptor);
    auto *infos =
        reinterpret_cast<const metate_type_info *>(kernel.descriptor + descriptor->types.offset);
    auto *type =
        reinterpret_cast<const metate_tree_type *>(kernel.descriptor + infos[info.type].offset);
    tree = std::make_unique<Tree>(cast<TreeType>(argument.getType()));
    tree->name = nameOf(argument.getArgNumber());
    for (const TreeNode &node : tree->shape.nodes)
      if (node.place)
        tree->shown[node.place.getName()] =
            shownMember(kernel.op, argument.getArgNumber(), node.place.getName());
    types[block] = type;
    TreeBlock(tree->shape, type, block).read(*tree);
  }
  blocks[argument] = block;
  machine.bind(argument, tree.get());
}

//===-- running -------------------------------------------------------------===//

/// Calls `visit` with the indices and the number of each element, in row-major order.
static void eachElement(const Array &array,
                        function_ref<void(const Coordinates &, uint64_t)> visit) {
  if (llvm::is_contained(array.extents, 0))
    return;
  uint64_t number = 0;
  visitBox(Coordinates(array.extents.size(), 0),
           Coordinates(array.extents.begin(), array.extents.end()),
           [&](const Coordinates &at) { visit(at, number++); });
}

/// Only what the kernel writes is put back: the rest may be memory that cannot be written, and what
/// lies between the elements of a strided array is somebody else's.
Launch::Contents Launch::contents() const {
  Contents result;
  for (const Array &array : arrays) {
    std::vector<uint64_t> &elements = result.emplace_back();
    if (array.isWritten)
      eachElement(array, [&](const Coordinates &at, uint64_t) {
        elements.push_back(loadScalar(array.element, array.address(at)));
      });
  }
  return result;
}

void Launch::restore(const Contents &contents) {
  for (auto [array, elements] : llvm::zip(arrays, contents))
    if (array.isWritten)
      eachElement(
          array, [&, &array = array, &elements = elements](const Coordinates &at, uint64_t number) {
            storeScalar(array.element, elements[number], array.address(at));
          });
}

static std::map<void *, std::unique_ptr<Tree>>
copyOf(const std::map<void *, std::unique_ptr<Tree>> &trees) {
  std::map<void *, std::unique_ptr<Tree>> result;
  for (const auto &[block, tree] : trees)
    result[block] = std::make_unique<Tree>(*tree);
  return result;
}

void Launch::run() {
  mlir::Block &body = kernel.op.getBody().front();
  if (!machine.checks.order) {
    machine.run(body);
    return;
  }
  Contents before = contents();
  auto treesBefore = copyOf(trees);
  machine.run(body);
  if (machine.stopped())
    return;
  Contents inOrder = contents();
  auto ordered = copyOf(trees);
  restore(before);
  for (auto &[block, tree] : trees)
    *tree = *treesBefore[block];
  std::mt19937_64 generator(0x6d657461); // any order but the first one: always the same
  machine.shuffle = &generator;
  machine.isSilent = true;
  machine.run(body);
  machine.isSilent = false;
  machine.shuffle = nullptr;
  if (machine.statusCode() == METATE_E_INTERRUPTED)
    return;
  const bool otherStopped = machine.stopped();
  if (!otherStopped)
    compareOrders(inOrder, ordered); // a difference may stop the machine too
  restore(inOrder);
  for (auto &[block, tree] : trees)
    *tree = *ordered.at(block);
  if (otherStopped) {
    machine.resume();
    auto [op, message, variables] = machine.otherEnd;
    machine.reportLater("order", op, variables,
                        "depends on the order of the iterations; in another one: " + message);
  }
}

/// How far sums of quantised members may be apart that are rounded after each term: some last digits, of a fixed one some steps.
static double roundingOf(const QuantFormat &format, double magnitude) {
  constexpr double steps = 32;
  if (format.kind == QuantFormat::Fixed)
    return steps * format.scale;
  return steps * std::ldexp(magnitude, -int(format.digits()));
}

bool Launch::isSame(Type scalar, uint64_t a, uint64_t b, double magnitude,
                    const std::optional<QuantFormat> &format) const {
  if (a == b || (isNaN(scalar, a) && isNaN(scalar, b)))
    return true;
  if (!isa<FloatType>(scalar) || !kernel.hasFloatAtomics)
    return false;
  // A sum in another order is another sum: only what is beyond rounding counts. Terms that cancel
  // leave a small sum with the rounding of great ones.
  double x = toDouble(scalar, a), y = toDouble(scalar, b);
  double tolerance = scalar.isF64() ? 1e-9 : scalar.isF32() ? 1e-4 : 2e-2;
  magnitude = std::max({std::fabs(x), std::fabs(y), magnitude});
  double rounding = format ? roundingOf(*format, magnitude) : 0;
  return std::fabs(x - y) <= std::max(tolerance * magnitude, rounding);
}

/// What differs between two orders of the iterations, by the operation that wrote it.
class interp::Differences {
public:
  explicit Differences(Operation *kernel) : kernel(kernel) {}

  void add(const WriteRecord &record, function_ref<std::string()> text) {
    Difference &difference = found[record.last.op ? record.last.op : kernel];
    if (!difference.count++)
      difference = {text(), record.variables, 1};
  }
  void report(Machine &machine) const {
    for (auto &[op, difference] : found) {
      uint64_t others = difference.count - 1;
      std::string more = others ? ", and so with " + std::to_string(others) + " more" : "";
      machine.reportLater("order", op, difference.variables,
                          difference.text + more + "; an iteration needs what others write");
    }
  }

private:
  Operation *kernel;
  struct Difference {
    std::string text;
    Coordinates variables; ///< of the iteration that wrote it last, in order
    uint64_t count = 0;
  };
  llvm::MapVector<Operation *, Difference> found;
};

static std::string differenceText(const std::string &place, Type shown, uint64_t a, uint64_t b) {
  return place + " depends on the order of the iterations, " + show(shown, a) + " in order and " +
         show(shown, b) + " in another one";
}

void Launch::compareArrays(const Contents &inOrder, Differences &differences) {
  for (auto [array, elements] : llvm::zip(arrays, inOrder)) {
    auto compare = [&, &array = array, &elements = elements](const Coordinates &at,
                                                             uint64_t number) {
      const uint8_t *address = array.address(at);
      uint64_t a = elements[number], b = loadScalar(array.element, address);
      WriteRecord record = machine.writes.find(address);
      if (!record.isConflicting && !isSame(array.element, a, b, record.magnitude))
        differences.add(record,
                        [&] { return differenceText(placeText(array, at), array.shown, a, b); });
    };
    if (array.isWritten)
      eachElement(array, compare);
  }
}

/// The records of writes are by the tree that the kernel has: `other`.
void Launch::compareTrees(Tree &inOrder, Tree &other, Differences &differences) {
  for (auto &[node, level] : inOrder.levels)
    if (level.active != other.levels[node].active || level.lengths != other.levels[node].lengths)
      differences.add({}, [&] {
        return "the set of active cells of " + inOrder.name +
               " depends on the order of the iterations";
      });
  for (auto &[number, cells] : inOrder.values) {
    int node = number;
    const TreeShape &shape = inOrder.shape;
    Type scalar = shape.shownType(node);
    auto shown = [&](const Tree &tree, const Coordinates &at) {
      Components value = tree.read(node, at);
      for (uint64_t &bits : value)
        bits = shape.shownBits(node, bits);
      return value;
    };
    auto compare = [&](const Coordinates &at) {
      Components a = shown(inOrder, at), b = shown(other, at);
      for (size_t k = 0; k < a.size(); ++k) {
        WriteRecord record = machine.writes.find(other, node, at, k);
        if (!record.isConflicting &&
            !isSame(scalar, a[k], b[k], record.magnitude, shape.nodes[node].format))
          differences.add(record, [&] {
            return differenceText(placeText(inOrder, node, at, k), scalar, a[k], b[k]);
          });
      }
    };
    std::set<Coordinates> places; // sorted: the first difference is the least place
    for (auto &cell : cells)
      places.insert(cell.first);
    for (auto &cell : other.values[node])
      places.insert(cell.first);
    for (const Coordinates &at : places)
      compare(at);
  }
}

void Launch::compareOrders(const Contents &inOrder,
                           const std::map<void *, std::unique_ptr<Tree>> &ordered) {
  for (auto &[block, tree] : trees)
    if (tree->exhausted() >= 0 || ordered.at(block)->exhausted() >= 0)
      return; // an error of its own: which cells there was room for depends on the order
  Differences differences(kernel.op);
  compareArrays(inOrder, differences);
  for (auto &[block, tree] : trees)
    compareTrees(*ordered.at(block), *tree, differences);
  differences.report(machine);
}

int32_t Launch::finish() {
  int32_t status = METATE_OK;
  for (auto &[block, tree] : trees) {
    TreeBlock(tree->shape, types[block], block).write(*tree);
    if (tree->exhausted() >= 0)
      status = METATE_E_CAPACITY;
  }
  return machine.stopped() ? machine.statusCode() : status;
}
