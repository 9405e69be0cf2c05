//===- LowerCells.cpp - cells tasks and leaves to bytes ---------*- C++ -*-===//
//
// The part of KernelLowering that knows slots: the walk over a pool, slots looked up once per leaf.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LowerKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;
namespace header = metate::layout::header;

unsigned metate::poolNode(const layout::TreeLayout &layout, const TreePath &path) {
  return layout.nodesOf(path)[path.lastPool()];
}

/// Node of the last level of a path.
static const layout::Node &leafNode(const layout::TreeLayout &layout, const TreePath &path) {
  return layout.nodes[layout.nodesOf(path)[path.levels.size() - 1]];
}

bool KernelLowering::isOwnSlot(CellsOp cells, const LeafForm &form, const CellAccess &access,
                               const TreePath &path, Argument &argument) {
  TreePath iterated = *findPath(cast<TreeType>(cells.getTree().getType()), cells.getLevel());
  return access.tree == cells.getTree() && iterated.levels.size() == size_t(path.lastPool() + 1) &&
         poolNode(*argument.layout, iterated) == poolNode(*argument.layout, path) &&
         llvm::all_of(llvm::enumerate(iterated.axes), [&](auto axis) {
           unsigned position = llvm::find(path.axes, axis.value()) - path.axes.begin();
           return form.slot[position] == cells.getBody().getArgument(1 + axis.index());
         });
}

std::optional<std::pair<Value, SmallVector<Value>>>
KernelLowering::leafOf(Operation *op, const CellAccess &access, const TreePath &path,
                       Argument &argument, bool isOwn) {
  auto cells = op->getParentOfType<CellsOp>();
  if (!cells)
    return fixedSlotOf(op, access, path, argument);
  if (path.lastPool() < 0 ||
      !(isOwn || argument.layout->nodes[poolNode(*argument.layout, path)].ambient))
    return std::nullopt;
  // A slot that may be taken from its cell in the middle of the nest: look each time.
  if (!isOwn && hasInnerUnlink.contains({cells, access.tree}) &&
      !isMutant(Mutant::SlotOutlivesLink))
    return std::nullopt;
  std::optional<LeafForm> form = LeafForm::of(cells, access);
  if (!form || !form->staysInLeaf())
    return std::nullopt;
  Value slot = leafSlot(cells, *form, access, path, argument);
  if (!slot)
    return std::nullopt;
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op->getLoc());
  SmallVector<Value> local;
  for (const LinearForm &linear : form->local) {
    Value index = bytes.index(linear.constant);
    for (auto &[term, coefficient] : linear.terms)
      index = bytes.add(index, bytes.multiply(term, coefficient));
    local.push_back(index);
  }
  return std::pair(slot, std::move(local));
}

Value KernelLowering::leafOffset(Operation *op, const CellAccess &access, const TreePath &path,
                                 Argument &argument) {
  auto leaf = leafOf(op, access, path, argument, /*isOwn=*/false);
  if (!leaf)
    return {};
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op->getLoc());
  return TreeAddress(bytes, *argument.layout, path, leaf->second, argument.concurrent)
      .offsetInSlot(path.lastPool(), leaf->first);
}

Value KernelLowering::activeInLeaf(IsActiveOp op, const CellAccess &access, const TreePath &path,
                                   Argument &argument) {
  if (op->hasAttr(mark::scanned))
    return activeInRow(op, access, path, argument);
  auto leaf = leafOf(op, access, path, argument, op->hasAttr(mark::own));
  if (!leaf)
    return {};
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  return TreeAddress(bytes, *argument.layout, path, leaf->second, argument.concurrent)
      .isActiveInSlot(path.lastPool(), leaf->first, op.getEntry());
}

Value KernelLowering::activeAtEntry(IsActiveOp op, const TreePath &path, Argument &argument) {
  auto cells = op->getParentOfType<CellsOp>();
  TreePath slots = *findPath(argument.type, cells.getLevel());
  const layout::Node &node = argument.layout->nodes[poolNode(*argument.layout, path)];
  OpBuilder before(leafPoint(cells)), builder(op);
  ByteBuilder outside = bytesFor(argument, before, op.getLoc());
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  // Not through the links from the root: they may be gone by now.
  Value meta = outside.toIndex(outside.readInteger(outside.index(header::poolMeta(node.pool)), 64,
                                                   false, /*invariant=*/true));
  Value record =
      outside.add(meta, outside.multiply(cells.getBody().getArgument(0), node.metaBytes()));
  Value count = outside.toIndex(outside.readInteger(outside.add(record, node.metaEntry()), 32));
  unsigned position = llvm::find(path.axes, node.axes[0]) - path.axes.begin();
  unsigned first = llvm::find(slots.axes, node.axes[0]) - slots.axes.begin();
  Value within =
      bytes.subtract(op.getCoordinates()[position], cells.getBody().getArgument(1 + first));
  return bytes.compare(arith::CmpIPredicate::ult, within, count);
}

