//===- LoweredArguments.cpp - a kernel's trees and arrays as blocks -*- C++ -*-===//
#include "metate/Transforms/LoweredArguments.h"

#include "metate/Transforms/CellAccess.h"

using namespace mlir;
using namespace metate;

ArgumentTypes::ArgumentTypes(MLIRContext *context) {
  addConversion([](Type type) { return type; });
  addConversion([context](TreeType) -> Type { return BlockType::get(context); });
  addConversion([context](MemRefType array, SmallVectorImpl<Type> &types) {
    types.push_back(BlockType::get(context));
    types.append(2 * array.getRank(), IndexType::get(context)); // extents, then strides
    return success();
  });
}

/// Trees whose active cells the kernel may change.
static SmallVector<Value> changedTrees(KernelOp kernel) {
  SmallVector<Value> changed;
  kernel.walk([&](Operation *op) {
    if (std::optional<CellAccess> change = changedCell(op))
      changed.push_back(change->tree);
    if (auto leaf = dyn_cast<LeafOpInterface>(op); leaf && leaf.changesActivity())
      changed.push_back(leaf.getTree());
  });
  return changed;
}

LogicalResult LoweredArguments::add() {
  Block &body = kernel.getBody().front();
  oldCount = body.getNumArguments();
  ArgumentTypes types(kernel.getContext());
  SmallVector<Value> changed = changedTrees(kernel);
  for (unsigned k = 0; k < oldCount; ++k) {
    BlockArgument old = body.getArgument(k);
    SmallVector<Type> flat;
    if (failed(types.convertType(old.getType(), flat)))
      return failure();
    SmallVector<Value> added;
    for (Type type : flat)
      added.push_back(body.addArgument(type, old.getLoc()));
    if (!isa<TreeType, MemRefType>(old.getType())) {
      old.replaceAllUsesWith(added.front());
      continue;
    }
    LoweredArgument argument;
    argument.block = added.front();
    argument.scope = k;
    size_t rank = added.size() / 2;
    argument.extents.assign(added.begin() + 1, added.begin() + 1 + rank);
    argument.strides.assign(added.begin() + 1 + rank, added.end());
    noteMultiples(k, argument.extents);
    if (auto tree = dyn_cast<TreeType>(old.getType())) {
      llvm::Expected<layout::TreeLayout> layout = layout::TreeLayout::get(tree);
      if (!layout)
        return kernel.emitError() << llvm::toString(layout.takeError());
      argument.layout = std::make_unique<layout::TreeLayout>(std::move(*layout));
      addTree(argument, changed, old);
    }
    arguments[old] = std::move(argument);
  }
  return success();
}

void LoweredArguments::noteMultiples(unsigned old, ArrayRef<Value> extents) {
  auto shape = kernel.getArgAttrOfType<ArrayAttr>(old, mark::shape);
  for (auto [axis, extent] : llvm::enumerate(shape ? shape.getValue() : ArrayRef<Attribute>()))
    if (auto dim = dyn_cast<DimAttr>(extent); dim && dim.getMultiple() > 1)
      multiples.emplace_back(cast<BlockArgument>(extents[axis]).getArgNumber() - oldCount,
                             dim.getMultiple());
}

void LoweredArguments::addTree(LoweredArgument &argument, ArrayRef<Value> changed,
                               BlockArgument old) {
  argument.type = cast<TreeType>(old.getType());
  argument.concurrent =
      llvm::any_of(changed, [&](Value other) { return mayBeSameTree(kernel, other, old); });
  argument.changes = llvm::is_contained(changed, Value(old));
  argument.unlinked = mayDeactivate(kernel, kernel, old);
}

void LoweredArguments::eraseOld() {
  Block &body = kernel.getBody().front();
  body.eraseArguments(0, oldCount);
  kernel.setFunctionType(FunctionType::get(kernel.getContext(), body.getArgumentTypes(), {}));
  kernel.removeArgAttrsAttr();
  Builder builder(kernel.getContext());
  for (auto [number, multiple] : multiples)
    kernel.setArgAttr(number, mark::multiple, builder.getI64IntegerAttr(multiple));
}

LoweredArgument *LoweredArguments::find(Value old) {
  auto found = arguments.find(old);
  return found == arguments.end() ? nullptr : &found->second;
}

ByteBuilder LoweredArguments::bytesFor(LoweredArgument &argument, OpBuilder &builder,
                                       Location loc) {
  ByteBuilder bytes(builder, loc, argument.block, argument.scope);
  if (!argument.layout)
    return bytes;
  bytes.tree = argument.type;
  bytes.layout = argument.layout.get();
  bytes.knownSlotsBase = [this, &argument, loc, listener = builder.getListener()](unsigned pool) {
    Value &base = argument.slotsBase[pool];
    if (!base) {
      OpBuilder atStart = OpBuilder::atBlockBegin(&kernel.getBody().front(), listener);
      base = ByteBuilder(atStart, loc, argument.block, argument.scope).slotsBase(pool);
    }
    return base;
  };
  return bytes;
}
