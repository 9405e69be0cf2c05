//===- LowerKernel.cpp - one kernel's trees and arrays to bytes -*- C++ -*-===//
#include "metate/Transforms/LowerKernel.h"

#include "metate/Mutants/Mutants.h"
#include "metate/abi/module.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
namespace header = metate::layout::header;

static int64_t accessOf(KernelOp kernel, unsigned number) {
  auto access = kernel.getArgAttrOfType<IntegerAttr>(number, mark::access);
  return access ? access.getInt() : 0;
}

LogicalResult KernelLowering::run() {
  addInterface();
  if (failed(flattenArguments()))
    return failure();
  SmallVector<Operation *> work;
  kernel.walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp, AtomicOp, IsActiveOp, ActivateOp, DeactivateOp, AppendOp, LengthOp,
            UsedOp, ReserveOp, CollectOp, SnapshotOp, SortOp, StageLeafOp, StageRowOp,
            ActivateLeafOp, IsLeafFullOp, DeactivateLeafOp, DeactivateWordOp, memref::DimOp,
            memref::LoadOp, memref::StoreOp, memref::AtomicRMWOp>(op))
      work.push_back(op);
  });
  noteInnerChanges();
  noteOnlyWriters();
  for (Operation *op : work)
    lower(op);
  SmallVector<CellsOp> tasks;
  kernel.walk([&](CellsOp cells) { tasks.push_back(cells); });
  for (CellsOp cells : tasks)
    lowerCells(cells);
  settle();
  returnStatus();
  eraseOldArguments();
  return success();
}

void KernelLowering::noteInnerChanges() {
  kernel.walk([&](Operation *op) {
    std::optional<CellAccess> change = changedCell(op);
    auto cells = op->getParentOfType<CellsOp>();
    // Above the nest it is done before the leaf is looked up.
    bool isAbove =
        isa<ActivateOp>(op) && cells && op->getParentOp() == cells && !nestOf(cells).empty();
    Operation *scope = cells ? cells.getOperation() : slotNestOf(op).getOperation();
    if (!change || !scope || isAbove || op->hasAttr(mark::linked))
      return;
    TreePath path = change->resolve();
    bool takes = isa<DeactivateOp>(op) && hasPools(path.levels[path.lastActivity()]);
    for (auto &[tree, argument] : arguments) {
      if (!mayBeSameTree(kernel, tree, change->tree))
        continue;
      hasInnerChange.insert({scope, tree});
      if (takes)
        hasInnerUnlink.insert({scope, tree});
    }
  });
}

void KernelLowering::noteOnlyWriters() {
  kernel.walk([&](StoreOp store) {
    auto cells = store->getParentOfType<CellsOp>();
    if (cells && isOnlyWriter(kernel, cells, store))
      onlyWriters.insert(store);
  });
}

//===-- arguments -----------------------------------------------------------===//

LogicalResult KernelLowering::flattenArguments() {
  Block &body = kernel.getBody().front();
  oldCount = body.getNumArguments();
  auto blockType = BlockType::get(kernel.getContext());
  auto indexType = IndexType::get(kernel.getContext());
  SmallVector<Value> changed;
  kernel.walk([&](Operation *op) {
    if (std::optional<CellAccess> change = changedCell(op))
      changed.push_back(change->tree);
    if (isa<ActivateLeafOp, DeactivateLeafOp, DeactivateWordOp>(op))
      changed.push_back(op->getOperand(0));
  });
  for (unsigned k = 0; k < oldCount; ++k) {
    BlockArgument old = body.getArgument(k);
    Location loc = old.getLoc();
    if (auto tree = dyn_cast<TreeType>(old.getType())) {
      llvm::Expected<layout::TreeLayout> layout = layout::TreeLayout::get(tree);
      if (!layout)
        return kernel.emitError() << llvm::toString(layout.takeError());
      Argument argument;
      argument.block = body.addArgument(blockType, loc);
      argument.scope = k;
      argument.type = tree;
      argument.concurrent =
          llvm::any_of(changed, [&](Value other) { return mayBeSameTree(kernel, other, old); });
      argument.changes = llvm::is_contained(changed, Value(old));
      argument.unlinked = mayDeactivate(kernel, kernel, old);
      argument.layout = std::make_unique<layout::TreeLayout>(std::move(*layout));
      arguments[old] = std::move(argument);
    } else if (auto array = dyn_cast<MemRefType>(old.getType())) {
      Argument argument;
      argument.block = body.addArgument(blockType, loc);
      argument.scope = k;
      for (auto *sizes : {&argument.extents, &argument.strides})
        for (int64_t d = 0; d < array.getRank(); ++d)
          sizes->push_back(body.addArgument(indexType, loc));
      arguments[old] = std::move(argument);
    } else {
      old.replaceAllUsesWith(body.addArgument(old.getType(), loc));
    }
  }
  return success();
}

