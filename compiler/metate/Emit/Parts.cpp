//===- Parts.cpp - the pieces that code is compiled in ----------*- C++ -*-===//
#include "metate/Emit/Parts.h"

#include "metate/Dialect/Place.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace metate;

/// Operations of a function that is worth a part: LLVM needs some 10 ms for them, and 1 ms for a part.
static constexpr size_t leastWeight = 200;
/// More would repeat helper functions for few machines' gain.
static constexpr size_t mostParts = 8;

namespace {
using Operations = llvm::SmallSetVector<Operation *, 8>;

/// Functions that stay together: a task's body, or an entry with its short ones, which it may inline.
struct Unit {
  SmallVector<Operation *> roots;
  size_t weight = 0;
};

class Splitter {
public:
  Splitter(ModuleOp module, ArrayRef<StringRef> entries) : module(module) {
    for (Operation &op : *module.getBody())
      if (isCode(op))
        scan(op);
    for (StringRef name : entries)
      if (Operation *op = symbols.lookup(name))
        isEntry.insert(op);
    resolve();
  }

  /// The roots of each part; one without roots holds everything.
  std::vector<Unit> units() const;
  CodePart build(const Unit &unit, ArrayRef<Unit> all);

private:
  static bool isCode(Operation &op) { return isa<LLVM::LLVMDialect>(op.getDialect()); }
  bool isRoot(Operation *op) const { return isEntry.contains(op) || isTask.contains(op); }
  ArrayRef<Operation *> usedBy(Operation *op) const {
    auto found = uses.find(op);
    return found == uses.end() ? ArrayRef<Operation *>() : found->second.getArrayRef();
  }

  void scan(Operation &op);
  void resolve();
  std::vector<Unit> smallestUnits() const;
  Operations closure(ArrayRef<Operation *> roots) const;
  static void copy(Operation &op, ModuleOp to);
  static void declare(LLVM::LLVMFuncOp function, ModuleOp to);

  ModuleOp module;
  llvm::StringMap<Operation *> symbols;
  llvm::MapVector<Operation *, SmallVector<std::pair<StringRef, bool>>> names; ///< address taken?
  llvm::DenseMap<Operation *, Operations> uses;
  llvm::DenseMap<Operation *, size_t> weights;
  llvm::DenseMap<Operation *, unsigned> users; ///< of a task: functions that take its address
  llvm::DenseSet<Operation *> isEntry, isTask;
  bool hasVariables = false;
};
} // namespace

