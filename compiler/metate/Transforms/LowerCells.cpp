//===- LowerCells.cpp - cells tasks and leaves to bytes ---------*- C++ -*-===//
//
// The part of KernelLowering that knows slots: the walk over a pool, slots looked up once per leaf,
// tiles.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LowerKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
namespace header = metate::layout::header;

/// Node of the pool that a path's cells live in.
static unsigned poolNode(const layout::TreeLayout &layout, const TreePath &path) {
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
  if (op->hasAttr("metate.scanned"))
    return activeInRow(op, access, path, argument);
  auto leaf = leafOf(op, access, path, argument, op->hasAttr("metate.own"));
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
  range->setAttr("metate.cells", builder.getUnitAttr());
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
/// The words of one leaf's mask, in the slot that holds the leaf.
struct LeafMask {
  ByteBuilder bytes;
  const layout::Node &node;
  Value first; ///< byte offset of word 0

  LeafMask(ByteBuilder bytes, const layout::Node &node, Value slot, bool entry = false)
      : bytes(bytes), node(node),
        first(bytes.add(slot, node.offset + node.maskOffset + (entry ? node.maskBytes() : 0))) {}

  int64_t words() const { return node.maskBytes() / 4; }
  Value at(Value word) { return bytes.add(first, bytes.multiply(word, 4)); }
  Value read(Value word) { return bytes.readInteger(at(word), 32, /*acquire=*/true); }
};
} // namespace

/// i1: whether a bit of the mask is set.
static Value isAnySet(LeafMask &mask) {
  ByteBuilder &bytes = mask.bytes;
  auto loop = scf::ForOp::create(bytes.builder, bytes.loc, bytes.index(0),
                                 bytes.index(mask.words()), bytes.index(1), bytes.integer(0, 32));
  OpBuilder::InsertionGuard guard(bytes.builder);
  bytes.builder.setInsertionPointToStart(loop.getBody());
  Value word = mask.read(loop.getInductionVar());
  Value all = arith::OrIOp::create(bytes.builder, bytes.loc, loop.getRegionIterArg(0), word);
  scf::YieldOp::create(bytes.builder, bytes.loc, all);
  bytes.builder.setInsertionPointAfter(loop);
  return bytes.isNonzero(loop.getResult(0));
}

/// All bits of a word of the mask of a leaf whose cells are all active.
static Value fullWord(ByteBuilder &bytes, const layout::Node &node, Value word) {
  Value ones = bytes.integer(-1, 32);
  int64_t rest = node.cells % 32;
  if (rest == 0)
    return ones;
  Value isLast = bytes.compare(arith::CmpIPredicate::eq, word, bytes.index(node.cells / 32));
  return bytes.select(isLast, bytes.integer((int64_t(1) << rest) - 1, 32), ones);
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
  Value absent = arith::XOrIOp::create(builder, bytes.loc, mask.read(word), bytes.integer(-1, 32));
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
  if (op.getLike()) {
    Argument &other = arguments.find(op.getLike())->second;
    TreePath walked = *findPath(other.type, *op.getLikePath());
    ByteBuilder from = bytesFor(other, builder, op.getLoc());
    Value slot = from.slotAt(other.layout->nodes[poolNode(*other.layout, walked)],
                             cells.getBody().getArgument(0));
    like.emplace(from, leafNode(*other.layout, walked), slot, op.getEntry());
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
    LeafMask mask(bytes, leaf, slot);
    setBits(mask,
            [&](Value word) { return like ? like->read(word) : fullWord(bytes, leaf, word); });
  }
  op.replaceAllUsesWith(active);
  op.erase();
}