Value KernelLowering::activeInRow(IsActiveOp op, const CellAccess &access, const TreePath &path,
                                  Argument &argument) {
  auto row = cast<scf::ForOp>(op->getParentOp());
  auto cells = op->getParentOfType<CellsOp>();
  LeafForm form = *LeafForm::of(cells, access);
  Value slot = leafSlot(cells, form, access, path, argument);
  OpBuilder before(row);
  ByteBuilder outside = bytesFor(argument, before, op.getLoc());
  SmallVector<Value> first;
  for (const LinearForm &linear : form.local) {
    Value index = outside.index(linear.constant);
    for (auto &[term, coefficient] : linear.terms)
      if (term != row.getInductionVar())
        index = outside.add(index, outside.multiply(term, coefficient));
    first.push_back(index);
  }
  Value bits = TreeAddress(outside, *argument.layout, path, first, argument.concurrent)
                   .bitsInSlot(path.lastPool(), slot, op.getEntry());
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  Value shifted = arith::ShRUIOp::create(builder, op.getLoc(), bits,
                                         bytes.toInteger(row.getInductionVar(), 32));
  return arith::TruncIOp::create(builder, op.getLoc(), builder.getI1Type(), shifted);
}

Value KernelLowering::leafSlot(CellsOp cells, const LeafForm &form, const CellAccess &access,
                               const TreePath &path, Argument &argument) {
  unsigned node = poolNode(*argument.layout, path);
  auto &known = leafSlots[{cells, access.tree, node}];
  for (auto &[slots, offset] : known)
    if (slots == form.slot)
      return offset;
  Operation *point = leafPoint(cells);
  OpBuilder builder(point);
  ByteBuilder bytes = bytesFor(argument, builder, cells.getLoc());
  Value offset;
  if (isOwnSlot(cells, form, access, path, argument)) {
    offset = bytes.slotAt(argument.layout->nodes[node], cells.getBody().getArgument(0));
  } else {
    // An activation that was not hoisted may link the leaf in the middle of the nest: look each
    // time.
    if (hasInnerChange.contains({cells, access.tree}))
      return {};
    SmallVector<Value> base;
    for (auto [slot, scale] : llvm::zip(form.slot, form.scale))
      base.push_back(slot ? bytes.multiply(slot, scale) : bytes.index(0));
    TreeAddress address(bytes, *argument.layout, path, base, argument.concurrent);
    offset = address.slotOffset(path.lastPool());
  }
  known.emplace_back(form.slot, offset);
  return offset;
}

Value KernelLowering::neighbourSlot(CellsOp cells, const LeafForm &form, const CellAccess &access,
                                    const TreePath &path, ArrayRef<int64_t> direction,
                                    Argument &argument) {
  if (llvm::all_of(direction, [](int64_t along) { return along == 0; }))
    return leafSlot(cells, form, access, path, argument);
  auto &known = neighbourSlots[{cells, access.tree, poolNode(*argument.layout, path)}];
  for (auto &[slots, towards, offset] : known)
    if (slots == form.slot && ArrayRef(towards) == direction)
      return offset;
  if (hasInnerChange.contains({cells, access.tree}))
    return {};
  OpBuilder builder(leafPoint(cells));
  ByteBuilder bytes = bytesFor(argument, builder, cells.getLoc());
  SmallVector<Value> coordinates;
  for (auto [slot, scale, extent, along] :
       llvm::zip(form.slot, form.scale, form.extents, direction))
    coordinates.push_back(bytes.add(bytes.multiply(slot, scale), along * extent));
  Value offset = TreeAddress(bytes, *argument.layout, path, coordinates, argument.concurrent)
                     .slotOffset(path.lastPool());
  known.emplace_back(form.slot, llvm::to_vector(direction), offset);
  return offset;
}