Attribute KernelLowering::interfaceOf(unsigned number) {
  Type type = kernel.getArgumentTypes()[number];
  auto name = kernel.getArgAttrOfType<StringAttr>(number, mark::name);
  auto sign = kernel.getArgAttrOfType<TypeAttr>(number, mark::type);
  auto element = kernel.getArgAttrOfType<DenseI64ArrayAttr>(number, mark::element);
  std::string text = name ? name.str() : "arg" + std::to_string(number);
  int64_t access = accessOf(kernel, number);
  auto make = [&](StringRef kind, Type scalar, ArrayRef<int64_t> shape, int64_t rank,
                  int64_t flags) {
    return ArgumentAttr::get(kernel.getContext(), text, kind, sign ? sign.getValue() : scalar,
                             shape, rank, access, flags);
  };
  if (isa<TreeType>(type))
    return make("tree", type, {}, 0, 0);
  if (auto vector = dyn_cast<VectorType>(type))
    return make("vector", vector.getElementType(), vector.getShape(), 0, 0);
  auto array = dyn_cast<MemRefType>(type);
  if (!array)
    return make("scalar", type, {}, 0, 0);
  int64_t flags = array.getLayout().isIdentity() ? METATE_ARGUMENT_CONTIGUOUS : 0;
  if (kernel.getArgAttr(number, mark::result))
    flags |= METATE_ARGUMENT_RESULT;
  return make("ndarray", array.getElementType(),
              element ? element.asArrayRef() : ArrayRef<int64_t>(), array.getRank(), flags);
}

void KernelLowering::addInterface() {
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  SmallVector<Attribute> interface;
  for (unsigned k = 0; k < kernel.getArgumentTypes().size(); ++k)
    interface.push_back(interfaceOf(k));
  int64_t tasks = llvm::count_if(kernel.getBody().front(),
                                 [](Operation &op) { return isa<RangeOp, CellsOp, SerialOp>(op); });
  std::string entry = ("metate_entry_" + kernel.getSymName()).str();
  InterfaceOp::create(builder, kernel.getLoc(), builder.getStringAttr(kernel.getSymName()),
                      builder.getStringAttr(entry), builder.getArrayAttr(interface),
                      builder.getI64IntegerAttr(tasks), kernel.getMayAliasAttr(),
                      kernel.getDebugAttr());
  SymbolTable::setSymbolName(kernel, entry);
}

void KernelLowering::eraseOldArguments() {
  Block &body = kernel.getBody().front();
  body.eraseArguments(0, oldCount);
  kernel.setFunctionType(FunctionType::get(kernel.getContext(), body.getArgumentTypes(), {}));
  kernel.removeArgAttrsAttr();
}

/// Whoever calls the entry, a topology that changed gets another number.
void KernelLowering::settle() {
  OpBuilder builder(kernel.getBody().front().getTerminator());
  for (BlockArgument old : kernel.getBody().getArguments().take_front(oldCount)) {
    auto found = arguments.find(old);
    if (found != arguments.end() && found->second.changes)
      bytesFor(found->second, builder, kernel.getLoc()).call("settle", 0, {}, {}, std::nullopt);
  }
}

