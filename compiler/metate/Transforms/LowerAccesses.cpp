//===- LowerAccesses.cpp - members of cells to bytes ------------*- C++ -*-===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LayoutPatterns.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace metate;

/// Of an operation on a list the coordinates are its parent cell's: 0 along the list.
static SmallVector<Value> coordinatesOf(ByteBuilder &bytes, const TreePath &path,
                                        ValueRange coordinates) {
  SmallVector<Value> all = llvm::to_vector(coordinates);
  if (all.size() == path.rank())
    return all;
  unsigned axis = levelAxes(path.levels.back())[0]; // a list's own
  all.insert(all.begin() + (llvm::find(path.axes, axis) - path.axes.begin()), bytes.index(0));
  return all;
}

CellSite::CellSite(KernelLayout &kernel, OpBuilder &builder, CellOpInterface op)
    : PathSite(kernel, builder, op), access(CellAccess::from(op)),
      address(addressOf(coordinatesOf(bytes, path, access.coordinates), argument.unlinked)) {}

static Value componentOffset(ByteBuilder &bytes, Value offset, Type member, ValueRange components) {
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

Value metate::atomicAt(ByteBuilder &bytes, arith::AtomicRMWKind kind, Value offset, Value value) {
  OpBuilder &builder = bytes.builder;
  if (auto vector = dyn_cast<VectorType>(value.getType())) {
    int64_t size = layout::scalarBytes(vector.getElementType());
    SmallVector<Value> old;
    auto components = vector::ToElementsOp::create(builder, bytes.loc, value);
    for (auto [k, component] : llvm::enumerate(components.getElements()))
      old.push_back(atomicAt(bytes, kind, bytes.add(offset, int64_t(k) * size), component));
    return vector::FromElementsOp::create(builder, bytes.loc, vector, old);
  }
  auto asByte = [&](Value truth) -> Value {
    return arith::ExtUIOp::create(builder, bytes.loc, builder.getI8Type(), truth);
  };
  bool isTruth = value.getType().isInteger(1);
  if (auto exchange = value.getDefiningOp<ExchangeIfOp>()) {
    auto bits = [&](Value number) {
      return isTruth ? asByte(number) : bitsOf(builder, bytes.loc, number);
    };
    Value old =
        bytes.compareExchange(offset, bits(exchange.getExpected()), bits(exchange.getDesired()));
    if (isTruth)
      return bytes.isNonzero(old);
    return isa<FloatType>(value.getType())
               ? arith::BitcastOp::create(builder, bytes.loc, value.getType(), old).getResult()
               : old;
  }
  if (!isTruth)
    return bytes.atomic(kind, offset, value);
  Value byte = asByte(value);
  return bytes.isNonzero(bytes.atomic(booleanKind(kind), offset, byte));
}

/// What an access is of its cell; nullopt where that is not known, where the cell is one number, or holds more than members.
static std::optional<ByteBuilder::Member> memberOf(CellSite &site, ValueRange components) {
  const layout::TreeLayout &layout = *site.argument.layout;
  const layout::Node &place = site.node();
  auto isMore = [&](const layout::Node &node) {
    return node.parent == place.parent && !node.place;
  };
  if (place.parent < 0 || !components.empty() || llvm::any_of(layout.nodes, isMore))
    return std::nullopt;
  int64_t bytes = layout.nodes[place.parent].cellBytes;
  if (layout::scalarBytes(getElementTypeOrSelf(place.place.getType())) == uint64_t(bytes))
    return std::nullopt;
  return ByteBuilder::Member{place.parent, int64_t(place.offset), bytes};
}

/// The member's byte offset where its slot is looked up once; null where it is not.
Value metate::offsetInSlot(KernelLayout &kernel, OpBuilder &builder, Operation *op,
                           CellSite &site) {
  auto place = kernel.slots.find(builder, op, site.access, site.path, /*isOwn=*/false);
  if (!place)
    return {};
  ByteBuilder bytes = kernel.arguments.bytesFor(site.argument, builder, op->getLoc());
  return site.addressOf(bytes, place->local).offsetInSlot(site.path.lastPool(), place->slot);
}

/// The same of a list's cell whose chunk is looked up before the loop over its cells (metate-cut-lists).
static Value offsetInChunk(KernelLayout &kernel, OpBuilder &builder, LoadOp op, CellSite &site) {
  if (!op->hasAttr(mark::ofChunk))
    return {};
  unsigned axis = levelAxes(site.path.levels[site.path.lastPool()])[0];
  unsigned position = llvm::find(site.path.axes, axis) - site.path.axes.begin();
  auto number = op.getCoordinates()[position].getDefiningOp<arith::AddIOp>();
  auto cell = number ? dyn_cast<BlockArgument>(number.getRhs()) : BlockArgument();
  auto cells = cell ? dyn_cast<scf::ForOp>(cell.getOwner()->getParentOp()) : scf::ForOp();
  if (!cells || cells.getInductionVar() != cell)
    return {};
  // The loop has a turn wherever it stands: the chunk is linked.
  OpBuilder before(cells, builder.getListener());
  ByteBuilder outside = kernel.arguments.bytesFor(site.argument, before, op.getLoc());
  SmallVector<Value> first = llvm::to_vector(op.getCoordinates()), within = first;
  first[position] = isMutant(Mutant::ChunkOfFirst) ? outside.index(0) : number.getLhs();
  within[position] = cell;
  Value slot = site.addressOf(outside, first).activeSlotOffset(site.path.lastPool());
  ByteBuilder bytes = kernel.arguments.bytesFor(site.argument, builder, op.getLoc());
  return site.addressOf(bytes, within).offsetInSlot(site.path.lastPool(), slot);
}

/// Is it a cell that no turn of the loops around finds beyond the field or not active?
static bool isAlwaysThere(LoadOp load, const TreePath &path) {
  return path.lastPool() < 0 && path.lastActivity() < 0 &&
         llvm::all_of(
             llvm::zip(load.getCoordinates(), path.extents),
             [](auto pair) {
               auto [coordinate, extent] = pair;
               return LinearForm::of(coordinate).isWithin(extent);
             });
}

namespace {
struct LowerLoad : LayoutPattern<LoadOp> {
  using LayoutPattern::LayoutPattern;
  void lower(LoadOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    ByteBuilder &bytes = site.bytes;
    Type member = signlessType(site.path.place.getType());
    Type type = op.getValue().getType();
    std::optional<WordAccess> word;
    if (site.node().packed)
      word.emplace(site, /*own=*/false);
    auto readAt = [&](Value offset) {
      if (word)
        return word->load(offset);
      bytes.member = memberOf(site, op.getComponents());
      return bytes.readValue(type, componentOffset(bytes, offset, member, op.getComponents()));
    };
    Value result;
    if (Value offset = offsetInSlot(kernel, rewriter, op, site)) {
      bytes.knownSlot = op.getComponents().empty();
      result = readAt(offset);
    } else if (Value offset = offsetInChunk(kernel, rewriter, op, site)) {
      result = readAt(offset);
    } else {
      bytes.knownSlot = op.getComponents().empty() && isAlwaysThere(op, site.path);
      auto body = [&](Value offset) { return SmallVector<Value>{readAt(offset)}; };
      auto otherwise = [&] {
        return SmallVector<Value>{word ? word->background()
                                       : backgroundOf(bytes, site.path.place, op.getComponents())};
      };
      result = site.address.read(type, body, otherwise).front();
    }
    rewriter.replaceOp(op, result);
  }
};

struct LowerStore : LayoutPattern<StoreOp> {
  using LayoutPattern::LayoutPattern;
  void lower(StoreOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    ByteBuilder &bytes = site.bytes;
    Type member = signlessType(site.path.place.getType());
    auto body = [&](Value offset) -> SmallVector<Value> {
      if (site.node().packed) {
        WordAccess(site, kernel.wordOwners.contains(op)).store(op.getValue(), offset);
        return {};
      }
      bytes.member = memberOf(site, op.getComponents());
      bytes.writeValue(op.getValue(), componentOffset(bytes, offset, member, op.getComponents()));
      return {};
    };
    if (Value offset = offsetInSlot(kernel, rewriter, op, site)) {
      bytes.onlyWriter = kernel.onlyWriters.contains(op);
      body(offset);
    } else {
      site.address.visitActive({}, body, [] { return SmallVector<Value>(); });
    }
    rewriter.eraseOp(op);
  }
};

struct LowerAtomic : LayoutPattern<AtomicOp> {
  using LayoutPattern::LayoutPattern;
  void lower(AtomicOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    ByteBuilder &bytes = site.bytes;
    Type member = signlessType(site.path.place.getType());
    bytes.reduction = op->hasAttr(mark::reduction);
    bytes.bins = op->getAttr(mark::bins);
    std::optional<WordAccess> word;
    if (site.node().packed)
      word.emplace(site, kernel.wordOwners.contains(op));
    auto body = [&](Value offset) {
      if (word)
        return SmallVector<Value>{
            word->atomic(op.getKind(), op.getValue(), offset, !op->use_empty())};
      Value at = componentOffset(bytes, offset, member, op.getComponents());
      return SmallVector<Value>{atomicAt(bytes, op.getKind(), at, op.getValue())};
    };
    auto otherwise = [&] {
      return SmallVector<Value>{word ? word->background()
                                     : backgroundOf(bytes, site.path.place, op.getComponents())};
    };
    SmallVector<Value> old;
    if (Value offset = offsetInSlot(kernel, rewriter, op, site))
      old = body(offset);
    else
      old = site.address.visitActive(op.getValue().getType(), body, otherwise);
    rewriter.replaceOp(op, old.front());
  }
};
} // namespace

void metate::addAccessPatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerLoad, LowerStore, LowerAtomic>(kernel);
}