void Splitter::scan(Operation &op) {
  if (auto symbol = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
    symbols[symbol] = &op;
  if (auto global = dyn_cast<LLVM::GlobalOp>(op))
    hasVariables |= !global.getConstant();
  SmallVector<std::pair<StringRef, bool>> &used = names[&op];
  size_t &weight = weights[&op];
  op.walk([&](Operation *inner) {
    ++weight;
    if (auto address = dyn_cast<LLVM::AddressOfOp>(inner))
      used.push_back({address.getGlobalName(), true});
    else if (auto call = dyn_cast<LLVM::CallOp>(inner); call && call.getCallee())
      used.push_back({*call.getCallee(), false});
  });
}

void Splitter::resolve() {
  for (auto &[op, used] : names) {
    Operations tasks;
    for (auto [name, isTaken] : used) {
      Operation *target = symbols.lookup(name);
      if (!target)
        continue;
      uses[op].insert(target);
      if (auto function = dyn_cast<LLVM::LLVMFuncOp>(target); function && !function.isExternal())
        if (isTaken)
          tasks.insert(target);
    }
    for (Operation *task : tasks) {
      isTask.insert(task);
      ++users[task];
    }
  }
}

std::vector<Unit> Splitter::smallestUnits() const {
  std::vector<Unit> units;
  llvm::DenseSet<Operation *> placed;
  auto add = [&](Unit &unit, Operation *op) {
    unit.roots.push_back(op);
    unit.weight += weights.lookup(op);
    placed.insert(op);
  };
  for (auto &[op, used] : names) {
    if (!isEntry.contains(op))
      continue;
    Unit &unit = units.emplace_back();
    add(unit, op);
    for (Operation *target : usedBy(op))
      if (isTask.contains(target) && !isEntry.contains(target) && users.lookup(target) == 1 &&
          weights.lookup(target) < leastWeight)
        add(unit, target);
  }
  for (auto &[op, used] : names)
    if (isTask.contains(op) && !placed.contains(op))
      add(units.emplace_back(), op);
  return units;
}

static void moveInto(Unit &to, Unit &from) {
  llvm::append_range(to.roots, from.roots);
  to.weight += from.weight;
  from = {};
}

static void heaviestFirst(std::vector<Unit> &units) {
  llvm::stable_sort(units, [](const Unit &a, const Unit &b) { return a.weight > b.weight; });
}

std::vector<Unit> Splitter::units() const {
  std::vector<Unit> units = smallestUnits(), parts(mostParts);
  heaviestFirst(units);
  auto byWeight = [](const Unit &a, const Unit &b) { return a.weight < b.weight; };
  for (Unit &unit : units)
    moveInto(*llvm::min_element(parts, byWeight), unit);
  heaviestFirst(parts);
  // What is too short for a part of its own goes to the next shortest.
  while (parts.size() > 1 && parts.back().weight < leastWeight) {
    moveInto(parts[parts.size() - 2], parts.back());
    parts.pop_back();
    heaviestFirst(parts);
  }
  // A variable is one thing: it cannot be in several parts.
  return parts.size() > 1 && !hasVariables ? parts : std::vector<Unit>(1);
}

/// What the roots need, other roots included.
Operations Splitter::closure(ArrayRef<Operation *> roots) const {
  Operations needed(roots.begin(), roots.end());
  for (size_t k = 0; k < needed.size(); ++k)
    if (k < roots.size() || !isRoot(needed[k]))
      for (Operation *target : usedBy(needed[k]))
        needed.insert(target);
  return needed;
}

void Splitter::copy(Operation &op, ModuleOp to) {
  to.push_back(op.clone());
  // A task made of a loop of an inlined function: a scope must not lie in a call of another one.
  if (isa<CallSiteLoc>(op.getLoc()))
    to.getBody()->back().setLoc(placeOf(op.getLoc()));
}

/// Not as hidden: parts need not lie near one another.
void Splitter::declare(LLVM::LLVMFuncOp function, ModuleOp to) {
  OpBuilder builder = OpBuilder::atBlockEnd(to.getBody());
  LLVM::LLVMFuncOp::create(builder, builder.getUnknownLoc(), function.getSymName(),
                           function.getFunctionType());
}

CodePart Splitter::build(const Unit &unit, ArrayRef<Unit> all) {
  CodePart part;
  part.code = ModuleOp::create(module.getLoc(), module.getSymName());
  (*part.code)->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  bool isWhole = unit.roots.empty();
  Operations own(unit.roots.begin(), unit.roots.end()), needed = closure(unit.roots), foreign;
  for (const Unit &other : all)
    if (&other != &unit)
      foreign.insert_range(closure(other.roots));
  for (auto &[op, used] : names) {
    bool isHere = isWhole || own.contains(op) || !isa<SymbolOpInterface>(op);
    if (isHere || (needed.contains(op) && !isRoot(op)))
      copy(*op, *part.code);
    else if (needed.contains(op))
      declare(cast<LLVM::LLVMFuncOp>(op), *part.code);
    if (isHere && (isEntry.contains(op) || foreign.contains(op)))
      part.exported.push_back(SymbolTable::getSymbolName(op).getValue());
  }
  return part;
}

std::vector<CodePart> metate::splitCode(ModuleOp module, ArrayRef<StringRef> entries) {
  Splitter splitter(module, entries);
  std::vector<Unit> units = splitter.units();
  std::vector<CodePart> parts;
  for (const Unit &unit : units)
    parts.push_back(splitter.build(unit, units));
  return parts;
}
