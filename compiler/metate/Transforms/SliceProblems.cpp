//===- SliceProblems.cpp - where counting first would count wrongly -*- C++ -*-===//
#include "metate/Transforms/ActivationSlice.h"
#include "metate/Transforms/Checks.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

/// The line of an operation's place in the source, as text.
static std::string lineOf(Operation *op) {
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? "line " + std::to_string(place.getLine()) : "another line";
}

/// What the user calls the array, member or level.
static std::string nameOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<CellOpInterface>(
          [](CellOpInterface cell) { return accessName(cell.getTree(), cell.getPath()).name; })
      .Case<memref::LoadOp>([](auto o) { return accessName(o.getMemRef()).name; })
      .Default([](Operation *) { return std::string("an argument"); });
}

void ActivationSlice::refuse(Operation *op, const Twine &text) {
  if (!problem)
    problem = {op->getLoc(), ("which cells are activated depends on " + text +
                              (isGraph ? ": count for its kernels one by one"
                                       : ": do that in a kernel of its own"))
                                 .str()};
}

void ActivationSlice::findProblem() {
  if (problem)
    return;
  for (Operation *read : reads)
    for (Operation *write : writes) {
      if (!mayChange(write, read) || !mayPrecede(write, read))
        continue;
      auto cell = dyn_cast<CellOpInterface>(read);
      bool isSet = cell && cell.asksActivity();
      return refuse(read, (isSet ? "which cells of '" : "'") + nameOf(read) +
                              (isSet ? "' are active here" : "' here") + ", which the " +
                              (isGraph ? "graph" : "kernel") + " itself changes (" + lineOf(write) +
                              ")");
    }
  kernel.walk([&](Operation *op) {
    if (auto append = dyn_cast<AppendOp>(op))
      refuseMixedLists(append);
    if (auto cell = dyn_cast<CellOpInterface>(op); cell && cell.activates())
      refuseLateSlots(op);
  });
}

static TreePath pathOf(Operation *op) {
  return CellAccess::from(cast<CellOpInterface>(op)).resolve();
}

static Value treeOf(Operation *op) {
  auto cell = dyn_cast<CellOpInterface>(op);
  return cell ? cell.getTree() : Value();
}

/// Is there a level on both paths whose cells can be inactive?
static bool shareActivity(Operation *a, Operation *b) {
  TreePath first = pathOf(a), second = pathOf(b);
  ArrayRef<LevelInterface> one = activityLevels(first), other = activityLevels(second);
  size_t common = 0;
  while (common < std::min(one.size(), other.size()) && one[common] == other[common])
    ++common;
  return llvm::any_of(one.take_front(common),
                      [](LevelInterface level) { return level.hasActivity(); });
}

bool ActivationSlice::mayChange(Operation *write, Operation *read) {
  if (auto load = dyn_cast<memref::LoadOp>(read)) {
    auto store = dyn_cast<memref::StoreOp>(write);
    auto atomic = dyn_cast<memref::AtomicRMWOp>(write);
    Value target = store ? store.getMemRef() : atomic ? atomic.getMemref() : Value();
    return target && (target == load.getMemRef() || kernel.getMayAlias());
  }
  Value tree = treeOf(write);
  if (!tree || !mayBeSameTree(kernel, tree, treeOf(read)))
    return false;
  if (isa<LoadOp>(read)) {
    // An activated cell reads as it did before: as its background.
    if (writesMember(write))
      return CellAccess::of(write)->path == CellAccess::of(read)->path;
    return isa<DeactivateOp>(write) && shareActivity(write, read);
  }
  return changedCell(write) && shareActivity(write, read);
}

/// Indices of an access, components of elements included.
static std::optional<SmallVector<Value>> indicesOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<SmallVector<Value>>>(op)
      .Case<CellOpInterface>([](CellOpInterface cell) -> std::optional<SmallVector<Value>> {
        if (!cell.readsMember() && !cell.writesMember())
          return std::nullopt;
        return llvm::to_vector_of<Value>(cell.getCellCoordinates());
      })
      .Case<memref::LoadOp, memref::StoreOp, memref::AtomicRMWOp>(
          [](auto o) { return llvm::to_vector(o.getIndices()); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Do both name, in each iteration of the loop, an element that no other iteration names? Then only what
/// stands before in the same iteration matters.
static bool isOwnElement(Operation *write, Operation *read, Operation *loop) {
  auto a = indicesOf(write), b = indicesOf(read);
  if (!a || !b || a->size() != b->size() || !isa<RangeOp, ForEachOp>(loop))
    return false;
  for (BlockArgument variable : loop->getRegion(0).getArguments()) {
    bool isThere = false;
    for (auto [one, other] : llvm::zip(*a, *b))
      isThere |= one == other && one == variable;
    if (!isThere)
      return false;
  }
  return true;
}

bool ActivationSlice::mayPrecede(Operation *write, Operation *read) {
  Operation *first = write, *second = nullptr;
  while (!(second = first->getBlock()->findAncestorOpInBlock(*read)))
    first = first->getParentOp();
  if (first == second)
    return false; // a loop, whose cells are those at entry
  bool isBefore = first->isBeforeInBlock(second);
  for (Operation *around = first->getParentOp(); !isa<KernelOp>(around);
       around = around->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(around) ||
        (isa<RangeOp, ForEachOp>(around) && !isOwnElement(write, read, around)))
      return true;
  return isBefore;
}

/// How far an index leads and how many cells are appended depend on which comes first.
void ActivationSlice::refuseMixedLists(AppendOp append) {
  TreePath list = pathOf(append);
  for (Operation *write : writes) {
    auto activate = dyn_cast<ActivateOp>(write);
    if (!activate || !mayBeSameTree(kernel, activate.getTree(), append.getTree()))
      continue;
    TreePath path = pathOf(activate);
    size_t depth = list.levels.size();
    if (path.levels.size() >= depth &&
        ArrayRef(path.levels).take_front(depth) == ArrayRef(list.levels))
      return refuse(append, "whether the lists of '" + nameOf(append) +
                                "' are appended to before their cells are activated by index (" +
                                lineOf(activate) + ")");
  }
}

bool ActivationSlice::isSameTask(Operation *a, Operation *b) {
  Block &body = kernel.getBody().front();
  a = body.findAncestorOpInBlock(*a);
  b = body.findAncestorOpInBlock(*b);
  auto isLoop = [](Operation *op) { return isa<RangeOp, ForEachOp>(op); };
  if (a == b || isLoop(a) || isLoop(b))
    return a == b;
  if (b->isBeforeInBlock(a))
    std::swap(a, b);
  for (; a != b; a = a->getNextNode())
    if (isLoop(a))
      return false;
  return true;
}

/// Slots that a task gives up are free when it has ended: one cell may take several until then.
void ActivationSlice::refuseLateSlots(Operation *change) {
  for (Operation *write : writes)
    if (isa<DeactivateOp>(write) && mayBeSameTree(kernel, treeOf(write), treeOf(change)) &&
        isSameTask(write, change))
      return refuse(change, "the order in which one task deactivates (" + lineOf(write) +
                                ") and activates cells of '" + nameOf(change) + "'");
}