namespace {
/// Fills one tile: slots of the neighbours first, then row by row.
class TileFiller {
public:
  TileFiller(ByteBuilder &bytes, const layout::TreeLayout &layout, const TreePath &path,
             StageLeafOp op, Value tile)
      : bytes(bytes), builder(bytes.builder), layout(layout), path(path), op(op), tile(tile),
        depth(path.lastPool()), leaf(layout.nodes[layout.nodesOf(path)[depth + 1]]) {
    for (unsigned k = 0; k < path.rank(); ++k) {
      first.push_back(op.getLow()[k] > 0 ? -1 : 0);
      count.push_back((op.getHigh()[k] > 0 ? 2 : 1) - first.back());
    }
  }

  void fill(bool concurrent) {
    if (auto parts = op.getParts()) {
      for (size_t k = 0; k < parts->size(); k += path.rank())
        fillPart(parts->slice(k, path.rank()), concurrent);
      return;
    }
    table = memref::AllocaOp::create(builder, bytes.loc,
                                     MemRefType::get(count, builder.getIndexType()));
    loopNest(count, [&](ArrayRef<Value> at) {
      SmallVector<Value> coordinates;
      for (unsigned k = 0; k < path.rank(); ++k) {
        Value shift = bytes.multiply(bytes.add(at[k], first[k]), leafExtent(k));
        coordinates.push_back(bytes.add(op.getBase()[k], shift));
      }
      TreeAddress address(bytes, layout, path, coordinates, concurrent);
      memref::StoreOp::create(builder, bytes.loc, address.slotOffset(depth), table, at);
    });
    SmallVector<int64_t> rows(cast<MemRefType>(tile.getType()).getShape().drop_back());
    loopNest(rows, [&](ArrayRef<Value> at) { fillRow(at); });
  }

private:
  int64_t leafExtent(unsigned k) const { return path.extentBelow(depth, k); }

  /// Runs `body` inside loops over a box of constants.
  void loopNest(ArrayRef<int64_t> extents, llvm::function_ref<void(ArrayRef<Value>)> body) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Value> at;
    for (int64_t extent : extents) {
      auto loop = scf::ForOp::create(builder, bytes.loc, bytes.index(0), bytes.index(extent),
                                     bytes.index(1));
      builder.setInsertionPointToStart(loop.getBody());
      at.push_back(loop.getInductionVar());
    }
    body(at);
  }

  /// The box of the tile that lies in one neighbour.
  void fillPart(ArrayRef<int64_t> part, bool concurrent) {
    SmallVector<Value> coordinates;
    SmallVector<int64_t> size, from, to;
    for (auto [k, direction] : llvm::enumerate(part)) {
      int64_t extent = leafExtent(k), low = op.getLow()[k], high = op.getHigh()[k];
      coordinates.push_back(bytes.add(op.getBase()[k], direction * extent));
      size.push_back(direction < 0 ? low : direction > 0 ? high : extent);
      from.push_back(direction < 0 ? extent - low : 0);
      to.push_back(direction < 0 ? 0 : direction > 0 ? low + extent : low);
    }
    TreeAddress address(bytes, layout, path, coordinates, concurrent);
    int64_t place = layout.nodes[layout.nodesOf(path).back()].offset;
    Value base = bytes.add(address.slotOffset(depth), leaf.offset + place);
    int64_t run = size.pop_back_val();
    loopNest(size, [&](ArrayRef<Value> at) {
      Value cell = bytes.index(0);
      SmallVector<Value> target;
      for (unsigned k = 0; k < path.rank(); ++k) {
        Value index = k < at.size() ? at[k] : bytes.index(0);
        cell = bytes.add(bytes.multiply(cell, leafExtent(k)), bytes.add(index, from[k]));
        target.push_back(bytes.add(index, to[k]));
      }
      copyRun(bytes.add(base, bytes.multiply(cell, leaf.cellBytes)), run, target);
    });
  }