/// The launch fails if a pool of a tree that it may activate was exhausted.
void KernelLowering::returnStatus() {
  OpBuilder builder(kernel.getBody().front().getTerminator());
  SmallVector<int64_t> activates;
  for (unsigned k = 0; k < oldCount; ++k) {
    auto found = arguments.find(kernel.getBody().getArgument(k));
    if (found == arguments.end() || !found->second.layout ||
        !(accessOf(kernel, k) & METATE_ACCESS_ACTIVATE))
      continue;
    ByteBuilder bytes = bytesFor(found->second, builder, kernel.getLoc());
    ReturnStatusOp::create(builder, kernel.getLoc(),
                           bytes.readInteger(bytes.index(header::status()), 32, /*acquire=*/true));
    activates.push_back(cast<BlockArgument>(found->second.block).getArgNumber() - oldCount);
  }
  // The target bounds the number of workers by these trees' slack slots.
  kernel->setAttr(mark::activates, builder.getDenseI64ArrayAttr(activates));
}

//===-- helpers -------------------------------------------------------------===//

ByteBuilder KernelLowering::bytesFor(Argument &argument, OpBuilder &builder, Location loc) {
  ByteBuilder bytes(builder, loc, argument.block, argument.scope);
  if (!argument.layout)
    return bytes;
  bytes.tree = argument.type;
  bytes.layout = argument.layout.get();
  bytes.knownSlotsBase = [this, &argument, loc](unsigned pool) {
    Value &base = argument.slotsBase[pool];
    if (!base) {
      OpBuilder atStart = OpBuilder::atBlockBegin(&kernel.getBody().front());
      base = ByteBuilder(atStart, loc, argument.block, argument.scope).slotsBase(pool);
    }
    return base;
  };
  return bytes;
}

Value KernelLowering::componentOffset(ByteBuilder &bytes, Value offset, Type member,
                                      ValueRange components) {
  if (components.empty())
    return offset;
  auto vector = cast<VectorType>(member);
  Value linear = components[0];
  if (components.size() == 2)
    linear = bytes.add(
        bytes.multiply(components[0],
                       vector.getDimSize(isMutant(Mutant::MatrixComponentSwapped) ? 0 : 1)),
        components[1]);
  return bytes.add(offset, bytes.multiply(linear, layout::scalarBytes(vector.getElementType())));
}

/// A boolean is a byte of 0 or 1: its arithmetic is logic.
static arith::AtomicRMWKind booleanKind(arith::AtomicRMWKind kind) {
  switch (kind) {
  case arith::AtomicRMWKind::addi:
    return arith::AtomicRMWKind::xori;
  case arith::AtomicRMWKind::maxu:
  case arith::AtomicRMWKind::mins: // where signed, true is -1
    return arith::AtomicRMWKind::ori;
  case arith::AtomicRMWKind::maxs:
  case arith::AtomicRMWKind::minu:
  case arith::AtomicRMWKind::muli:
    return arith::AtomicRMWKind::andi;
  default:
    return kind;
  }
}

Value KernelLowering::atomicAt(ByteBuilder &bytes, arith::AtomicRMWKind kind, Value offset,
                               Value value) {
  OpBuilder &builder = bytes.builder;
  if (auto vector = dyn_cast<VectorType>(value.getType())) {
    int64_t size = layout::scalarBytes(vector.getElementType());
    SmallVector<Value> old;
    auto components = vector::ToElementsOp::create(builder, bytes.loc, value);
    for (auto [k, component] : llvm::enumerate(components.getElements()))
      old.push_back(atomicAt(bytes, kind, bytes.add(offset, int64_t(k) * size), component));
    return vector::FromElementsOp::create(builder, bytes.loc, vector, old);
  }
  if (!value.getType().isInteger(1))
    return bytes.atomic(kind, offset, value);
  Value byte = arith::ExtUIOp::create(builder, bytes.loc, builder.getI8Type(), value);
  return bytes.isNonzero(bytes.atomic(booleanKind(kind), offset, byte));
}

