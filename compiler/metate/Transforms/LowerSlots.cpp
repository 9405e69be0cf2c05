//===- LowerSlots.cpp - slots looked up before a nest -----------*- C++ -*-===//
//
// The part of KernelLowering for the nests of metate-hoist-slots, for words of masks, and for lists.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/LeafCells.h"
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

/// Runs `make` with the byte offset of each word of the run, in a loop.
static void forEachWord(ByteBuilder &bytes, Value mask, const MaskRun &run,
                        llvm::function_ref<void(Value)> make) {
  OpBuilder::InsertionGuard guard(bytes.builder);
  auto loop = scf::ForOp::create(bytes.builder, bytes.loc, bytes.index(run.first),
                                 bytes.index(run.end), bytes.index(1));
  bytes.builder.setInsertionPointToStart(loop.getBody());
  make(bytes.add(mask, bytes.multiply(loop.getInductionVar(), 4)));
}

/// i32: bits of the run's words that are not set.
static Value missingIn(ByteBuilder &bytes, Value mask, const MaskRun &run) {
  OpBuilder &builder = bytes.builder;
  Value all = bytes.integer(-1, 32);
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, bytes.loc, bytes.index(run.first), bytes.index(run.end),
                                 bytes.index(1), all);
  builder.setInsertionPointToStart(loop.getBody());
  Value at = bytes.add(mask, bytes.multiply(loop.getInductionVar(), 4));
  Value word = bytes.readInteger(at, 32, /*acquire=*/true);
  Value set = arith::AndIOp::create(builder, bytes.loc, loop.getRegionIterArg(0), word);
  scf::YieldOp::create(builder, bytes.loc, set);
  builder.setInsertionPointAfter(loop);
  Value absent = arith::XOrIOp::create(builder, bytes.loc, loop.getResult(0), all);
  return arith::AndIOp::create(builder, bytes.loc, absent, bytes.integer(run.bits, 32));
}

/// Sets the bits; writes, and notes a change, only where one is missing.
static void setCells(ByteBuilder &bytes, Value mask, ArrayRef<int32_t> words, int64_t cells) {
  OpBuilder &builder = bytes.builder;
  SmallVector<MaskRun> runs = runsOf(words);
  MaskWords whole = allCells(cells);
  Value missing = bytes.integer(0, 32);
  for (const MaskRun &run : runs)
    missing = arith::OrIOp::create(builder, bytes.loc, missing, missingIn(bytes, mask, run));
  auto branch = scf::IfOp::create(builder, bytes.loc, bytes.isNonzero(missing));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (const MaskRun &run : runs) {
    // All bits that the words have: storing them is setting them, whatever others set or clear meanwhile.
    bool isWhole = run.bits == whole[run.first] && run.bits == whole[run.end - 1];
    forEachWord(bytes, mask, run, [&](Value at) {
      Value bits = bytes.integer(run.bits, 32);
      if (isWhole)
        bytes.write(bits, at, /*release=*/true);
      else
        bytes.atomic(arith::AtomicRMWKind::ori, at, bits);
    });
  }
  bytes.markChanged();
}

void KernelLowering::lowerActivateCells(ActivateLeafOp op) {
  Argument &argument = arguments.find(op.getTree())->second;
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  TreePath path = *findPath(argument.type, op.getPath());
  const layout::Node &leaf =
      argument.layout->nodes[argument.layout->nodesOf(path)[path.levels.size() - 1]];
  TreeAddress address(bytes, *argument.layout, path, llvm::to_vector(op.getCoordinates()),
                      argument.concurrent);
  Value active = address.activate(path.lastPool());
  auto branch = scf::IfOp::create(builder, op.getLoc(), active);
  builder.setInsertionPointToStart(branch.thenBlock());
  // Addresses of its own: those above are of values that only hold where they were computed.
  TreeAddress(bytes, *argument.layout, path, llvm::to_vector(op.getCoordinates()),
              argument.concurrent)
      .visitContainer([&](Value container) {
        setCells(bytes, bytes.add(container, leaf.maskOffset), *op.getCells(), leaf.cells);
      });
  op.replaceAllUsesWith(active);
  op.erase();
}

template <typename Op> void KernelLowering::lowerDeactivateLeaf(Op op) {
  Argument &argument = arguments.find(op.getTree())->second;
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  TreePath path = *findPath(argument.type, op.getPath());
  const layout::Node &leaf =
      argument.layout->nodes[argument.layout->nodesOf(path)[path.levels.size() - 1]];
  TreeAddress(bytes, *argument.layout, path, llvm::to_vector(op.getCoordinates()),
              argument.concurrent, argument.unlinked)
      .visitContainer([&](Value container) {
        auto clear = [&](Value begin, Value end, Value bits) {
          bytes.call("deactivate_bits", leaf, {container, begin, end, bits}, {}, std::nullopt);
        };
        if constexpr (std::is_same_v<Op, DeactivateWordOp>)
          clear(op.getWord(), bytes.add(op.getWord(), 1), bytes.toIndex(op.getBits()));
        else
          for (const MaskRun &run : runsOf(op.getCells()))
            clear(bytes.index(run.first), bytes.index(run.end), bytes.index(uint32_t(run.bits)));
      });
  op.erase();
}
template void KernelLowering::lowerDeactivateLeaf(DeactivateLeafOp);
template void KernelLowering::lowerDeactivateLeaf(DeactivateWordOp);

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
