//===- LowerSlots.cpp - slots looked up before a nest -----------*- C++ -*-===//
//
// The part of KernelLowering for the nests of metate-hoist-slots, and for lists.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/LowerKernel.h"

using namespace mlir;
using namespace metate;

std::optional<std::pair<Value, SmallVector<Value>>>
KernelLowering::fixedSlotOf(Operation *op, const CellAccess &access, const TreePath &path,
                            Argument &argument) {
  scf::ForOp nest = slotNestOf(op);
  // A slot that others may take from its cell, or that the nest itself may link in one of its iterations: look each time.
  if (!nest || path.lastPool() < 0 || argument.unlinked ||
      hasInnerChange.contains({nest, access.tree}))
    return std::nullopt;
  unsigned node = argument.layout->nodesOf(path)[path.lastPool()];
  if (!argument.layout->nodes[node].ambient)
    return std::nullopt;
  auto form = FixedSlot::of(path, access.coordinates, [&](Value value) {
    return !nest->isAncestor(value.getParentBlock()->getParentOp());
  });
  if (!form)
    return std::nullopt;
  auto &known = fixedSlots[{nest, access.tree, node}];
  auto *found = llvm::find_if(known, [&](auto &one) { return one.first.hasSameBase(*form); });
  if (found == known.end()) {
    OpBuilder before(nest);
    ByteBuilder outside = bytesFor(argument, before, op->getLoc());
    TreeAddress address(outside, *argument.layout, path, form->base(before, op->getLoc()),
                        argument.concurrent);
    known.emplace_back(*form, address.slotOffset(path.lastPool()));
    found = std::prev(known.end());
  }
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op->getLoc());
  return std::pair(found->second, form->local(bytes, path));
}

Value KernelLowering::activateInSlot(ActivateOp op, const CellAccess &access, const TreePath &path,
                                     Argument &argument) {
  auto leaf = leafOf(op, access, path, argument, /*isOwn=*/false);
  if (!leaf)
    return {};
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  return TreeAddress(bytes, *argument.layout, path, leaf->second, argument.concurrent)
      .activateInSlot(path.lastPool(), leaf->first);
}

Value KernelLowering::activeInList(IsActiveOp op, const TreePath &path, Argument &argument) {
  auto cells = op->getParentOfType<CellsOp>();
  if (!cells || hasInnerChange.contains({cells, op.getTree()}) || argument.unlinked)
    return {};
  TreePath list = *findPath(argument.type, cells.getLevel());
  OpBuilder before(leafPoint(cells));
  ByteBuilder outside = bytesFor(argument, before, op.getLoc());
  TreeAddress address(outside, *argument.layout, list,
                      llvm::to_vector_of<Value>(cells.getBody().getArguments().drop_front()),
                      argument.concurrent);
  Value length = outside.toIndex(address.length());
  // No other level splits the list's axis.
  unsigned position = llvm::find(path.axes, levelAxes(list.levels.back())[0]) - path.axes.begin();
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  return bytes.compare(arith::CmpIPredicate::ult, op.getCoordinates()[position], length);
}