Value KernelLowering::arrayOffset(ByteBuilder &bytes, Argument &argument, MemRefType type,
                                  ValueRange indices) {
  bool contiguous = type.getLayout().isIdentity();
  Value linear = bytes.index(0);
  for (auto [d, index] : llvm::enumerate(indices)) {
    if (!contiguous) {
      Value stride = argument.strides[d];
      if (isMutant(Mutant::LastStrideForgotten) && d + 1 == indices.size())
        stride = bytes.index(0);
      Value part = arith::MulIOp::create(bytes.builder, bytes.loc, index, stride,
                                         arith::IntegerOverflowFlags::nsw);
      linear = bytes.add(linear, part);
      continue;
    }
    if (d > 0) {
      int64_t extent = type.getDimSize(d);
      linear = ShapedType::isDynamic(extent)
                   ? arith::MulIOp::create(bytes.builder, bytes.loc, linear, argument.extents[d],
                                           arith::IntegerOverflowFlags::nsw)
                         .getResult()
                   : bytes.multiply(linear, extent);
    }
    linear = bytes.add(linear, index);
  }
  return bytes.multiply(linear, layout::scalarBytes(type.getElementType()));
}

//===-- operations ----------------------------------------------------------===//

void KernelLowering::lower(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoadOp>([&](auto o) { lowerLoad(o); })
      .Case<StoreOp>([&](auto o) { lowerStore(o); })
      .Case<AtomicOp>([&](auto o) { lowerAtomic(o); })
      .Case<IsActiveOp>([&](auto o) { lowerIsActive(o); })
      .Case<ActivateOp>([&](auto o) { lowerActivate(o); })
      .Case<DeactivateOp, AppendOp, LengthOp>([&](auto o) { lowerListOrCell(o); })
      .Case<UsedOp>([&](auto o) { lowerUsed(o); })
      .Case<ReserveOp>([&](auto o) { lowerReserve(o); })
      .Case<CollectOp, SnapshotOp, SortOp>([&](Operation *o) { lowerTaskEdge(o); })
      .Case<StageLeafOp>([&](auto o) { lowerStageLeaf(o); })
      .Case<StageRowOp>([&](auto o) { lowerStageRow(o); })
      .Case<IsLeafFullOp>([&](auto o) { lowerIsLeafFull(o); })
      .Case<ActivateLeafOp>(
          [&](auto o) { o.getCells() ? lowerActivateCells(o) : lowerActivateLeaf(o); })
      .Case<DeactivateLeafOp, DeactivateWordOp>([&](auto o) { lowerDeactivateLeaf(o); })
      .Case<memref::LoadOp>([&](auto o) { lowerArrayAccess(o, o.getMemRef(), o.getIndices()); })
      .Case<memref::StoreOp>([&](auto o) { lowerArrayAccess(o, o.getMemRef(), o.getIndices()); })
      .Case<memref::AtomicRMWOp>(
          [&](auto o) { lowerArrayAccess(o, o.getMemref(), o.getIndices()); })
      .Case<memref::DimOp>([&](auto o) { lowerArrayAccess(o, o.getSource(), {}); });
}

void KernelLowering::lowerArrayAccess(Operation *op, Value array, ValueRange indices) {
  auto found = arguments.find(array);
  if (found == arguments.end())
    return; // a local tile or variable: the target's business
  Argument &argument = found->second;
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op->getLoc());
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    op->replaceAllUsesWith(ValueRange(argument.extents[*dim.getConstantIndex()]));
    op->erase();
    return;
  }
  bytes.reduction = op->hasAttr(mark::reduction);
  Value offset = arrayOffset(bytes, argument, cast<MemRefType>(array.getType()), indices);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    op->replaceAllUsesWith(ValueRange(bytes.readValue(load.getType(), offset)));
  else if (auto store = dyn_cast<memref::StoreOp>(op))
    bytes.writeValue(store.getValue(), offset);
  else if (auto rmw = dyn_cast<memref::AtomicRMWOp>(op))
    op->replaceAllUsesWith(ValueRange(atomicAt(bytes, rmw.getKind(), offset, rmw.getValue())));
  op->erase();
}

