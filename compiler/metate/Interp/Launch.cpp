//===- Launch.cpp - arguments of one launch ---------------------*- C++ -*-===//
#include "metate/Interp/Launch.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

//===-- arguments -----------------------------------------------------------===//

Launch::Launch(const KernelRecord &kernel, const RuleTable &rules, const Checks &checks,
               const metate_slot *slots, const metate_host *host)
    : machine(kernel.op, rules, checks, host), kernel(kernel) {
  for (unsigned k = 0; k < kernel.info->argument_count; ++k)
    bindArgument(k, slots + kernel.arguments[k].first_slot);
}

std::string Launch::nameOf(unsigned number) {
  auto name = kernel.op.getArgAttrOfType<StringAttr>(number, "metate.name");
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
  array.element = cast<MemRefType>(argument.getType()).getElementType();
  array.memory = static_cast<uint8_t *>(slots[0].p);
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
    types[block] = type;
    TreeBlock(tree->shape, type, block).read(*tree);
  }
  blocks[argument] = block;
  machine.bind(argument, tree.get());
}

//===-- running -------------------------------------------------------------===//

/// Bytes from the first to after the last element, and the first one's offset from the data
/// pointer; strides may be negative.
static std::pair<int64_t, int64_t> spanOf(const Array &array) {
  int64_t low = 0, high = 1;
  for (auto [extent, stride] : llvm::zip(array.extents, array.strides)) {
    if (!extent)
      return {0, 0};
    (stride < 0 ? low : high) += (extent - 1) * stride;
  }
  int64_t bytes = bytesOf(array.element);
  return {low * bytes, (high - low) * bytes};
}

Launch::Contents Launch::contents() const {
  Contents result;
  for (const Array &array : arrays) {
    auto [offset, bytes] = spanOf(array);
    const uint8_t *first = array.memory + offset;
    result.emplace_back(first, first + bytes);
  }
  return result;
}

void Launch::restore(const Contents &contents) {
  for (auto [array, bytes] : llvm::zip(arrays, contents))
    if (!bytes.empty())
      std::memcpy(array.memory + spanOf(array).first, bytes.data(), bytes.size());
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
  if (machine.interrupted())
    return;
  compareOrders(inOrder, ordered);
  restore(inOrder);
  for (auto &[block, tree] : trees)
    *tree = *ordered.at(block);
}

bool Launch::isSame(Type scalar, uint64_t a, uint64_t b) const {
  if (a == b || (isNaN(scalar, a) && isNaN(scalar, b)))
    return true;
  if (!isa<FloatType>(scalar) || !kernel.hasFloatAtomics)
    return false;
  // A sum in another order is another sum: only what is beyond rounding counts.
  double x = toDouble(scalar, a), y = toDouble(scalar, b);
  double tolerance = scalar.isF64() ? 1e-9 : scalar.isF32() ? 1e-4 : 2e-2;
  return std::fabs(x - y) <= tolerance * std::max(std::fabs(x), std::fabs(y));
}

void Launch::compareOrders(const Contents &inOrder,
                           const std::map<void *, std::unique_ptr<Tree>> &ordered) {
  std::string first;
  uint64_t count = 0;
  auto differ = [&](const std::string &place, Type scalar, uint64_t a, uint64_t b) {
    if (isSame(scalar, a, b))
      return;
    if (!count++)
      first =
          place + " is " + show(scalar, a) + " in order and " + show(scalar, b) + " in another one";
  };
  for (auto [array, bytes] : llvm::zip(arrays, inOrder)) {
    unsigned size = bytesOf(array.element);
    const uint8_t *now = array.memory + spanOf(array).first;
    for (size_t at = 0; at + size <= bytes.size(); at += size)
      differ("element " + std::to_string(at / size) + " of " + array.name, array.element,
             loadScalar(array.element, bytes.data() + at), loadScalar(array.element, now + at));
  }
  for (auto &[block, tree] : trees) {
    Tree &other = *ordered.at(block);
    for (auto &[node, pool] : other.pools)
      if (pool.active != tree->pools[node].active && !count++)
        first = "the set of active cells of " + tree->name + " differs";
    for (auto &[node, cells] : other.values) {
      Type scalar = scalarOf(tree->shape.nodes[node].place.getType());
      auto compare = [&](const Coordinates &at) {
        Components a = other.read(node, at), b = tree->read(node, at);
        std::string name = tree->name + "." + tree->shape.nodes[node].place.getName().str();
        for (auto [x, y] : llvm::zip(a, b))
          differ(placeText(name, at), scalar, x, y);
      };
      for (auto &cell : cells)
        compare(cell.first);
      for (auto &cell : tree->values[node])
        if (!cells.count(cell.first))
          compare(cell.first);
    }
  }
  if (count)
    machine.report("order", kernel.op,
                   "the result depends on the order of the iterations: " + first +
                       (count > 1 ? ", and " + std::to_string(count - 1) + " more places" : ""));
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