  /// Copies cells that follow one another, from a byte offset on to a place of the tile on.
  void copyRun(Value from, int64_t count, ArrayRef<Value> to) {
    Type type = signlessType(path.place.getType());
    int64_t size = type.getIntOrFloatBitWidth() / 8;
    // Sanitizers follow accesses of at most 16 bytes.
    int64_t lanes = int64_t(leaf.cellBytes) == size ? 16 / size : 1;
    auto copy = [&](Type chunk, int64_t width, int64_t begin, int64_t pieces) {
      loopNest(pieces, [&](ArrayRef<Value> step) {
        Value cell = bytes.add(bytes.multiply(step[0], width), begin);
        Value offset = bytes.add(from, bytes.multiply(cell, leaf.cellBytes));
        Value value = ReadOp::create(builder, bytes.loc, chunk, bytes.block, offset,
                                     uint64_t(bytes.scope), false, false);
        SmallVector<Value> target(to);
        target.back() = bytes.add(target.back(), cell);
        if (isa<VectorType>(chunk))
          vector::StoreOp::create(builder, bytes.loc, value, tile, target);
        else
          memref::StoreOp::create(builder, bytes.loc, value, tile, target);
      });
    };
    int64_t whole = lanes > 1 ? count / lanes : 0;
    if (whole > 0)
      copy(VectorType::get(lanes, type), lanes, 0, whole);
    if (whole * lanes < count)
      copy(type, 1, whole * lanes, count - whole * lanes);
  }

  void fillRow(ArrayRef<Value> at) {
    // Along the outer axes: which neighbour, and which row of it.
    SmallVector<Value> slot;
    Value row = bytes.index(0);
    for (auto [k, position] : llvm::enumerate(at)) {
      int64_t extent = leafExtent(k);
      Value shifted = bytes.add(position, -first[k] * extent - op.getLow()[k]);
      slot.push_back(bytes.divide(shifted, extent));
      row = bytes.add(bytes.multiply(row, extent), bytes.remainder(shifted, extent));
    }
    unsigned last = path.rank() - 1;
    int64_t extent = leafExtent(last), low = op.getLow()[last], high = op.getHigh()[last];
    row = bytes.multiply(row, extent);
    if (low)
      copy(slot, at, row, -1, extent - low, low, 0);
    copy(slot, at, row, 0, 0, extent, low);
    if (high)
      copy(slot, at, row, 1, 0, high, low + extent);
  }

  /// Copies `size` cells from local index `from` of a row of neighbour `which` to tile index `to`.
  void copy(SmallVector<Value> slot, ArrayRef<Value> at, Value row, int64_t which, int64_t from,
            int64_t size, int64_t to) {
    slot.push_back(bytes.index(which - first.back()));
    Value base = memref::LoadOp::create(builder, bytes.loc, table, slot);
    int64_t place = layout.nodes[layout.nodesOf(path).back()].offset;
    base = bytes.add(bytes.add(base, leaf.offset + place),
                     bytes.multiply(bytes.add(row, from), leaf.cellBytes));
    SmallVector<Value> target(at);
    target.push_back(bytes.index(to));
    copyRun(base, size, target);
  }

  ByteBuilder &bytes;
  OpBuilder &builder;
  const layout::TreeLayout &layout;
  const TreePath &path;
  StageLeafOp op;
  Value tile, table;
  unsigned depth;
  const layout::Node &leaf;
  SmallVector<int64_t> first, count;
};
} // namespace

void KernelLowering::lowerStageLeaf(StageLeafOp op) {
  Argument &argument = arguments.find(op.getTree())->second;
  OpBuilder builder(op);
  ByteBuilder bytes = bytesFor(argument, builder, op.getLoc());
  TreePath path = *findPath(cast<TreeType>(op.getTree().getType()), op.getPath());
  Value tile =
      memref::AllocaOp::create(builder, op.getLoc(), cast<MemRefType>(op.getTile().getType()),
                               ValueRange(), builder.getI64IntegerAttr(64));
  TileFiller(bytes, *argument.layout, path, op, tile).fill(argument.concurrent);
  op.replaceAllUsesWith(tile);
  op.erase();
}