/// The address of a cell operation's path, from the root.
#define TREE_ADDRESS(op)                                                                           \
  Argument &argument = arguments.find(op.getTree())->second;                                       \
  OpBuilder builder(op);                                                                           \
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());                                    \
  CellAccess access = *CellAccess::of(op);                                                         \
  TreePath path = access.resolve();                                                                \
  TreeAddress address(bytes, *argument.layout, path, llvm::to_vector(access.coordinates),          \
                      argument.concurrent, argument.unlinked)

/// The background of a place, or of one component of it.
static Value backgroundOf(ByteBuilder &bytes, PlaceAttr place, ValueRange components) {
  Value background = backgroundValue(bytes, place);
  if (components.empty())
    return background;
  // Through memory-free selection: a component of a constant vector.
  auto elements = vector::ToElementsOp::create(bytes.builder, bytes.loc, background);
  Value linear = components[0], picked = elements.getElements()[0];
  if (components.size() == 2)
    linear = bytes.add(bytes.multiply(linear, cast<VectorType>(place.getType()).getDimSize(1)),
                       components[1]);
  for (auto [k, element] : llvm::enumerate(elements.getElements()))
    picked = bytes.select(bytes.compare(arith::CmpIPredicate::eq, linear, bytes.index(k)), element,
                          picked);
  return picked;
}

void KernelLowering::lowerLoad(LoadOp op) {
  TREE_ADDRESS(op);
  Type member = signlessType(path.place.getType());
  Type type = op.getValue().getType();
  auto readAt = [&](Value offset) {
    return bytes.readValue(type, componentOffset(bytes, offset, member, op.getComponents()));
  };
  Value result;
  if (Value offset = leafOffset(op, access, path, argument)) {
    bytes.knownSlot = op.getComponents().empty();
    result = readAt(offset);
  } else {
    auto body = [&](Value offset) { return SmallVector<Value>{readAt(offset)}; };
    auto otherwise = [&] {
      return SmallVector<Value>{backgroundOf(bytes, path.place, op.getComponents())};
    };
    result = address.read(type, body, otherwise).front();
  }
  op.replaceAllUsesWith(result);
  op.erase();
}

void KernelLowering::lowerStore(StoreOp op) {
  TREE_ADDRESS(op);
  Type member = signlessType(path.place.getType());
  auto body = [&](Value offset) -> SmallVector<Value> {
    bytes.writeValue(op.getValue(), componentOffset(bytes, offset, member, op.getComponents()));
    return {};
  };
  if (Value offset = leafOffset(op, access, path, argument)) {
    bytes.onlyWriter = onlyWriters.contains(op);
    body(offset);
  } else
    address.visitActive({}, body, [] { return SmallVector<Value>(); });
  op.erase();
}

void KernelLowering::lowerAtomic(AtomicOp op) {
  TREE_ADDRESS(op);
  Type member = signlessType(path.place.getType());
  bytes.reduction = op->hasAttr(mark::reduction);
  auto body = [&](Value offset) {
    Value at = componentOffset(bytes, offset, member, op.getComponents());
    return SmallVector<Value>{atomicAt(bytes, op.getKind(), at, op.getValue())};
  };
  auto otherwise = [&] {
    return SmallVector<Value>{backgroundOf(bytes, path.place, op.getComponents())};
  };
  SmallVector<Value> old;
  if (Value offset = leafOffset(op, access, path, argument))
    old = body(offset);
  else
    old = address.visitActive(op.getValue().getType(), body, otherwise);
  op.replaceAllUsesWith(old.front());
  op.erase();
}

