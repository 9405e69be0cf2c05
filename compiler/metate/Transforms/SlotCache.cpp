//===- SlotCache.cpp - slots that are looked up once ------------*- C++ -*-===//
#include "metate/Transforms/SlotCache.h"

#include "metate/Dialect/Call.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/TreeAddress.h"

using namespace mlir;
using namespace metate;

/// The cells task, or the nest of metate-hoist-slots, that an operation stands in.
static Operation *scopeOf(Operation *op) {
  auto cells = op->getParentOfType<CellsOp>();
  return cells ? cells.getOperation() : slotNestOf(op).getOperation();
}

void SlotCache::noteCalls() {
  kernel.walk([&](CallOp call) {
    Operation *scope = scopeOf(call);
    for (FunctionOp function : scope ? functionsCalledIn(call) : SmallVector<FunctionOp>())
      function.walk([&](Operation *op) {
        std::optional<CellAccess> change = changedCell(op);
        for (BlockArgument tree : arguments.old())
          if (change && mayBeSameTree(kernel, tree, change->tree)) {
            innerChanges.insert({scope, tree});
            if (isa<DeactivateOp>(op))
              innerUnlinks.insert({scope, tree});
          }
      });
  });
}

void SlotCache::noteInnerChanges() {
  noteCalls();
  kernel.walk([&](Operation *op) {
    std::optional<CellAccess> change = changedCell(op);
    auto cells = op->getParentOfType<CellsOp>();
    // Above the nest it is done before the leaf is looked up.
    bool isAbove =
        isa<ActivateOp>(op) && cells && op->getParentOp() == cells && !nestOf(cells).empty();
    Operation *scope = scopeOf(op);
    if (!change || !scope || isAbove || op->hasAttr(mark::linked))
      return;
    TreePath path = change->resolve();
    bool takes = isa<DeactivateOp>(op) && hasPools(path.levels[path.lastActivity()]);
    for (BlockArgument tree : arguments.old()) {
      if (!mayBeSameTree(kernel, tree, change->tree))
        continue;
      innerChanges.insert({scope, tree});
      if (takes)
        innerUnlinks.insert({scope, tree});
    }
  });
}

Value SlotCache::once(Operation *scope, Value tree, unsigned pool, Key key,
                      llvm::function_ref<Value()> lookUp) {
  auto &slots = known[{scope, tree, pool}];
  for (auto &[other, offset] : slots)
    if (other == key)
      return offset;
  Value offset = lookUp();
  if (offset)
    slots.emplace_back(std::move(key), offset);
  return offset;
}

//===-- slots of cells tasks ------------------------------------------------===//

bool SlotCache::isOwnSlot(CellsOp cells, const LeafForm &form, const CellAccess &access,
                          const TreePath &path) {
  const LoweredArgument &argument = arguments[access.tree];
  TreePath iterated = *findPath(cast<TreeType>(cells.getTree().getType()), cells.getLevel());
  return access.tree == cells.getTree() && iterated.levels.size() == size_t(path.lastPool() + 1) &&
         argument.poolOf(iterated) == argument.poolOf(path) &&
         llvm::all_of(llvm::enumerate(iterated.axes), [&](auto axis) {
           unsigned position = llvm::find(path.axes, axis.value()) - path.axes.begin();
           return form.slot[position] == cells.getBody().getArgument(1 + axis.index());
         });
}

Value SlotCache::slotOf(OpBuilder &builder, CellsOp cells, const LeafForm &form,
                        const CellAccess &access, const TreePath &path) {
  LoweredArgument &argument = arguments[access.tree];
  unsigned pool = argument.poolOf(path);
  return once(cells, access.tree, pool, {form.slot, {}}, [&]() -> Value {
    OpBuilder before(leafPoint(cells), builder.getListener());
    ByteBuilder bytes = arguments.bytesFor(argument, before, cells.getLoc());
    if (isOwnSlot(cells, form, access, path))
      return bytes.slotAt(argument.node(pool), cells.getBody().getArgument(0));
    // An activation that was not hoisted may link the leaf in the middle of the nest: look each time.
    if (hasInnerChange(cells, access.tree))
      return {};
    SmallVector<Value> base;
    for (auto [slot, scale] : llvm::zip(form.slot, form.scale))
      base.push_back(slot ? bytes.multiply(slot, scale) : bytes.index(0));
    return TreeAddress(bytes, *argument.layout, path, base, argument.concurrent)
        .slotOffset(path.lastPool());
  });
}