void KernelLowering::lowerCells(CellsOp cells) {
  Argument &argument = arguments.find(cells.getTree())->second;
  TreePath path = *findPath(cast<TreeType>(cells.getTree().getType()), cells.getLevel());
  const layout::Node &node = argument.layout->nodes[poolNode(*argument.layout, path)];
  OpBuilder builder(cells);
  Location loc = cells.getLoc();
  ByteBuilder bytes = bytesFor(argument, builder, loc);
  Value highWater = bytes.toIndex(
      bytes.readInteger(bytes.index(header::poolHighWater(node.pool)), 32, /*acquire=*/true));
  Value meta = bytes.toIndex(
      bytes.readInteger(bytes.index(header::poolMeta(node.pool)), 64, false, /*invariant=*/true));
  Value limit;
  if (cells.getChangesTopology()) {
    Value epoch = bytes.readInteger(bytes.index(header::epoch()), 32);
    limit = arith::AddIOp::create(builder, loc, epoch, bytes.integer(1, 32));
    bytes.write(limit, bytes.index(header::epoch()));
  }
  Value zero = bytes.index(0);
  auto range = RangeOp::create(builder, loc, ValueRange(zero), ValueRange(highWater));
  range->setAttr(mark::cells, builder.getUnitAttr());
  builder.setInsertionPointToStart(&range.getBody().front());
  Value slot = bytes.add(range.getBody().getArgument(0), isMutant(Mutant::LastSlotSkipped) ? 0 : 1);
  Value record = bytes.add(meta, bytes.multiply(slot, node.metaBytes()));
  Value state = bytes.readInteger(record, 32, /*acquire=*/cells.getChangesTopology());
  Value visible = bytes.isNonzero(state);
  if (limit)
    visible = arith::AndIOp::create(builder, loc, visible,
                                    bytes.compare(arith::CmpIPredicate::ult, state, limit));
  auto branch = scf::IfOp::create(builder, loc, visible);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> values{slot};
  for (unsigned k = 0; k < path.rank(); ++k) {
    Value coordinate = bytes.readInteger(bytes.add(record, header::slotCoordinate(k)), 32);
    values.push_back(path.extents[k] == unboundedExtent ? bytes.toSignedIndex(coordinate)
                                                        : bytes.toIndex(coordinate));
  }
  Block &from = cells.getBody().front();
  from.getTerminator()->erase();
  for (auto [old, value] : llvm::zip(from.getArguments(), values))
    old.replaceAllUsesWith(value);
  branch.thenBlock()->getOperations().splice(std::prev(branch.thenBlock()->end()),
                                             from.getOperations());
  cells.erase();
}

namespace {
/// The words of one leaf's mask, in the slot that holds the leaf. Two of them are read at a time where they begin at multiples of
/// eight bytes; the memory that both sizes reach is the same to the machine's coherence.
struct LeafMask {
  ByteBuilder bytes;
  const layout::Node &node;
  unsigned width; ///< bits of a word
  Value first;    ///< byte offset of word 0

  LeafMask(ByteBuilder bytes, const layout::Node &node, unsigned width, Value slot,
           bool entry = false)
      : bytes(bytes), node(node), width(width),
        first(bytes.add(slot, node.offset + node.maskOffset + (entry ? node.maskBytes() : 0))) {}

  /// The width of the words in a pool's slots.
  static unsigned widthOf(const layout::Node &node, const layout::Node &pool) {
    // Slot 0 begins at a multiple of METATE_BLOCK_ALIGN.
    uint64_t places[] = {node.offset + node.maskOffset, node.maskBytes(), pool.slotBytes};
    return llvm::all_of(places, [](uint64_t place) { return place % 8 == 0; }) ? 64 : 32;
  }

  int64_t words() const { return node.maskBytes() * 8 / width; }
  Value at(Value word) { return bytes.add(first, bytes.multiply(word, width / 8)); }
  Value read(Value word) { return bytes.readInteger(at(word), width, /*acquire=*/true); }
  Value ones() { return bytes.integer(-1, width); }
  /// All bits of a word of a leaf whose cells are all active.
  Value full(Value word) {
    uint64_t rest = node.cells % width;
    if (rest == 0)
      return ones();
    Value isLast = bytes.compare(arith::CmpIPredicate::eq, word, bytes.index(node.cells / width));
    return bytes.select(
        isLast, bytes.integer(int64_t(llvm::maskTrailingOnes<uint64_t>(rest)), width), ones());
  }
};
} // namespace

/// The words of the mask, joined.
static Value
joinWords(LeafMask &mask, int64_t first,
          llvm::function_ref<Value(OpBuilder &builder, Value joined, Value word)> join) {
  ByteBuilder &bytes = mask.bytes;
  auto loop =
      scf::ForOp::create(bytes.builder, bytes.loc, bytes.index(0), bytes.index(mask.words()),
                         bytes.index(1), bytes.integer(first, mask.width));
  OpBuilder::InsertionGuard guard(bytes.builder);
  bytes.builder.setInsertionPointToStart(loop.getBody());
  Value joined = join(bytes.builder, loop.getRegionIterArg(0), loop.getInductionVar());
  scf::YieldOp::create(bytes.builder, bytes.loc, joined);
  return loop.getResult(0);
}

/// i1: whether a bit of the mask is set.
static Value isAnySet(LeafMask &mask) {
  Value any = joinWords(mask, 0, [&](OpBuilder &builder, Value joined, Value word) -> Value {
    return arith::OrIOp::create(builder, mask.bytes.loc, joined, mask.read(word));
  });
  return mask.bytes.isNonzero(any);
}

