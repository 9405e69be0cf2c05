//===- LowerTiles.cpp - leaves and rows staged on the stack -----*- C++ -*-===//
//
// Copies what a nest reads of neighbour leaves: tiles, a leaf with its halo, and rows.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LayoutPatterns.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace metate;

/// One member of each of the cells that begin at a byte offset: `which` of `members` numbers side by side.
static Value membersAt(ByteBuilder &bytes, Type type, Value offset, int64_t cells, int64_t members,
                       int64_t which) {
  Value all = ReadOp::create(bytes.builder, bytes.loc, VectorType::get(cells * members, type),
                             bytes.block, offset, uint64_t(bytes.scope), false, false);
  if (members == 1)
    return all;
  SmallVector<int64_t> chosen;
  for (int64_t cell = 0; cell < cells; ++cell)
    chosen.push_back(cell * members + (which + isMutant(Mutant::TileOfNextMember)) % members);
  return vector::ShuffleOp::create(bytes.builder, bytes.loc, all, all, chosen);
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
    // Members side by side are read together, and taken apart in registers. Sanitizers follow accesses of at most 16 bytes.
    int64_t members = leaf.numbersAside(size);
    bool isTaken = members > 1 && op.getBesides();
    int64_t lanes = members == 1 || isTaken ? 16 / size : 1;
    int64_t which = isTaken ? layout.nodes[layout.nodesOf(path).back()].offset / size : 0;
    auto copy = [&](Type chunk, int64_t width, int64_t begin, int64_t pieces) {
      loopNest(pieces, [&](ArrayRef<Value> step) {
        Value cell = bytes.add(bytes.multiply(step[0], width), begin);
        Value offset = bytes.add(from, bytes.multiply(cell, leaf.cellBytes));
        Value value =
            isTaken && isa<VectorType>(chunk)
                ? membersAt(bytes, type, bytes.add(offset, -which * size), width, members, which)
                : ReadOp::create(builder, bytes.loc, chunk, bytes.block, offset,
                                 uint64_t(bytes.scope), false, false)
                      .getValue();
        SmallVector<Value> target(to);
        target.back() = bytes.add(target.back(), cell);
        if (isa<VectorType>(chunk))
          vector::StoreOp::create(builder, bytes.loc, value, tile, target);
        else
          memref::StoreOp::create(builder, bytes.loc, value, tile, target);
      });
    };
    int64_t done = 0;
    for (int64_t width = isTaken ? 2 * lanes : lanes; width >= lanes && width > 1; width /= 2)
      if (int64_t whole = (count - done) / width; whole > 0) {
        copy(VectorType::get(width, type), width, done, whole);
        done += whole * width;
      }
    if (done < count)
      copy(type, 1, done, count - done);
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

namespace {
/// Reads whole rows of a leaf and of its neighbours.
struct RowReader {
  ByteBuilder &bytes;
  const layout::Node &leaf;
  StageRowOp op;
  int64_t member; ///< byte offset in a cell
  SmallVector<int64_t> extents;
  /// Byte offset of a neighbour's slot.
  llvm::function_ref<Value(ArrayRef<int64_t> direction)> slotOf;

  /// Bytes from one cell to the next along an axis.
  int64_t stride(unsigned axis) const {
    return std::accumulate(extents.begin() + axis + 1, extents.end(), int64_t(leaf.cellBytes),
                           std::multiplies<>());
  }

  /// The leaf that the row at op.getAt() lies in, `along` rows themselves: the byte offset of its slot, less the way to it.
  Value base(SmallVector<int64_t> direction, int64_t along) {
    unsigned axis = direction.size();
    if (axis + 1 == extents.size()) {
      int64_t way = 0;
      for (auto [k, step] : llvm::enumerate(direction))
        way += step * extents[k] * stride(k);
      direction.push_back(along);
      return bytes.add(slotOf(direction), -way);
    }
    auto towards = [&](int64_t step) {
      SmallVector<int64_t> longer(direction);
      longer.push_back(step);
      return base(std::move(longer), along);
    };
    Value found = towards(0), at = op.getAt()[axis];
    if (op.getLow()[axis] > 0)
      found = bytes.select(bytes.compare(arith::CmpIPredicate::slt, at, bytes.index(0)),
                           towards(-1), found);
    if (op.getHigh()[axis] > 0)
      found = bytes.select(bytes.compare(arith::CmpIPredicate::sge, at, bytes.index(extents[axis])),
                           towards(1), found);
    return found;
  }

  Value row(int64_t along) {
    auto type = cast<MemRefType>(op.getRow().getType());
    int64_t size = type.getElementTypeBitWidth() / 8, which = member / size;
    Value offset = bytes.add(base({}, along), leaf.offset + member - which * size);
    for (auto [k, at] : llvm::enumerate(op.getAt()))
      offset = bytes.add(offset, bytes.multiply(at, stride(k)));
    return membersAt(bytes, type.getElementType(), offset, type.getDimSize(0),
                     leaf.numbersAside(size), which);
  }

  /// The row, moved by op.getShift().
  Value shifted() {
    int64_t shift = op.getShift(), extent = extents.back();
    Value own = row(0);
    if (shift == 0)
      return own;
    Value other = row(shift < 0 ? -1 : 1);
    // The lanes of the two rows that are wanted, each where it is; then these turned. Machines without a shuffle of two
    // vectors across all their lanes have both.
    SmallVector<int64_t> chosen, turned;
    for (int64_t lane = 0; lane < extent; ++lane) {
      bool isOther = shift < 0 ? lane >= extent + shift : lane < shift;
      chosen.push_back(isOther ? extent + lane : lane);
      turned.push_back((lane + (isMutant(Mutant::RowTurnedBack) ? -shift : shift) + extent) %
                       extent);
    }
    Value both = vector::ShuffleOp::create(bytes.builder, bytes.loc, own, other, chosen);
    return vector::ShuffleOp::create(bytes.builder, bytes.loc, both, both, turned);
  }
};
} // namespace

/// A local array for what is copied.
static Value makeTile(OpBuilder &builder, Location loc, Type type) {
  return memref::AllocaOp::create(builder, loc, cast<MemRefType>(type), ValueRange(),
                                  builder.getI64IntegerAttr(64));
}

namespace {
struct LowerStageLeaf : LayoutPattern<StageLeafOp> {
  using LayoutPattern::LayoutPattern;
  void lower(StageLeafOp op, ConversionPatternRewriter &rewriter) const override {
    PathSite site(kernel, rewriter, op);
    Value tile = makeTile(rewriter, op.getLoc(), op.getTile().getType());
    TileFiller(site.bytes, *site.argument.layout, site.path, op, tile)
        .fill(site.argument.concurrent);
    rewriter.replaceOp(op, tile);
  }
};

struct LowerStageRow : LayoutPattern<StageRowOp> {
  using LayoutPattern::LayoutPattern;
  void lower(StageRowOp op, ConversionPatternRewriter &rewriter) const override {
    auto cells = op->getParentOfType<CellsOp>();
    // Behind the slots, which may have been looked up right before this loop.
    rewriter.setInsertionPoint(nestOf(cells).back());
    PathSite site(kernel, rewriter, op);
    CellAccess access{op.getTree(), op.getPath(), op.getBase()};
    LeafForm form = *LeafForm::of(cells, access);
    auto slotOf = [&](ArrayRef<int64_t> direction) {
      return kernel.slots.neighbourOf(rewriter, cells, form, access, site.path, direction);
    };
    const layout::Node &leaf = site.argument.node(site.argument.leafOf(site.path));
    int64_t member = site.node().offset;
    RowReader reader{site.bytes, leaf, op, member, form.extents, slotOf};
    Value row = makeTile(rewriter, op.getLoc(), op.getRow().getType());
    vector::StoreOp::create(rewriter, op.getLoc(), reader.shifted(), row, site.bytes.index(0));
    rewriter.replaceOp(op, row);
  }
};
} // namespace

void metate::addTilePatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerStageLeaf, LowerStageRow>(kernel);
}