void KernelLowering::lowerIsActive(IsActiveOp op) {
  TREE_ADDRESS(op);
  Value active;
  if (path.lastActivity() > path.lastPool())
    active = activeInLeaf(op, access, path, argument);
  else if (op->hasAttr(mark::own) && op.getEntry())
    active = activeAtEntry(op, path, argument);
  else if (op->hasAttr(mark::own))
    active = activeInList(op, path, argument);
  op.replaceAllUsesWith(active ? active : address.isActive(op.getEntry()));
  op.erase();
}

template <typename Op> void KernelLowering::lowerListOrCell(Op op) {
  Argument &argument = arguments.find(op.getTree())->second;
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  TreePath path = *findPath(op.getTreeType(), op.getPath());
  TreeAddress address(bytes, *argument.layout, path,
                      parentCoordinates(bytes, path, op.getCoordinates()), argument.concurrent,
                      argument.unlinked);
  if constexpr (std::is_same_v<Op, DeactivateOp>)
    address.deactivate();
  else if constexpr (std::is_same_v<Op, AppendOp>)
    op->replaceAllUsesWith(ValueRange(address.append()));
  else
    op->replaceAllUsesWith(ValueRange(address.length()));
  op.erase();
}

SmallVector<Value> KernelLowering::parentCoordinates(ByteBuilder &bytes, const TreePath &path,
                                                     ValueRange coordinates) {
  SmallVector<Value> all = llvm::to_vector(coordinates);
  if (all.size() == path.rank())
    return all;
  unsigned axis = levelAxes(path.levels.back())[0]; // a list's own
  all.insert(all.begin() + (llvm::find(path.axes, axis) - path.axes.begin()), bytes.index(0));
  return all;
}

void KernelLowering::lowerUsed(UsedOp op) {
  Argument &argument = arguments.find(op.getTree())->second;
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  TreePath path = *findPath(op.getTreeType(), op.getPath());
  int pool = argument.layout->nodes[argument.layout->nodesOf(path).back()].pool;
  Value slots = bytes.readInteger(bytes.index(header::poolUsed(pool)), 32, argument.concurrent);
  op.replaceAllUsesWith(
      arith::ExtUIOp::create(builder, op.getLoc(), builder.getI64Type(), slots).getResult());
  op.erase();
}

void KernelLowering::lowerReserve(ReserveOp op) {
  Argument &argument = arguments.find(op.getTree())->second;
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  TreePath path = *findPath(op.getTreeType(), op.getPath());
  SmallVector<Value> at = op.getAppend() ? parentCoordinates(bytes, path, op.getCoordinates())
                                         : llvm::to_vector(op.getCoordinates());
  Value counts =
      arith::IndexCastOp::create(builder, op.getLoc(), builder.getIndexType(), op.getCounts());
  TreeAddress(bytes, *argument.layout, path, at, argument.concurrent, argument.unlinked)
      .reserve(counts, argument.scope, op.getAppend());
  op.erase();
}

/// Collect, snapshot and sort.
void KernelLowering::lowerTaskEdge(Operation *op) {
  Argument &argument = arguments.find(op->getOperand(0))->second;
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op->getLoc());
  if (auto collect = dyn_cast<CollectOp>(op)) {
    if (!isMutant(Mutant::CollectLeftOut))
      bytes.call("collect", collect.getSweep(), {}, {}, std::nullopt);
  } else if (isa<SortOp>(op)) {
    bytes.call("sort", 0, {}, {}, std::nullopt);
  } else if (!isMutant(Mutant::SnapshotLeftOut)) {
    TreePath path = *findPath(argument.type, cast<SnapshotOp>(op).getLevel());
    bytes.call("snapshot", argument.layout->nodesOf(path).back(), {}, {}, std::nullopt);
  }
  op->erase();
}

void KernelLowering::lowerActivate(ActivateOp op) {
  TREE_ADDRESS(op);
  bytes.strict = op.getStrict();
  Value active;
  if (op->hasAttr(mark::linked))
    active = activateInSlot(op, access, path, argument);
  op.replaceAllUsesWith(active ? active : address.activate());
  op.erase();
}