Value SlotCache::neighbourOf(OpBuilder &builder, CellsOp cells, const LeafForm &form,
                             const CellAccess &access, const TreePath &path,
                             ArrayRef<int64_t> direction) {
  if (llvm::all_of(direction, [](int64_t along) { return along == 0; }))
    return slotOf(builder, cells, form, access, path);
  LoweredArgument &argument = arguments[access.tree];
  Key key{form.slot, llvm::to_vector(direction)};
  return once(cells, access.tree, argument.poolOf(path), std::move(key), [&]() -> Value {
    if (hasInnerChange(cells, access.tree))
      return {};
    OpBuilder before(leafPoint(cells), builder.getListener());
    ByteBuilder bytes = arguments.bytesFor(argument, before, cells.getLoc());
    SmallVector<Value> coordinates;
    for (auto [slot, scale, extent, along] :
         llvm::zip(form.slot, form.scale, form.extents, direction))
      coordinates.push_back(bytes.add(bytes.multiply(slot, scale), along * extent));
    return TreeAddress(bytes, *argument.layout, path, coordinates, argument.concurrent)
        .slotOffset(path.lastPool());
  });
}

//===-- slots of nests over ranges ------------------------------------------===//

/// The base of each coordinate: its terms, which a null value ends, and its constant.
SlotCache::Key SlotCache::keyOf(const FixedSlot &slot) {
  Key key;
  for (const FixedCoordinate &coordinate : slot.coordinates) {
    llvm::append_range(key.values, coordinate.base);
    key.values.push_back({});
    key.numbers.push_back(coordinate.baseConstant);
  }
  return key;
}

std::optional<SlotPlace> SlotCache::findFixed(OpBuilder &builder, Operation *op,
                                              const CellAccess &access, const TreePath &path) {
  scf::ForOp nest = slotNestOf(op);
  LoweredArgument &argument = arguments[access.tree];
  // A slot that others may take from its cell, or that the nest itself may link in one of its iterations: look each time.
  if (!nest || path.lastPool() < 0 || argument.unlinked || hasInnerChange(nest, access.tree))
    return std::nullopt;
  unsigned pool = argument.poolOf(path);
  if (!argument.node(pool).ambient)
    return std::nullopt;
  auto form = FixedSlot::of(path, access.coordinates, [&](Value value) {
    return !nest->isAncestor(value.getParentBlock()->getParentOp());
  });
  if (!form)
    return std::nullopt;
  Value slot = once(nest, access.tree, pool, keyOf(*form), [&] {
    OpBuilder before(nest, builder.getListener());
    ByteBuilder outside = arguments.bytesFor(argument, before, op->getLoc());
    return TreeAddress(outside, *argument.layout, path, form->base(before, op->getLoc()),
                       argument.concurrent)
        .slotOffset(path.lastPool());
  });
  ByteBuilder bytes = arguments.bytesFor(argument, builder, op->getLoc());
  return SlotPlace{slot, form->local(bytes, path)};
}

std::optional<SlotPlace> SlotCache::find(OpBuilder &builder, Operation *op,
                                         const CellAccess &access, const TreePath &path,
                                         bool isOwn) {
  auto cells = op->getParentOfType<CellsOp>();
  if (!cells)
    return findFixed(builder, op, access, path);
  LoweredArgument &argument = arguments[access.tree];
  if (path.lastPool() < 0 || !(isOwn || argument.node(argument.poolOf(path)).ambient))
    return std::nullopt;
  // A slot that may be taken from its cell in the middle of the nest: look each time.
  if (!isOwn && innerUnlinks.contains({cells, access.tree}) && !isMutant(Mutant::SlotOutlivesLink))
    return std::nullopt;
  std::optional<LeafForm> form = LeafForm::of(cells, access);
  if (!form || !form->staysInLeaf())
    return std::nullopt;
  Value slot = slotOf(builder, cells, *form, access, path);
  if (!slot)
    return std::nullopt;
  ByteBuilder bytes = arguments.bytesFor(argument, builder, op->getLoc());
  SmallVector<Value> local;
  for (const LinearForm &linear : form->local)
    local.push_back(linear.emit(bytes));
  return SlotPlace{slot, std::move(local)};
}