/// i1: whether the bits of all cells are set.
static Value isFull(LeafMask &mask) {
  ByteBuilder &bytes = mask.bytes;
  Value missing = joinWords(mask, 0, [&](OpBuilder &builder, Value joined, Value word) -> Value {
    Value differs = arith::XOrIOp::create(builder, bytes.loc, mask.read(word), mask.full(word));
    Value both = arith::OrIOp::create(builder, bytes.loc, joined, differs);
    if (!isMutant(Mutant::LastWordUnasked))
      return both;
    Value last = bytes.index(mask.words() - 1);
    return bytes.select(bytes.compare(arith::CmpIPredicate::eq, word, last), joined, both);
  });
  return bytes.compare(arith::CmpIPredicate::eq, missing, bytes.integer(0, mask.width));
}

/// Sets the bits that `wanted` gives for each word; writes, and notes a change, only where one is missing.
static void setBits(LeafMask &mask, llvm::function_ref<Value(Value)> wanted) {
  ByteBuilder &bytes = mask.bytes;
  OpBuilder &builder = bytes.builder;
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, bytes.loc, bytes.index(0), bytes.index(mask.words()),
                                 bytes.index(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value word = loop.getInductionVar();
  Value absent = arith::XOrIOp::create(builder, bytes.loc, mask.read(word), mask.ones());
  Value missing = arith::AndIOp::create(builder, bytes.loc, wanted(word), absent);
  auto branch = scf::IfOp::create(builder, bytes.loc, bytes.isNonzero(missing));
  builder.setInsertionPointToStart(branch.thenBlock());
  bytes.atomic(arith::AtomicRMWKind::ori, mask.at(word), missing);
  bytes.markChanged();
}

void KernelLowering::lowerActivateLeaf(ActivateLeafOp op) {
  Argument &argument = arguments.find(op.getTree())->second;
  auto cells = op->getParentOfType<CellsOp>();
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  CellAccess access{op.getTree(), op.getPath(), op.getCoordinates()};
  TreePath path = access.resolve();
  const layout::Node &leaf = leafNode(*argument.layout, path);
  const layout::Node &pool = argument.layout->nodes[poolNode(*argument.layout, path)];
  std::optional<LeafMask> like;
  unsigned width = LeafMask::widthOf(leaf, pool);
  if (op.getLike()) {
    Argument &other = arguments.find(op.getLike())->second;
    TreePath walked = *findPath(other.type, *op.getLikePath());
    ByteBuilder from = bytesFor(other, builder, op.getLoc());
    const layout::Node &slots = other.layout->nodes[poolNode(*other.layout, walked)];
    const layout::Node &shown = leafNode(*other.layout, walked);
    width = std::min(width, LeafMask::widthOf(shown, slots));
    like.emplace(from, shown, width, from.slotAt(slots, cells.getBody().getArgument(0)),
                 op.getEntry());
  }
  TreeAddress address(bytes, *argument.layout, path, llvm::to_vector(op.getCoordinates()),
                      argument.concurrent);
  bool isOwn = isOwnSlot(cells, *LeafForm::of(cells, access), access, path, argument);
  Value active = bytes.integer(1, 1);
  if (!isOwn) {
    auto branch = scf::IfOp::create(builder, op.getLoc(), builder.getI1Type(),
                                    like ? isAnySet(*like) : active, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, op.getLoc(), bytes.integer(0, 1));
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, op.getLoc(), address.activate(path.lastPool()));
    builder.setInsertionPointAfter(branch);
    active = branch.getResult(0);
  }
  if (isa<BitmaskedAttr>(path.levels.back())) {
    auto branch = scf::IfOp::create(builder, op.getLoc(), active);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value slot = isOwn ? bytes.slotAt(pool, cells.getBody().getArgument(0))
                       : address.slotOffset(path.lastPool());
    LeafMask mask(bytes, leaf, width, slot);
    setBits(mask, [&](Value word) { return like ? like->read(word) : mask.full(word); });
  }
  op.replaceAllUsesWith(active);
  op.erase();
}

void KernelLowering::lowerIsLeafFull(IsLeafFullOp op) {
  Argument &argument = arguments.find(op.getTree())->second;
  auto cells = op->getParentOfType<CellsOp>();
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  TreePath path = *findPath(argument.type, op.getPath());
  const layout::Node &pool = argument.layout->nodes[poolNode(*argument.layout, path)];
  const layout::Node &leaf = leafNode(*argument.layout, path);
  LeafMask mask(bytes, leaf, LeafMask::widthOf(leaf, pool),
                bytes.slotAt(pool, cells.getBody().getArgument(0)), op.getEntry());
  op.replaceAllUsesWith(isFull(mask));
  op.erase();
}
